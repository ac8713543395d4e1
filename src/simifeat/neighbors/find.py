"""``find_neighbors``: one call, whichever engine does the work."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.neighbors.base import Metric, Neighbors
from simifeat.neighbors.duplicates import distinct, find_groups, spread
from simifeat.neighbors.exact import search_exact
from simifeat.neighbors.parallel import Progress, usable_threads
from simifeat.neighbors.points import Points, make_points

Engine = Literal["auto", "exact", "fast", "approximate"]


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
    groups = find_groups(points.rows)
    unique = distinct(points, groups)
    used, reason = "exact", "exact search in numpy"
    if unique.n == 1:
        index, key = np.empty((1, 0), np.int32), np.empty((1, 0), np.float32)
    else:
        index, key = search_exact(unique, min(k, unique.n - 1), n_threads, progress)
    if unique.n < points.n:
        index, key = spread(index, key, points, groups, k)
    index, similarity = _order(index, key, points)
    return Neighbors(index, similarity, metric, used, reason, 1.0)


def _check(k: int, metric: str, engine: str) -> int:
    """Refuse what no engine could answer."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k must be a whole number of at least 1, got {k!r}")
    if metric not in ("cosine", "euclidean"):
        raise InputError(f"metric must be 'cosine' or 'euclidean', got {metric!r}")
    if engine not in ("auto", "exact", "fast", "approximate"):
        raise InputError(f"engine must be 'auto', 'exact', 'fast' or 'approximate', got {engine!r}")
    return int(k)


def _order(
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
