"""Every choice of a detection run by name, and the two presets of them.

``preset="paper"`` is the paper's text, ``preset="official"`` the code its authors published; where
the two differ there is a named choice here, so that either can be checked and mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from simifeat.errors import InputError
from simifeat.groups import Duplicates
from simifeat.neighbors.base import Metric
from simifeat.neighbors.find import Engine
from simifeat.rank import Cut
from simifeat.rounds import Sampling
from simifeat.soft_labels import Center, CenterWeight, Weights

Method = Literal["propagate", "vote", "rank"]
Estimator = Literal["ml", "hoc"]
Preset = Literal["paper", "official"]
Views = Literal["both", "neighbors"]


@dataclass(frozen=True)
class Settings:
    """The choices of one run; the defaults are simifeat's own."""

    method: Method = "propagate"
    """How an example is judged: by its neighbours' vote, by rank, or by propagated beliefs."""
    k: int | None = None
    """Neighbours that count; None: 10 for vote and rank, 30 for propagate."""
    n_epochs: int = 1
    """M: rounds of detection, decided by a majority of more than half."""
    metric: Metric = "cosine"
    engine: Engine = "auto"
    views: Views = "both"
    """Whether propagate looks at the features by class means, too; of a graph it never does."""
    weights: Weights = "uniform"
    """Whether a vote counts as one or by its similarity (vote and rank)."""
    center: Center = "exclude"
    """Whether an example votes for itself: not, beside its k neighbours, or as one of the k."""
    center_weight: CenterWeight = "one"
    """The weight of that vote: 1, or continued inwards from the two nearest distances."""
    sampling: Sampling = "voters"
    """What differs between rounds on the same features; see simifeat.rounds."""
    voter_share: float = 0.5
    """sampling="voters": the share of examples that may vote in a round."""
    batch_size: int = 32
    n_batches: int = 1000
    """sampling="balanced": a round is n_batches class-balanced mini-batches of batch_size."""
    transition: Estimator = "ml"
    """Which estimator gives T and p."""
    transition_options: Mapping[str, Any] = field(default_factory=dict)
    """Further named options of that estimator."""
    duplicates: Duplicates = "apart"
    """Whether copies of one example, rows with equal features, vote for each other."""
    probe: bool = False
    """Whether propagate's beliefs are joined with a linear probe, which is trained."""
    cut: Cut = "floor"
    """How rank turns a rate into a cut: the floor(rate * N_j) lowest, or the percentile."""
    posterior_jitter: float = 0.0
    """rank: U(-jitter, jitter) added to each P(Y=j | label=j) in every round."""
    clip_rates: bool = False
    """rank: a noise rate of 1 or more becomes .95, one of 0 or less .05."""
    max_rows: int | None = None
    """Only this many rows, from the first on, are examined; the rest count as clean."""

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            _one_of(name, getattr(self, name), get_args(kind))
        for name in ("n_epochs", "batch_size", "n_batches"):
            _at_least(name, getattr(self, name), 1)
        for name in ("k", "max_rows"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        if self.probe and self.method != "propagate":
            raise InputError(f"probe=True joins beliefs of propagate; {self.method} has none")
        if not 0 < self.voter_share <= 1:
            raise InputError(f"voter_share is {self.voter_share}; give a share above 0, at most 1")
        if not 0 <= self.posterior_jitter < 1:
            raise InputError(f"posterior_jitter is {self.posterior_jitter}; give 0 to below 1")

    @classmethod
    def resolve(cls, preset: str | None = None, **choices: Any) -> Settings:
        """The settings of ``preset`` with each of ``choices`` that is not None laid over them."""
        base: Mapping[str, Any] = {}
        if preset is not None:
            _one_of("preset", preset, get_args(Preset))
            base = PRESETS[preset]
        return cls(**{**base, **{name: c for name, c in choices.items() if c is not None}})

    @property
    def n_neighbors(self) -> int:
        """k, resolved."""
        return self.k if self.k is not None else _DEFAULT_K[self.method]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as stored with a result."""
        stored = asdict(self)
        return {
            **stored,
            "k": self.n_neighbors,
            "transition_options": dict(self.transition_options),
        }


_CHOICES: dict[str, Any] = {
    "method": Method,
    "metric": Metric,
    "engine": Engine,
    "views": Views,
    "weights": Weights,
    "center": Center,
    "center_weight": CenterWeight,
    "sampling": Sampling,
    "transition": Estimator,
    "duplicates": Duplicates,
    "cut": Cut,
}
_DEFAULT_K = {"vote": 10, "rank": 10, "propagate": 30}

PRESETS: dict[str, Mapping[str, Any]] = {
    "paper": {
        "method": "rank",
        "k": 10,
        "n_epochs": 21,
        "transition": "hoc",
        "duplicates": "vote",
    },
    "official": {
        "method": "rank",
        "k": 10,
        "n_epochs": 21,
        "weights": "similarity",
        "center": "within_k",
        "center_weight": "extrapolate",
        "sampling": "none",
        "duplicates": "vote",
        "transition": "hoc",
        "transition_options": {
            "sample_size": 15_000,
            "n_samples": 10,
            "n_steps": 400,
            "learning_rate": 0.1,
            "warm_n_steps": 20,
            "warm_learning_rate": 0.01,
        },
        "cut": "percentile",
        "posterior_jitter": 0.05,
        "clip_rates": True,
        "max_rows": 202 * 256,
    },
}

SETTING_NAMES = tuple(item.name for item in fields(Settings))


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; choose one of {', '.join(allowed)}")


def _at_least(name: str, value: int, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is {value!r}; give a whole number of at least {least}")
