"""The neighbours of a few examples, for people to look at: one pass over the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.neighbors.base import Metric
from simifeat.neighbors.select import put_best

_BLOCK_BYTES = 1 << 26  # features looked at in one go


@dataclass(frozen=True)
class Nearest:
    """Neighbours of m examples, nearest first; index -1 where there are fewer than k."""

    index: NDArray[np.int32]  # [m, k]
    similarity: NDArray[np.float32]  # [m, k], as in Neighbors


def nearest_of(
    features: ArrayLike, rows: NDArray[np.integer], k: int = 6, metric: Metric = "cosine"
) -> Nearest:
    """The ``k`` nearest of each of ``rows`` [m] among all ``features`` [n, d], itself left out.

    Memory O(m k) beside a block of the features, so they may be a memory map.
    """
    table = np.asanyarray(features)
    asked = _prepared(table[rows], metric)  # [m, d]
    index = np.full((len(rows), k), -1, np.int32)
    key = np.full((len(rows), k), -np.inf, np.float32)
    step = max(1, _BLOCK_BYTES // (4 * max(1, table.shape[1])))
    for start in range(0, len(table), step):
        block = _prepared(table[start : start + step], metric)  # [b, d]
        keys = asked @ block.T  # [m, b]
        if metric == "euclidean":  # -|a - b|^2 up to rounding
            keys = 2 * keys - (asked**2).sum(axis=1)[:, None] - (block**2).sum(axis=1)
        own = np.flatnonzero((rows >= start) & (rows < start + len(block)))
        keys[own, rows[own] - start] = -np.inf
        wide = min(k, keys.shape[1])
        best = np.argpartition(-keys, wide - 1, axis=1)[:, :wide]  # [m, wide]
        found = np.concatenate([key, np.take_along_axis(keys, best, axis=1)], axis=1)
        place = np.concatenate([index, (best + start).astype(np.int32)], axis=1)
        row = np.repeat(np.arange(len(rows)), found.shape[1])
        kept = np.isfinite(found.ravel())
        put_best(index, key, row[kept], place.ravel()[kept], found.ravel()[kept], k)
    similarity = key if metric == "cosine" else 1 / (1 + np.sqrt(np.maximum(-key, 0)))
    return Nearest(index, np.where(index >= 0, similarity, 0).astype(np.float32))


def _prepared(block: NDArray[np.generic], metric: Metric) -> NDArray[np.float32]:
    """Float32 rows, of length 1 for the cosine."""
    rows = np.asarray(block, np.float32)
    if metric == "euclidean":
        return rows
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
