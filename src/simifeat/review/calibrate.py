"""How many errors are left: the precision seen so far re-calibrates what nobody has looked at.

The detector's probability p of a row becomes sigmoid(a + b logit(p)). a and b are the most
probable values given the decisions (1 = corrupted, 0 = kept) and a prior that trusts the detector
(a ~ N(0, 1), b ~ N(1, 0.5^2)), so that no decision changes nothing and a few do not overturn it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PRIOR_MEAN = np.array([0.0, 1.0])
_PRIOR_PRECISION = np.array([1.0, 1 / 0.5**2])
_EDGE = 1e-4  # probabilities nearer to 0 or 1 than this say no more than this
_STEPS = 50
_NORMAL_90 = 1.6449  # 95th percentile of the normal distribution


@dataclass(frozen=True)
class Estimate:
    """An expected number with a 90 % interval."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """a and b, and how uncertain they are."""

    weights: NDArray[np.float64]  # [2] a, b
    covariance: NDArray[np.float64]  # [2, 2]
    n_decisions: int

    def probability(self, p: NDArray[np.float32]) -> NDArray[np.float32]:
        """``p`` [m] as the decisions so far make it."""
        if not self.n_decisions:
            return p
        return _sigmoid(_inputs(p) @ self.weights).astype(np.float32)

    def expected_errors(self, p: NDArray[np.float32]) -> Estimate:
        """How many of rows with probabilities ``p`` [m] are corrupted."""
        if not len(p):
            return Estimate(0.0, 0.0, 0.0)
        inputs = _inputs(p)  # [m, 2]
        q = self.probability(p).astype(np.float64)
        spread = q * (1 - q)
        slope = spread @ inputs  # [2] how the sum moves with a and b
        deviation = np.sqrt(spread.sum() + slope @ self.covariance @ slope)
        expected = float(q.sum())
        return Estimate(
            expected,
            max(0.0, expected - _NORMAL_90 * float(deviation)),
            min(float(len(p)), expected + _NORMAL_90 * float(deviation)),
        )


def calibrate(p: NDArray[np.float32], was_corrupted: NDArray[np.bool_]) -> Calibration:
    """Learn from decided rows: their probabilities ``p`` [m] and what was found."""
    inputs, found = _inputs(p), was_corrupted.astype(np.float64)
    weights = _PRIOR_MEAN.copy()
    for _ in range(_STEPS):  # Newton; the objective is concave
        q = _sigmoid(inputs @ weights)
        gradient = inputs.T @ (found - q) - _PRIOR_PRECISION * (weights - _PRIOR_MEAN)
        step = np.linalg.solve(_curvature(inputs, q), gradient)
        weights = weights + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-9:
            break
    weights[1] = max(weights[1], 0.0)  # a more suspicious row is never the less likely error
    curvature = _curvature(inputs, _sigmoid(inputs @ weights))
    return Calibration(weights, np.asarray(np.linalg.inv(curvature), np.float64), len(p))


def _curvature(inputs: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    return (inputs * (q * (1 - q))[:, None]).T @ inputs + np.diag(_PRIOR_PRECISION)


def _inputs(p: NDArray[np.float32]) -> NDArray[np.float64]:
    clipped = np.clip(p.astype(np.float64), _EDGE, 1 - _EDGE)
    return np.stack([np.ones(len(p)), np.log(clipped / (1 - clipped))], axis=1)  # [m, 2]


def _sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.logaddexp(0.0, -z))
