"""Several files of one kind of table, one after the other, as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrow import ArrowFile
from simifeat.io.batched import BatchedFile
from simifeat.io.class_names import ClassNames
from simifeat.io.parquet import ParquetFile

Shard = ArrowFile | ParquetFile


class Shards(BatchedFile):
    """The rows of all ``files`` of a folder; see ``simifeat.io.table_file.TableFile``."""

    kind = "a dataset"

    def __init__(self, path: Path, files: Sequence[Shard], names: ClassNames) -> None:
        self.path = path
        self.files = tuple(files)
        self.schema = files[0].schema
        self.class_names = names
        for file in files[1:]:
            if not file.schema.equals(self.schema):
                raise InputError(
                    f"{file.path} has other columns than {files[0].path}; put files that do not "
                    "belong together into folders of their own"
                )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        for file in self.files:
            yield from file.batches(names)

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the rows to ``keep`` [n] to files of the same names below ``place``."""
        start = 0
        for shard in self.files:
            stop = start + shard.n_rows()
            target = place / shard.path.relative_to(self.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            part = {name: cells.slice(start, stop - start) for name, cells in columns.items()}
            with target.open("wb") as file:
                shard.write(part, keep[start:stop], file)
            start = stop
