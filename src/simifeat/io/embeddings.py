"""Columns of embeddings: one list of numbers a row, typed or as JSON text."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.values import is_number

_SLACK = 1 << 12


def is_embedding(kind: pa.DataType) -> bool:
    """Whether cells are lists (of anything; ``put_lists`` looks closer)."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def looks_like_list(cell: Any) -> bool:
    """Whether a text is a JSON list by its looks."""
    return isinstance(cell, str) and cell.lstrip().startswith("[") and cell.rstrip().endswith("]")


def lists_of_texts(texts: pa.Array, start: int, name: str, path: Path) -> pa.Array:
    """JSON texts such as ``[0.1, 0.2]`` as lists of float32; an empty cell stays empty."""
    cells = [" ".join((text or "null").splitlines()) for text in texts.to_pylist()]
    lines = "\n".join(f'{{"v": {cell}}}' for cell in cells).encode()
    longest = max(map(len, cells)) + _SLACK
    try:
        table = pj.read_json(
            io.BytesIO(lines),
            pj.ReadOptions(block_size=max(1 << 24, 2 * longest)),
            pj.ParseOptions(explicit_schema=pa.schema([("v", pa.list_(pa.float32()))])),
        )
    except pa.ArrowInvalid:
        table = None
    if table is None or table.num_rows != len(cells):
        row = next((i for i, cell in enumerate(cells) if not _is_list(cell)), 0)
        raise InputError(
            f"column {name!r} of {path} holds {_short(cells[row])!r} in row {start + row}, which "
            "is not a list of numbers such as [0.1, 0.2]"
        )
    column: pa.Array = table.column("v").combine_chunks()
    return column


def put_lists(
    column: pa.Array,
    matrix: NDArray[np.float32] | None,
    start: int,
    n: int,
    name: str,
    path: Path,
) -> NDArray[np.float32]:
    """Write lists of numbers to the rows of ``matrix`` [n, d] from ``start`` on; None makes one."""
    where = f"column {name!r} of {path}"
    if not is_number(column.type.value_type):
        raise InputError(
            f"{where} holds lists of {column.type.value_type}; an embedding is a list of numbers"
        )
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(f"{where} is empty in row {start + row}; drop the row or fill it")
    if pa.types.is_fixed_size_list(column.type):
        lengths = np.full(len(column), column.type.list_size)
    else:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)  # [b]
    if matrix is None:
        matrix = np.empty((n, int(lengths[0])), np.float32)
    ragged = lengths != matrix.shape[1]
    if ragged.any():
        row = int(ragged.argmax())
        raise InputError(
            f"{where} has {lengths[row]} numbers in row {start + row}, but {matrix.shape[1]} in "
            "the rows before; embeddings must be equally long"
        )
    numbers = column.flatten().cast(pa.float32(), safe=False)
    block = numbers.to_numpy(zero_copy_only=False).reshape(len(column), -1)  # [b, d]; null -> NaN
    room = matrix[start : start + len(column)]  # shorter where there are too many rows
    room[:] = block[: len(room)]
    return matrix


def _is_list(cell: str) -> bool:
    try:
        found = json.loads(cell)
    except ValueError:
        return False
    if found is None:
        return True
    return isinstance(found, list) and {type(item) for item in found} <= {int, float, type(None)}


def _short(cell: str) -> str:
    return cell if len(cell) <= 40 else cell[:37] + "..."
