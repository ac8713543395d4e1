"""How many of the true neighbours a search in cells finds, known for a sample by exact search.

The sample is split: one half chooses how many cells are searched for a row, the other half says
what recall came of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.best import best_codes, decode, encode, kth_largest
from simifeat.neighbors.cells import Cells
from simifeat.neighbors.points import Points
from simifeat.neighbors.product import Float32Product

SAMPLE = 1024
"""Rows whose true neighbours are searched."""

TARGET = 0.96
"""Recall on the choosing half from which on no more cells are searched."""

MOST_CELLS = 96
"""Cells searched for a row at most; features without any structure would need them all."""

_BLOCK = 8192
_PAIRS = 1024


def sample_rows(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of the sample, rising."""
    return np.sort(rng.choice(n, min(SAMPLE, n), replace=False))


def true_codes(
    queries: NDArray[np.float32],
    query_ids: NDArray[np.int64],
    points: Points,
    first: int,
    k: int,
) -> NDArray[np.int64]:
    """The ``k`` best of ``points``, rows ``first`` onwards, for every query [q, k]; not itself.

    The result for several parts of the rows is the best of their results, see ``merge_codes``.
    """
    n_queries, best = len(queries), None
    for start in range(0, points.n, _BLOCK):
        stop = min(start + _BLOCK, points.n)
        both = Points(
            np.concatenate([queries, points.rows[start:stop]]), points.metric, points.scale
        )
        product = Float32Product.of(both)
        values = np.empty((n_queries, stop - start), np.float32)  # [q, b]
        product.multiply(slice(0, n_queries), product.prepare(slice(n_queries, None)), values)
        own = query_ids - first - start
        inside = np.flatnonzero((own >= 0) & (own < stop - start))
        values[inside, own[inside]] = -np.inf
        least = kth_largest(values, min(k, stop - start)) - 2 * product.error[:n_queries]
        row, column = np.nonzero((values >= least[:, None]) & (values > -np.inf))
        key = np.empty(len(row), np.float32)
        for begin in range(0, len(row), _PAIRS):
            part = slice(begin, begin + _PAIRS)
            key[part] = both.key(row[part], n_queries + column[part])
        here = best_codes(row, encode(key, column + first + start), n_queries, k)
        best = here if best is None else merge_codes(best, here)
    return np.empty((n_queries, k), np.int64) if best is None else best


def merge_codes(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best of two sets of neighbours [q, k]."""
    return np.sort(np.concatenate([one, other], axis=1), axis=1)[:, : one.shape[1]]


@dataclass(frozen=True)
class Truth:
    """True neighbours of the rows of a sample."""

    rows: NDArray[np.int64]  # [q], rising
    codes: NDArray[np.int64]  # [q, k]

    @property
    def _chooses(self) -> NDArray[np.bool_]:
        return np.arange(len(self.rows)) % 2 == 0

    def choose_overlap(
        self, cells: Cells, queries: NDArray[np.float32], home_of_true: NDArray[np.int32]
    ) -> int:
        """Fewest nearest cells that hold ``TARGET`` of the true neighbours of the choosing half.

        ``queries`` [q, d] are the sample's rows, ``home_of_true`` [q, k] the cells of their true
        neighbours.
        """
        near = cells.nearest(queries[self._chooses], MOST_CELLS)  # [q / 2, r]
        home = home_of_true[self._chooses]
        found = 0
        for overlap in range(near.shape[1]):
            found += int((home == near[:, overlap, None]).sum())
            if found >= TARGET * home.size:
                return overlap + 1
        return int(near.shape[1])

    def recall(self, key: NDArray[np.float32], index: NDArray[np.int32]) -> float:
        """Share of the true neighbours among those found for the other half, equal by their key.

        ``key`` and ``index`` [q, k] are what was found for the rows of the sample.
        """
        _, true = decode(self.codes)
        found = (key >= true[:, -1:]) & (index >= 0)  # [q, k]
        return float(found[~self._chooses].mean())
