"""Pictures kept as numbers: columns ``pixel0``, ``pixel1``, ... of a table, as digits often are."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NAME = re.compile(r"(?:pixel|px)[_ ]?(\d+)", re.IGNORECASE)
_SMALLEST = 5  # pixels a side; fewer show nothing
_LOOKED_AT = 1000  # rows that tell how bright white is


@dataclass(frozen=True, eq=False)
class PixelRows:
    """Rows of grey values of square pictures, bright on dark."""

    column: pa.ChunkedArray  # [n] of lists of side * side numbers
    side: int
    white: float

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> PixelRows:
        """The pictures in ``column``; the first rows tell how bright white is."""
        head = _values(column[:_LOOKED_AT].combine_chunks())
        return cls(column, math.isqrt(column.type.list_size), float(np.nanmax(head, initial=1e-9)))

    def png(self, row: int) -> bytes:
        """The picture of ``row`` as a PNG file."""
        values = np.array(self.column[row].as_py(), np.float64).reshape(self.side, self.side)
        grey = np.clip(np.nan_to_num(values) * (255 / self.white), 0, 255).astype(np.uint8)
        return _png(grey)


def pixel_columns(names: Sequence[str]) -> list[str]:
    """The columns among ``names`` that are the pixels of a square picture, in order; or none."""
    numbers = {name: int(found[1]) for name in names if (found := _NAME.fullmatch(name))}
    ordered = sorted(numbers, key=numbers.__getitem__)
    side = math.isqrt(len(ordered))
    start = min(numbers.values(), default=0)
    whole = sorted(numbers.values()) == list(range(start, start + len(ordered)))
    return ordered if whole and side >= _SMALLEST and side * side == len(ordered) else []


def together(columns: Sequence[pa.Array]) -> pa.FixedSizeListArray:
    """Columns [n] of numbers as one column of lists."""
    numbers = [column.cast(pa.float32(), safe=False) for column in columns]
    matrix = np.stack([column.to_numpy(zero_copy_only=False) for column in numbers], axis=1)
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), len(columns))


def _png(grey: NDArray[np.uint8]) -> bytes:
    """Grey values [h, w] as a PNG file; so plain a picture needs no library."""
    lines = b"".join(b"\0" + row.tobytes() for row in grey)  # 0: no filter
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _values(column: pa.FixedSizeListArray) -> NDArray[np.float32]:
    return column.flatten().to_numpy(zero_copy_only=False)
