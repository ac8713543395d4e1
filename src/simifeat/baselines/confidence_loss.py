"""The loss and the sieve of CORES (Cheng et al., "Learning with instance-dependent label noise: a
sample sieve approach", ICLR 2021).

    loss_n  = l(f(x_n), label_n) - beta * sum_y P(label = y) l(f(x_n), y)
    alpha_n = 1/K sum_y l(f(x_n), y) - beta * sum_y P(label = y) l(f(x_n), y)
    clean_n = loss_n < alpha_n

with the cross-entropy l(f(x), y) = -log softmax_y(f(x)). The second term rewards confidence. It
stands on both sides of the sieve, which thus compares l(f(x_n), label_n) with its mean over all
labels, and so the logit of the given label with the mean logit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.training import Codes, Floats, softmax


def cross_entropy(logits: Floats) -> Floats:
    """l(f(x_n), y) for every label y, [n, K]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    total: Floats = np.log(np.exp(shifted).sum(axis=1, keepdims=True)) - shifted
    return total


def confidence_loss(logits: Floats, codes: Codes, prior: Floats, beta: float) -> Floats:
    """The loss of every example, [n]; ``prior`` [K] is the frequency of the given labels."""
    losses = cross_entropy(logits)
    own: Floats = losses[np.arange(len(codes)), codes] - np.float32(beta) * (losses @ prior)
    return own


def sieve_threshold(logits: Floats, prior: Floats, beta: float) -> Floats:
    """alpha_n, [n]."""
    losses = cross_entropy(logits)
    threshold: Floats = losses.mean(axis=1) - np.float32(beta) * (losses @ prior)
    return threshold


def sieve_margin(logits: Floats, codes: Codes) -> Floats:
    """alpha_n - loss_n, [n]: logit of the given label less the mean logit; above 0 is clean."""
    margin: Floats = logits[np.arange(len(codes)), codes] - logits.mean(axis=1)
    return margin


def sieve(logits: Floats, codes: Codes) -> NDArray[np.bool_]:
    """Which examples pass as clean, [n]."""
    return sieve_margin(logits, codes) > 0


def loss_gradient(logits: Floats, codes: Codes, prior: Floats, beta: float) -> Floats:
    """Gradient of every example's loss with respect to its logits, [n, K].

    (softmax - one_hot) - beta * (softmax - prior), as l's gradient is softmax - one_hot.
    """
    probability = softmax(logits)
    slope = probability.copy() if beta else probability
    slope[np.arange(len(codes)), codes] -= 1
    if beta:
        slope -= np.float32(beta) * (probability - prior)
    return slope
