"""From a block of approximate values to certain neighbours: candidates first, then exact keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.duplicates import put_best
from simifeat.neighbors.points import Points

_PAIRS = 1024
"""Pairs gathered at once: two copies of 512 dimensions stay in a core's cache."""


def candidates(
    values: NDArray[Any], k: int, slack: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (row, column) of ``values`` [m, n] that can be among the k best of their row.

    A column is left out only if k others are better by more than ``slack`` [m], twice the
    largest error of a value. The k-th largest of disjoint group maxima is at most the k-th
    largest value, and far cheaper to find.
    """
    m, n = values.shape
    size = max(1, min(64, n // (8 * k)))
    width = n // size
    best = values[:, : size * width].reshape(m, size, width).max(axis=1)  # [m, width]
    lower = np.partition(best, width - k, axis=1)[:, width - k]  # [m]
    row, column = np.nonzero(values >= (lower - slack)[:, None])
    return row, column


def rank(
    points: Points,
    row: NDArray[Any],
    column: NDArray[Any],
    index: NDArray[np.int32],
    key: NDArray[np.float32],
    k: int,
) -> None:
    """Exact keys of the pairs, rows non-decreasing, and the k best of each row written."""
    value = np.empty(len(row), dtype=np.float32)  # [p]
    step = max(16, _PAIRS * 512 // points.d)
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        value[part] = points.key(row[part], column[part])
    put_best(index, key, row, column, value, k)
