"""Columns of a table as labels, ids or features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError


def plain_values(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[Any]:
    """A column of integers, booleans, floats or strings as [n]; missing cells are None."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return _objects(column)
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)):
        raise InputError(
            f"column {name!r} of {path} has the type {kind}; "
            "labels and ids are strings, integers or booleans"
        )
    if column.null_count:
        return _objects(column)
    return column.to_numpy()


def text_values(texts: Sequence[str]) -> NDArray[Any]:
    """Cells of a text file: integers if every cell is one as Python writes it, else strings.

    So ``007`` stays text and comes back as it was. An empty cell is missing (None).
    """
    if all(map(_is_integer, texts)) and texts:
        return np.array([int(text) for text in texts], dtype=np.int64)
    values = np.empty(len(texts), dtype=object)
    values[:] = [text or None for text in texts]
    return values


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return (
        digits.isascii()
        and digits.isdigit()
        and len(digits) < 19  # fits int64
        and (digits[0] != "0" or text == "0")
    )


def _objects(column: pa.ChunkedArray) -> NDArray[Any]:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def is_number(kind: pa.DataType) -> bool:
    """Whether cells are numbers, booleans included."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )
