"""Theorem 2: what F1 the ranking reaches at least, and with what probability.

The proof needs P(b1 - b2 < t) for independent b1 ~ Beta(N-, 1), b2 ~ Beta(alpha + 1, N+ - alpha),
the largest of N- and the (alpha + 1)-th smallest of N+ uniform numbers. The paper integrates a
density with Appell's F1; here it is one integral over b2 of a log-concave function,

    P(b1 - b2 < t) = integral of pdf_b2(y) * clip(y + t, 0, 1)^(N-) dy,

exact to about ten digits up to a million examples. ``docs/theory.md`` compares both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, xlog1py, xlogy

from simifeat.errors import InputError

_DROP = 60.0  # nats below the peak that are left out of an integral: exp(-60) is 1e-26
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANELS = 64


class RankBound(NamedTuple):
    """With at least this ``probability`` the ranking reaches at least this ``f1``."""

    f1: float
    probability: float


def rank_f1_lower_bound(
    n_corrupted: int,
    n_clean: int,
    mu_true: float,
    mu_false: float,
    delta: float,
    v: float,
    alpha: int,
    *,
    rescale: bool = False,
) -> RankBound:
    """Theorem 2 for one given label j with N- = ``n_corrupted`` and N+ = ``n_clean`` examples.

        F1 >= 1 - (exp(-v) * max(N-, N+) + alpha) / N-
        with probability P(b1 - b2 < mu_true - mu_false - delta)

    ``mu_true`` bounds the mean score of clean examples from below, ``mu_false`` that of corrupted
    ones from above; 1 / ``delta`` is the height of both score densities at their mean and ``v`` the
    decay of their tails, P(deviation >= t) <= exp(-v t^2 / delta^2). ``alpha`` trades the two
    figures: more errors admitted, more probable. A value of 0 or less says nothing about F1.

    The paper's proof drops a factor: its uniform numbers have the width ``delta``, not 1, so that
    the limit should be (mu_true - mu_false - delta) / ``delta``. ``rescale=True`` takes that limit.
    With delta < 1 the printed one is lower than it needs to be where it is positive, and too high
    (no bound) where it is negative.
    """
    n_corrupted = _whole("n_corrupted", n_corrupted, 1)
    n_clean = _whole("n_clean", n_clean, 1)
    alpha = _whole("alpha", alpha, 0)
    if alpha >= n_clean:
        raise InputError(
            f"alpha must be below n_clean, got alpha {alpha} and n_clean {n_clean}: "
            "there is no (alpha + 1)-th lowest clean score"
        )
    for name, value in (("mu_true", mu_true), ("mu_false", mu_false)):
        if not np.isfinite(value):
            raise InputError(f"{name} must be a finite number, got {value!r}")
    if not (np.isfinite(delta) and delta > 0):
        raise InputError(f"delta must be a positive number, got {delta!r}")
    if not v >= 0:
        raise InputError(f"v must be at least 0, got {v!r}")
    limit = mu_true - mu_false - delta
    errors = float(np.exp(-v)) * max(n_corrupted, n_clean) + alpha
    return RankBound(
        f1=1 - errors / n_corrupted,
        probability=beta_difference_cdf(
            limit / delta if rescale else limit, n_corrupted, n_clean, alpha
        ),
    )


def beta_difference_cdf(t: float, n_corrupted: int, n_clean: int, alpha: int) -> float:
    """P(b1 - b2 < t) for b1 ~ Beta(N-, 1), b2 ~ Beta(alpha + 1, N+ - alpha)."""
    if t <= -1 or t >= 1:
        return float(t >= 1)
    a, b = alpha + 1, n_clean - alpha
    below = _integral(t, n_corrupted, a, b)
    beyond = float(betainc(b, a, t)) if t > 0 else 0.0  # P(b2 > 1 - t): b1 < b2 + t for sure
    return min(1.0, below + beyond)


def beta_difference_pdf(t: float, n_corrupted: int, n_clean: int, alpha: int) -> float:
    """Density of b1 - b2 at t, the paper's f."""
    if t <= -1 or t >= 1:
        return 0.0
    return n_corrupted * _integral(t, n_corrupted - 1, alpha + 1, n_clean - alpha)


def _integral(t: float, power: int, a: int, b: int) -> float:
    """Integral of Beta(y; a, b) * (y + t)^power over the y in [0, 1] with 0 <= y + t <= 1.

    The integrand is log-concave: one peak, and it is followed until it has lost ``_DROP`` nats.
    """
    low, high = max(0.0, -t), min(1.0, 1.0 - t)
    constant = float(betaln(a, b))

    def log_value(y: NDArray[np.float64] | float) -> NDArray[np.float64]:
        shifted = np.maximum(np.add(y, t), 0.0)
        return np.asarray(
            xlogy(a - 1, y) + xlog1py(b - 1, np.negative(y)) + xlogy(power, shifted) - constant
        )

    def rising(y: float) -> bool:  # the sign of the derivative, cleared of its denominators
        z = y + t
        return (a - 1) * (1 - y) * z - (b - 1) * y * z + power * y * (1 - y) > 0

    peak = _last_true(rising, low, high)
    top = float(np.max(log_value(np.array([low, peak, high]))))
    left = _last_true(lambda y: bool(log_value(y) < top - _DROP), low, peak)
    right = _last_true(lambda y: bool(log_value(y) >= top - _DROP), peak, high)

    edges = np.linspace(left, right, _PANELS + 1)
    half = np.diff(edges) / 2  # [panels]
    middle = edges[:-1] + half
    points = middle[:, None] + half[:, None] * _NODES  # [panels, nodes]
    total = half @ (np.exp(log_value(points) - top) @ _WEIGHTS)
    return float(np.exp(top + np.log(total))) if total > 0 else 0.0


def _last_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where ``holds`` turns from true to false in [low, high], by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _whole(name: str, value: float, least: int) -> int:
    if value != int(value) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
