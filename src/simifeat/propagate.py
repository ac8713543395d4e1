"""Propagated beliefs: what the neighbours believe, joined with what the label says, over again.

    M_n(i) = sum_m W[n, m] Q_m(i)                 what the neighbourhood of n believes
    Q_n(i) ~ M_n(i)^sharpness T[i, label_n]       the belief about the true class of n

It starts from Q_n(i) ~ p_i T[i, label_n]. W is the neighbour graph, each edge weighted by a power
of the similarity, plus its transpose (mutual neighbours count twice), rows summing to 1. Nothing
is trained and nothing is random. P(corrupted) = 1 - Q_n(label_n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs
from simifeat.neighbors.base import Neighbors

_BLOCK_ENTRIES = 1 << 20  # beliefs updated at once
_TINY = np.float32(1e-30)
_DENSE_CLASSES = 256  # up to here all classes are kept between rounds
_DENSE_ENTRIES = 1 << 25  # of n x K, 128 MiB an array


@dataclass(frozen=True)
class PropagateOptions:
    """How beliefs spread; chosen once for all data."""

    power: float = 8.0
    """Weight of an edge: its similarity to this power, a negative one nothing."""
    sharpness: float = 1.5
    """Above 1: neighbourhoods tend to be of one class."""
    n_rounds: int = 8
    n_top: int = 12
    """s: classes kept for an example between rounds, the given label always among them."""


def neighbor_weights(neighbors: Neighbors, power: float) -> scipy.sparse.csr_array:
    """W [n, n]: similarity^power over the graph and its transpose, rows summing to 1 (or to 0)."""
    n, k = neighbors.index.shape
    weight = np.maximum(neighbors.similarity, 0) ** np.float32(power)  # [n, k]
    weight[neighbors.index < 0] = 0
    graph = scipy.sparse.csr_array(
        (weight.ravel(), np.maximum(neighbors.index, 0).ravel(), np.arange(0, n * k + 1, k)),
        shape=(n, n),
    )
    both = (graph + graph.T).tocsr()
    total = np.asarray(both.sum(axis=1, dtype=np.float64))  # [n]
    scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
    both.data *= np.repeat(scale, np.diff(both.indptr)).astype(np.float32)
    return both


@dataclass(frozen=True)
class Propagated:
    """What the last round left, in slots: a few classes of every example, -1 in empty slots."""

    classes: NDArray[np.int32]  # [n, s], the given label among them wherever it is possible
    seen: NDArray[np.float32]  # [n, s], M_n; of an example without neighbours p
    probability: NDArray[np.float32]  # [n, s], Q_n, falling

    @property
    def beliefs(self) -> Beliefs:
        """Q."""
        return Beliefs(self.classes, self.probability)


def propagate(
    labels: NDArray[np.int32],
    neighbors: Neighbors,
    matrix: NDArray[np.float64],
    prior: NDArray[np.float64],
    options: PropagateOptions | None = None,
) -> Propagated:
    """Beliefs about the true classes given label codes [n], T [K, K] and p [K].

    Time O(n k s) a round, memory O(n (k + s) + K^2); an array of n x K is held only where it is
    small, and then every class is kept between the rounds.
    """
    options = options or PropagateOptions()
    weights = neighbor_weights(neighbors, options.power)
    n, n_classes = len(labels), len(prior)
    emission = np.ascontiguousarray(matrix.T, dtype=np.float32)  # [label, class]
    alone = emission * prior.astype(np.float32)  # [label, class], p_i T[i, label]
    alone /= np.maximum(alone.sum(axis=1, keepdims=True), _TINY)
    if n_classes <= max(_DENSE_CLASSES, options.n_top) and n * n_classes <= _DENSE_ENTRIES:
        return _all_classes(labels, weights, emission, alone, prior, options)
    codes = np.broadcast_to(np.arange(n_classes, dtype=np.int32), alone.shape)
    own = np.arange(n_classes, dtype=np.int32)
    first = _top(codes, alone, own, options.n_top)  # of each label, [K, s]
    at_first = np.where(first[0] >= 0, prior.astype(np.float32)[first[0]], np.float32(0))
    classes, probability = first[0][labels], first[1][labels]  # [n, s]
    seen = at_first[labels]
    for _ in range(options.n_rounds):
        beliefs = as_matrix(classes, probability, n_classes)
        classes, probability = first[0][labels], first[1][labels]  # stays where nothing is seen
        seen = at_first[labels]
        step = max(1, _BLOCK_ENTRIES // n_classes)
        for begin in range(0, n, step):
            rows = np.arange(begin, min(begin + step, n))
            support, heard = _padded(weights[rows] @ beliefs)  # M of the block, [b, w] each
            joined = heard**options.sharpness * emission[labels[rows, None], support]  # [b, w]
            total = joined.sum(axis=1, keepdims=True)  # [b, 1]
            some = total[:, 0] > _TINY
            joined, support, rows = joined[some] / total[some], support[some], rows[some]
            place = _top_places(support, joined, labels[rows], options.n_top)
            top = np.take_along_axis(joined, place, axis=1)
            width = top.shape[1]
            classes[rows], probability[rows], seen[rows] = -1, 0, 0
            top_classes = np.take_along_axis(support, place, axis=1)
            classes[rows, :width] = np.where(top > 0, top_classes, np.int32(-1))
            probability[rows, :width] = top
            seen[rows, :width] = np.take_along_axis(heard[some], place, axis=1)
    return Propagated(classes, seen, probability)


def _all_classes(
    labels: NDArray[np.int32],
    weights: scipy.sparse.csr_array,
    emission: NDArray[np.float32],
    alone: NDArray[np.float32],
    prior: NDArray[np.float64],
    options: PropagateOptions,
) -> Propagated:
    """The same with every class kept between the rounds."""
    n_classes = len(prior)
    likelihood = emission[labels]  # [n, K]
    beliefs = alone[labels]  # [n, K]
    seen = np.broadcast_to(prior.astype(np.float32), beliefs.shape)
    for _ in range(options.n_rounds):
        heard = weights @ beliefs  # [n, K]
        joined = heard**options.sharpness * likelihood
        total = joined.sum(axis=1, keepdims=True)  # [n, 1]
        nobody = total[:, 0] <= _TINY
        joined /= np.maximum(total, _TINY)
        joined[nobody] = alone[labels[nobody]]
        heard[nobody] = prior
        beliefs, seen = joined, heard
    codes = np.broadcast_to(np.arange(n_classes, dtype=np.int32), beliefs.shape)
    place = _top_places(codes, beliefs, labels, options.n_top)
    top = np.take_along_axis(beliefs, place, axis=1)
    kept = (top > 0) | (place == labels[:, None])
    classes = np.where(kept, place, -1).astype(np.int32)
    return Propagated(classes, np.take_along_axis(seen, place, axis=1), top)


def _top(
    classes: NDArray[np.int32],
    values: NDArray[np.float32],
    labels: NDArray[np.int32],
    n_top: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The ``n_top`` largest of each row by falling value; what is not possible has class -1."""
    place = _top_places(classes, values, labels, n_top)
    classes = np.take_along_axis(classes, place, axis=1)
    values = np.take_along_axis(values, place, axis=1)
    return np.where(values > 0, classes, np.int32(-1)), values


