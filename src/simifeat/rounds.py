"""What the M rounds of Algorithm 1 are when the features stay the same.

In the paper a round sees every example under another random augmentation. With augmented features
at hand, each of them is a round. With one fixed set of features there is nothing to draw but
examples, and a round is one of these:

``voters``    a random share of the examples may vote; every example is judged by its k nearest
              among them. So the chance of which neighbours happen to be in the dataset is averaged
              out, as the chance of an augmentation would be, and every example is judged M times.
``balanced``  the Clothing1M rounds: 1,000 mini-batches of 32, an equal number of each given class;
              the examples drawn judge one another. A class is gone through in shuffled order, so
              rounds go on (beyond M if need be) until every example was drawn.
``none``      every round sees everything; rounds differ by random ties alone, and by the sample
              that the transition estimate draws.

Neighbours are searched once, more than k of them, and each round keeps the k nearest that take
part: nothing is ever searched twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Sampling = Literal["voters", "balanced", "none"]

MAX_SEARCHED = 512  # neighbours kept a row at most; beyond it a round may find fewer than k


@dataclass(frozen=True)
class Round:
    """Who takes part in a round; None stands for everybody."""

    judged: NDArray[np.int64] | None  # [m] rows that get a flag
    voters: NDArray[np.bool_] | None  # [n] rows whose label counts


def n_searched(k: int, share: float, n_examples: int) -> int:
    """Neighbours to search so that a row has k voters among them, but in 1 of 10,000 cases.

    Of s neighbours s * share vote on average, with a standard deviation of
    sqrt(s * share * (1 - share)); the smallest s with k at four of those below the average.
    """
    spread = 4 * math.sqrt(1 - share)
    root = (spread + math.sqrt(spread**2 + 4 * k)) / 2  # x = sqrt(s * share): x^2 - spread x = k
    wanted = math.ceil(root**2 / share - 1e-9)
    return max(1, min(wanted, max(k, MAX_SEARCHED), n_examples - 1))


def balanced_share(n_examples: int, batch_size: int, n_batches: int) -> float:
    """Share of the examples that a round of mini-batches holds."""
    return min(1.0, batch_size * n_batches / n_examples)


def rounds_of_everybody(n_rounds: int) -> Iterator[Round]:
    """``sampling="none"``."""
    for _ in range(n_rounds):
        yield Round(None, None)


def rounds_of_voters(
    n_examples: int, n_rounds: int, share: float, rng: np.random.Generator
) -> Iterator[Round]:
    """``sampling="voters"``: each example votes in a round with probability ``share``."""
    for _ in range(n_rounds):
        yield Round(None, rng.random(n_examples) < share)


def rounds_of_batches(
    labels: NDArray[np.int32],
    n_classes: int,
    n_rounds: int,
    batch_size: int,
    n_batches: int,
    rng: np.random.Generator,
) -> Iterator[Round]:
    """``sampling="balanced"``: at least ``n_rounds``, and until every example was drawn.

    Classes get equal places to within one, which classes get one more is drawn; a class with
    fewer examples than its places is in whole, once.
    """
    n = len(labels)
    members = [np.flatnonzero(labels == j) for j in range(n_classes)]
    queues = [rng.permutation(rows) for rows in members]
    position = np.zeros(n_classes, np.int64)
    seen = np.zeros(n, bool)
    places, left_over = divmod(batch_size * n_batches, n_classes)
    done = 0
    while done < n_rounds or not seen.all():
        drawn = []
        for turn, j in enumerate(rng.permutation(n_classes)):
            wanted = min(places + (turn < left_over), len(members[j]))
            tail = queues[j][position[j] : position[j] + wanted]
            position[j] += len(tail)
            if len(tail) < wanted:  # the class is through: shuffle it anew
                queues[j] = rng.permutation(members[j])
                position[j] = wanted - len(tail)
                tail = np.concatenate([tail, queues[j][: position[j]]])
            drawn.append(tail)
        judged = np.unique(np.concatenate(drawn))
        voters = np.zeros(n, bool)
        voters[judged] = True
        seen |= voters
        done += 1
        yield Round(judged, voters)


def nearest_voters(
    index: NDArray[np.int32],
    similarity: NDArray[np.float32],
    k: int,
    chosen: Round,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The first k neighbours of each judged row that vote: index and similarity, [m, k].

    ``index`` [n, s] is in order of falling similarity; places left over are -1, similarity 0.
    """
    if chosen.judged is not None:
        index, similarity = index[chosen.judged], similarity[chosen.judged]
    if chosen.voters is None:
        return index[:, :k], similarity[:, :k]
    votes = chosen.voters[index] & (index >= 0)  # [m, s]
    place = np.cumsum(votes, axis=1, dtype=np.int16)  # [m, s] how many voted up to here
    taken = np.arange(k) < place[:, -1:]  # [m, k] places that get a neighbour
    votes &= place <= k
    near = np.full((len(index), k), -1, np.int32)
    weight = np.zeros((len(index), k), np.float32)
    near[taken] = index[votes]  # row by row, nearest first, on both sides
    weight[taken] = similarity[votes]
    return near, weight
