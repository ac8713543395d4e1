"""Which of Clothing1M's training pictures to learn from: the paper's selection.

Neighbours are searched once among all pictures; each of 600 rounds draws 1,000 mini-batches of 32
with equally many of every given class, and those drawn judge one another (``simifeat.rounds``). A
majority of the rounds that saw a picture decides. In the paper each round also augments the
pictures anew, which costs 600 extractions of 32,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.network import Network
from simifeat.bench.cells import Say
from simifeat.bench.clothing import Part
from simifeat.bench.schedule import Schedule, drawn_rows, train_epoch
from simifeat.detect import detect
from simifeat.errors import InputError
from simifeat.features.base import Extractor
from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.registry import open_extractor

_WARMUP_RATE = 0.002  # the paper's
_MOMENTUM, _WEIGHT_DECAY = 0.9, 1e-3


@dataclass(frozen=True)
class Selection:
    """How rows are selected."""

    name: str
    """``none`` keeps all; ``warmup`` and extractors name whose features decide."""
    method: str
    n_rounds: int
    n_batches: int
    batch_size: int


def selected_rows(
    part: Part,
    n_classes: int,
    how: Selection,
    schedule: Schedule,
    seed: int,
    output: Path,
    say: Say,
) -> NDArray[np.int64]:
    """Rows of ``part`` whose label is not flagged."""
    if how.name == "none":
        return np.arange(len(part))
    if how.name == "warmup":
        extractor: Extractor = warmed_up(part, n_classes, schedule, seed, say)
    else:
        extractor = open_extractor(how.name, "image")
    say(f"extracting features of {len(part):,} pictures with {extractor.name}")
    kept = output / "features"
    kept.mkdir(parents=True, exist_ok=True)
    found = extract_epochs(Plan(part, extractor), kept)
    if found.skipped:
        first = found.skipped[0]
        raise InputError(
            f"{len(found.skipped)} pictures cannot be read, the first {first.name}: {first.reason}"
        )
    verdicts = detect(
        next(found.epochs),
        part.labels,
        preset="paper",
        method=how.method,
        sampling="balanced",
        n_epochs=how.n_rounds,
        n_batches=how.n_batches,
        batch_size=how.batch_size,
        seed=seed,
    )
    return np.flatnonzero(~verdicts.is_corrupted)


def warmed_up(
    part: Part, n_classes: int, schedule: Schedule, seed: int, say: Say
) -> ImageExtractor:
    """The network of ``schedule`` after one class-balanced epoch on the noisy labels."""
    say("one epoch of warm-up on the noisy labels")
    network = Network(schedule.encoder(seed), schedule.depth, n_classes, seed)
    order, views = np.random.SeedSequence(seed, spawn_key=(4,)).spawn(2)
    rows = drawn_rows(
        np.arange(len(part)),
        part.labels,
        schedule.n_batches * schedule.batch_size,
        True,
        np.random.default_rng(order),
    )
    optimiser = network.optimiser(_MOMENTUM, _WEIGHT_DECAY)
    train_epoch(network, optimiser, part, rows, schedule, _WARMUP_RATE, views)
    return ImageExtractor(ImageModel("warmup", network.encoder(), schedule.size))
