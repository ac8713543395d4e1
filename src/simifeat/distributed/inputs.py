"""Features and labels in files, read by ranges of rows with plain reads: nothing is mapped."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from simifeat.dataset import check_lengths
from simifeat.errors import InputError
from simifeat.io.arrays import load_npy
from simifeat.io.embeddings import is_embedding, put_lists
from simifeat.io.names import guess_id, guess_label, is_index, require_name
from simifeat.io.other_files import labels_of_file
from simifeat.io.parquet import ParquetFile
from simifeat.io.reading import reading
from simifeat.io.values import is_number

_BATCH_BYTES = 1 << 25
_ENDS = 1 << 20


class BadShard(InputError):
    """One file among several cannot be used."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path

    def __reduce__(self) -> Any:
        return BadShard, (self.path, str(self))


@dataclass(frozen=True)
class Shard:
    """A file that holds some of the rows."""

    path: Path
    first: int
    n: int


@dataclass(frozen=True)
class Input:
    """Rows of all shards, numbered through in the order of the files' names."""

    shards: tuple[Shard, ...]
    columns: tuple[str, ...]
    """Columns of a Parquet file that are features; none for .npy."""
    d: int
    label: str
    """Column of the labels, or their file."""
    id: str | None

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return self.shards[-1].first + self.shards[-1].n

    @classmethod
    def open(
        cls,
        source: str,
        labels: str | None = None,
        features: str | None = None,
        id: str | None = None,
        skip: frozenset[Path] = frozenset(),
    ) -> Input:
        """Look at the headers of ``source``: a path, or a pattern such as ``shards/*.parquet``."""
        found = glob.glob(source) if glob.has_magic(source) else [source]
        paths = sorted(Path(name) for name in found if Path(name) not in skip)
        if not paths:
            raise InputError(f"no file matches {source}; check the pattern")
        if paths[0].suffix.lower() == ".npy":
            return _open_npy(paths, labels)
        return _open_parquet(paths, labels, features, id)

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Features of the rows start..stop, finite float32."""
        rows = np.empty((stop - start, self.d), np.float32)
        for shard, part in self._pieces(start, stop):
            into = rows[shard.first + part.start - start : shard.first + part.stop - start]
            if self.columns:
                self._read_parquet(shard, part, into)
            else:
                _read_npy(shard.path, part, into)
            bad = np.flatnonzero(~np.isfinite(into).all(axis=1))
            if len(bad):
                raise BadShard(
                    shard.path,
                    f"{shard.path}: row {part.start + int(bad[0])} has NaN, infinity or a number "
                    "beyond float32; drop or impute such rows first",
                )
        return rows

    def labels(self) -> NDArray[Any]:
        """Labels as given [n]."""
        if not self.columns:
            values = labels_of_file(self.label)
            check_lengths(self.n, len(values))
            return values
        return self._values(self.label)

    def ids(self) -> NDArray[Any]:
        """Ids [n]; row numbers where there are none."""
        return np.arange(self.n) if self.id is None else self._values(self.id)

    def fingerprint(self) -> str:
        """Of names, sizes, times and the ends of all files: another content, another run."""
        digest = hashlib.sha256(repr((self.columns, self.label, self.id)).encode())
        files = [shard.path for shard in self.shards]
        for path in files if self.columns else [*files, Path(self.label)]:
            facts = path.stat()
            digest.update(f"{path.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode())
            with path.open("rb") as file:
                digest.update(file.read(_ENDS))
                file.seek(max(0, facts.st_size - _ENDS))
                digest.update(file.read())
        return digest.hexdigest()

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[Shard, slice]]:
        """Shards with rows in start..stop, and which of their own rows."""
        for shard in self.shards:
            low, high = max(start, shard.first), min(stop, shard.first + shard.n)
            if low < high:
                yield shard, slice(low - shard.first, high - shard.first)

    def _read_parquet(self, shard: Shard, part: slice, into: NDArray[np.float32]) -> None:
        path = shard.path
        try:
            with reading(path, "Parquet"), pq.ParquetFile(path, pre_buffer=False) as file:
                ends = np.cumsum(
                    [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
                )
                groups = range(
                    int(np.searchsorted(ends, part.start, side="right")),
                    int(np.searchsorted(ends, part.stop - 1, side="right")) + 1,
                )
                here = int(ends[groups[0] - 1]) if groups[0] else 0
                size = max(1, _BATCH_BYTES // (4 * self.d))
                for batch in file.iter_batches(size, list(groups), list(self.columns)):
                    low, high = max(here, part.start), min(here + len(batch), part.stop)
                    if low < high:
                        table = batch.slice(low - here, high - low)
                        room = into[low - part.start : high - part.start]
                        _put(table, self.columns, room, low, path)
                    here += len(batch)
        except BadShard:
            raise
        except InputError as error:
            raise BadShard(path, str(error)) from error

    def _values(self, name: str) -> NDArray[Any]:
        parts = []
        for shard in self.shards:
            try:
                parts.append(ParquetFile(shard.path).values(name))
            except InputError as error:
                raise BadShard(shard.path, str(error)) from error
        return np.concatenate(parts)


def _open_npy(paths: Sequence[Path], labels: str | None) -> Input:
    if labels is None:
        raise InputError(f"{paths[0]} holds features alone; give their labels with --labels FILE")
    shards: list[Shard] = []
    first, width = 0, None
    for path in paths:
        array = load_npy(path)
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise InputError(
                f"{path} holds an array of shape {array.shape} and type {array.dtype}; "
                "features are numbers [n, d]"
            )
        width = array.shape[1] if width is None else width
        _check_width(path, array.shape[1], width)
        shards.append(Shard(path, first, len(array)))
        first += len(array)
    _check_rows(first, str(paths[0]))
    return Input(tuple(shards), (), int(width or 0), labels, None)


def _open_parquet(
    paths: Sequence[Path], labels: str | None, features: str | None, id: str | None
) -> Input:
    shards: list[Shard] = []
    first, width = 0, None
    columns: tuple[str, ...] = ()
    for path in paths:
        try:
            file = ParquetFile(path)
            names = [name for name in file.schema.names if not is_index(name)]
            if not shards:
                labels = guess_label(names, path) if labels is None else labels
                id = guess_id([name for name in names if name != labels]) if id is None else id
                columns = _choose(file, [n for n in names if n not in (labels, id)], features)
            for name in (str(labels), *columns, *([id] if id else [])):
                require_name(name, names, path)
            found = len(columns)
            if is_embedding(file.schema.field(columns[0]).type):
                found = len(file.first(columns[0]) or ())
            width = found if width is None else width
            _check_width(path, found, width)
            with reading(path, "Parquet"), pq.ParquetFile(path) as parquet:
                n = parquet.metadata.num_rows
        except InputError as error:
            raise BadShard(path, str(error)) from error
        shards.append(Shard(path, first, n))
        first += n
    _check_rows(first, str(paths[0]))
    return Input(tuple(shards), columns, int(width or 0), str(labels), id)


def _choose(file: ParquetFile, names: Sequence[str], features: str | None) -> tuple[str, ...]:
    """The columns that are features."""
    if features is not None:
        return tuple(require_name(name, names, file.path) for name in features.split(","))
    lists = [name for name in names if is_embedding(file.schema.field(name).type)]
    numbers = [name for name in names if is_number(file.schema.field(name).type)]
    if len(lists) == 1 or (not lists and numbers):
        return tuple(lists or numbers)
    raise InputError(
        f"{file.path} has {len(lists)} columns of lists and none of numbers; "
        "choose the features with --features"
    )


def _check_width(path: Path, found: int, width: int) -> None:
    if found != width:
        raise InputError(
            f"{path} has {found} dimensions but the files before it {width}; "
            "give features of one kind"
        )


def _check_rows(n: int, name: str) -> None:
    if n < 2:
        raise InputError(f"{name} has {n} rows; neighbours need at least 2 examples")


def _read_npy(path: Path, part: slice, into: NDArray[np.float32]) -> None:
    """Rows of a .npy by a plain read."""
    array = load_npy(path)  # the header alone: nothing is touched
    if not array.flags.c_contiguous:
        into[:] = array[part]
        return
    dtype, width = array.dtype, array.shape[1]
    offset = path.stat().st_size - array.nbytes
    del array
    with reading(path, ".npy"), path.open("rb") as file:
        file.seek(offset + part.start * width * dtype.itemsize)
        flat = np.fromfile(file, dtype, (part.stop - part.start) * width)
    with np.errstate(over="ignore"):
        into[:] = flat.reshape(-1, width)


def _put(
    batch: Any, columns: tuple[str, ...], into: NDArray[np.float32], row: int, path: Path
) -> None:
    """Write a batch of columns to ``into`` [b, d]."""
    if len(columns) == 1 and is_embedding(batch.column(0).type):
        try:
            put_lists(batch.column(0), into, 0, len(into), columns[0], path)
        except InputError as error:
            raise InputError(f"{error} (counted from row {row})") from error
        return
    with np.errstate(over="ignore"):
        for j, column in enumerate(batch.columns):
            into[:, j] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
