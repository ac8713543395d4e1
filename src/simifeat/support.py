"""Which entries of T are estimated one by one, and which follow a common background.

    T[i, a] = values on the support, else  rest_i g_a / sum of g over what row i leaves open

The support holds the diagonal and the pairs of classes seen together clearly more, or less, often
than a background alone explains. With few classes and many rows that is every pair; with many
classes most flips are never seen, and a row of T is then a few numbers instead of K. That is what
keeps T sane where a class has far fewer examples than there are classes, and what makes 10,000 of
them possible: the work grows with the support, not with K^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc

from simifeat.consensus import Triples

Array = NDArray[np.float64]

_MAX_P_VALUE = 0.02  # of a pair that leaves the background, and with many classes 1 / (2 K)
_DISPERSION = 2.0  # the pairs of a triple share labels, and mutual neighbours count twice
_ALL_PAIRS = 1 << 20  # up to so many pairs, those never seen are looked at too
_EMPTY = 1e-12


class Model(NamedTuple):
    """T and p in few numbers; the rows of T are (values on the support, rest)."""

    values: Array  # [s], T on the support
    rest: Array  # [K], what each row leaves to the background
    background: Array  # [K], g, sums to 1
    prior: Array  # [K], p


@dataclass(frozen=True)
class Support:
    """Places of T that are estimated one by one, sorted by row, then column."""

    rows: NDArray[np.int64]  # [s], true classes
    columns: NDArray[np.int64]  # [s], labels
    n_classes: int

    @classmethod
    def of_pairs(cls, first: NDArray[np.int64], second: NDArray[np.int64], k: int) -> Support:
        """The diagonal and the pairs of classes given, in both directions."""
        every = np.arange(k, dtype=np.int64)
        keys = np.unique(np.concatenate([every * (k + 1), first * k + second, second * k + first]))
        return cls(keys // k, keys % k, k)

    @property
    def diagonal(self) -> NDArray[np.int64]:
        """Where in the support T[i, i] stands, [K]."""
        return np.flatnonzero(self.rows == self.columns)

    def by_row(self, values: Array) -> Array:
        """Sum over each row, [K]."""
        weighted: Any = np.bincount(self.rows, weights=values, minlength=self.n_classes)
        return weighted

    def by_column(self, values: Array) -> Array:
        """Sum over each column, [K]."""
        weighted: Any = np.bincount(self.columns, weights=values, minlength=self.n_classes)
        return weighted

    def spread(self, model: Model) -> Array:
        """w [K] with T[i, a] = w_i g_a off the support."""
        g = model.background
        open_share = g.sum() - self.by_row(g[self.columns])  # [K]
        open_ = open_share > _EMPTY
        return np.divide(model.rest, open_share, out=np.zeros_like(g), where=open_)

    def open_rest(self, model: Model) -> Model:
        """Rows that leave nothing open have no rest; their values sum to 1."""
        g = model.background
        rest = np.where(g.sum() - self.by_row(g[self.columns]) > _EMPTY, model.rest, 0.0)
        total = self.by_row(model.values) + rest
        return model._replace(values=model.values / total[self.rows], rest=rest / total)

    def dense(self, model: Model) -> Array:
        """T [K, K]."""
        matrix = np.outer(self.spread(model), model.background)
        matrix[self.rows, self.columns] = model.values
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix

    def of_dense(self, matrix: Array, prior: Array, background: Array) -> Model:
        """What comes closest to a given T and p."""
        values = np.asarray(matrix[self.rows, self.columns], dtype=np.float64)
        rest = np.maximum(1.0 - self.by_row(values), 0.0)
        return self.open_rest(Model(values, rest, background, np.asarray(prior, np.float64)))


class PairCounts(NamedTuple):
    """How often two different labels stand in one triple."""

    first: NDArray[np.int64]  # [m]
    second: NDArray[np.int64]  # [m], above ``first``
    counts: Array  # [m], of the three pairs of every triple
    n_pairs: int
    """All pairs, equal labels included."""


def count_pairs(triples: Triples) -> PairCounts:
    """The pairs of different labels that occur; with few classes all there could be."""
    k = triples.n_classes
    labels = np.sort(triples.labels, axis=1).astype(np.int64)
    keys = np.concatenate([labels[:, u] * k + labels[:, v] for u, v in ((0, 1), (0, 2), (1, 2))])
    weights = np.tile(triples.counts, 3)
    if k * k <= _ALL_PAIRS:
        first, second = np.triu_indices(k, 1)
        counts = np.bincount(keys, weights=weights, minlength=k * k)[first * k + second]
    else:
        distinct, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, weights=weights)
        first, second = distinct // k, distinct % k
        other = first != second
        first, second, counts = first[other], second[other], counts[other]
    return PairCounts(first, second, counts, 3 * triples.n_triples)


def find_support(pairs: PairCounts, right: Array, spread: Array, model: Model) -> Support:
    """The pairs that a background alone does not explain.

    ``right`` [K] is T[i, i] and ``spread`` [K] is w: were there only the diagonal and the
    background, a pair {a, b} would have the probability
    2 (p_a T_aa w_a g_b + p_b T_bb w_b g_a + g_a g_b (sum of p_j w_j^2 over all other j)).
    About one pair a class joins the support by chance.
    """
    a, b, p, g = pairs.first, pairs.second, model.prior, model.background
    flips = p * right * spread  # [K]
    strange = p * spread**2  # [K]
    others = np.maximum(strange.sum() - strange[a] - strange[b], 0.0)
    expected = flips[a] * g[b] + flips[b] * g[a] + g[a] * g[b] * others
    expected *= 2 * pairs.n_pairs
    seen, mean = pairs.counts / _DISPERSION, expected / _DISPERSION
    chance = np.minimum(gammainc(seen, mean), gammaincc(seen + 1, mean))  # Poisson's two tails
    off = chance < min(_MAX_P_VALUE, 0.5 / len(p))
    return Support.of_pairs(a[off], b[off], len(p))
