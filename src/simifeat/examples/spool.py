"""A table spooled once into a memory-mapped file: any row is there at once and takes no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.examples.pixels import together
from simifeat.io.cells import holds_content
from simifeat.io.table_file import TableFile

PIXELS = "pixels"
_ROWS_A_BATCH = 4096


def spooled(
    file: TableFile,
    names: Sequence[str],
    pixels: Sequence[str],
    place: Path,
    shown: NDArray[np.bool_] | None,
) -> pa.Table:
    """Columns ``names`` of ``file``, and ``pixels`` as one more, as a table that lies on disk.

    Pictures are kept only for rows that are ``shown`` [n], if given.
    """
    if not names and not pixels:
        return pa.table({})
    header = [*names, PIXELS] if pixels else list(names)
    start, writer = 0, None
    with pa.OSFile(str(place), "wb") as sink:
        for batch in _small_batches(file, [*names, *pixels]):
            kept = None if shown is None else pa.array(shown[start : start + batch.num_rows])
            columns = [_plain(batch.column(name), kept) for name in names]
            if pixels:
                columns.append(together([batch.column(name) for name in pixels]))
            plain = pa.record_batch(columns, names=header)
            if writer is None:
                writer = pa.ipc.new_file(sink, plain.schema)
            writer.write_batch(plain)
            start += batch.num_rows
        if writer is not None:
            writer.close()
    return pa.ipc.open_file(pa.memory_map(str(place))).read_all()


def _small_batches(file: TableFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in file.batches(names):
        for start in range(0, batch.num_rows, _ROWS_A_BATCH):
            yield batch.slice(start, _ROWS_A_BATCH)


def _plain(column: pa.Array, kept: pa.Array | None) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kept is not None and holds_content(column.type):
        column = pc.if_else(kept, column, pa.scalar(None, column.type))
    return column
