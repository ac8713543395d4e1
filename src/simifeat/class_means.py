"""A second look at every example: which class's mean is it nearest to?

Linear discriminant analysis with beliefs in place of labels, in closed form:

    mu_i = sum_n Q_n(i) x_n / N_i        N_i = sum_n Q_n(i)        S = covariance around the means
    P_n(i) ~ N_i exp(-d_n(i)^2 / 2)      d_n(i)^2 = (x_n - mu_i)' S^-1 (x_n - mu_i)

each row against the means without itself. Neighbours see the shape of classes, means see
them from afar; their mistakes differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from simifeat.beliefs import Beliefs

_BLOCK = 1 << 14
_RIDGE = 1e-2  # at least, of the mean variance
_TINY = 1e-9


class Rows(Protocol):
    """Features [n, d] read by ranges of rows, of which few are in memory at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """n and d."""

    def __getitem__(self, part: slice) -> NDArray[np.float32]:
        """The rows of ``part``."""


@dataclass(frozen=True)
class UnitRows:
    """The rows of others, each divided by its length."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, ...]:
        """n and d."""
        return self.rows.shape

    def __getitem__(self, part: slice) -> NDArray[np.float32]:
        """The rows of ``part``; those of length 0 stay as they are."""
        rows = self.rows[part]
        length = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))[:, None]
        return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def log_discriminant(
    features: Rows, beliefs: Beliefs, classes: NDArray[np.int32], n_classes: int
) -> NDArray[np.float32]:
    """log P_n(i) of ``classes`` [n, s] (-1: none) but for a constant a row, [n, s].

    ``beliefs`` are Q [n, s]. Time O(n d^2 + n d K).
    """
    n, d = features.shape
    q = np.zeros(classes.shape, np.float64)  # Q_n in the slots of ``classes``
    for slot in range(beliefs.classes.shape[1]):
        same = classes == beliefs.classes[:, slot, None]
        q += np.where(same & (classes >= 0), beliefs.probability[:, slot, None], 0)
    weight = q.sum(axis=0).sum()
    if weight <= 0:
        return np.zeros(classes.shape, np.float32)
    mass = np.bincount(np.maximum(classes, 0).ravel(), q.ravel(), n_classes)  # [K] = N_i
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums on any number of cores
        blocks = [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]
        total = np.sum([features[part].sum(axis=0, dtype=np.float64) for part in blocks], axis=0)
        centre = (total / n).astype(np.float32)
        sums = np.zeros((n_classes, d))
        square = np.zeros((d, d))
        for part in blocks:
            rows = features[part] - centre
            sums += _spread(classes[part], q[part], n_classes).T @ rows
            square += rows.T @ rows
        means = sums / np.maximum(mass, _TINY)[:, None]  # [K, d]
        covariance = square / n - (means.T * (mass / n)) @ means
        ridge = max(_RIDGE, d / n) * max(np.trace(covariance) / d, 1e-12)
        lower = scipy.linalg.cholesky(covariance + ridge * np.eye(d), lower=True)
        white = scipy.linalg.solve_triangular(lower, np.eye(d), lower=True).astype(np.float32)
        there = means.astype(np.float32) @ white.T  # [K, d]
        length = (there.astype(np.float64) ** 2).sum(axis=1)  # [K]
        out = np.empty(classes.shape, np.float32)
        for part in blocks:
            here = (features[part] - centre) @ white.T  # [b, d]
            slots = np.maximum(classes[part], 0)
            cross = np.take_along_axis(here @ there.T, slots, axis=1)
            own = (here.astype(np.float64) ** 2).sum(axis=1, keepdims=True)
            distance = np.maximum(own - 2 * cross + length[slots], 0)  # squared
            others = np.maximum(mass[slots] - q[part], _TINY)  # [b, s]
            distance *= np.minimum(mass[slots] / others, 10.0) ** 2  # from the mean of the others
            out[part] = np.log(others) - distance / 2
    return out


def temperature(
    log_p: NDArray[np.float32], seen: NDArray[np.float32], filled: NDArray[np.bool_]
) -> float:
    """t for which P^t is the best guess at what the neighbours believe, ``seen`` [n, s]."""
    step = max(1, len(log_p) // _BLOCK)
    log_p, seen, filled = log_p[::step], seen[::step], filled[::step]
    masked = np.where(filled, log_p.astype(np.float64), -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    mean = np.where(filled, seen * np.where(filled, masked, 0), 0).sum()

    def loss(t: float) -> float:
        log_norm = np.log(np.exp(t * masked).sum(axis=1))
        return float((seen.sum(axis=1) * log_norm).sum() - t * mean)

    found = minimize_scalar(loss, bounds=(0.01, 1.0), method="bounded", options={"xatol": 0.01})
    return float(found.x)


def _spread(
    classes: NDArray[np.int32], values: NDArray[np.float64], n_classes: int
) -> scipy.sparse.csr_array:
    n, s = classes.shape
    return scipy.sparse.csr_array(
        (values.ravel(), np.maximum(classes, 0).ravel(), np.arange(0, n * s + 1, s)),
        shape=(n, n_classes),
    )
