"""CE Sieve: the sieve of CORES after training with plain cross-entropy, no regulariser."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from simifeat.baselines.cores import sieved
from simifeat.baselines.training import Trainer
from simifeat.verdicts import Verdicts


def ce_sieve(
    features: Any,
    labels: ArrayLike,
    *,
    seed: int = 0,
    trainer: Trainer | None = None,
    ids: ArrayLike | None = None,
) -> Verdicts:
    """Flag examples whose cross-entropy is at least its mean over all labels, training included."""
    return sieved(features, labels, "ce_sieve", 0.0, seed=seed, trainer=trainer, ids=ids)
