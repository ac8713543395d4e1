"""What the true class of an example may be: a few classes with their probabilities.

Vote and rank only flag. What their neighbours say of the true class follows from T and p by

    R[l, i] = P(Y=i | label=l) = p_i T[i, l] / P(label=l)
    M_n(i)  = mean of R[label of a, i] over the neighbours a of n
    Q_n(i)  = M_n(i) T[i, label_n] / sum_j M_n(j) T[j, label_n]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from simifeat.soft_labels import SoftLabels, add_up

if TYPE_CHECKING:
    from simifeat.transition import Transition

_BLOCK_ENTRIES = 1 << 22  # entries of a [rows, slots, slots] table held at once


@dataclass(frozen=True)
class Beliefs:
    """The most probable true classes of every example; what is left to 1 lies on other classes.

    ``classes`` [n, s] and ``probability`` [n, s]; an empty slot has class -1 and probability 0.
    """

    classes: NDArray[np.int32]  # [n, s]
    probability: NDArray[np.float32]  # [n, s]

    def of(self, labels: NDArray[np.int32]) -> NDArray[np.float32]:
        """Q_n(labels[n]) [n]."""
        own = self.classes == labels[:, None]  # [n, s]
        mass: NDArray[np.float32] = np.where(own, self.probability, 0).sum(axis=1, dtype=np.float32)
        return mass

    def best_other(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """The most probable class but ``labels[n]`` [n], the lower of equals; -1 where none is."""
        other = (self.classes != labels[:, None]) & (self.classes >= 0)  # [n, s]
        worth = np.where(other, self.probability, np.float32(-1))
        best = worth.max(axis=1, keepdims=True)  # [n, 1]
        tied = np.where(other & (worth == best), self.classes, np.iinfo(np.int32).max)
        return np.where(other.any(axis=1), tied.min(axis=1), -1).astype(np.int32)

    def counts(
        self, labels: NDArray[np.int32], otherwise: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """T [K, K] and p [K] that the beliefs about all examples amount to.

        A class that nobody believes in keeps its row of ``otherwise`` [K, K].
        """
        k = len(otherwise)
        joint = np.maximum(self.classes, 0).astype(np.int64) * k + labels[:, None]
        table = np.bincount(joint.ravel(), self.probability.ravel(), k * k).reshape(k, k)
        mass = table.sum(axis=1, keepdims=True)  # [K, 1]
        matrix = np.divide(table, mass, out=otherwise.astype(np.float64), where=mass > 0)
        return matrix, mass[:, 0] / max(mass.sum(), 1e-300)

    def plus(self, other: Beliefs) -> Beliefs:
        """Sum of two beliefs about the same examples, as many classes as the wider of them.

        Sums are no probabilities until they are divided by the number of beliefs in them.
        """
        classes = np.concatenate([self.classes, other.classes], axis=1)  # [n, s + s']
        mass = np.concatenate([self.probability, other.probability], axis=1)
        order = np.argsort(classes, axis=1, kind="stable")
        classes = np.take_along_axis(classes, order, axis=1)
        total = add_up(classes, np.take_along_axis(mass, order, axis=1))
        total[:, 1:][classes[:, 1:] == classes[:, :-1]] = -1  # the first slot of a class stands
        width = max(self.classes.shape[1], other.classes.shape[1])
        top = np.argsort(-total, axis=1, kind="stable")[:, :width]
        total = np.take_along_axis(total, top, axis=1)
        return Beliefs(
            np.where(total >= 0, np.take_along_axis(classes, top, axis=1), np.int32(-1)),
            np.maximum(total, 0),
        )


def beliefs_of_votes(
    soft: SoftLabels, labels: NDArray[np.int32], transition: Transition
) -> Beliefs:
    """Q_n of the classes that voted and of the own label; without votes p and T alone decide.

    ``labels`` [n] are the given ones.
    """
    matrix, prior = transition.matrix, transition.prior
    joint = prior[:, None] * matrix  # [K, K], P(Y=i, label=l)
    reverse = (joint / np.maximum(joint.sum(axis=0), 1e-300)).T.astype(np.float32)  # [l, i] = R
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums on any number of cores
        total = reverse @ matrix.astype(np.float32)  # [l, label]
    n, slots = soft.classes.shape
    voted = soft.classes >= 0
    lead = voted.copy()  # [n, s], the first slot of a class that is not the own label
    lead[:, 1:] &= soft.classes[:, 1:] != soft.classes[:, :-1]
    lead &= soft.classes != labels[:, None]
    classes = np.concatenate([labels[:, None], np.where(lead, soft.classes, -1)], axis=1)
    probability = np.zeros(classes.shape, np.float32)  # [n, 1 + s]
    likelihood = matrix.astype(np.float32)
    block = max(1, _BLOCK_ENTRIES // (slots * (slots + 1)))
    for start in range(0, n, block):
        part = slice(start, start + block)
        votes, weight = soft.classes[part], soft.weights[part] * voted[part]  # [b, s]
        table = reverse[votes[:, :, None], classes[part, None, :]]  # [b, s, 1 + s]
        mean = np.einsum("bs,bsc->bc", weight, table)  # [b, 1 + s], M_n but for a factor
        numerator = mean * likelihood[classes[part], labels[part, None]]
        norm = np.einsum("bs,bs->b", weight, total[votes, labels[part, None]])  # [b]
        probability[part] = numerator / np.maximum(norm, 1e-30)[:, None]
    alone = ~(soft.weights > 0).any(axis=1)  # [n]
    probability[alone, 0] = transition.posterior[labels[alone]]
    probability[classes < 0] = 0
    return Beliefs(classes, np.minimum(probability, 1))
