"""T from every example's own label, given what its neighbours believe of its true class.

    P(label_n = a) = sum_i M_n(i) T[i, a]

Neighbours of another class are in M, so they are not counted as label noise; the model of triples
(``simifeat.latent_class``) has no room for them. T maximises the likelihood of the labels, by EM:

    Q_n(i) ~ M_n(i) T[i, label_n],   T[i, a] ~ sum of Q_n(i) over n with label a

with a weak prior that keeps small classes sane. Only pairs (class, label) that meet are held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs

Array = NDArray[np.float64]

Rows = slice | NDArray[np.int64]
"""Examples by number."""

ALL = slice(None)
_TINY = 1e-300


class Fit(NamedTuple):
    """T on the pairs that meet, and how probable each class of an example is."""

    values: Array  # [u], T[class, label] of each pair
    by_class: Array  # [K], examples of each class
    belief: Array  # [n, s], Q on the slots of M


class OwnLabels:
    """The terms M_n(i) T[i, label_n] of n examples with s classes each."""

    def __init__(
        self,
        labels: NDArray[np.int32],
        around: Beliefs,
        centre: tuple[float, Array],
        pseudo_count: float,
    ) -> None:
        """``labels`` [n], ``around`` M [n, s].

        ``centre`` (kept, f) is the mean of the prior of T, kept I + (1 - kept) 1 f', worth
        ``pseudo_count`` labels a class.
        """
        self.n_classes = len(centre[1])
        self.around = around.probability.astype(np.float64)  # [n, s]
        keys = np.maximum(around.classes, 0).astype(np.int64) * self.n_classes + labels[:, None]
        pairs, where = np.unique(keys, return_inverse=True)
        self.where = where.reshape(keys.shape).astype(np.int32)  # [n, s], the pair of a term
        self.rows, self.columns = pairs // self.n_classes, pairs % self.n_classes  # [u] each
        kept, frequency = centre
        self._prior = pseudo_count * (1 - kept) * frequency[self.columns]
        self._prior[self.rows == self.columns] += pseudo_count * kept
        self._pseudo_count = pseudo_count
        self._centre = centre

    def of_dense(self, matrix: Array) -> Array:
        """T [K, K] on the pairs, [u]."""
        return np.asarray(matrix[self.rows, self.columns], np.float64)

    def expect(self, values: Array, rows: Rows = ALL) -> Array:
        """Q [m, s] of the examples ``rows`` under T = ``values``."""
        belief: Array = self.around[rows] * values[self.where[rows]]
        belief /= np.maximum(belief.sum(axis=1, keepdims=True), _TINY)
        return belief

    def count(self, belief: Array, rows: Rows = ALL) -> Array:
        """Sum of Q [m, s] of the examples ``rows`` by pair, [u]."""
        where = self.where[rows].ravel()
        counts: Any = np.bincount(where, weights=belief.ravel(), minlength=len(self.rows))
        return counts

    def maximise(self, counts: Array) -> tuple[Array, Array]:
        """T on the pairs and the examples of each class [K] from the ``counts`` of pairs."""
        by_class: Any = np.bincount(self.rows, weights=counts, minlength=self.n_classes)
        total = by_class + self._pseudo_count
        return (counts + self._prior) / np.maximum(total[self.rows], _TINY), by_class

    def fit(self, start: Array, max_steps: int, tolerance: float) -> Fit:
        """EM from T = ``start`` [u] until no entry moves by more than ``tolerance``."""
        values = start
        for _ in range(max_steps):
            last = values
            values, by_class = self.maximise(self.count(self.expect(values)))
            if np.abs(values - last).max(initial=0.0) < tolerance:
                break
        return Fit(values, by_class, self.expect(values))

    def dense(self, fit: Fit) -> Array:
        """T [K, K]; pairs that never met have what the prior gives them."""
        kept, frequency = self._centre
        share = self._pseudo_count / np.maximum(fit.by_class + self._pseudo_count, _TINY)  # [K]
        matrix = np.outer(share * (1 - kept), frequency)
        matrix[np.diag_indices(self.n_classes)] += share * kept
        matrix[self.rows, self.columns] = fit.values
        return matrix / matrix.sum(axis=1, keepdims=True)

    def confusion(self, belief: Array, classes: NDArray[np.int32]) -> scipy.sparse.csr_array:
        """sum_n Q_n(i) M_n(j) [K, K]: what examples of class i look like to their neighbours."""
        n, s = belief.shape
        bounds, columns = np.arange(0, n * s + 1, s), np.maximum(classes, 0).ravel()
        shape = (n, self.n_classes)
        mine = scipy.sparse.csr_array((belief.ravel(), columns, bounds), shape=shape)
        theirs = scipy.sparse.csr_array((self.around.ravel(), columns, bounds), shape=shape)
        return (mine.T @ theirs).tocsr()
