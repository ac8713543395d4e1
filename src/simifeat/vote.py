"""SimiFeat-V, voting-based local detection (Algorithm 1, lines 7 and 8).

y_n^vote = argmax_i y^_n[i], ties at random;    v_n = 1(y_n^vote != label_n)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simifeat.soft_labels import SoftLabels


def vote_winner(soft: SoftLabels, rng: np.random.Generator) -> NDArray[np.int32]:
    """y^vote [n]: the class with the largest mass, each of the tied ones equally likely.

    One random number a row, so that the draw of a row depends on nothing but its number.
    A row without any vote gets -1.
    """
    draws = rng.random(len(soft.classes))  # [n]
    best = soft.mass.max(axis=1, keepdims=True)  # [n, 1]
    first = np.ones_like(soft.classes, dtype=bool)  # [n, s], first slot of its class
    first[:, 1:] = soft.classes[:, 1:] != soft.classes[:, :-1]
    tied = first & (soft.mass == best) & (soft.classes >= 0)  # [n, s]
    n_tied = tied.sum(axis=1)  # [n]
    pick = (draws * n_tied).astype(np.int64)  # [n], the how manieth of the tied classes
    slot = (tied & (np.cumsum(tied, axis=1) == pick[:, None] + 1)).argmax(axis=1)  # [n]
    winner = np.take_along_axis(soft.classes, slot[:, None], axis=1)[:, 0]
    return np.where(n_tied > 0, winner, np.int32(-1))


def vote_flags(winner: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """v [n]: the vote disagrees with the given label; without a vote there is no disagreement."""
    return (winner != labels) & (winner >= 0)


def vote_margin(soft: SoftLabels, labels: NDArray[np.int32]) -> NDArray[np.float32]:
    """Mass of the given label less that of the strongest other class, as shares of all, [n].

    Positive where the vote agrees with the label, negative where it does not, 0 at a tie.
    """
    total = soft.weights.sum(axis=1, dtype=np.float32)  # [n]
    other = np.where(soft.classes != labels[:, None], soft.mass, np.float32(0)).max(axis=1)
    margin = soft.of(labels) - other
    return np.divide(margin, total, out=np.zeros_like(total), where=total > 0)
