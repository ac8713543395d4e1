"""``python -m simifeat`` is the command ``simifeat``."""

import sys

from simifeat.cli import main

sys.exit(main())
