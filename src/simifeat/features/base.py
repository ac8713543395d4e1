"""What an extractor is: records are prepared one by one and become features a few at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simifeat.io.records import Content, Kind, Records
from simifeat.io.source import Progress


@dataclass(frozen=True)
class AtHand:
    """What there is to make an extractor with, for those that are trained or fetched."""

    records: Records | None = None
    labels: NDArray[Any] | None = None
    """As given, one a record."""
    seed: int = 0
    progress: Progress | None = None


@dataclass(frozen=True)
class Asked:
    """``NAME:ARGUMENT?OPTIONS`` taken apart, and what there is to make the extractor with."""

    name: str
    argument: str
    options: Mapping[str, str]
    kind: Kind
    at_hand: AtHand


class Extractor(Protocol):
    """Turns records into features; every method may be called from several threads at once."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def kind(self) -> Kind:
        """What it reads."""

    @property
    def identity(self) -> str:
        """All that its features depend on beside the record, model file included."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed without being told, one line each."""

    @property
    def batch_size(self) -> int:
        """How many prepared records it takes at a time."""

    def prepare(self, content: Content) -> Any:
        """A record made ready, or ``Unreadable``."""

    def run(self, batch: Sequence[Any]) -> NDArray[np.float32]:
        """The features [b, d] of prepared records."""


class Augment(Protocol):
    """RandPreProcess of Algorithm 1: a random change of a prepared record."""

    @property
    def identity(self) -> str:
        """Its name and its settings."""

    def __call__(self, prepared: Any, rng: np.random.Generator) -> Any:
        """The record changed at random; what was given stays as it is."""
