"""Files in, files out."""

from simifeat.io.open import open_source
from simifeat.io.source import Edit, Features, Request, Source

__all__ = ["Edit", "Features", "Request", "Source", "open_source"]
