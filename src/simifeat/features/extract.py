"""One epoch: every record through an extractor, decoding and inference side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.features.base import Augment, Extractor
from simifeat.io.records import Record, Records, Unreadable

_AHEAD = 3  # batches in work or waiting, for each thread


class Stopped(Exception):
    """Extraction was told to stop before its end."""


@dataclass(frozen=True)
class Randomness:
    """What is changed at random, and the seed of the epoch.

    Each row draws from a generator of its own, so neither order nor threads matter.
    """

    augment: Augment
    key: tuple[int, int]
    """128 bits for the epoch."""

    @classmethod
    def of_epoch(cls, augment: Augment, seed: int, epoch: int) -> Randomness:
        """Epoch number ``epoch`` of a run with ``seed``."""
        words = np.random.SeedSequence(seed, spawn_key=(epoch,)).generate_state(2, np.uint64)
        return cls(augment, (int(words[0]), int(words[1])))

    @property
    def identity(self) -> str:
        """What a changed record depends on beside itself and its row."""
        return f"{self.augment.identity} {self.key}"

    def change(self, prepared: Any, row: int) -> Any:
        """The prepared record of ``row``, changed."""
        generator = np.random.Philox(key=np.array(self.key, np.uint64), counter=[0, 0, 0, row])
        return self.augment(prepared, np.random.Generator(generator))


@dataclass(frozen=True)
class Batch:
    """The features of some rows in a row; those that failed are named instead."""

    start: int
    features: NDArray[np.float32]  # [b, d]; NaN where a record failed
    failed: tuple[tuple[int, str, str], ...]
    """Row, name and reason."""


def extract_batches(
    records: Records,
    extractor: Extractor,
    random: Randomness | None = None,
    *,
    start: int = 0,
    n_threads: int | None = None,
    stop: Event | None = None,
) -> Iterator[Batch]:
    """Batches of features in the order of the rows, from row ``start`` on.

    Memory holds a few batches a thread. ``start`` is a multiple of the batch size.
    """
    threads = n_threads or usable_cores()
    remaining = islice(iter(records), start, None)
    waiting: deque[Future[Batch]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="simifeat-extract") as pool:
        try:
            while batch := list(islice(remaining, extractor.batch_size)):
                waiting.append(pool.submit(extract_batch, batch, start, extractor, random))
                start += len(batch)
                if len(waiting) >= _AHEAD * threads:
                    yield waiting.popleft().result()
                if stop is not None and stop.is_set():
                    raise Stopped
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def usable_cores() -> int:
    """Cores that this process may use."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def extract_batch(
    batch: Sequence[Record], start: int, extractor: Extractor, random: Randomness | None
) -> Batch:
    """Features of the records from row ``start`` on."""
    prepared, places, failed = [], [], []
    for place, record in enumerate(batch):
        try:
            ready = extractor.prepare(record.read())
        except Unreadable as error:
            failed.append((start + place, record.name, str(error)))
            continue
        prepared.append(ready if random is None else random.change(ready, start + place))
        places.append(place)
    if not prepared:
        return Batch(start, np.empty((len(batch), 0), np.float32), tuple(failed))
    features = extractor.run(prepared)
    if len(places) < len(batch):
        found = features
        features = np.full((len(batch), found.shape[1]), np.nan, np.float32)
        features[places] = found
    return Batch(start, features, tuple(failed))
