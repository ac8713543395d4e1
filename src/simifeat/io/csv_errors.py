"""What pyarrow says of a bad CSV file, in words that say where and what to do."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from pathlib import Path

from simifeat.errors import InputError

_READ_BYTES = 1 << 20


def explained(
    error: Exception, path: Path, delimiter: str, first_fault: Callable[[], str]
) -> Exception:
    """The error to raise in place of ``error``; ``first_fault`` tells the row if there is one."""
    text = str(error)
    if "Empty CSV" in text:
        return InputError(f"{path} is empty: 0 rows; there is nothing to check")
    if "straddling" in text:
        return InputError(f"{path} has a row of more than 64 MB; are its quotes closed?")
    if "UTF8" in text or isinstance(error, UnicodeDecodeError):
        return not_utf8(path)
    cell = re.search(r"invalid value '(.*?)'", text, re.DOTALL)
    if cell:
        return InputError(
            f"{path} holds {cell[1]!r} in a column of numbers{_where(first_fault())}; "
            "repair the cell or choose other columns with --features"
        )
    if "Expected" in text and "columns, got" in text:
        first = first_fault() or text
        counts = re.search(r"Expected (\d+) columns, got (\d+)", first)
        if counts:
            return InputError(
                f"{path} has {counts[2]} cells{_where(first)}, but {counts[1]} in its header; "
                f"repair the row, or quote the cells that hold {delimiter!r}"
            )
    return error


def _where(fault: str) -> str:
    """The row by its number from 0, as everywhere; pyarrow counts the header as row 1."""
    found = re.search(r"Row #(\d+)", fault)
    return f" in row {int(found[1]) - 2}" if found else " in one row"


def not_utf8(path: Path) -> InputError:
    """Which line of a text file is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_lines = 1
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            try:
                n_lines += decoder.decode(block).count("\n")
            except UnicodeDecodeError as error:
                n_lines += error.object[: error.start].count(b"\n")
                break
    return InputError(f"{path} is not UTF-8 text (line {n_lines}); save it as UTF-8")
