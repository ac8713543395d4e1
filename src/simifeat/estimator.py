"""The scikit-learn face: an estimator that finds corrupted labels, and repairs or drops them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from simifeat.detect import detect
from simifeat.verdicts import Verdicts


class SimiFeat(BaseEstimator):  # type: ignore[misc]
    """Corrupted-label detection from features and given labels, in scikit-learn's shape.

    The parameters are those of ``simifeat.detect``. After ``fit(X, y)`` the fitted attributes are
    ``verdicts_``, ``is_corrupted_`` [n], ``score_`` [n], ``p_corrupted_`` [n], ``suggested_`` [n]
    and ``classes_`` [K].
    """
