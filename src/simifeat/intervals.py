"""How sure an estimate of T is: intervals by a jackknife that leaves out whole neighbourhoods.

Twenty times a twentieth of the examples is left out, neighbours together, and T is fitted to the
rest from where it was. What EM has not yet reached after a few steps is extrapolated. To the
spread of those fits comes what no labels can show: see ``simifeat.mend``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.own_labels import Fit, OwnLabels

Array = NDArray[np.float64]

LEVEL = 0.9
_QUANTILE = 1.85  # Student's t gives 1.73; the neighbours' own noise is not left out in turn
_N_GROUPS = 20
_N_STEPS = 4
_MOST_ROWS = 100_000  # more examples are not left out in turn; the spread shrinks by their number
_N_HUBS = 10  # neighbours among which an example looks for the one that names its neighbourhood
_MOST_FLIPS = 200


@dataclass(frozen=True, eq=False)
class Intervals:
    """Where the noise rate, each class's rate and the largest flips lie, ``level`` of the time."""

    level: float
    noise_rate: tuple[float, float]
    class_rates: Array  # [K, 2]
    """Of 1 - T[i, i], the share of a true class that bears another label."""
    true: NDArray[np.int64]  # [m]
    label: NDArray[np.int64]  # [m]
    flips: Array  # [m, 2]
    """Of T[true, label], for the flips off the diagonal that corrupt most labels."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {
            "level": self.level,
            "noise_rate": list(self.noise_rate),
            "class_rates": self.class_rates.tolist(),
            "true": self.true.tolist(),
            "label": self.label.tolist(),
            "flips": self.flips.tolist(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Intervals:
        """Rebuild what ``to_dict`` gave."""
        try:
            low, high = stored["noise_rate"]
            return cls(
                float(stored["level"]),
                (float(low), float(high)),
                np.asarray(stored["class_rates"], np.float64).reshape(-1, 2),
                np.asarray(stored["true"], np.int64),
                np.asarray(stored["label"], np.int64),
                np.asarray(stored["flips"], np.float64).reshape(-1, 2),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"stored intervals cannot be read: {error}") from error


class Spread(NamedTuple):
    """Standard errors."""

    noise_rate: float
    values: Array  # [u], T on the pairs


def make_intervals(
    matrix: Array, prior: Array, own: OwnLabels, spread: Spread, unseen: tuple[float, Array]
) -> Intervals:
    """Intervals around T [K, K] and its noise rate.

    ``unseen`` is half the width of what the labels cannot show, of the noise rate and of the rate
    of each class [K].
    """
    k = len(prior)
    rates = 1 - np.diagonal(matrix)  # [K]
    noise_rate = float(prior @ rates)
    errors = np.zeros((k, k))
    errors[own.rows, own.columns] = _QUANTILE * spread.values
    joint = prior[:, None] * matrix
    np.fill_diagonal(joint, 0)
    largest = np.argsort(-joint, axis=None, kind="stable")[: min(_MOST_FLIPS, k * (k - 1))]
    true, label = np.unravel_index(largest, joint.shape)
    share = matrix[true, label] / np.maximum(rates[true], 1e-300)  # of the noise of the class
    return Intervals(
        LEVEL,
        _around(noise_rate, _QUANTILE * spread.noise_rate, unseen[0]),
        np.array(
            [_around(*each) for each in zip(rates, np.diagonal(errors), unseen[1], strict=True)]
        ),
        true.astype(np.int64),
        label.astype(np.int64),
        np.array(
            [
                _around(matrix[i, j], errors[i, j], unseen[1][i] * part)
                for i, j, part in zip(true, label, share, strict=True)
            ]
        ).reshape(-1, 2),
    )


def _around(value: float, error: float, unseen: float) -> tuple[float, float]:
    half = float(np.hypot(error, unseen))
    return max(0.0, float(value) - half), min(1.0, float(value) + half)


def jackknife(own: OwnLabels, fit: Fit, group: NDArray[np.int64]) -> Spread:
    """Standard errors of the noise rate and of T on the pairs; ``group`` [n] of each example."""
    rows = np.arange(
        min(len(group), _MOST_ROWS)
    )  # groups are scattered: the first are as good as any
    scale = np.sqrt(len(rows) / len(group)) * np.sqrt((_N_GROUPS - 1) / _N_GROUPS)
    counts = own.count(fit.belief[rows], rows)
    part, _ = own.maximise(counts)
    rates, total, squares = [], np.zeros(len(counts)), np.zeros(len(counts))
    for left_out in range(_N_GROUPS):
        values = _refit(own, part, rows[group[rows] != left_out])
        rates.append(_rate(own, *values))
        total += values[0]
        squares += values[0] ** 2
    variance = np.maximum(squares - total**2 / _N_GROUPS, 0.0)
    return Spread(float(scale * np.sqrt(_N_GROUPS) * np.std(rates)), scale * np.sqrt(variance))


def neighborhood_groups(index: NDArray[np.int32]) -> NDArray[np.int64]:
    """A group of each example [n]: neighbours mostly share one, and groups are about as large."""
    n = len(index)
    order = np.random.default_rng(0).permutation(n)  # [n]
    near = index[:, :_N_HUBS]
    hub = np.where(near >= 0, order[near], n).min(axis=1, initial=n)  # [n]
    return np.asarray(np.minimum(hub, order) % _N_GROUPS, np.int64)


def _refit(own: OwnLabels, values: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    """T and the examples of each class after EM on ``rows``, its last steps prolonged."""
    path = [values]
    by_class = np.empty(0)
    for _ in range(_N_STEPS):
        belief = own.expect(path[-1], rows)
        values, by_class = own.maximise(own.count(belief, rows))
        path.append(values)
    last, before = path[-1] - path[-2], path[-2] - path[-3]
    ratio = float(np.sqrt((last @ last) / max(float(before @ before), 1e-300)))
    ratio = min(ratio, 0.9)
    return np.clip(path[-1] + last * ratio / (1 - ratio), 0.0, 1.0), by_class


def _rate(own: OwnLabels, values: Array, by_class: Array) -> float:
    right = np.bincount(
        own.rows, weights=values * (own.rows == own.columns), minlength=own.n_classes
    )
    return 1 - float(by_class @ right) / float(by_class.sum())
