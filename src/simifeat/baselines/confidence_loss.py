"""The loss and the sieve of CORES (Cheng et al., "Learning with instance-dependent label noise: a
sample sieve approach", ICLR 2021).

    loss_n  = l(f(x_n), label_n) - beta * sum_y P(label = y) l(f(x_n), y)
    alpha_n = 1/K sum_y l(f(x_n), y) - beta * sum_y P(label = y) l(f(x_n), y)
    clean_n = loss_n < alpha_n

with the cross-entropy l(f(x), y) = -log softmax_y(f(x)). The second term rewards confidence; it
stands on both sides of the sieve.

With a beta of K / (K - 1) or more this loss falls without end as the classifier grows surer of any
class, right or wrong. Its authors' code adds 1e-8 to the probabilities within both means, a bound
of 18.4 on l there, and so does ``FLOOR`` here: without it the training breaks down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.training import Codes, Floats, softmax

FLOOR = 1e-8
"""Added to a probability before its logarithm, within the means over labels."""


def cross_entropy(logits: Floats, codes: Codes) -> Floats:
    """l(f(x_n), label_n), [n]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    total: Floats = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(codes)), codes]
    return total


def bounded_losses(logits: Floats) -> Floats:
    """l(f(x_n), y) for every label y, at most -log FLOOR, [n, K]."""
    losses: Floats = -np.log(softmax(logits) + np.float32(FLOOR))
    return losses


def confidence_loss(logits: Floats, codes: Codes, prior: Floats, beta: float) -> Floats:
    """The loss of every example, [n]; ``prior`` [K] is the frequency of the given labels."""
    regulariser: Floats = bounded_losses(logits) @ prior
    return cross_entropy(logits, codes) - np.float32(beta) * regulariser


def sieve_margin(logits: Floats, codes: Codes) -> Floats:
    """alpha_n - loss_n, [n]: above 0 is clean. Neither beta nor the prior matters to it."""
    margin: Floats = bounded_losses(logits).mean(axis=1) - cross_entropy(logits, codes)
    return margin


def sieve(logits: Floats, codes: Codes) -> NDArray[np.bool_]:
    """Which examples pass as clean, [n]."""
    return sieve_margin(logits, codes) > 0


def loss_gradient(logits: Floats, codes: Codes, prior: Floats, beta: float) -> Floats:
    """Gradient of every example's loss with respect to its logits, [n, K].

    (q - one_hot) - beta * (q * sum(w) - w) with q = softmax and w = prior * q / (q + FLOOR).
    """
    probability = softmax(logits)
    slope = probability.copy() if beta else probability
    slope[np.arange(len(codes)), codes] -= 1
    if beta:
        weight = prior * probability / (probability + np.float32(FLOOR))
        slope -= np.float32(beta) * (probability * weight.sum(axis=1, keepdims=True) - weight)
    return slope
