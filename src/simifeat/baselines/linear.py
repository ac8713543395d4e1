"""A linear layer on fixed features, trained by mini-batch gradient descent: the paper's Table 2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from simifeat.baselines.confidence_loss import loss_gradient, sieve
from simifeat.baselines.training import (
    CROSS_ENTROPY,
    Checkpoint,
    Codes,
    Floats,
    Objective,
    Recipe,
    Training,
    label_frequency,
)
from simifeat.dataset import feature_matrix


@dataclass(frozen=True)
class LinearTrainer:
    """Softmax regression with momentum and weight decay, from weights of zero.

    Features are centred and scaled, all by the same number, to a mean squared length of 1, so that
    one learning rate suits any extractor. The same on any number of threads.
    """

    recipe: Recipe = field(default_factory=Recipe)

    def fit(
        self,
        inputs: Any,
        codes: Codes,
        n_classes: int,
        *,
        objective: Objective = CROSS_ENTROPY,
        rows: NDArray[np.int64] | None = None,
        last_only: bool = False,
        seed: int = 0,
    ) -> Training:
        """Train on ``rows`` (default all) of the features ``inputs`` [n, d]; look at all n."""
        x = _prepared(feature_matrix(inputs))
        rows = np.arange(len(x)) if rows is None else rows
        recipe = self.recipe
        prior = label_frequency(codes[rows], n_classes)
        rng = np.random.default_rng(seed)
        weights = np.zeros((x.shape[1], n_classes), np.float32)  # [d + 1, K]
        velocity = np.zeros_like(weights)
        kept: list[Checkpoint] = []
        with threadpool_limits(limits=1, user_api="blas"):  # small products; one order of sums
            for epoch in range(recipe.n_epochs):
                beta = objective.beta(epoch, recipe.n_epochs)
                rate = np.float32(recipe.rate(epoch) / (1 + beta))
                sieving = objective.sieves(epoch, recipe.n_epochs)
                order = rng.permutation(rows)
                for start in range(0, len(order), recipe.batch_size):
                    batch = order[start : start + recipe.batch_size]
                    step = _gradient(x[batch], codes[batch], weights, prior, beta, sieving)
                    step += np.float32(recipe.weight_decay) * weights
                    velocity *= np.float32(recipe.momentum)
                    velocity += step
                    weights -= rate * velocity
                is_last = epoch + 1 == recipe.n_epochs
                if is_last or (recipe.keeps(epoch) and not last_only):
                    kept.append(Checkpoint(float(rate), x, x @ weights))
        return Training(tuple(kept))


def _prepared(features: Floats) -> Floats:
    """Centred, of mean squared length 1, and a constant 1 for the bias, [n, d + 1]."""
    centred = features - features.mean(axis=0, dtype=np.float64).astype(np.float32)
    length = np.sqrt(np.einsum("nd,nd->n", centred, centred).mean(dtype=np.float64))
    if length > 0:
        centred /= np.float32(length)
    return np.concatenate([centred, np.ones((len(centred), 1), np.float32)], axis=1)


def _gradient(
    x: Floats, codes: Codes, weights: Floats, prior: Floats, beta: float, sieving: bool
) -> Floats:
    """Gradient of the mean loss of a batch with respect to the weights, [d + 1, K]."""
    logits = x @ weights  # [b, K]
    slope = loss_gradient(logits, codes, prior, beta)  # [b, K]
    count = len(x)
    if sieving:
        passed = sieve(logits, codes)
        slope[~passed] = 0
        count = max(1, int(passed.sum()))
    return x.T @ (slope / np.float32(count))
