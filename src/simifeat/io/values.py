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


def is_embedding(kind: pa.DataType) -> bool:
    """Whether cells are lists (of anything; embedding_matrix looks closer)."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Whether cells are numbers, booleans included."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


def embedding_matrix(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[Any]:
    """A column of lists of numbers, all equally long, as float32 [n, d]."""
    where = f"column {name!r} of {path}"
    if not is_number(column.type.value_type):
        raise InputError(
            f"{where} holds lists of {column.type.value_type}; an embedding is a list of numbers"
        )
    matrix, start = None, 0
    for chunk in column.chunks:
        if not len(chunk):
            continue
        if chunk.null_count:
            row = start + int(np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"{where} is empty in row {row}; drop the row or fill it")
        lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)  # [b]
        if matrix is None:
            matrix = np.empty((len(column), int(lengths[0])), np.float32)
        ragged = lengths != matrix.shape[1]
        if ragged.any():
            row = int(ragged.argmax())
            raise InputError(
                f"{where} has {lengths[row]} numbers in row {start + row}, but {matrix.shape[1]} "
                "in the rows before; embeddings must be equally long"
            )
        numbers = chunk.flatten().cast(pa.float32(), safe=False)
        block = numbers.to_numpy(zero_copy_only=False).reshape(len(chunk), -1)  # null -> NaN
        matrix[start : start + len(chunk)] = block
        start += len(chunk)
    if matrix is None:
        raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
    return matrix


def number_matrix(table: pa.Table) -> NDArray[np.float64]:
    """Columns of numbers as float64 [n, d]; an empty cell is NaN."""
    matrix = np.empty((table.num_rows, table.num_columns), np.float64)
    for j, column in enumerate(table.columns):
        matrix[:, j] = column.cast(pa.float64(), safe=False).to_numpy()
    return matrix
