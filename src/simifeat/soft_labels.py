"""k-NN labels: the label distribution among the neighbours of every example (Algorithm 1, line 5).

The vector y^_n of the paper has K entries of which at most k are not zero, so it is kept as k
slots: nothing here grows with the number of classes, which may be thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Center = Literal["exclude", "extra", "within_k"]
CenterWeight = Literal["one", "extrapolate"]
Weights = Literal["uniform", "similarity"]


@dataclass(frozen=True)
class SoftLabels:
    """y^_n of every example n, in slots.

    Slot a of row n holds a class that voted there and the summed weight of that class, so a class
    with three votes fills three slots with the same mass: y^_n[classes[n, a]] = mass[n, a].
    Slots are in rising order of class; an empty slot has class -1 and mass 0.
    """

    classes: NDArray[np.int32]  # [n, s]
    weights: NDArray[np.float32]  # [n, s], the weight of the single vote
    mass: NDArray[np.float32]  # [n, s], the summed weight of the slot's class

    def of(self, labels: NDArray[np.int32]) -> NDArray[np.float32]:
        """y^_n[labels[n]] [n]."""
        own = self.classes == labels[:, None]  # [n, s]
        return np.where(own, self.weights, np.float32(0)).sum(axis=1, dtype=np.float32)

    def norm(self) -> NDArray[np.float32]:
        """||y^_n||_2 [n]: sum over classes of mass^2 = sum over votes of weight * mass."""
        squared = (self.weights * self.mass).sum(axis=1, dtype=np.float32)  # [n]
        return np.sqrt(np.maximum(squared, 0))

    def dense(self, n_classes: int) -> NDArray[np.float32]:
        """The vectors of the paper, [n, K], for a look at a few rows; costs n * K."""
        n, slots = self.classes.shape
        table = np.zeros((n, n_classes), np.float32)
        voted = self.classes >= 0  # [n, s]
        rows = np.broadcast_to(np.arange(n)[:, None], (n, slots))
        np.add.at(table, (rows[voted], self.classes[voted]), self.weights[voted])
        return table


def soft_labels(
    labels: NDArray[np.int32],
    index: NDArray[np.int32],
    similarity: NDArray[np.float32],
    *,
    rows: NDArray[np.int64] | None = None,
    weights: Weights = "uniform",
    center: Center = "exclude",
    center_weight: CenterWeight = "one",
) -> SoftLabels:
    """Count the labels of the neighbours ``index`` [m, k] of the examples ``rows`` [m].

    ``labels`` [n] are codes; ``index`` -1 casts no vote. ``rows`` defaults to all examples.
    ``weights="similarity"`` weighs a vote by its similarity, a negative one by nothing.
    ``center="extra"`` lets an example vote for itself beside its k neighbours, ``"within_k"``
    in place of the k-th. Its weight is 1, or with ``center_weight="extrapolate"`` that of a
    distance 2 d_1 - d_2 continued inwards from the two nearest (distance = 1 - similarity).
    """
    if center == "within_k":
        index, similarity = index[:, :-1], similarity[:, :-1]
    voted = index >= 0  # [m, k]
    votes = np.where(voted, labels[index], np.int32(-1))  # [m, k]
    if center != "exclude":
        own = labels if rows is None else labels[rows]  # [m]
        votes = np.concatenate([own[:, None], votes], axis=1)
    if weights == "uniform":  # every vote weighs the same, so only the classes need sorting
        votes.sort(axis=1)
        weight = (votes >= 0).astype(np.float32)
        return SoftLabels(votes, weight, add_up(votes, weight))
    weight = np.where(voted, np.maximum(similarity, 0), np.float32(0))  # [m, k]
    if center != "exclude":
        own_weight = _center_weight(similarity, voted, center_weight)  # [m]
        weight = np.concatenate([own_weight[:, None], weight], axis=1)
    order = np.argsort(votes, axis=1, kind="stable")
    votes = np.take_along_axis(votes, order, axis=1)
    weight = np.take_along_axis(weight, order, axis=1)
    return SoftLabels(votes, weight, add_up(votes, weight))


def _center_weight(
    similarity: NDArray[np.float32], voted: NDArray[np.bool_], center_weight: CenterWeight
) -> NDArray[np.float32]:
    """Weight of the vote an example casts for itself, [m]."""
    m, k = similarity.shape
    if center_weight == "one" or k < 2:
        return np.ones(m, np.float32)
    # distance 2 d_1 - d_2 is similarity 2 s_1 - s_2
    extrapolated = np.maximum(2 * similarity[:, 0] - similarity[:, 1], 0)
    return np.where(voted[:, 1], extrapolated, np.float32(1))


def add_up(classes: NDArray[np.int32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weight summed over the slots of the same class, [m, s]; 0 in empty slots (class -1).

    Slots of a row are in order of class, so those of a class are side by side.
    """
    if not classes.size:
        return np.zeros(classes.shape, np.float32)
    begins = np.ones(classes.shape, bool)  # [m, s], the first slot of a class
    begins[:, 1:] = classes[:, 1:] != classes[:, :-1]
    start = np.flatnonzero(begins)
    total = np.add.reduceat(weight.ravel(), start)  # of each run of slots
    length = np.diff(start, append=classes.size)
    mass = np.repeat(total, length).reshape(classes.shape)
    mass[classes < 0] = 0
    return mass
