"""From approximate values to certain neighbours: bars, candidates, exact keys, the k best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.points import Points

_PAIRS = 1024
"""Pairs gathered at once: two copies of 512 dimensions stay in a core's cache."""


def first_bar(
    values: NDArray[np.float32], k: int, slack: NDArray[np.float32]
) -> NDArray[np.float32]:
    """What the k best of every row of ``values`` [m, n] reach for sure; [m].

    A column is left out only if k others are better by more than ``slack`` [m], twice the
    largest error of a value. The k-th largest of disjoint group maxima is at most the k-th
    largest value, and far cheaper to find.
    """
    m, n = values.shape
    if n < k:
        return np.full(m, -np.inf, np.float32)
    size = max(1, min(64, n // (8 * k)))
    width = n // size
    best = values[:, : size * width].reshape(m, size, width).max(axis=1)  # [m, width]
    best.partition(width - k, axis=1)
    return best[:, width - k] - slack


def candidates(
    values: NDArray[np.float32], k: int, slack: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (row, column) of ``values`` [m, n] that can be among the k best of their row."""
    at = np.flatnonzero(values >= first_bar(values, k, slack)[:, None])
    return np.divmod(at, values.shape[1])


def exact_keys(points: Points, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.float32]:
    """Keys of the pairs (i[p], j[p]), a cache's worth at a time."""
    key = np.empty(len(i), dtype=np.float32)  # [p]
    step = max(16, _PAIRS * 512 // points.d)
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        key[part] = points.key(i[part], j[part])
    return key


def put_best(
    index: NDArray[np.int32],
    key: NDArray[np.float32],
    row: NDArray[Any],
    column: NDArray[Any],
    value: NDArray[np.float32],
    k: int,
) -> None:
    """Write the k best candidates of every row: value falling, ties by the lower column.

    ``row`` must be non-decreasing; rows without candidates stay untouched.
    """
    if not len(row):
        return
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    begins = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
    rank = np.arange(len(row)) - np.repeat(begins, np.diff(np.append(begins, len(row))))
    keep = rank < k
    index[row[keep], rank[keep]] = column[keep]
    key[row[keep], rank[keep]] = value[keep]
