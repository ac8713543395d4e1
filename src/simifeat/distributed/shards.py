"""Files that hold some of the rows: what is in them, and a range of their rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from simifeat.errors import InputError, require
from simifeat.io.arrays import load_npy
from simifeat.io.embeddings import is_embedding, put_lists
from simifeat.io.reading import reading
from simifeat.io.values import plain_values

_BATCH_BYTES = 1 << 24


class TableShard(Protocol):
    """A table of some rows."""

    path: Path
    schema: pa.Schema
    n: int
    """Rows."""

    def batches(
        self, names: Sequence[str], start: int, stop: int, size: int
    ) -> Iterator[pa.RecordBatch]:
        """Columns ``names`` of the rows start..stop, about ``size`` rows at a time."""


class ParquetShard:
    """Row groups are skipped, not read, where no row of them is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.schema = file.schema_arrow
            self.n = int(file.metadata.num_rows)

    def _open(self) -> AbstractContextManager[Any]:
        file: AbstractContextManager[Any] = pq.ParquetFile(
            self.path, pre_buffer=False, page_checksum_verification=True
        )
        return file

    def batches(
        self, names: Sequence[str], start: int, stop: int, size: int
    ) -> Iterator[pa.RecordBatch]:
        """See ``TableShard``."""
        with self._open() as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            ends = np.cumsum(sizes)
            low = int(np.searchsorted(ends, start, side="right"))
            high = int(np.searchsorted(ends, stop - 1, side="right")) + 1
            here = int(ends[low - 1]) if low else 0
            groups = list(range(low, high))
            yield from _cut(file.iter_batches(size, groups, list(names)), here, start, stop)


class ArrowShard:
    """An Arrow file (Feather is one); it is mapped only while rows are copied out of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            self.schema = file.schema
        first = self.schema.names[:1]
        self.n = sum(len(batch) for batch in self._all(first))

    def _all(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        fields = [self.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with (
            pa.memory_map(str(self.path)) as source,
            pa.ipc.open_file(source, options=options) as file,
        ):
            for number in range(file.num_record_batches):
                yield file.get_batch(number).select(list(names))

    def batches(
        self, names: Sequence[str], start: int, stop: int, size: int
    ) -> Iterator[pa.RecordBatch]:
        """See ``TableShard``."""
        for batch in _cut(self._all(names), 0, start, stop):
            for begin in range(0, len(batch), size):
                yield batch.slice(begin, size)


class LanceShard:
    """A Lance dataset, which is a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._dataset = require("lance", "lance").dataset(str(path))
        self.schema = self._dataset.schema
        self.n = int(self._dataset.count_rows())

    def batches(
        self, names: Sequence[str], start: int, stop: int, size: int
    ) -> Iterator[pa.RecordBatch]:
        """See ``TableShard``."""
        yield from self._dataset.to_batches(
            columns=list(names), offset=start, limit=stop - start, batch_size=size
        )


_TABLES: Mapping[str, tuple[str, Callable[[Path], TableShard]]] = {
    ".parquet": ("Parquet", ParquetShard),
    ".pq": ("Parquet", ParquetShard),
    ".arrow": ("Arrow", ArrowShard),
    ".feather": ("Arrow", ArrowShard),
    ".lance": ("Lance", LanceShard),
}

ENDINGS = (".npy", *_TABLES)
"""Endings of files that can be read by ranges of rows."""


def open_table(path: Path) -> TableShard:
    """The table at ``path``; its header is read, its rows are not."""
    kind, opener = _TABLES[path.suffix.lower()]
    with reading(path, kind):
        table = opener(path)
    if not table.n:
        raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
    return table


def first_cell(table: TableShard, name: str) -> Any:
    """The first cell of a column."""
    with reading(table.path, table.path.suffix):
        return next(table.batches([name], 0, 1, 1)).column(0)[0].as_py()


def values_of(table: TableShard, name: str) -> NDArray[Any]:
    """A column as labels or ids, [n]."""
    with reading(table.path, table.path.suffix):
        cells = [b.column(0) for b in table.batches([name], 0, table.n, 1 << 16)]
        whole = pa.Table.from_arrays([pa.chunked_array(cells)], [name]).unify_dictionaries()
        return plain_values(whole.column(0), name, table.path)


def read_table(
    table: TableShard, columns: Sequence[str], part: slice, into: NDArray[np.float32]
) -> None:
    """Write the rows ``part`` of feature columns to ``into`` [b, d]."""
    size = max(1, _BATCH_BYTES // (4 * into.shape[1]))
    done = 0
    with reading(table.path, table.path.suffix):
        for batch in table.batches(columns, part.start, part.stop, size):
            room = into[done : done + len(batch)]
            _put(batch, columns, room, part.start + done, table.path)
            done += len(batch)
        if done != len(into):
            raise ValueError(f"it ends after {part.start + done} rows")


def npy_shape(path: Path) -> tuple[int, int]:
    """Rows and dimensions of features in a .npy file."""
    array = load_npy(path)  # the header alone: nothing is touched
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InputError(
            f"{path} holds an array of shape {array.shape} and type {array.dtype}; "
            "features are numbers [n, d]"
        )
    return array.shape


def read_npy(path: Path, part: slice, into: NDArray[np.float32]) -> None:
    """Write the rows ``part`` of a .npy to ``into`` [b, d], by a plain read: nothing is mapped."""
    array = load_npy(path)
    with np.errstate(over="ignore"):  # what overflows is infinite, and said by who checks
        if not array.flags.c_contiguous:
            into[:] = array[part]
            return
        dtype, width = array.dtype, array.shape[1]
        offset = path.stat().st_size - array.nbytes
        del array
        with reading(path, ".npy"), path.open("rb") as file:
            file.seek(offset + part.start * width * dtype.itemsize)
            flat = np.fromfile(file, dtype, (part.stop - part.start) * width)
            into[:] = flat.reshape(-1, width)


def _cut(
    batches: Iterator[pa.RecordBatch], here: int, start: int, stop: int
) -> Iterator[pa.RecordBatch]:
    """What of ``batches``, the first of which begins at row ``here``, is in start..stop."""
    for batch in batches:
        if here >= stop:
            return
        low, high = max(here, start), min(here + len(batch), stop)
        if low < high:
            yield batch.slice(low - here, high - low)
        here += len(batch)


def _put(
    batch: pa.RecordBatch, columns: Sequence[str], into: NDArray[np.float32], row: int, path: Path
) -> None:
    """Write a batch of columns, whose first row is ``row`` of its file, to ``into`` [b, d]."""
    if len(columns) == 1 and is_embedding(batch.column(0).type):
        try:
            put_lists(batch.column(0), into, 0, len(into), columns[0], path)
        except InputError as error:
            raise InputError(f"{error} (counted from row {row})") from error
        return
    with np.errstate(over="ignore"):
        for j, column in enumerate(batch.columns):
            into[:, j] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
