"""From what a baseline found to the same ``Verdicts`` the detectors give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.baselines.training import Floats
from simifeat.dataset import Labels, check_ids, check_lengths
from simifeat.transition import Transition
from simifeat.verdicts import Verdicts
from simifeat.version import __version__


@dataclass(frozen=True)
class Examples:
    """Labels and ids of what is judged; the inputs are the trainer's business."""

    labels: Labels
    ids: NDArray[Any]

    @classmethod
    def of(cls, inputs: Any, labels: ArrayLike, ids: ArrayLike | None) -> Self:
        """Check ``labels`` [n] and ``ids`` [n] against the number of ``inputs``."""
        encoded = Labels.encode(labels)
        encoded.check_two_classes()
        check_lengths(len(inputs), len(encoded.codes))
        return cls(encoded, check_ids(ids, len(encoded.codes)))


def outcome(
    examples: Examples,
    method: str,
    *,
    is_corrupted: NDArray[np.bool_],
    score: Floats,
    probability: Floats,
    seed: int,
    settings: Mapping[str, Any],
) -> Verdicts:
    """Verdicts of flags [n], a score [n] (higher = cleaner) and class probabilities [n, K].

    The label suggested is the most probable other one; T and p are counted from the suggestions.
    """
    labels = examples.labels
    codes, n = labels.codes, len(labels.codes)
    own = probability[np.arange(n), codes]
    others = probability.copy()
    others[np.arange(n), codes] = -1
    suggested = np.where(is_corrupted, others.argmax(axis=1), codes)
    return Verdicts(
        ids=examples.ids,
        labels=labels.given,
        is_corrupted=is_corrupted,
        score=score.astype(np.float32),
        p_corrupted=np.clip(1 - own, 0, 1).astype(np.float32),
        flag_rate=is_corrupted.astype(np.float32),
        suggested=labels.classes[suggested],
        classes=labels.classes,
        transition=counted_transition(suggested, codes, labels.classes),
        metadata={
            "version": __version__,
            "method": method,
            "settings": dict(settings),
            "seed": seed,
            "n_rounds": 1,
        },
    )


def counted_transition(
    suggested: NDArray[np.integer], codes: NDArray[np.int32], classes: NDArray[Any]
) -> Transition:
    """T and p as if every suggestion were right; the row of a class nobody has is the identity."""
    n, n_classes = len(codes), len(classes)
    joint = np.zeros((n_classes, n_classes))
    np.add.at(joint, (suggested, codes), 1)
    prior = joint.sum(axis=1)
    matrix = np.divide(
        joint, prior[:, None], out=np.eye(n_classes), where=np.tile(prior[:, None] > 0, n_classes)
    )
    return Transition(
        matrix=matrix,
        prior=prior / n,
        label_frequency=joint.sum(axis=0) / n,
        method="counted from the verdicts",
        loss=0.0,
        n_triples=0,
        classes=classes,
    )
