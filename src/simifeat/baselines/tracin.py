"""TracIn (Pruthi et al., NeurIPS 2020): an example that moves the model much for its own sake.

    influence_n = sum over checkpoints t of rate_t * ||gradient of l(f_t(x_n), label_n)||^2

with the gradient of the last layer alone. For a linear layer on inputs h_n it is the outer product
h_n (softmax - one_hot)', so its squared length is ||h_n||^2 * ||softmax - one_hot||^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.baselines.confident_learning import confident_learning
from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.outcome import Examples, outcome
from simifeat.baselines.training import Codes, Floats, Trainer, Training, softmax
from simifeat.verdicts import Verdicts


def tracin(
    features: Any,
    labels: ArrayLike,
    *,
    seed: int = 0,
    trainer: Trainer | None = None,
    ids: ArrayLike | None = None,
) -> Verdicts:
    """Flag the most self-influential examples of every given class.

    As many as confident learning flags there: TracIn itself only ranks. ``score`` is the influence
    with its sign turned.
    """
    examples = Examples.of(features, labels, ids)
    codes, n_classes = examples.labels.codes, examples.labels.n_classes
    used = trainer or LinearTrainer()
    training = used.fit(features, codes, n_classes, seed=seed)
    influence = self_influence(training, codes)
    elsewhere = confident_learning(features, labels, seed=seed, trainer=used)
    n_flagged = np.bincount(codes[elsewhere.is_corrupted], minlength=n_classes)
    return outcome(
        examples,
        "tracin",
        is_corrupted=highest_of_class(influence, codes, n_flagged),
        score=-influence,
        probability=softmax(training.logits),
        seed=seed,
        settings={"thresholds": "confident_learning", "trainer": repr(used)},
    )


def self_influence(training: Training, codes: Codes) -> Floats:
    """Influence of every example on its own loss, [n]."""
    total = np.zeros(len(codes), np.float64)
    for checkpoint in training.checkpoints:
        slope = softmax(checkpoint.logits)
        slope[np.arange(len(codes)), codes] -= 1
        length = np.einsum("nd,nd->n", checkpoint.inputs, checkpoint.inputs, dtype=np.float64)
        steepness = np.einsum("nk,nk->n", slope, slope, dtype=np.float64)
        total += checkpoint.learning_rate * length * steepness
    return total.astype(np.float32)


def highest_of_class(
    values: Floats, codes: Codes, n_flagged: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The ``n_flagged[j]`` largest values of each class j, the earlier row first of equals, [n]."""
    order = np.lexsort((-values, codes))  # by class, then by falling value
    counts = np.bincount(codes, minlength=len(n_flagged))
    starts = np.cumsum(counts) - counts
    place = np.arange(len(codes)) - starts[codes[order]]
    flags = np.zeros(len(codes), bool)
    flags[order] = place < n_flagged[codes[order]]
    return flags
