"""How good a detection is, measured with clean labels.

The measure is the F1 score on *corrupted* examples, as in the paper: with 20 % corrupted labels, a
detector that flags nothing scores 0 there, but 2 / (1/0.8 + 1) = 0.89 on the clean examples, which
is no measure of anything.

Conventions where a share is over nothing: precision is 0 when nothing is flagged, recall is 0 when
nothing is corrupted, F1 is 0 when nothing was hit, and so is average precision without a corrupted
label. Lower ``score`` is more suspicious, everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.dataset import Labels, label_array
from simifeat.errors import InputError


@dataclass(frozen=True)
class DetectionScores:
    """Counts of a detection and the ratios that follow from them."""

    n_examples: int
    n_flagged: int
    n_corrupted: int
    n_hit: int
    """Flagged and corrupted."""
    per_class: Mapping[Any, DetectionScores] = field(default_factory=dict)
    """The same within each given label; empty one level down."""

    @property
    def precision(self) -> float:
        """Share of the flagged that is corrupted."""
        return self.n_hit / self.n_flagged if self.n_flagged else 0.0

    @property
    def recall(self) -> float:
        """Share of the corrupted that is flagged."""
        return self.n_hit / self.n_corrupted if self.n_corrupted else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 / (1 / precision + 1 / recall)."""
        return 2 * self.n_hit / (self.n_flagged + self.n_corrupted) if self.n_hit else 0.0


def detection_scores(
    is_corrupted: ArrayLike, labels: ArrayLike, clean_labels: ArrayLike
) -> DetectionScores:
    """Precision, recall and F1 of the flags ``is_corrupted`` [n], overall and per given label."""
    flags, wrong = _flags(is_corrupted), _wrong(labels, clean_labels)
    _check_length("is_corrupted", flags, wrong)
    return DetectionScores(
        n_examples=wrong.size,
        n_flagged=int(flags.sum()),
        n_corrupted=int(wrong.sum()),
        n_hit=int((flags & wrong).sum()),
        per_class=per_class_scores(is_corrupted, labels, clean_labels),
    )


def per_class_scores(
    is_corrupted: ArrayLike, labels: ArrayLike, clean_labels: ArrayLike
) -> dict[Any, DetectionScores]:
    """The scores within each given label, in sorted order of the labels."""
    flags, wrong = _flags(is_corrupted), _wrong(labels, clean_labels)
    _check_length("is_corrupted", flags, wrong)
    given = Labels.encode(labels)
    columns = [
        np.bincount(given.codes[mask], minlength=given.n_classes).tolist()
        for mask in (np.ones_like(flags), flags, wrong, flags & wrong)
    ]
    return {
        value: DetectionScores(*counts)
        for value, *counts in zip(given.classes.tolist(), *columns, strict=True)
    }


def average_precision(score: ArrayLike, labels: ArrayLike, clean_labels: ArrayLike) -> float:
    """Area under precision over recall when examples are reviewed by rising ``score`` [n].

    Sum over distinct scores of (recall - recall before) * precision: examples of equal score are
    reviewed together, so their order cannot matter.
    """
    values, wrong = _numbers("score", score), _wrong(labels, clean_labels)
    _check_length("score", values, wrong)
    if not wrong.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order]) > 0), values.size - 1)  # last of a tie
    hits = np.cumsum(wrong[order])[ends]
    gains = np.diff(hits, prepend=0) / hits[-1]
    return float(gains @ (hits / (ends + 1)))


def expected_calibration_error(
    p_corrupted: ArrayLike, labels: ArrayLike, clean_labels: ArrayLike, n_bins: int = 15
) -> float:
    """Mean distance between stated and true share of corrupted labels over bins of equal width.

    Bin b holds the examples with b / n_bins <= p < (b + 1) / n_bins, the last bin also p = 1. Each
    bin weighs by its examples; 0 is a perfect calibration.
    """
    stated, wrong = _numbers("p_corrupted", p_corrupted), _wrong(labels, clean_labels)
    _check_length("p_corrupted", stated, wrong)
    if n_bins < 1:
        raise InputError(f"n_bins must be at least 1, got {n_bins}")
    outside = np.flatnonzero((stated < 0) | (stated > 1))
    if outside.size:
        raise InputError(
            f"p_corrupted must lie in [0, 1], got {stated[outside[0]]:.6g} in row {outside[0]}; "
            "give probabilities, not scores"
        )
    bins = np.minimum((stated * n_bins).astype(np.int64), n_bins - 1)  # [n]
    gaps = np.bincount(bins, weights=stated - wrong, minlength=n_bins)  # [n_bins]
    return float(np.abs(gaps).sum() / stated.size)


def _wrong(labels: ArrayLike, clean_labels: ArrayLike) -> NDArray[np.bool_]:
    given, clean = label_array(labels), label_array(clean_labels)
    if given.size != clean.size:
        raise InputError(
            f"there are {given.size} labels but {clean.size} clean labels; "
            "give one of each for every example"
        )
    if (given.dtype == object) != (clean.dtype == object):
        raise InputError(
            f"labels are {_kind(given)} but clean_labels are {_kind(clean)}: no label could ever "
            "equal its clean label; convert both to one type"
        )
    return np.asarray(given != clean, dtype=np.bool_)


def _kind(values: NDArray[Any]) -> str:
    return type(values.tolist()[0]).__name__


def _flags(is_corrupted: ArrayLike) -> NDArray[np.bool_]:
    flags = np.asarray(is_corrupted)
    if flags.ndim != 1 or not (flags.dtype == np.bool_ or np.isin(flags, (0, 1)).all()):
        raise InputError(
            "is_corrupted must be one True or False an example, not positions of examples; "
            f"got shape {flags.shape} of {flags.dtype}"
        )
    return flags.astype(np.bool_)


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be one number an example") from None
    if numbers.ndim != 1:
        raise InputError(f"{name} must be one number an example, got shape {numbers.shape}")
    missing = np.flatnonzero(np.isnan(numbers))
    if missing.size:
        raise InputError(f"{name} is NaN in row {missing[0]}; leave that example out or score it")
    return numbers


def _check_length(name: str, values: NDArray[Any], wrong: NDArray[np.bool_]) -> None:
    if values.size != wrong.size:
        raise InputError(
            f"{name} has {values.size} entries but there are {wrong.size} labels; "
            "give one for every example, in the same order"
        )
