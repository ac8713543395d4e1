"""What a source of labelled examples offers, whatever file format it is kept in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.base import Metric

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Request:
    """What was asked of a source; its reader takes what applies and refuses what cannot be."""

    path: Path
    labels: str | None = None
    """A column or key, or a file of labels."""
    features: str | None = None
    """A column or key (several of them with commas between), or a file of features."""
    extractor: str | None = None
    """What turns records into features."""
    id: str | None = None
    """The column or key that holds the ids."""
    groups: str | None = None
    """The column that holds the groups, or a file of them: no feature."""
    n_epochs: int = 1
    """Epochs of features wanted, where the reader can make them differ."""
    seed: int = 0
    spread: Callable[..., Any] | None = None
    """What extracts features in place of this machine, see ``simifeat.distributed.extraction``."""


@dataclass(frozen=True)
class Skipped:
    """A record that could not be used, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Features:
    """Features as read, with what the reading settled."""

    matrix: NDArray[Any] | Iterable[NDArray[Any]]
    """[n, d], or several epochs of that one after the other; one epoch is always an array."""
    metric: Metric | None = None
    """The metric that suits them, where their kind says so."""
    notes: tuple[str, ...] = ()
    """What was chosen without being asked, one line each."""
    skipped: tuple[Skipped, ...] = ()
    """Records that could not be read; they stand in no row of ``matrix``."""
    kept: NDArray[np.int64] | None = None
    """The rows of the source that ``matrix`` stands for, rising; None: all of them."""


@dataclass(frozen=True)
class Edit:
    """A change of labels and rows, told without naming a value.

    Row n takes the label that row ``label_from[n]`` had, so that every label stays in the type and
    spelling of its source.
    """

    label_from: NDArray[np.int64]  # [n]
    keep: NDArray[np.bool_]  # [n]
    keep_clean: bool = False
    """Whether the labels as they were are kept as ``clean_label``."""


class Source(Protocol):
    """Labelled examples in files; features are read when they are asked for."""

    @property
    def path(self) -> Path:
        """Where the examples are."""

    @property
    def labels(self) -> NDArray[Any]:
        """Labels as given, [n]."""

    @property
    def ids(self) -> NDArray[Any] | None:
        """Ids [n], if there are any."""

    @property
    def clean_labels(self) -> NDArray[Any] | None:
        """The truth [n] in a dataset that was corrupted on purpose; for evaluation only."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen without being asked, one line each."""

    def load_features(self, progress: Progress | None = None) -> Features:
        """Read or compute the features."""

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Write an edited copy in the format of the source; the files written."""
