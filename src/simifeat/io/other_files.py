"""Labels and features that stand in a file of their own, beside the source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrays import features_of_arrays, labels_of_arrays
from simifeat.io.csv_errors import not_utf8
from simifeat.io.names import guess_label
from simifeat.io.reading import reading
from simifeat.io.source import Features, Request
from simifeat.io.table_features import choose_columns, read_columns
from simifeat.io.table_file import is_table, open_table_file
from simifeat.io.values import text_values

_ARRAYS = (".npy", ".npz")


def is_file_name(text: str, names: Sequence[str]) -> bool:
    """Whether ``text`` means a file, and not one of the columns ``names``."""
    path = Path(text)
    if text in names:
        return False
    known = is_table(path) or path.suffix.lower() in (*_ARRAYS, ".txt")
    return known or os.sep in text or path.is_file()


def labels_of_file(name: str) -> NDArray[Any]:
    """Labels [n]: an array, a text of one label a line, or a table with a column of them."""
    path = Path(name)
    if path.suffix.lower() in _ARRAYS:
        return labels_of_arrays(path)
    if path.suffix.lower() == ".txt":
        with reading(path, "text"):
            try:
                return text_values(path.read_text("utf-8-sig").splitlines())
            except UnicodeDecodeError:
                raise not_utf8(path) from None
    if is_table(path):
        file = open_table_file(path)
        return file.values(guess_label(file.schema.names, path))
    raise InputError(
        f"labels cannot be read from {path}; give a .npy, .npz, .txt, .csv, .tsv, .parquet or "
        ".jsonl file"
    )


def features_of_file(name: str, n: int) -> Features:
    """Features of ``n`` examples: an array, or a table without other columns."""
    path = Path(name)
    if path.suffix.lower() in _ARRAYS:
        return Features(features_of_arrays(path))
    if is_table(path):
        file, request = open_table_file(path), Request(path)
        return read_columns(file, choose_columns(file, request, ()), n, request)
    raise InputError(
        f"features cannot be read from {path}; give a .npy, .npz, .csv, .tsv, .parquet or "
        ".jsonl file"
    )
