"""Extractors trained on the pictures at hand: SimCLR, and warm-up on the given labels.

What was trained is an ONNX file in the cache, under a digest of the pictures, the labels if they
count, the settings and the seed; a run that was cut goes on where it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simifeat.errors import InputError, require
from simifeat.features.base import Asked
from simifeat.features.cache import cache_directory, cached_bytes
from simifeat.features.extract import usable_cores
from simifeat.features.gather import decoded
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.layers import Weights
from simifeat.features.options import Options
from simifeat.features.warmup import balanced_draws, train_on_labels
from simifeat.io.records import Records, content_hash

_FORMAT = 1  # of the training; another number trains anew


@dataclass(frozen=True)
class Trainable:
    """A network that can be trained here: its weights, and its description."""

    name: str
    digest: str
    """Of the weights."""
    weights: Callable[[], Weights]
    describe: Callable[[Any], None]
    """On ``Layers`` or ``TorchLayers``."""
    build: Callable[[Weights], bytes]


def open_simclr(asked: Asked) -> ImageExtractor:
    """SimCLR trained on the pictures themselves.

    Options: ``size``, ``epochs``, ``width``, ``depth``, ``batch``, ``pictures`` (how many to train
    on, at random).
    """
    chosen = Options(asked.name, asked.options)
    size = chosen.integer("size", 64, least=16) or 64
    n_epochs = chosen.integer("epochs", 10) or 10
    width = chosen.integer("width", 32, least=4) or 32
    depth = chosen.integer("depth", 18) or 18
    batch_size = chosen.integer("batch", 256, least=2) or 256
    n_most = chosen.integer("pictures", 50_000, least=2) or 50_000
    chosen.finish()
    from simifeat.features.simclr import train_simclr

    records, seed, progress = _records(asked), asked.at_hand.seed, asked.at_hand.progress
    key = _key(records, "simclr", size, n_epochs, width, depth, batch_size, n_most, seed)

    def train() -> bytes:
        require("torch", extra="torch")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        rows = np.sort(rng.permutation(len(records))[:n_most])
        with decoded(records, rows, size, progress) as (pictures, _rows), _kept(key) as keep:
            return train_simclr(
                pictures,
                depth=depth,
                width=width,
                n_epochs=n_epochs,
                batch_size=batch_size,
                seed=seed,
                keep=keep,
                progress=progress,
            )

    return ImageExtractor(ImageModel("simclr", cached_bytes(f"simclr-{key}.onnx", train), size))


def warmed_up(network: Trainable, asked: Asked, chosen: Options, size: int) -> ImageModel | None:
    """The network after one short epoch on the given labels, if ``warmup=1`` asks for it.

    As in the paper for Clothing1M: ``batches`` (1,000) of 32 pictures, classes drawn alike,
    learning rate .002.
    """
    wanted = chosen.choice("warmup", ("0", "1"), "0")
    n_batches = chosen.integer("batches", 1000) if wanted == "1" else None
    if n_batches is None:
        return None
    records, labels, seed = _records(asked), asked.at_hand.labels, asked.at_hand.seed
    if labels is None:
        raise InputError(
            f"{asked.name}?warmup=1 trains on the labels, and these records come without; leave "
            "out warmup"
        )
    classes, codes = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"{asked.name}?warmup=1 needs at least two classes; leave out warmup")
    key = _key(records, "warm-up", network.digest, codes.tolist(), size, n_batches, seed)

    def train() -> bytes:
        require("torch", extra="torch")
        draws = balanced_draws(codes, n_batches, seed)  # rows [n_batches, 32]
        progress = asked.at_hand.progress
        with (
            decoded(records, np.unique(draws), size, progress) as (pictures, rows),
            _kept(key) as keep,
        ):
            tuned = train_on_labels(
                network.weights(),
                network.describe,
                pictures,
                [np.searchsorted(rows, draw[np.isin(draw, rows)]) for draw in draws],
                codes[rows],
                seed=seed,
                keep=keep,
                progress=progress,
            )
        return network.build(tuned)

    name = f"{asked.name}?warmup=1"
    return ImageModel(name, cached_bytes(f"{asked.name}-warm-{key}.onnx", train), size)


@contextmanager
def _kept(key: str) -> Iterator[Path]:
    """Where the state of a training run is kept until the run is done."""
    path = cache_directory("training") / f"{key}.npz"
    yield path
    path.unlink(missing_ok=True)


def _records(asked: Asked) -> Records:
    if asked.at_hand.records is None:
        raise InputError(
            f"the extractor {asked.name} is trained on the pictures of a dataset, and there is "
            "none here; use it with simifeat detect"
        )
    return asked.at_hand.records


def _key(records: Records, *settings: object) -> str:
    with ThreadPoolExecutor(usable_cores()) as pool:
        content = content_hash(records, pool)
    parts = repr((_FORMAT, content, settings))
    return hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()
