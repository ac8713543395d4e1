"""The scikit-learn face: an estimator that finds corrupted labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from simifeat.detect import detect
from simifeat.transition import Transition


class SimiFeat(BaseEstimator):  # type: ignore[misc]
    """Corrupted-label detection from features and given labels, in scikit-learn's shape.

    Parameters are those of ``simifeat.detect``; None leaves a choice to the preset, or to simifeat.

    After ``fit(X, y)``: ``verdicts_``, ``is_corrupted_`` [n], ``score_`` [n], ``p_corrupted_``
    [n], ``suggested_`` [n], ``transition_`` and ``classes_`` [K].
    """

    def __init__(
        self,
        method: str | None = None,
        k: int | None = None,
        *,
        preset: str | None = None,
        n_epochs: int | None = None,
        metric: str | None = None,
        engine: str | None = None,
        weights: str | None = None,
        center: str | None = None,
        transition: str | Transition | None = None,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.method = method
        self.k = k
        self.preset = preset
        self.n_epochs = n_epochs
        self.metric = metric
        self.engine = engine
        self.weights = weights
        self.center = center
        self.transition = transition
        self.seed = seed
        self.n_threads = n_threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Judge the labels ``y`` [n] by the features ``X`` [n, d]."""
        features, labels = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(labels)
        self.verdicts_ = detect(features, labels, **self.get_params())
        self.is_corrupted_ = self.verdicts_.is_corrupted
        self.score_ = self.verdicts_.score
        self.p_corrupted_ = self.verdicts_.p_corrupted
        self.suggested_ = self.verdicts_.suggested
        self.transition_ = self.verdicts_.transition
        self.classes_ = self.verdicts_.classes
        return self

    def fit_predict(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
        """``fit``, then which labels are corrupted, [n]; the last step of a Pipeline can be it."""
        return self.fit(X, y).is_corrupted_

    def __sklearn_tags__(self) -> Tags:
        tags: Any = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