def _top_places(
    classes: NDArray[np.int32],
    values: NDArray[np.float32],
    labels: NDArray[np.int32],
    n_top: int,
) -> NDArray[np.int64]:
    """Where the ``n_top`` largest of each row stand, by falling value, [b, at most n_top].

    The given label of the row, where it is there at all, has the last slot if no other.
    """
    width = values.shape[1]
    place = np.broadcast_to(np.arange(width), values.shape)
    if width > n_top:
        mine = classes == labels[:, None]  # [b, w]
        place = np.argpartition(-values, n_top - 1, axis=1)[:, :n_top]
        lost = mine.any(axis=1) & ~np.take_along_axis(mine, place, axis=1).any(axis=1)  # [b]
        least = np.take_along_axis(values, place, axis=1).argmin(axis=1)
        place[lost, least[lost]] = mine[lost].argmax(axis=1)
    kept_classes = np.take_along_axis(classes, place, axis=1)
    kept_values = np.take_along_axis(values, place, axis=1)
    order = np.lexsort((kept_classes, -kept_values), axis=1)
    return np.take_along_axis(place, order, axis=1)


def as_matrix(
    classes: NDArray[np.int32], probability: NDArray[np.float32], n_classes: int
) -> scipy.sparse.csr_array:
    """Beliefs [n, s] as a sparse [n, K]."""
    n, s = classes.shape
    columns = np.maximum(classes, 0).ravel()
    bounds = np.arange(0, n * s + 1, s)
    return scipy.sparse.csr_array((probability.ravel(), columns, bounds), shape=(n, n_classes))


def _padded(
    matrix: scipy.sparse.csr_array,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Columns and values of a sparse matrix, its rows filled up with column 0, value 0."""
    length = np.diff(matrix.indptr)  # [b]
    filled = np.arange(length.max(initial=1)) < length[:, None]  # [b, w]
    columns = np.zeros(filled.shape, np.int32)
    values = np.zeros(filled.shape, np.float32)
    columns[filled], values[filled] = matrix.indices, matrix.data
    return columns, values
