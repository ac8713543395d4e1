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
from simifeat.io.batched import BatchedFile, names_in, with_columns
from simifeat.io.reading import reading

_BATCH_BYTES = 1 << 25
_MOST_ROWS = 1 << 16
_BUFFER = 1 << 20


class ParquetFile(BatchedFile):
    """The rows of a Parquet file; see ``simifeat.io.table_file.TableFile``."""

    kind = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, self.kind), pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            if not file.metadata.num_rows:
                raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
            self._n_rows = file.metadata.num_rows
            self._row_bytes = _bytes_of(file.metadata) // self._n_rows + 1
        self.class_names = names_in(self.schema)

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        with reading(self.path, self.kind), pq.ParquetFile(self.path) as file:
            return next(file.iter_batches(1, columns=[name])).column(0)[0].as_py()

    def n_rows(self) -> int:
        """How many rows there are."""
        return self._n_rows

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        n_rows = max(1, min(_MOST_ROWS, _BATCH_BYTES // self._row_bytes))
        little = {
            "pre_buffer": False,
            "buffer_size": _BUFFER,
        }  # not a column of a row group at once
        with reading(self.path, self.kind), pq.ParquetFile(self.path, **little) as file:
            yield from file.iter_batches(n_rows, columns=list(names))

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""
        with reading(self.path, self.kind), pq.ParquetFile(self.path) as old:
            schema = with_columns(old.schema_arrow.empty_table(), columns, 0).schema
            codec = old.metadata.row_group(0).column(0).compression
            with pq.ParquetWriter(file, schema, compression=_codec(codec)) as writer:
                start = 0
                for number in range(old.num_row_groups):
                    group = old.read_row_group(number)
                    part = slice(start, start + len(group))
                    group = with_columns(group, columns, start)
                    writer.write_table(group.filter(pa.array(keep[part])).cast(schema))
                    start += len(group)


def _bytes_of(metadata: Any) -> int:
    """Uncompressed bytes of all columns.

    Not asked column by column: pyarrow ends the process where a column's statistics are damaged.
    """
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return max(0, sum(group.total_byte_size for group in groups))


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name
