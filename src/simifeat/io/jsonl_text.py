"""A table as JSON lines."""

from __future__ import annotations

import json
from typing import BinaryIO

import pyarrow as pa

_ROWS_AT_ONCE = 1 << 14


def write_rows(table: pa.Table, file: BinaryIO) -> None:
    """One object a row; floats in the fewest digits that read back equal, NaN as null."""
    keys = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for batch in table.to_batches(_ROWS_AT_ONCE):
        cells = [_texts(column) for column in batch.columns]
        for row in zip(*cells, strict=True):
            line = ", ".join(f"{key}: {cell}" for key, cell in zip(keys, row, strict=True))
            file.write(f"{{{line}}}\n".encode())


def _texts(column: pa.Array) -> list[str]:
    texts: list[str] = column.cast(pa.string()).to_pylist()
    if pa.types.is_string(column.type):
        return [json.dumps(text, ensure_ascii=False) for text in texts]
    if pa.types.is_floating(column.type):
        return ["null" if text == "nan" else text for text in texts]
    return texts
