"""Features and labels in files, read by ranges of rows: no more is in memory than is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.dataset import check_lengths
from simifeat.distributed.shards import open_table, read_npy, read_table, values_of
from simifeat.errors import InputError
from simifeat.io.other_files import is_file_name, labels_of_file

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
    labels: Path | None = None
    """The file of its labels, where they are not a column."""


@dataclass(frozen=True)
class Input:
    """Rows of all shards, numbered through in the order of the files' names."""

    shards: tuple[Shard, ...]
    columns: tuple[str, ...]
    """Columns of a table that are features; none for .npy."""
    d: int
    label: str
    """Column of the labels, or their file."""
    id: str | None
    group: str | None = None
    """Column of the groups, or their file."""

    @property
    def n(self) -> int:
        """Rows of all shards."""
        return self.shards[-1].first + self.shards[-1].n

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """Features of the rows start..stop, finite float32."""
        rows = np.empty((stop - start, self.d), np.float32)
        for shard, part in self._pieces(start, stop):
            into = rows[shard.first + part.start - start : shard.first + part.stop - start]
            try:
                if self.columns:
                    read_table(open_table(shard.path), self.columns, part, into)
                else:
                    read_npy(shard.path, part, into)
            except InputError as error:
                raise BadShard(shard.path, str(error)) from error
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
        if self.columns:
            return self._values(self.label)
        if self.shards[0].labels is None:
            values = labels_of_file(self.label)
            check_lengths(self.n, len(values))
            return values
        parts = []
        for shard in self.shards:
            values = labels_of_file(str(shard.labels))
            if len(values) != shard.n:
                raise BadShard(
                    shard.path,
                    f"{shard.path} has {shard.n} rows but {shard.labels} {len(values)} labels; "
                    "give one label for every row",
                )
            parts.append(values)
        return np.concatenate(parts)

    def ids(self) -> NDArray[Any]:
        """Ids [n]; row numbers where there are none."""
        return np.arange(self.n) if self.id is None else self._values(self.id)

    def groups(self) -> NDArray[Any] | None:
        """Groups as given [n], if there are any."""
        if self.group is None:
            return None
        if self.columns and not is_file_name(self.group, ()):
            return self._values(self.group)
        values = labels_of_file(self.group)
        check_lengths(self.n, len(values))
        return values

    def fingerprint(self) -> str:
        """Of names, sizes, times and the ends of all files: another content, another run."""
        digest = hashlib.sha256(repr((self.columns, self.label, self.id, self.group)).encode())
        paths = [shard.path for shard in self.shards]
        beside = [] if self.columns else [shard.labels or self.label for shard in self.shards]
        for path in [*paths, *map(Path, dict.fromkeys(beside))]:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                _add_file(digest, file)
        return digest.hexdigest()

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[Shard, slice]]:
        """Shards with rows in start..stop, and which of their own rows."""
        for shard in self.shards:
            low, high = max(start, shard.first), min(stop, shard.first + shard.n)
            if low < high:
                yield shard, slice(low - shard.first, high - shard.first)

    def _values(self, name: str) -> NDArray[Any]:
        parts = []
        for shard in self.shards:
            try:
                parts.append(values_of(open_table(shard.path), name))
            except InputError as error:
                raise BadShard(shard.path, str(error)) from error
        return np.concatenate(parts)


class InParts:
    """Features by ranges of rows, read a part at a time: ranges that follow each other cost one
    reading of the files.
    """

    def __init__(self, source: Input, part: int) -> None:
        self._source, self._part = source, part
        self._first, self._rows = 0, np.empty((0, source.d), np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """n and d."""
        return self._source.n, self._source.d

    def __getitem__(self, part: slice) -> NDArray[np.float32]:
        """The rows of ``part``."""
        start, stop = int(part.start), int(part.stop)
        end = self._first + len(self._rows)
        if start < self._first or stop > end:
            last = min(max(stop, start + self._part), self._source.n)
            self._first, self._rows = start, self._source.rows(start, last)
        return self._rows[start - self._first : stop - self._first]


def _add_file(digest: Any, path: Path) -> None:
    facts = path.stat()
    digest.update(f"{path.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode())
    with path.open("rb") as file:
        digest.update(file.read(_ENDS))
        file.seek(max(0, facts.st_size - _ENDS))
        digest.update(file.read())
