"""Neighbours of a dataset that got more rows: only what the new rows change is searched.

The new rows are compared with all rows, and whoever of the old rows finds one of them nearer than
the last of its own neighbours takes it in. Candidates come from a matrix product with an error
bound and are ordered by exact keys, as in a full search, whose result this is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.base import Metric, Neighbors
from simifeat.neighbors.find import in_order_of_similarity
from simifeat.neighbors.points import Points, make_points
from simifeat.neighbors.product import Float32Product
from simifeat.neighbors.select import candidates, exact_keys, put_best

_BLOCK_ENTRIES = 1 << 24  # values of pairs held at once


def grow(
    neighbors: Neighbors, features: NDArray[Any], metric: Metric
) -> tuple[Neighbors, NDArray[np.int64]]:
    """Neighbours of all rows of ``features`` [n, d], and which old rows' neighbours changed.

    ``neighbors`` are those of the first rows, n_old of them, with k < n_old columns, by an exact
    engine. Time O((n - n_old) n d).
    """
    points = make_points(features, metric)
    n, n_old, k = points.n, neighbors.n_examples, neighbors.k
    product = Float32Product.of(points)
    index = np.concatenate([neighbors.index, np.full((n - n_old, k), -1, np.int32)])
    similarity = np.concatenate([neighbors.similarity, np.zeros((n - n_old, k), np.float32)])
    key = np.zeros((n - n_old, k), np.float32)
    bar = _bars(points, neighbors, product)  # [n_old]
    near_old: list[NDArray[np.int64]] = []  # pairs (old row, new row) that may change a list
    right = product.prepare(slice(0, n))
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(n_old, n, step):
        rows = np.arange(start, min(start + step, n))
        values = np.empty((len(rows), n), np.float32)
        product.multiply(rows, right, values)
        new, old = np.nonzero(values[:, :n_old] >= bar)
        near_old.append(np.stack([old, rows[new]]))
        values[np.arange(len(rows)), rows] = -np.inf
        row, column = candidates(values, k, 2 * product.error[rows])
        order = np.argsort(row, kind="stable")
        row, column = row[order], column[order]
        found = exact_keys(points, rows[row], column)
        put_best(index[n_old:], key, rows[row] - n_old, column, found, k)
    new_index, new_similarity = in_order_of_similarity(index[n_old:], key, points)
    index[n_old:], similarity[n_old:] = new_index, new_similarity
    old, new = np.concatenate(near_old, axis=1)
    touched = _merge(points, index, similarity, old, new)
    reason = f"{n - n_old:,} rows added to neighbours that were kept"
    return replace(neighbors, index=index, similarity=similarity, reason=reason), touched


def _bars(points: Points, neighbors: Neighbors, product: Float32Product) -> NDArray[np.float32]:
    """What a new row must reach to be among the neighbours of each old one, [n_old]."""
    n_old = neighbors.n_examples
    last = neighbors.index[:, -1]
    key = exact_keys(points, np.arange(n_old), np.maximum(last, 0))
    value = key * np.float32(product.per_key) - 2 * product.error[:n_old]
    return np.where(last >= 0, value, np.float32(-np.inf)).astype(np.float32)


def _merge(
    points: Points,
    index: NDArray[np.int32],
    similarity: NDArray[np.float32],
    old: NDArray[np.int64],
    new: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Put the pairs (old row, new row) into the lists, in place; the rows whose list changed."""
    rows = np.unique(old)
    k = index.shape[1]
    kept_row, kept_place = np.nonzero(index[rows] >= 0)
    row = np.concatenate([kept_row, np.searchsorted(rows, old)])
    column = np.concatenate([index[rows][kept_row, kept_place], new])
    order = np.argsort(row, kind="stable")
    row, column = row[order], column[order]
    merged = np.full((len(rows), k), -1, np.int32)
    key = np.zeros((len(rows), k), np.float32)
    put_best(merged, key, row, column, exact_keys(points, rows[row], column), k)
    merged, similar = in_order_of_similarity(merged, key, points)
    changed = (merged != index[rows]).any(axis=1)
    index[rows[changed]], similarity[rows[changed]] = merged[changed], similar[changed]
    return rows[changed]
