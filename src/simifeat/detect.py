"""The detector, Algorithm 1 whole: features and labels in, verdicts out. Only this orchestrates."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.dataset import Dataset, Labels, check_lengths, hash_array, hash_labels
from simifeat.errors import InputError
from simifeat.neighbors import Graph, Neighbors, as_neighbors, find_neighbors
from simifeat.rank import corruption_rates, cosine_score, rank_flags
from simifeat.rounds import (
    Round,
    balanced_share,
    n_searched,
    nearest_voters,
    rounds_of_batches,
    rounds_of_everybody,
    rounds_of_voters,
)
from simifeat.settings import SETTING_NAMES, Settings
from simifeat.soft_labels import soft_labels
from simifeat.tally import Tally
from simifeat.transition import Transition, estimate_from_neighbors
from simifeat.verdicts import Verdicts
from simifeat.version import __version__
from simifeat.vote import vote_flags, vote_margin, vote_winner

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""
Seed = int | np.random.SeedSequence


def detect(
    features: ArrayLike | Iterable[ArrayLike] | None,
    labels: ArrayLike,
    *,
    preset: str | None = None,
    method: str | None = None,
    k: int | None = None,
    n_epochs: int | None = None,
    metric: str | None = None,
    engine: str | None = None,
    weights: str | None = None,
    center: str | None = None,
    transition: str | Transition | None = None,
    neighbors: Neighbors | Graph | None = None,
    ids: ArrayLike | None = None,
    seed: Seed = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> Verdicts:
    """Say which of ``labels`` [n] are corrupted, from ``features`` [n, d] alone.

    ``features`` may also be several epochs of them, [M, n, d] or M arrays [n, d] one after the
    other, extracted under different augmentations: each is a round. With one array the M =
    ``n_epochs`` rounds differ by sub-sampling, see ``simifeat.rounds``. With ``neighbors``, a
    graph that is already there, ``features`` may be None.

    ``labels`` may be of any one type and come back as given. ``transition`` is an estimator
    (``"ml"``, ``"hoc"``) or a known ``Transition``. ``preset`` is ``"paper"`` or ``"official"``.
    ``choices`` are the further fields of ``simifeat.settings.Settings``.

    The same input, seed and version give the same verdicts to the byte, on any number of threads.
    """
    unknown = [name for name in choices if name not in SETTING_NAMES]
    if unknown:
        near = difflib.get_close_matches(unknown[0], SETTING_NAMES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(SETTING_NAMES)}"
        raise InputError(f"detect has no setting {unknown[0]!r}{hint}")
    settings = Settings.resolve(
        preset,
        method=method,
        k=k,
        n_epochs=n_epochs,
        metric=metric,
        engine=engine,
        weights=weights,
        center=center,
        transition=None if isinstance(transition, Transition) else transition,
        **choices,
    )
    known = transition if isinstance(transition, Transition) else None
    run = _Run(settings, Labels.encode(labels), known, seed, n_threads, progress)
    for graph in run.graphs(features, neighbors):
        run.epoch(graph)
    return run.verdicts(ids, seed)
