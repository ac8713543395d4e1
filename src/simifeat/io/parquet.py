"""Parquet files, read a few rows at a time whatever their row groups are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.reading import reading
from simifeat.io.values import plain_values

_KIND = "Parquet"
_BATCH_BYTES = 1 << 25
_MOST_ROWS = 1 << 16


class ParquetFile:
    """The rows of a Parquet file; see ``simifeat.io.table_file.TableFile``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, _KIND), pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            if not file.metadata.num_rows:
                raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
            self._row_bytes = _bytes_of(file.metadata) // file.metadata.num_rows + 1

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        with reading(self.path, _KIND), pq.ParquetFile(self.path) as file:
            return next(file.iter_batches(1, columns=[name])).column(0)[0].as_py()

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]."""
        with reading(self.path, _KIND):
            return plain_values(self.cells(name), name, self.path)

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]."""
        batches = list(self.batches([name]))
        return pa.Table.from_batches(batches).unify_dictionaries().column(0)

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written."""
        return pa.chunked_array([pa.array(values.tolist())])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        n_rows = max(1, min(_MOST_ROWS, _BATCH_BYTES // self._row_bytes))
        with reading(self.path, _KIND), pq.ParquetFile(self.path, pre_buffer=False) as file:
            yield from file.iter_batches(n_rows, columns=list(names))

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""
        with reading(self.path, _KIND), pq.ParquetFile(self.path) as old:
            schema = _with_columns(old.schema_arrow.empty_table(), columns, 0).schema
            codec = old.metadata.row_group(0).column(0).compression
            with pq.ParquetWriter(file, schema, compression=_codec(codec)) as writer:
                start = 0
                for number in range(old.num_row_groups):
                    group = old.read_row_group(number)
                    part = slice(start, start + len(group))
                    group = _with_columns(group, columns, start)
                    writer.write_table(group.filter(pa.array(keep[part])).cast(schema))
                    start += len(group)


def _with_columns(table: pa.Table, columns: Mapping[str, pa.ChunkedArray], start: int) -> pa.Table:
    for name, cells in columns.items():
        part = cells.slice(start, len(table))
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(name, part)
        else:
            table = table.set_column(place, table.schema.field(place).with_type(part.type), part)
    return table


def _bytes_of(metadata: Any) -> int:
    """Uncompressed bytes of all columns.

    Not asked column by column: pyarrow ends the process where a column's statistics are damaged.
    """
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return max(0, sum(group.total_byte_size for group in groups))


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name
