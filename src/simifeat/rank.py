"""SimiFeat-R, ranking-based global detection (Algorithm 1, lines 10 to 16).

Score(y^_n, j) = y^_n[j] / ||y^_n||_2
v_n = 1(Loc(n, I) <= floor((1 - P(Y=j | label=j)) * N_j)),  I = argsort of the scores in N_j
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.soft_labels import SoftLabels

Cut = Literal["floor", "percentile"]


def cosine_score(soft: SoftLabels, labels: NDArray[np.int32]) -> NDArray[np.float32]:
    """Cosine between y^_n and the one-hot given label, [n] in [0, 1]; 0 without any vote."""
    norm = soft.norm()
    return np.divide(soft.of(labels), norm, out=np.zeros_like(norm), where=norm > 0)


def corruption_rates(
    posterior: NDArray[np.float64],
    *,
    clip: bool = False,
    jitter: float = 0.0,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """1 - P(Y=j | label=j) for each class j, [K], from ``posterior`` [K].

    ``clip`` and ``jitter`` are the official code's: U(-jitter, jitter) is added to each posterior,
    then a rate of 1 or more becomes .95 and one of 0 or less .05.
    """
    rates = 1 - posterior
    if jitter:
        rates = rates - rng.uniform(-jitter, jitter, len(rates))
    if clip:
        rates = np.where(rates >= 1, 0.95, np.where(rates <= 0, 0.05, rates))
    return np.clip(rates, 0, 1)


def rank_flags(
    score: NDArray[np.float32],
    labels: NDArray[np.int32],
    rates: NDArray[np.float64],
    rng: np.random.Generator,
    cut: Cut = "floor",
) -> NDArray[np.bool_]:
    """v [n]: the floor(rates[j] * N_j) lowest scores of each given class j.

    k-NN scores take few values, so most cuts fall inside a tie: the paper leaves the order there
    open, here it is random. ``cut="percentile"`` flags every score up to the rates[j] quantile
    and so all of the tie, as the official code does.
    """
    ties = rng.random(len(score))  # [n]
    order = np.lexsort((ties, score, labels))  # [n], by class, then by rising score
    counts = np.bincount(labels, minlength=len(rates))  # [K] = N_j
    starts = np.cumsum(counts) - counts  # [K]
    flags = np.zeros(len(score), bool)
    if cut == "floor":
        # a product such as .3 * 10 must not fall short of the integer it stands for
        n_flagged = np.floor(rates * counts + 1e-9).astype(np.int64)  # [K]
        place = np.arange(len(score)) - starts[labels[order]]  # [n], Loc(n, I) - 1
        flags[order] = place < n_flagged[labels[order]]
        return flags
    for j in np.flatnonzero(counts):
        members = order[starts[j] : starts[j] + counts[j]]
        flags[members] = score[members] <= np.percentile(score[members], 100 * rates[j])
    return flags
