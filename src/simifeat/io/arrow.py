"""Arrow files, as a stream or with an index at the end: how datasets are saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.batched import BatchedFile, names_in, with_columns
from simifeat.io.reading import reading

_MAGIC = b"ARROW1"  # how a file with an index begins


class ArrowFile(BatchedFile):
    """The rows of an Arrow file; see ``simifeat.io.table_file.TableFile``.

    Read, not mapped: pages of a mapping count as memory of the process.
    """

    kind = "Arrow"

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, self.kind), self._opened() as batches:
            self.schema = batches[0]
            if not any(batch.num_rows for batch in batches[1]):
                raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
        self.class_names = names_in(self.schema)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        with reading(self.path, self.kind), self._opened() as (_, batches):
            for batch in batches:
                yield batch.select(list(names))

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""
        with reading(self.path, self.kind), self._opened() as (old, batches):
            schema = with_columns(old.empty_table(), columns, 0).schema
            with pa.ipc.new_stream(file, schema) as writer:
                start = 0
                for batch in batches:
                    table = with_columns(pa.Table.from_batches([batch]), columns, start)
                    part = slice(start, start + len(batch))
                    writer.write_table(table.filter(pa.array(keep[part])).cast(schema))
                    start += len(batch)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with self.path.open("rb") as start:
            is_file = start.read(len(_MAGIC)) == _MAGIC
        with pa.OSFile(str(self.path)) as source:
            reader: Any = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source)
            with reader:
                if is_file:
                    numbers = range(reader.num_record_batches)
                    yield reader.schema, (reader.get_batch(number) for number in numbers)
                else:
                    yield reader.schema, iter(reader)
