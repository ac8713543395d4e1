"""Beliefs that mean what they say: how sharp they are, and how labels err, fitted to the labels.

A neighbourhood says of the true class of example n, its own label left aside, in logits z_n(i),

    pi_n(i)  ~ exp(s z_n(i))                         sharpness s
    T_n[i,l] ~ T[i, l] (pi_n(l) + floor)^b           pull b: labels err towards what n looks like
    Q_n(i)   ~ pi_n(i) T_n[i, label_n]

and the label itself is a draw with P(label_n = l) = sum_i pi_n(i) T_n[i, l]. So s, b and T are
those under which the given labels are most probable: no clean label is needed. Where noise
depends on the class alone, b is 0; people mistake what looks alike, and b is about .2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from simifeat.beliefs import Beliefs

Array = NDArray[np.float32]

MOST_CLASSES = 1024
"""With more, T stays as it is and b is 0."""

_ROWS_AN_ENTRY = 10
"""Labels an entry of T that fitting it again takes; with fewer, s and b make up for its errors."""

_FLOOR = np.float32(1e-4)  # of a class that nobody believes in
_SHARPNESSES = (0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5)
_PULLS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_SPREAD = 0.3  # log s before anything is seen: normal with this deviation, and so is b
_PSEUDO = 1.0  # labels an entry that the first T is worth
_N_STEPS = 8  # of EM for every s and b
_FEW_ROWS, _ROWS_A_CLASS = 1 << 13, 50  # that s and b are chosen on
_BLOCK_ENTRIES = 1 << 21
_NEVER = np.float32(-100)  # logit of a class without a slot


@dataclass(frozen=True)
class Evidence:
    """What is said of the true class of every example, its own label left aside."""

    classes: NDArray[np.int32]  # [n, s], -1 in empty slots
    logits: Array  # [n, s]

    def rows(self, which: slice) -> Evidence:
        """A part of the examples."""
        return Evidence(self.classes[which], self.logits[which])

    def beliefs(self, sharpness: float, n_classes: int) -> Array:
        """pi [n, K]."""
        n = len(self.classes)
        z = np.full((n, n_classes), _NEVER)
        filled = self.classes >= 0
        rows = np.broadcast_to(np.arange(n)[:, None], filled.shape)[filled]
        top = np.where(filled, self.logits, -np.inf).max(axis=1, keepdims=True)
        z[rows, self.classes[filled]] = (sharpness * (self.logits - top))[filled]
        pi = np.exp(z)
        return pi / pi.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Calibration:
    """How beliefs and labels hang together."""

    matrix: NDArray[np.float64]
    """T [K, K]: of an example that looks like all classes alike."""
    sharpness: float = 1.0
    pull: float = 0.0


class _Joint(NamedTuple):
    """Of a block of examples, [m, K] each."""

    joint: Array  # pi_n(i) T_n[i, label_n]
    tilt: Array  # (pi_n(l) + floor)^b
    inverse: Array  # 1 / Z_n(i), Z_n(i) = sum_l T[i, l] tilt_n(l)


def calibrate(
    evidence: Evidence, labels: NDArray[np.int32], first: NDArray[np.float64], known: bool = False
) -> Calibration:
    """The most probable T, s and b given label codes [n], from the estimate ``first`` of T on.

    A ``known`` T stays as it is. With many classes or few rows the estimate stays, s = 1, b = 0.
    """
    k, n = len(first), len(labels)
    start = Calibration(first)
    if k > MOST_CLASSES or n < _ROWS_AN_ENTRY * k * k:
        return start
    step = max(1, n // max(_FEW_ROWS, _ROWS_A_CLASS * k))
    some, given = evidence.rows(slice(None, None, step)), labels[::step]
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums on any number of cores

        def best(tried: Iterable[Calibration]) -> Calibration:
            fits = [_fit(some, given, each, first, known) for each in tried]
            return max(fits, key=lambda fit: fit[0])[1]

        found = best(replace(start, pull=pull) for pull in _PULLS)
        found = best(replace(found, matrix=first, sharpness=s) for s in _SHARPNESSES)
        return best(replace(found, matrix=first, pull=pull) for pull in _PULLS)


def calibrated(evidence: Evidence, labels: NDArray[np.int32], calibration: Calibration) -> Beliefs:
    """Q_n, in the slots of the evidence by falling probability."""
    n, s = evidence.classes.shape
    probability = np.zeros((n, s), np.float32)
    step = max(1, _BLOCK_ENTRIES // len(calibration.matrix))
    with threadpool_limits(limits=1, user_api="blas"):
        for start in range(0, n, step):
            part = slice(start, start + step)
            pi = evidence.rows(part).beliefs(calibration.sharpness, len(calibration.matrix))
            share = _shares(_joint(pi, labels[part], calibration).joint)
            slots = np.maximum(evidence.classes[part], 0)
            probability[part] = np.take_along_axis(share, slots, axis=1)
    probability[evidence.classes < 0] = 0
    order = np.lexsort((evidence.classes, -probability), axis=1)
    classes = np.take_along_axis(evidence.classes, order, axis=1)
    probability = np.take_along_axis(probability, order, axis=1)
    return Beliefs(np.where(probability > 0, classes, np.int32(-1)), probability)


def _joint(pi: Array, labels: NDArray[np.int32], calibration: Calibration) -> _Joint:
    matrix = calibration.matrix.astype(np.float32)
    joint: Array = pi * matrix.T[labels]
    if calibration.pull == 0:
        one = np.ones_like(pi)
        return _Joint(joint, one, one)
    tilt: Array = (pi + _FLOOR) ** np.float32(calibration.pull)
    inverse: Array = np.reciprocal(np.maximum(tilt @ matrix.T, np.float32(1e-30)))
    own = tilt[np.arange(len(labels)), labels, None]
    joint = joint * own * inverse
    return _Joint(joint, tilt, inverse)


def _shares(joint: Array) -> Array:
    total = joint.sum(axis=1, keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def _fit(
    evidence: Evidence,
    labels: NDArray[np.int32],
    here: Calibration,
    first: NDArray[np.float64],
    known: bool,
) -> tuple[float, Calibration]:
    """Log posterior and calibration after a few EM steps of T at fixed s and b."""
    k = len(first)
    pi = evidence.beliefs(here.sharpness, k)
    for _ in range(0 if known else _N_STEPS):
        seen = _joint(pi, labels, here)
        share = _shares(seen.joint)
        counts = np.stack([share[labels == label].sum(axis=0) for label in range(k)], axis=1)
        exposure = (share * seen.inverse).T @ seen.tilt  # [class, label]
        matrix = (counts + k * _PSEUDO * first) / (exposure.astype(np.float64) + k * _PSEUDO)
        here = replace(here, matrix=matrix / matrix.sum(axis=1, keepdims=True))
    total = _joint(pi, labels, here).joint.sum(axis=1, dtype=np.float64)
    likelihood = np.log(np.maximum(total, 1e-12)).sum()
    before = ((np.log(here.sharpness) / _SPREAD) ** 2 + (here.pull / _SPREAD) ** 2) / 2
    return float(likelihood - before), here
