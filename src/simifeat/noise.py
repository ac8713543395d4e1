"""Corrupt clean labels on purpose: the paper's three noise models, and any transition matrix.

Clean labels come in, an array of the same class values comes out. Class values may be of any kind
(strings, integers, booleans, a pandas column); the order of the classes is ``classes``, by default
the sorted values that occur. Each label is drawn on its own, so the realised share of corrupted
labels scatters around the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from simifeat.dataset import Labels, check_lengths, feature_matrix
from simifeat.errors import InputError

Seed = int | np.random.SeedSequence | np.random.Generator
Classes = Sequence[Any] | NDArray[Any] | None

_BLOCK_VALUES = 1 << 22  # projections held at once by instance_dependent: 32 MB of float64


def symmetric(
    clean_labels: ArrayLike, rate: float, *, seed: Seed = 0, classes: Classes = None
) -> NDArray[Any]:
    """Flip each label with probability ``rate`` to one of the other K-1 classes, all alike."""
    codes, values = _flippable(clean_labels, classes)
    rate = _checked_rate(rate)
    rng = np.random.default_rng(seed)
    flip = rng.random(codes.size) < rate  # [n]
    step = rng.integers(1, values.size, size=codes.size)  # [n], never 0: never the class itself
    return values[np.where(flip, (codes + step) % values.size, codes)]


def asymmetric(
    clean_labels: ArrayLike, rate: float, *, seed: Seed = 0, classes: Classes = None
) -> NDArray[Any]:
    """Flip each label with probability ``rate`` to the next class: i -> (i mod K) + 1."""
    codes, values = _flippable(clean_labels, classes)
    rate = _checked_rate(rate)
    flip = np.random.default_rng(seed).random(codes.size) < rate  # [n]
    return values[np.where(flip, (codes + 1) % values.size, codes)]


def from_transition(
    clean_labels: ArrayLike, matrix: ArrayLike, *, seed: Seed = 0, classes: Classes = None
) -> NDArray[Any]:
    """Draw each label from the row of ``matrix`` [K, K] that belongs to its clean class.

    ``matrix[i, j] = P(label = j | clean label = i)``; rows sum to 1, in the order of ``classes``.
    """
    codes, values = _flippable(clean_labels, classes)
    matrix = _checked_matrix(matrix, values.size)
    draws = np.random.default_rng(seed).random(codes.size)  # [n]
    corrupted = np.empty_like(codes)
    for i, members in enumerate(_members(codes, values.size)):
        bounds = np.cumsum(matrix[i])  # [K]
        bounds /= bounds[-1]  # ends in exactly 1: no draw can land on a trailing class of rate 0
        corrupted[members] = np.searchsorted(bounds, draws[members], side="right")
    return values[corrupted]


def instance_dependent(
    features: ArrayLike,
    clean_labels: ArrayLike,
    rate: float,
    *,
    std: float = 0.1,
    seed: Seed = 0,
    classes: Classes = None,
) -> NDArray[Any]:
    """Flip labels depending on the features (Xia et al. 2020; Zhu et al. 2021, Appendix D.1).

    Example n has its own flip rate q_n, normal(``rate``, ``std``^2) truncated to [0, 1]. Class i
    has a projection w_i [d, K] of standard normal entries. A flip goes to class j with probability
    softmax_j(x_n w_{y_n}), the own class left out; the own class keeps 1 - q_n.

    Truncation pulls the mean of q_n away from ``rate`` near 0 and 1: with ``std`` 0.1, rate 0.4
    corrupts 0.400 of the labels, rate 0.05 already 0.101 and rate 0 still 0.080; a smaller ``std``
    brings it back. The softmax takes features as they are, so features of large norm send nearly
    all flips of an example to one class.

    One projection is held at a time, drawn from a seed of its own: memory stays at d * K values
    however many classes there are.
    """
    codes, values = _flippable(clean_labels, classes)
    points = feature_matrix(features)
    check_lengths(len(points), codes.size)
    rate = _checked_rate(rate)
    if not np.isfinite(std) or std < 0:
        raise InputError(f"std must be a finite number of at least 0, got {std!r}")
    rng = np.random.default_rng(seed)
    rates = _truncated_normal(rate, std, rng, codes.size)  # [n], q_n
    flip = rng.random(codes.size) < rates  # [n]
    targets = rng.random(codes.size)  # [n]
    root = np.random.SeedSequence(rng.integers(1 << 32, size=4, dtype=np.uint64).tolist())
    class_seeds = root.spawn(values.size)

    n_dims = points.shape[1]
    corrupted = codes.copy()
    block = max(1, _BLOCK_VALUES // max(values.size, n_dims))
    for i, members in enumerate(_members(codes, values.size)):
        flipped = members[flip[members]]
        if flipped.size == 0:
            continue
        weights = np.random.default_rng(class_seeds[i]).standard_normal((n_dims, values.size))
        for start in range(0, flipped.size, block):
            rows = flipped[start : start + block]
            projected = np.asarray(points[rows], dtype=np.float64) @ weights  # [b, K]
            projected[:, i] = -np.inf
            projected -= projected.max(axis=1, keepdims=True)
            bounds = np.cumsum(np.exp(projected), axis=1)  # [b, K]
            bounds /= bounds[:, -1:]
            corrupted[rows] = (bounds <= targets[rows, None]).sum(axis=1)
    return values[corrupted]


def transition_of(
    labels: ArrayLike, clean_labels: ArrayLike, *, classes: Classes = None
) -> NDArray[np.float64]:
    """The transition matrix [K, K] that was realised: shares of each label within a clean class.

    Classes default to the sorted values of both arrays. A clean class without examples gets the
    row of the identity: nothing was seen to be flipped.
    """
    if classes is None:
        parts = [Labels.encode(part).classes for part in (labels, clean_labels)]
        classes = Labels.encode(np.concatenate([part.astype(object) for part in parts])).classes
    given_codes, values = _encode(labels, classes)
    clean_codes, _ = _encode(clean_labels, classes)
    if given_codes.size != clean_codes.size:
        raise InputError(
            f"there are {given_codes.size} labels but {clean_codes.size} clean labels; "
            "give one of each for every example"
        )
    n_classes = values.size
    counts = np.bincount(clean_codes * n_classes + given_codes, minlength=n_classes**2)
    counts = counts.reshape(n_classes, n_classes)  # [K, K]
    totals = counts.sum(axis=1, keepdims=True)  # [K, 1]
    return np.where(totals > 0, counts / np.maximum(totals, 1), np.eye(n_classes))


def _encode(labels: ArrayLike, classes: Classes) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Codes [n] of the labels, and the class values [K] in the order asked for."""
    found = Labels.encode(labels)
    codes, values = found.codes.astype(np.int64), found.classes
    if classes is not None:
        asked = Labels.encode(classes)
        values = asked.given
        if asked.n_classes < values.size:
            raise InputError("classes names a class twice; give every class once")
        number = {value: i for i, value in enumerate(values.tolist())}
        unknown = [value for value in found.classes.tolist() if value not in number]
        if unknown:
            raise InputError(f"the label {unknown[0]!r} is not among classes; add it there")
        codes = np.array([number[value] for value in found.classes.tolist()])[codes]
    return codes, _as_given(values, np.asarray(labels).dtype)


