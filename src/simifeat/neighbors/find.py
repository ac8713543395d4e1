"""``find_neighbors``: one call, whichever engine does the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.neighbors.approximate import describe, search_approximate
from simifeat.neighbors.base import Metric, Neighbors
from simifeat.neighbors.duplicates import distinct, find_groups, spread
from simifeat.neighbors.exact import search_exact
from simifeat.neighbors.fast import BFloat16Product, why_not
from simifeat.neighbors.parallel import Progress, usable_threads
from simifeat.neighbors.points import Points, make_points
from simifeat.neighbors.product import Float32Product, Product

Engine = Literal["auto", "exact", "fast", "approximate"]

APPROXIMATE_FROM = 250_000
"""Rows from which on "auto" leaves exact search, whose time grows with their square."""

_FEW = 4096
"""Below so many rows numpy is done before another library is loaded."""


def find_neighbors(
    features: Any,
    k: int,
    metric: Metric = "cosine",
    engine: Engine = "auto",
    *,
    n_threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Neighbors:
    """The k nearest neighbours of every row of ``features`` [n, d], itself excluded by index.

    The result has min(k, n - 1) columns. ``engine`` is "exact" (numpy), "fast" (the same result
    to the byte, sooner), "approximate" (for many rows; measures its own recall) or "auto". The
    result depends on features, k, metric, engine and seed, never on the number of threads.
    ``progress(done, total)`` is called in this thread, with rows done and all rows.
    """
    k = _check(k, metric, engine)
    points = make_points(features, metric)
    k = min(k, points.n - 1)
    n_threads = usable_threads(n_threads)
    if engine == "approximate" or (engine == "auto" and points.n >= APPROXIMATE_FROM):
        return _approximate(points, k, engine, n_threads, seed, progress)
    groups = find_groups(points.rows)
    unique = distinct(points, groups)
    found = _search(unique, min(k, unique.n - 1), engine, n_threads, progress)
    index, key = found.index, found.key
    if unique.n < points.n:
        index, key = spread(index, key, points, groups, k)
    index, similarity = in_order_of_similarity(index, key, points)
    return Neighbors(index, similarity, metric, found.engine, found.reason, 1.0)


@dataclass(frozen=True)
class _Found:
    """What an engine says of distinct points."""

    index: NDArray[np.int32]  # [n, k]
    key: NDArray[np.float32]  # [n, k]
    engine: str
    reason: str


def _search(
    points: Points, k: int, engine: Engine, n_threads: int, progress: Progress | None
) -> _Found:
    """The k nearest of distinct ``points`` by the engine asked for, or the one that suits."""
    if k == 0:
        nothing = np.empty((points.n, 0))
        reason = "all rows are equal, nothing to search"
        return _Found(nothing.astype(np.int32), nothing.astype(np.float32), "exact", reason)
    missing = why_not() if engine == "auto" else None
    product: Product
    if engine == "fast" or (engine == "auto" and missing is None and points.n >= _FEW):
        product = BFloat16Product.of(points)
        used = "fast"
        reason = "exact search, bfloat16 products by numkong and exact keys of the candidates"
    else:
        product = Float32Product.of(points)
        used, reason = "exact", "exact search in numpy"
        if points.n < _FEW and engine == "auto":
            reason += f": fewer than {_FEW:,} distinct rows"
        elif missing is not None:
            reason += f": {missing}"
    return _Found(*search_exact(points, product, k, n_threads, progress), used, reason)


def _approximate(
    points: Points, k: int, engine: str, n_threads: int, seed: int, progress: Progress | None
) -> Neighbors:
    """Search in cells, and say what came of it."""
    found = search_approximate(points, k, n_threads, seed, progress)
    index, similarity = in_order_of_similarity(found.index, found.key, points)
    why = "asked for" if engine == "approximate" else f"{points.n} rows are many"
    reason = describe(found.overlap, found.n_cells, found.recall, why)
    return Neighbors(index, similarity, points.metric, "approximate", reason, found.recall)


def _check(k: int, metric: str, engine: str) -> int:
    """Refuse what no engine could answer."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k must be a whole number of at least 1, got {k!r}")
    if metric not in ("cosine", "euclidean"):
        raise InputError(f"metric must be 'cosine' or 'euclidean', got {metric!r}")
    if engine not in ("auto", "exact", "fast", "approximate"):
        raise InputError(f"engine must be 'auto', 'exact', 'fast' or 'approximate', got {engine!r}")
    return int(k)


def in_order_of_similarity(
    index: NDArray[np.int32], key: NDArray[np.float32], points: Points
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Keys as similarities; where two distances round to one similarity the lower index leads."""
    similarity = points.similarity(key)  # [n, k]
    similarity[index < 0] = 0.0
    if points.metric == "euclidean":
        for row in np.flatnonzero((np.diff(similarity, axis=1) == 0).any(axis=1)):
            order = np.lexsort((index[row], index[row] < 0, -similarity[row]))
            index[row], similarity[row] = index[row][order], similarity[row][order]
    return index, similarity
