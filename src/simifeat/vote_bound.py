"""Proposition 1: how often the majority vote of a neighbourhood names the true class, at least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc
from scipy.stats import binom, poisson

from simifeat.errors import InputError


def vote_lower_bound(
    k: ArrayLike, noise_rate: ArrayLike, delta_k: ArrayLike, *, n_classes: int = 2
) -> Any:
    """Proposition 1, element by element: a float for numbers, an array for arrays.

        P(vote is correct | k) >= (1 - delta_k) * I_{1-e}(k + 1 - k', k' + 1),
        k' = ceil((k + 1) / 2) - 1

    The second factor is P(Binomial(k + 1, e) <= k'): of k + 1 labels, the point's own and those of
    its k neighbours, more than half are right; a tie counts as wrong, so an odd k (an even number
    of voters) comes out lower than the even k below it.

    ``noise_rate`` e is the largest flip rate of any example, and flips are independent of each
    other. With two classes the bound needs no more than that. It also holds for more classes, as
    more than half is always a majority, but only says something below e = 0.5.

    With ``n_classes`` K > 2 the second factor is instead P(the true class gets more of the k + 1
    labels than any other class) when flips go to the K - 1 others alike. That is sharper and says
    something up to e = (K - 1) / K, but holds for symmetric noise only: for noise that favours one
    wrong class keep ``n_classes=2``.
    """
    counts, rates, deltas = np.broadcast_arrays(
        _checked_k(k), _share("noise_rate", noise_rate), _share("delta_k", delta_k)
    )
    if n_classes < 2:
        raise InputError(f"n_classes must be at least 2, got {n_classes}")
    if n_classes == 2:
        majority = _majority(counts, rates)
    else:
        pairs, where = np.unique(
            np.stack([counts.ravel(), rates.ravel()]), axis=1, return_inverse=True
        )
        each = np.array([_plurality(int(n) + 1, float(e), n_classes) for n, e in pairs.T])
        majority = each[where.ravel()].reshape(counts.shape)
    bounds = (1 - deltas) * majority
    return float(bounds) if bounds.ndim == 0 else bounds


def _majority(k: NDArray[np.int64], noise_rate: NDArray[np.float64]) -> NDArray[np.float64]:
    wrong = (k + 2) // 2 - 1  # k' = ceil((k + 1) / 2) - 1
    return np.asarray(betainc(k + 1 - wrong, wrong + 1, 1 - noise_rate), dtype=np.float64)


def _plurality(n_votes: int, noise_rate: float, n_classes: int) -> float:
    """P(the true class has strictly the most of ``n_votes``), other classes alike."""
    total = 0.0
    for right in range(1, n_votes + 1):
        wrong = n_votes - right
        total += binom.pmf(right, n_votes, 1 - noise_rate) * _all_below(right, wrong, n_classes - 1)
    return min(1.0, float(total))


def _all_below(limit: int, n_balls: int, n_boxes: int) -> float:
    """P(every box holds fewer than ``limit``) when the balls fall into the boxes at random.

    Independent Poisson counts, given their sum, are such balls: the chance is the coefficient of
    their truncated generating function at the sum over the untruncated one.
    """
    if n_balls < limit:
        return 1.0
    if n_balls > (limit - 1) * n_boxes:
        return 0.0
    rate = n_balls / n_boxes
    power = poisson.pmf(np.arange(limit), rate)  # of one box, then of 2, 4, 8 ... boxes
    product = np.ones(1)
    left = n_boxes
    while left:
        if left & 1:
            product = np.convolve(product, power)[: n_balls + 1]
        left >>= 1
        if left:
            power = np.convolve(power, power)[: n_balls + 1]
    return min(1.0, float(product[n_balls] / poisson.pmf(n_balls, n_balls)))


def _checked_k(k: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(k)
    if values.dtype.kind not in "iuf" or not ((values >= 1) & (values == np.floor(values))).all():
        raise InputError(f"k must be whole numbers of at least 1, got {k!r}")
    return values.astype(np.int64)


def _share(name: str, values: ArrayLike) -> NDArray[np.float64]:
    shares = np.asarray(values, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InputError(f"{name} must lie in [0, 1], got {values!r}")
    return shares