def _flippable(clean_labels: ArrayLike, classes: Classes) -> tuple[NDArray[np.int64], NDArray[Any]]:
    codes, values = _encode(clean_labels, classes)
    if values.size < 2:
        raise InputError(
            f"all {codes.size} clean labels are {values.tolist()[0]!r}: there is nothing to "
            "flip to; name the other classes with classes=[...]"
        )
    return codes, values


def _as_given(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Class values in the type the labels came in, wider only where a class does not fit it."""
    if dtype.kind in "US":
        return np.array(values.tolist()).astype(np.result_type(dtype, np.array(values.tolist())))
    fits = np.array_equal(values.astype(dtype), values)
    return values.astype(dtype) if fits else values


def _members(codes: NDArray[np.int64], n_classes: int) -> list[NDArray[np.int64]]:
    """Positions of each class, in input order."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))[:-1]
    return list(np.split(order, ends))


def _checked_rate(rate: object) -> float:
    if not isinstance(rate, int | float | np.integer | np.floating) or not 0 <= rate <= 1:
        raise InputError(
            f"rate must be a number in [0, 1], got {rate!r}; 0.4 corrupts about 40 % of the labels"
        )
    return float(rate)


def _checked_matrix(matrix: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    try:
        checked = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("matrix must be a table of numbers, one row and column a class") from None
    if checked.shape != (n_classes, n_classes):
        raise InputError(
            f"matrix has shape {checked.shape} but there are {n_classes} classes; it must be "
            f"({n_classes}, {n_classes}), rows and columns in the order of classes"
        )
    bad = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)).all(axis=1))
    if bad.size:
        raise InputError(f"matrix row {bad[0]} holds a negative or missing value")
    sums = checked.sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1) > 1e-6)
    if bad.size:
        raise InputError(
            f"matrix row {bad[0]} sums to {sums[bad[0]]:.6g}, not 1; row i holds "
            "P(label = j | clean label = i) for all j"
        )
    return checked


def _truncated_normal(
    mean: float, std: float, rng: np.random.Generator, size: int
) -> NDArray[np.float64]:
    """Normal(mean, std^2) given that it falls in [0, 1], by inverting its distribution function."""
    draws = rng.random(size)
    if std == 0:
        return np.full(size, mean)
    low, high = ndtr((0 - mean) / std), ndtr((1 - mean) / std)
    quantiles = mean + std * ndtri(low + draws * (high - low))  # [n]
    return np.asarray(np.clip(quantiles, 0, 1), dtype=np.float64)
