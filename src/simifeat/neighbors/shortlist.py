"""Candidates of a tile of rows, gathered block by block while the bar rises.

A column is a candidate of a row as long as its value reaches the row's bar: the k-th largest value
seen so far, less twice the largest error of a value. The true k nearest always reach it, so the
bar's history, and with it blocks and threads, cannot change the result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.points import Points
from simifeat.neighbors.select import exact_keys, put_best

_Batch = tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.float32]]

MAX_ROWS = 1 << 16
"""Rows of a tile: their place in it is kept in 16 bits, which numpy sorts by radix."""

_ROOM = 256
"""Candidates a row may have beyond 4 k before they are looked at exactly."""


class Shortlist:
    """Candidates of ``rows`` [m] (numbers of points), k wanted of each."""

    def __init__(
        self,
        points: Points,
        rows: NDArray[np.int64],
        error: NDArray[np.float32],
        per_key: float,
        k: int,
    ) -> None:
        self.points, self.rows, self.k, self.per_key = points, rows, k, per_key
        self.slack = np.float32(2.0) * error  # [m]
        self.bar = np.full(len(rows), -np.inf, np.float32)  # [m]
        self._batches: list[_Batch] = []

    def add(
        self, row: NDArray[np.uint16], column: NDArray[np.int32], value: NDArray[np.float32]
    ) -> None:
        """Take candidates: place in ``rows``, number of a point, value. Safe from any thread."""
        batch = (row, column, value)
        self._batches.append(self._settle(batch) if self._too_many(len(row)) else batch)

    def raise_bar(self) -> None:
        """Set the bar by what was seen and drop what does not reach it. One thread at a time."""
        row, column, value = self._take()
        count = np.bincount(row, minlength=len(self.rows))
        width = int(count.max(initial=0))
        if width >= self.k:
            begin = np.cumsum(count) - count
            place = np.arange(len(row)) - begin[row]
            table = np.full((len(self.rows), width), -np.inf, np.float32)  # [m, width]
            table[row, place] = value
            table.partition(width - self.k, axis=1)
            np.maximum(self.bar, table[:, width - self.k] - self.slack, out=self.bar)
            keep = value >= self.bar[row]
            row, column, value = row[keep], column[keep], value[keep]
        batch = (row, column, value)
        self._batches.append(self._settle(batch) if self._too_many(len(row)) else batch)

    def finish(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Index and key of the k nearest, [m, k]; -1 and 0 where there are fewer."""
        self.raise_bar()
        row, column, _ = self._take()
        return self._best(row, column)

    def _take(self) -> _Batch:
        """Everything gathered, by rising row."""
        batches, self._batches = self._batches, []
        if not batches:
            return np.empty(0, np.uint16), np.empty(0, np.int32), np.empty(0, np.float32)
        row, column, value = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        order = np.argsort(row, kind="stable")
        return row[order], column[order], value[order]

    def _too_many(self, n_candidates: int) -> bool:
        return n_candidates > len(self.rows) * (4 * self.k + _ROOM)

    def _settle(self, batch: _Batch) -> _Batch:
        """The k best of every row by exact key: what lies closer than the error tells apart."""
        row, column, _ = batch
        order = np.argsort(row, kind="stable")
        index, key = self._best(row[order], column[order])
        kept, place = np.nonzero(index >= 0)
        value = key[kept, place] * np.float32(self.per_key)
        return kept.astype(np.uint16), index[kept, place], value

    def _best(
        self, row: NDArray[np.uint16], column: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The k best of candidates in order of rising row: index and key, [m, k]."""
        index = np.full((len(self.rows), self.k), -1, np.int32)
        key = np.zeros((len(self.rows), self.k), np.float32)
        value = exact_keys(self.points, self.rows[row], column)
        put_best(index, key, row, column, value, self.k)
        return index, key
