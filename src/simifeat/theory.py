"""What the paper proves, as numbers: clusterability, Proposition 1, the choice of k, Theorem 2.

Clean labels are needed for the exact clusterability; the rest takes figures from anywhere.
``docs/theory.md`` says how far each bound can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.agreement import unanimous_share
from simifeat.dataset import Labels
from simifeat.errors import InputError
from simifeat.neighbors.base import Neighbors
from simifeat.rank_bound import RankBound, rank_f1_lower_bound
from simifeat.vote_bound import vote_lower_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KRecommendation",
    "RankBound",
    "clusterability",
    "clusterability_curve",
    "rank_f1_lower_bound",
    "recommend_k",
    "vote_lower_bound",
]


@dataclass(frozen=True)
class KRecommendation:
    """The k whose vote has the highest lower bound, and what it was compared with."""

    k: int
    ks: NDArray[np.int64]
    bounds: NDArray[np.float64]
    """Lower bound of P(vote is correct) at each of ``ks``."""


def clusterability(
    features_or_neighbors: ArrayLike | Neighbors, clean_labels: ArrayLike, k: int = 10
) -> float:
    """1 - delta_k of Definition 1: share of examples whose k nearest all have their true class.

    Takes features [n, d] (their neighbours are then searched, by cosine) or a neighbour graph of at
    least k columns. The example itself is not among its neighbours. Higher is better; delta_k is 1
    minus this.
    """
    if isinstance(features_or_neighbors, Neighbors):
        neighbors = features_or_neighbors
    else:
        from simifeat.neighbors import find_neighbors

        neighbors = find_neighbors(features_or_neighbors, k)
    return float(clusterability_curve(neighbors, clean_labels, [k])[0])


def clusterability_curve(
    neighbors: Neighbors, clean_labels: ArrayLike, ks: Sequence[int] | NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """1 - delta_k for each of ``ks`` (default 1 to the width of the graph), from one graph.

    Never rises with k. An example with fewer than k neighbours in the graph does not count as
    clusterable at k.
    """
    codes = Labels.encode(clean_labels).codes
    if codes.size != neighbors.n_examples:
        raise InputError(
            f"the graph has {neighbors.n_examples} rows but there are {codes.size} clean labels; "
            "give one for every example"
        )
    wanted = np.arange(1, neighbors.k + 1) if ks is None else np.asarray(ks)
    if wanted.size == 0 or wanted.min() < 1 or wanted.max() > neighbors.k:
        raise InputError(
            f"k must lie between 1 and {neighbors.k}, the width of the graph, got "
            f"{wanted.tolist()}; search more neighbours for a larger k"
        )
    return unanimous_share(codes, neighbors.index)[wanted - 1]


def recommend_k(
    clusterability: ArrayLike,
    noise_rate: float,
    *,
    ks: Sequence[int] | NDArray[Any] | None = None,
    n_classes: int = 2,
) -> KRecommendation:
    """The k with the highest bound of Proposition 1 (Remark 1); the smallest of equals.

    ``clusterability`` holds 1 - delta_k for ``ks``, by default for 1, 2, 3, ...; from clean labels
    or an estimate. Larger k averages more label noise away, but fewer neighbourhoods are pure.

    ``noise_rate`` is the share of corrupted labels, or the largest rate of any class to be on the
    safe side. ``n_classes`` as in :func:`vote_lower_bound`: the default suits the worst noise there
    can be, the true number of classes suits noise spread over them, and only that can advise at all
    when half of the labels or more are corrupted.

    The bound gives up every neighbourhood with a single foreign example, so it favours smaller k
    than what detects best.
    """
    shares = np.asarray(clusterability, dtype=np.float64)
    if shares.ndim != 1 or shares.size == 0 or not ((shares >= 0) & (shares <= 1)).all():
        raise InputError(
            "clusterability must be a list of shares in [0, 1], one for every k; "
            "clusterability_curve gives one"
        )
    candidates = np.arange(1, shares.size + 1) if ks is None else np.asarray(ks, dtype=np.int64)
    if candidates.shape != shares.shape:
        raise InputError(
            f"there are {candidates.size} ks but {shares.size} values of clusterability; "
            "give one for every k"
        )
    if noise_rate >= 1 - 1 / n_classes:
        raise InputError(
            f"no k helps at noise rate {noise_rate:g} with n_classes={n_classes}: wrong labels are "
            f"as frequent as right ones from {1 - 1 / n_classes:g} on; if the noise is spread over "
            "more classes, give their number as n_classes"
        )
    bounds = vote_lower_bound(candidates, noise_rate, 1 - shares, n_classes=n_classes)
    best = np.lexsort((candidates, -bounds))[0]
    return KRecommendation(k=int(candidates[best]), ks=candidates, bounds=bounds)
