"""The approximate engine in memory: every row is searched exactly in its nearest cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.cell_search import Search, search_cells
from simifeat.neighbors.cells import CELL_SIZE, SAMPLE_PER_CELL, fit_cells, n_cells_for
from simifeat.neighbors.parallel import Progress, run
from simifeat.neighbors.points import Points
from simifeat.neighbors.recall import Truth, merge_codes, sample_rows, true_codes

ROWS_TOGETHER = 4096
"""Rows at home in the cells searched at once; changes time and memory, never the result."""

_BLOCK = 16384


@dataclass(frozen=True)
class Approximate:
    """What the engine found, and how."""

    index: NDArray[np.int32]  # [n, k]
    key: NDArray[np.float32]  # [n, k]
    recall: float
    overlap: int
    n_cells: int


def search_approximate(
    points: Points,
    k: int,
    n_threads: int,
    seed: int,
    progress: Progress | None = None,
    cell_size: int = CELL_SIZE,
) -> Approximate:
    """Nearly the k nearest of every point, k < n; exact where there is one cell alone."""
    n = points.n
    plan = Plan.draw(n, seed, cell_size)
    cells = fit_cells(points.rows[plan.sample], plan.n_cells, np.random.default_rng(plan.cell_seed))
    home = np.empty(n, np.int32)  # [n]

    def assign(start: int) -> int:
        part = slice(start, start + _BLOCK)
        home[part] = cells.nearest(points.rows[part], 1)[:, 0]
        return 0

    run(assign, range(0, n, _BLOCK), n_threads, None, n)
    store = _InMemory.of(points, home, cells.n)
    overlap, truth = 1, None
    if cells.n > 1:
        truth = _true_neighbors(points, plan.audited, k, n_threads)
        home_of_true = home[truth.codes & 0xFFFFFFFF]
        overlap = truth.choose_overlap(cells, points.rows[plan.audited], home_of_true)
    asked = Search(k, overlap, points.metric, points.scale)
    index = np.empty((n, k), np.int32)
    key = np.empty((n, k), np.float32)

    def work(homes: Sequence[int]) -> int:
        found = search_cells(cells, store, homes, asked)
        index[found.rows], key[found.rows] = found.index, found.key
        return len(found.rows)

    run(work, cell_groups(np.diff(store.start)), n_threads, progress, n)
    recall = 1.0 if truth is None else truth.recall(key[truth.rows], index[truth.rows])
    return Approximate(index, key, recall, overlap, cells.n)


def describe(overlap: int, n_cells: int, recall: float, why: str) -> str:
    """One line: what was searched and why."""
    return (
        f"search in the {overlap} nearest of {n_cells} cells ({why}); "
        f"recall {recall:.3f}, measured on a sample"
    )


@dataclass(frozen=True)
class Plan:
    """What chance decides, from the number of rows and the seed alone."""

    n_cells: int
    sample: NDArray[np.int64]  # rows that the centroids are fitted to, rising
    audited: NDArray[np.int64]  # rows whose true neighbours are searched, rising
    cell_seed: np.random.SeedSequence

    @classmethod
    def draw(cls, n: int, seed: int, cell_size: int = CELL_SIZE) -> Plan:
        """Draw the samples for ``n`` rows."""
        sampling, auditing, cell_seed = np.random.SeedSequence(seed).spawn(3)
        n_cells = n_cells_for(n, cell_size)
        size = min(n, SAMPLE_PER_CELL * n_cells)
        sample = np.sort(np.random.default_rng(sampling).choice(n, size, replace=False))
        return cls(n_cells, sample, sample_rows(n, np.random.default_rng(auditing)), cell_seed)


def cell_groups(
    sizes: NDArray[np.int64], rows_together: int = ROWS_TOGETHER
) -> list[tuple[int, ...]]:
    """Neighbouring cells searched together: about ``rows_together`` rows, no empty cell."""
    groups: list[tuple[int, ...]] = []
    group: list[int] = []
    rows = 0
    for cell in np.flatnonzero(sizes).tolist():
        group.append(cell)
        rows += int(sizes[cell])
        if rows >= rows_together:
            groups.append(tuple(group))
            group, rows = [], 0
    return [*groups, tuple(group)] if group else groups


def _true_neighbors(points: Points, rows: NDArray[np.int64], k: int, n_threads: int) -> Truth:
    queries = points.rows[rows]
    parts: list[NDArray[np.int64]] = []

    def work(start: int) -> int:
        part = Points(points.rows[start : start + _BLOCK], points.metric, points.scale)
        parts.append(true_codes(queries, rows, part, start, k))
        return 0

    run(work, range(0, points.n, _BLOCK), n_threads, None, points.n)
    best = parts[0]
    for other in parts[1:]:
        best = merge_codes(best, other)
    return Truth(rows, best)


@dataclass(frozen=True)
class _InMemory:
    """Rows of a cell, picked from all."""

    points: Points
    order: NDArray[np.int64]  # [n] rows by cell, rising inside a cell
    start: NDArray[np.int64]  # [c + 1]

    @classmethod
    def of(cls, points: Points, home: NDArray[np.int32], n_cells: int) -> _InMemory:
        count = np.bincount(home, minlength=n_cells)
        start = np.concatenate([[0], np.cumsum(count)])
        return cls(points, np.argsort(home, kind="stable"), start)

    def load(self, cell: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        rows = self.order[self.start[cell] : self.start[cell + 1]]
        return self.points.rows[rows], rows
