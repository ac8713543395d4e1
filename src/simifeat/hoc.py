"""HOC: T and p from consensuses of first, second and third order (Zhu et al. 2021).

    minimise  ||c1 - T'p||^2 + ||c2 - T' diag(p) T||^2 + ||c3 - sum_i p_i T_i (x) T_i (x) T_i||^2

with T_i the rows of T and c1, c2, c3 the observed shares of labels, of pairs (label, label of the
nearest neighbour) and of triples. Rows of T and p stay on the simplex as softmax of free numbers.

The third norm needs no array of K^3: with G = T T' the model's own part is p' (G * G * G) p,
element by element, and its product with c3 is a sum over the triples that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from simifeat.consensus import Triples
from simifeat.triple_sums import TripleSummer

Array = NDArray[np.float64]

_DECAY = (0.9, 0.999)  # Adam's memories of the gradient and of its square
_EPSILON = 1e-12  # far below any gradient: with many classes they are small
_TINY = 1e-30
_SPREAD = 1.0  # a restart begins this far, in logits, from the first start


@dataclass(frozen=True)
class HocOptions:
    """Settings of HOC."""

    n_steps: int = 1000
    """Steps of Adam."""
    learning_rate: float = 0.1
    warm_n_steps: int = 200
    """As ``n_steps``, where an earlier estimate is there to start from."""
    warm_learning_rate: float = 0.03
    sample_size: int | None = None
    """Take the triples from random samples of so many examples, with neighbours inside the sample,
    instead of from everybody once."""
    n_samples: int = 10
    """How many such samples are pooled."""
    n_restarts: int = 2
    """Further starts while classes come out mixed up."""


class HocFit(NamedTuple):
    """T [K, K], p [K] and the objective they reach."""

    matrix: Array
    prior: Array
    loss: float


class _Logits(NamedTuple):
    """Free numbers whose softmax is T [K, K] (by row) and p [K]; also a gradient in them."""

    matrix: Array
    prior: Array


def fit_hoc(
    triples: Triples,
    options: HocOptions,
    start: tuple[Array, Array] | None,
    rng: np.random.Generator,
) -> HocFit:
    """The T and p of the lowest objective that the descent came by; ``loss`` is that objective.

    The classes of the model carry no names: any order of them fits alike. They get the order in
    which labels are right as often as can be. ``start`` is an earlier (T, p). If some class still
    bears another label more often than its own, the descent starts again from somewhere else.
    """
    k = triples.n_classes
    moments = Moments(triples)
    cold = _Logits(5 * np.eye(k) - 1, np.zeros(k))
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums on any number of cores
        if start is not None:
            warm = _Logits(*(np.log(np.maximum(part, _TINY)) for part in start))
            return _descend(moments, warm, options.warm_n_steps, options.warm_learning_rate)
        best = _relabelled(_descend(moments, cold, options.n_steps, options.learning_rate))
        for _ in range(options.n_restarts):
            if (best.matrix.argmax(axis=1) == np.arange(k)).all():
                break
            far = _Logits(*(x + _SPREAD * rng.standard_normal(x.shape) for x in cold))
            again = _relabelled(_descend(moments, far, options.n_steps, options.learning_rate))
            best = min(best, again, key=lambda fit: fit.loss)
    return best


def _descend(moments: Moments, start: _Logits, n_steps: int, rate: float) -> HocFit:
    """Adam (Kingma and Ba 2015); the best of the ``n_steps`` points it looks at."""
    here = _Logits(*(part.copy() for part in start))
    mean = _Logits(*(np.zeros_like(part) for part in start))
    power = _Logits(*(np.zeros_like(part) for part in start))
    best, lowest = start, np.inf
    for step in range(1, n_steps + 1):
        loss, gradient = moments.loss(here)
        if loss < lowest:
            best, lowest = _Logits(*(part.copy() for part in here)), loss
        for x, g, m, v in zip(here, gradient, mean, power, strict=True):
            m += (1 - _DECAY[0]) * (g - m)
            v += (1 - _DECAY[1]) * (g * g - v)
            size = np.sqrt(v / (1 - _DECAY[1] ** step)) + _EPSILON
            x -= rate / (1 - _DECAY[0] ** step) * m / size
    return HocFit(_softmax(best.matrix), _softmax(best.prior), lowest)


def _relabelled(fit: HocFit) -> HocFit:
    """The same fit with its classes in the order in which most labels are right."""
    true, label = linear_sum_assignment(fit.prior[:, None] * fit.matrix, maximize=True)
    order = true[np.argsort(label)]
    return fit._replace(matrix=fit.matrix[order], prior=fit.prior[order])


class Moments:
    """The observed consensuses and the objective they define."""

    def __init__(self, triples: Triples) -> None:
        share = triples.third_order()
        self.n_classes = triples.n_classes
        self._first = triples.first_order()
        self._second = triples.second_order()
        self._third_norm = float(share @ share)
        self._sums = TripleSummer(triples)
        self._scale = 1 / max(triples.n_triples, 1)

    def loss(self, logits: _Logits) -> tuple[float, _Logits]:
        """The objective and its gradient in ``logits``."""
        t, p = _softmax(logits.matrix), _softmax(logits.prior)  # [K, K], [K]
        first = p @ t - self._first  # [K]
        second = t.T @ (p[:, None] * t) - self._second  # [K, K]
        gram = t @ t.T  # [K, K]
        square = gram * gram
        model = (square * gram) @ p  # [K]
        seen = self._sums(t, p, normalized=False)
        loss = (
            float(first @ first)
            + float((second * second).sum())
            + float(p @ model)
            - 2 * self._scale * seen.total
            + self._third_norm
        )
        # By the chain rule of the softmax, x_i (g_i - sum_j x_j g_j), only x * g is needed.
        both = t @ (second + second.T)  # [K, K]
        by_t = 2 * np.outer(p, first) + 2 * p[:, None] * both
        by_t += 6 * (np.outer(p, p) * square) @ t
        by_t *= t
        by_t -= (2 * self._scale) * seen.by_label.T
        by_p = 2 * (t @ first) + (both * t).sum(axis=1) + 2 * model
        by_p = by_p * p - 2 * self._scale * seen.by_class
        return loss, _Logits(by_t - t * by_t.sum(axis=1, keepdims=True), by_p - p * by_p.sum())


def _softmax(logits: Array) -> Array:
    power = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)
