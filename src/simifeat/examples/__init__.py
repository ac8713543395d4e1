"""The examples behind verdicts, one at a time: a picture, a text, the cells of a row.

Reads nothing but the dataset: a row number goes in, never a path, and what a cell or a name points
to outside the folder of the dataset is refused.
"""

from simifeat.examples.one import Examples
from simifeat.examples.opening import open_examples

__all__ = ["Examples", "open_examples"]
