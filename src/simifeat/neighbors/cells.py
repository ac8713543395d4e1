"""Cells: a coarse partition of the rows around centroids, the same on every machine.

Rows are taken from their mean and rounded to whole numbers so small that every product with a
centroid is a whole number below 2^24. Float32 holds those exactly, so the order of a sum, the BLAS
and the number of threads cannot change which cell is nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CELL_SIZE = 800
"""Rows a cell on average; constant, so that the cost of a search is linear in the rows."""

SAMPLE_PER_CELL = 40
"""Rows a cell that the centroids are fitted to."""

_ITERATIONS = 6
_BLOCK = 1 << 20  # values [rows, cells] looked at once
_SPREAD = 0.9999  # share of the values that must be inside the whole numbers; the rest are clipped


def n_cells_for(n_examples: int, cell_size: int = CELL_SIZE) -> int:
    """Number of cells of ``n_examples`` rows."""
    return max(1, n_examples // cell_size)


@dataclass(frozen=True)
class Cells:
    """Centroids as whole numbers; cells with near numbers lie near each other."""

    mean: NDArray[np.float32]  # [d]
    scale: np.float32
    centroids: NDArray[np.float32]  # [c, d], whole numbers

    @property
    def n(self) -> int:
        """Number of cells."""
        return len(self.centroids)

    def nearest(self, rows: NDArray[np.float32], r: int) -> NDArray[np.int32]:
        """The ``r`` nearest cells of every row [m, r], nearest first, ties by the lower cell."""
        r = min(r, self.n)
        near = np.empty((len(rows), r), np.int32)
        squares = _squares(self.centroids)
        step = max(1, _BLOCK // self.n)
        for start in range(0, len(rows), step):
            whole = _whole(rows[start : start + step], self.mean, self.scale)
            near[start : start + step] = _nearest(whole, self.centroids, squares, r)
        return near


def fit_cells(sample: NDArray[np.float32], n_cells: int, rng: np.random.Generator) -> Cells:
    """Centroids of ``n_cells`` cells by k-means on ``sample`` [m, d], m of at least ``n_cells``."""
    mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)  # [d]
    spread = float(np.quantile(np.abs(sample[:4096] - mean), _SPREAD))
    scale = np.float32(_levels(sample.shape[1]) / spread) if spread > 0 else np.float32(1)
    whole = _whole(sample, mean, scale)  # [m, d]
    centroids = whole[np.sort(rng.choice(len(whole), n_cells, replace=False))]
    step = max(1, _BLOCK // n_cells)
    for _ in range(_ITERATIONS if n_cells > 1 else 0):
        squares = _squares(centroids)
        home = np.concatenate(
            [
                _nearest(whole[start : start + step], centroids, squares, 1)[:, 0]
                for start in range(0, len(whole), step)
            ]
        )
        count = np.bincount(home, minlength=n_cells)
        order = np.argsort(home, kind="stable")
        begin = (np.cumsum(count) - count)[count > 0]
        total = np.add.reduceat(whole[order], begin, axis=0, dtype=np.float64)  # exact
        centroids = centroids.copy()  # an empty cell stays where it is
        centroids[count > 0] = np.rint(total / count[count > 0, None])
    return Cells(mean, scale, centroids[_chain(centroids)])


def _levels(d: int) -> int:
    """Largest whole number whose square, d times, stays below 2^24."""
    return int(np.sqrt((1 << 24) / d)) if d < 1 << 24 else 1


def _whole(
    rows: NDArray[np.float32], mean: NDArray[np.float32], scale: np.float32
) -> NDArray[np.float32]:
    most = np.float32(_levels(rows.shape[1]))
    whole = rows - mean
    whole *= scale
    np.rint(whole, out=whole)
    return np.clip(whole, -most, most, out=whole)


def _squares(centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.einsum("cd,cd->c", centroids, centroids).astype(np.int64)  # [c] exact, below 2^24


def _nearest(
    whole: NDArray[np.float32],
    centroids: NDArray[np.float32],
    squares: NDArray[np.int64],
    r: int,
) -> NDArray[np.int32]:
    """Nearest cells [m, r]: the largest 2 x.c - |c|^2, made unique by the cell's number."""
    n = len(centroids)
    value = (whole @ centroids.T).astype(np.int64)  # [m, c]
    value *= 2 * n
    value += (n - 1 - np.arange(n)) - squares * n
    top = np.partition(value, n - r, axis=1)[:, n - r :]
    top.sort(axis=1)
    return (n - 1 - np.mod(top[:, ::-1], n)).astype(np.int32)


def _chain(centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """An order of the cells in which each is followed by the nearest one not yet there."""
    squares = _squares(centroids).astype(np.float64)
    left = np.ones(len(centroids), bool)
    order = np.empty(len(centroids), np.int64)
    here = 0
    for place in range(len(order)):
        order[place] = here
        left[here] = False
        value = 2.0 * (centroids @ centroids[here]) - squares
        value[~left] = -np.inf
        here = int(value.argmax())
    return order
