"""Exact search in plain numpy: float32 products in blocks, then exact keys of the candidates.

A block's product is only trusted up to its rounding error. Every column that the error leaves in
question is a candidate, and candidates are ordered by ``Points.key``. So the result does not
depend on the block size, the BLAS or the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.parallel import Progress, run
from simifeat.neighbors.points import Points
from simifeat.neighbors.select import candidates, rank

_VALUES = 2**24
"""Values of a block's product: 64 MiB a thread."""

_CHOSEN = 2**21
"""Values looked through at once; bounds memory where nearly all columns are candidates."""

_UNIT = 2.0**-24
"""Unit roundoff of float32."""


def search_exact(
    points: Points,
    k: int,
    n_threads: int,
    progress: Progress | None = None,
    block_values: int = _VALUES,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k nearest of every point: index and key, [n, k] each, k < n."""
    n = points.n
    index = np.full((n, k), -1, dtype=np.int32)  # [n, k]
    key = np.zeros((n, k), dtype=np.float32)  # [n, k]
    shift = Shift.of(points)
    size = max(1, min(1024, block_values // n))
    part = max(1, _CHOSEN // n)

    def work(start: int) -> int:
        stop = min(start + size, n)
        values = shift.products(points, start, stop)  # [block, n]
        values[np.arange(stop - start), np.arange(start, stop)] = -np.inf  # never one's own
        for top in range(start, stop, part):
            rows = slice(top - start, min(top + part, stop) - start)
            row, column = candidates(values[rows], k, 2.0 * shift.error[start:stop][rows])
            rank(points, row + top, column, index, key, k)
        return stop - start

    run(work, range(0, n, size), n_threads, progress, n)
    return index, key


@dataclass(frozen=True)
class Shift:
    """Turns the order by key into the order by a product plus a term of the column.

    Cosine: the product is the key. Euclidean, with rows a, b taken from the mean:
    -|a - b|^2 / 2 = a.b - |b|^2 / 2 - |a|^2 / 2, where the last term is the row's own constant.
    """

    mean: NDArray[np.float32] | None  # [d]
    half: NDArray[np.float32] | None  # [n] |b|^2 / 2
    error: NDArray[np.float32]  # [n] largest error of a value in the row, the key's own included

    @classmethod
    def of(cls, points: Points) -> Shift:
        """Mean, column term and error bound of ``points``."""
        n, d = points.n, points.d
        bound = (d + 16) * _UNIT  # of a sum of d products of float32, in any order
        if points.metric == "cosine":
            return cls(None, None, np.full(n, 2.0 * bound * 1.001, dtype=np.float32))
        mean = points.rows.mean(axis=0, dtype=np.float64).astype(np.float32)  # [d]
        square = np.empty(n)  # [n]
        for start in range(0, n, 4096):
            block = (points.rows[start : start + 4096] - mean).astype(np.float64)
            square[start : start + 4096] = np.einsum("nd,nd->n", block, block)
        reach = np.sqrt(square) + np.sqrt(square.max())  # [n] no pair is farther apart
        error = (2.0 * bound * reach**2).astype(np.float32)
        return cls(mean, (square / 2.0).astype(np.float32), error)

    def products(self, points: Points, start: int, stop: int) -> NDArray[np.float32]:
        """Approximate values of the rows start..stop against all points."""
        if self.mean is None or self.half is None:
            return points.rows[start:stop] @ points.rows.T  # [block, n]
        values = np.empty((stop - start, points.n), dtype=np.float32)  # [block, n]
        rows = points.rows[start:stop] - self.mean  # [block, d]
        for begin in range(0, points.n, 4096):
            to = slice(begin, begin + 4096)
            values[:, to] = rows @ (points.rows[to] - self.mean).T
            values[:, to] -= self.half[to]
        return values
