"""Exact search among the rows of near cells: the rows of a few home cells at a time.

What is found for a row depends on the row, its nearest cells and what lies in them, and on nothing
else: not on which cells are searched together, in what order, on which thread or machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.base import Metric
from simifeat.neighbors.best import best_codes, decode, encode, kth_largest
from simifeat.neighbors.cells import Cells
from simifeat.neighbors.duplicates import Groups, find_groups
from simifeat.neighbors.points import Points
from simifeat.neighbors.product import Float32Product

_VALUES = 1 << 20
"""Values of a block's product: 4 MiB stay near the core."""

_PAIRS = 1024
"""Pairs whose rows are gathered at once for their exact keys."""


class CellStore(Protocol):
    """Where the rows of a cell are kept."""

    def load(self, cell: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Rows [m, d] as ``Points`` keeps them, and their numbers [m], rising."""


@dataclass(frozen=True)
class Search:
    """What a search in cells is asked for."""

    k: int
    overlap: int
    """Nearest cells that are searched for a row."""
    metric: Metric
    scale: float
    """Of ``Points``."""


@dataclass(frozen=True)
class Found:
    """Neighbours of the rows of some home cells."""

    rows: NDArray[np.int64]  # [m], rising
    index: NDArray[np.int32]  # [m, k], -1 where a row has fewer
    key: NDArray[np.float32]  # [m, k]


def search_cells(cells: Cells, store: CellStore, homes: Sequence[int], asked: Search) -> Found:
    """The k nearest rows, in its ``overlap`` nearest cells, of every row at home in ``homes``."""
    loaded = {cell: _Cell.of(*store.load(cell)) for cell in homes}
    queries = np.concatenate([loaded[cell].rows for cell in homes])  # [q, d]
    home = np.repeat(homes, [loaded[cell].n for cell in homes])  # [q]
    near = cells.nearest(queries, asked.overlap)  # [q, r]
    for cell in np.unique(near).tolist():
        if cell not in loaded:
            loaded[cell] = _Cell.of(*store.load(cell))
    place = _Place.of(loaded, asked)
    pairs = _candidates(place, near, home, asked.k + 1)
    return _rank(place, home, *pairs, asked.k)


@dataclass(frozen=True)
class _Cell:
    """A cell's distinct rows, and the numbers of all rows that are equal to each."""

    rows: NDArray[np.float32]  # [m, d]
    ids: NDArray[np.int64]
    groups: Groups

    @property
    def n(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, rows: NDArray[np.float32], ids: NDArray[np.int64]) -> _Cell:
        groups = find_groups(rows)
        return cls(rows if groups.n == len(rows) else rows[groups.first], ids, groups)


@dataclass(frozen=True)
class _Place:
    """All distinct rows at hand, cell after cell."""

    points: Points  # [l, d]
    start: dict[int, int]
    """Where a cell begins."""
    n: dict[int, int]
    """Distinct rows of a cell."""
    ids: NDArray[np.int64]  # [all rows], a distinct row's equals after one another, rising
    ids_start: NDArray[np.int64]  # [l + 1]
    product: Float32Product

    @classmethod
    def of(cls, loaded: dict[int, _Cell], asked: Search) -> _Place:
        rows = np.concatenate([cell.rows for cell in loaded.values()])  # [l, d]
        sizes = [cell.n for cell in loaded.values()]
        counts = np.concatenate([np.diff(cell.groups.start) for cell in loaded.values()])
        ids = np.concatenate([cell.ids[cell.groups.members] for cell in loaded.values()])
        starts = np.cumsum(sizes) - sizes
        points = Points(rows, asked.metric, asked.scale)
        return cls(
            points,
            dict(zip(loaded, starts.tolist(), strict=True)),
            dict(zip(loaded, sizes, strict=True)),
            ids,
            np.concatenate([[0], np.cumsum(counts)]),
            Float32Product.of(points),
        )

    def columns(self, cell: int) -> slice:
        """Where the rows of a cell are."""
        return slice(self.start[cell], self.start[cell] + self.n[cell])


def _candidates(
    place: _Place, near: NDArray[np.int32], home: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (query, local row) that can be among the k best of the query, queries rising.

    The query itself is one of its own candidates.
    """
    n = len(home)
    floor = np.full(n, -np.inf, np.float32)  # [q] no candidate is below
    slack = 2 * place.product.error[:n]  # queries come first in ``place``
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []

    def look(rows: NDArray[np.int64], cell: int) -> None:
        step = max(1, _VALUES // place.n[cell])
        right = place.product.prepare(place.columns(cell))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            width = place.n[cell]
            values = np.empty((len(part), width), np.float32)
            place.product.multiply(part, right, values)
            if width >= k and home[part[0]] == cell:  # all are at home, or none
                floor[part] = kth_largest(values, k) - slack[part]
            at = np.flatnonzero(values >= floor[part, None])
            row, column = np.divmod(at, width)
            found.append((part[row], column + place.start[cell], values.ravel()[at]))

    for cell in dict.fromkeys(home.tolist()):
        look(np.flatnonzero(home == cell), cell)
    other = near[:, 1:].ravel()
    order = np.argsort(other, kind="stable")
    visited, begins = np.unique(other[order], return_index=True)
    bounds = pairwise([*begins.tolist(), len(order)])
    for cell, (begin, end) in zip(visited.tolist(), bounds, strict=True):
        if place.n[cell]:
            look(order[begin:end] // (near.shape[1] - 1), cell)
    row, column, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order, table = _table(row, value, n)
    if table.shape[1] > k:
        least = kth_largest(table, k) - slack  # -inf where there are fewer than k
        order = order[value[order] >= least[row[order]]]
    return row[order], column[order]


def _table(
    row: NDArray[np.int64], value: NDArray[np.float32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Values by row: their order, and as a table [n, width] filled up with -inf."""
    narrow = row.astype(np.uint16) if n <= 1 << 16 else row  # 16 bits sort in linear time
    order = np.argsort(narrow, kind="stable")
    count = np.bincount(row, minlength=n)
    sorted_row = row[order]
    slot = np.arange(len(row)) - (np.cumsum(count) - count)[sorted_row]
    table = np.full((n, int(count.max(initial=1))), -np.inf, np.float32)
    table[sorted_row, slot] = value[order]
    return order, table


def _rank(
    place: _Place,
    home: NDArray[np.int64],
    query: NDArray[np.int64],
    column: NDArray[np.int64],
    k: int,
) -> Found:
    """Exact keys of the pairs; of every row, equal ones included, the k best but itself."""
    key = np.empty(len(query), np.float32)  # [p]
    step = max(16, _PAIRS * 512 // place.points.d)
    for start in range(0, len(query), step):
        part = slice(start, start + step)
        key[part] = place.points.key(query[part], column[part])
    size = np.diff(place.ids_start)  # [l] equal rows of a distinct one
    copies = np.minimum(size[column], k + 1)  # at most so many of equals can be among the best
    pair = np.repeat(np.arange(len(query)), copies)  # [p']
    offset = np.arange(len(pair)) - (np.cumsum(copies) - copies)[pair]
    ids = place.ids[place.ids_start[column[pair]] + offset]
    best = best_codes(query[pair], encode(key[pair], ids), len(home), k + 1)  # [q, k + 1]
    member = np.arange(place.ids_start[len(home)])  # rows at home here come first in ``ids``
    owner = np.repeat(np.arange(len(home)), size[: len(home)])  # [m]
    rows = place.ids[member]
    index, value = decode(best[owner])  # [m, k + 1]
    own = index == rows[:, None]
    own[:, -1] |= ~own.any(axis=1)  # whoever is not among its own best drops the last of them
    order = np.argsort(rows, kind="stable")
    shape = (len(rows), index.shape[1] - 1)
    index, value = index[~own].reshape(shape)[order], value[~own].reshape(shape)[order]
    return Found(rows[order], index, value)
