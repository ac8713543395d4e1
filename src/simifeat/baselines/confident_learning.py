"""Confident learning (Northcutt et al., JAIR 2021), by cleanlab's own implementation."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.outcome import Examples, outcome
from simifeat.baselines.training import Trainer, out_of_sample
from simifeat.errors import require
from simifeat.verdicts import Verdicts

Filter = Literal[
    "prune_by_noise_rate",
    "prune_by_class",
    "both",
    "confident_learning",
    "predicted_neq_given",
]


def confident_learning(
    features: Any,
    labels: ArrayLike,
    *,
    seed: int = 0,
    trainer: Trainer | None = None,
    n_folds: int = 5,
    filter_by: Filter = "prune_by_noise_rate",
    ids: ArrayLike | None = None,
) -> Verdicts:
    """Flag what cleanlab's filter finds in out-of-sample probabilities of ``n_folds`` trainings.

    ``score`` is the probability of the given label.
    """
    cleanlab_filter = require("cleanlab.filter", extra="bench")
    examples = Examples.of(features, labels, ids)
    codes = examples.labels.codes
    used = trainer or LinearTrainer()
    probability = out_of_sample(used, features, codes, examples.labels.n_classes, n_folds, seed)
    flags = cleanlab_filter.find_label_issues(
        codes, probability.astype(np.float64), filter_by=filter_by, n_jobs=1
    )
    return outcome(
        examples,
        "confident_learning",
        is_corrupted=np.asarray(flags, dtype=bool),
        score=probability[np.arange(len(codes)), codes],
        probability=probability,
        seed=seed,
        settings={"n_folds": n_folds, "filter_by": filter_by, "trainer": repr(used)},
    )
