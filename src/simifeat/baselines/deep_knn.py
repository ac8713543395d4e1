"""Deep k-NN (Bahri et al., ICML 2020) as the paper reproduces it: the vote, on logits.

A classifier is trained on the given labels, and its logits take the place of the features in
SimiFeat-V. The paper reports the best epoch, which takes clean labels to know; here it is the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.outcome import Examples
from simifeat.baselines.training import Trainer
from simifeat.detect import detect
from simifeat.verdicts import Verdicts


def deep_knn(
    features: Any,
    labels: ArrayLike,
    *,
    seed: int = 0,
    trainer: Trainer | None = None,
    k: int = 10,
    n_epochs: int = 1,
    ids: ArrayLike | None = None,
) -> Verdicts:
    """Judge labels by the vote of the ``k`` examples with the most similar logits."""
    encoded = Examples.of(features, labels, ids).labels
    used = trainer or LinearTrainer()
    logits = used.fit(features, encoded.codes, encoded.n_classes, seed=seed).logits
    found = detect(logits, labels, method="vote", k=k, n_epochs=n_epochs, ids=ids, seed=seed)
    return replace(found, metadata={**found.metadata, "method": "deep_knn", "trainer": repr(used)})
