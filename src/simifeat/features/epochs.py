"""M epochs of features, each extracted while the one before is judged, and kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.base import Augment, Extractor
from simifeat.features.cache import cache_directory
from simifeat.features.epochfile import Epoch, EpochFile
from simifeat.features.extract import Batch, Randomness, extract_batches, usable_cores
from simifeat.features.lock import locked
from simifeat.io.records import Records, content_hash
from simifeat.io.source import Progress, Skipped

_FORMAT = 1  # of what is kept; another number forgets all of it


@dataclass(frozen=True)
class Extraction:
    """Features of the records that could be read."""

    epochs: Iterator[NDArray[np.float32]]
    """One array [n_kept, d] an epoch; the first is there already."""
    kept: NDArray[np.int64]
    """Rows of the records that the arrays stand for."""
    skipped: tuple[Skipped, ...]
    """Those that could not be read."""


@dataclass(frozen=True)
class Plan:
    """What is extracted, and how often."""

    records: Records
    extractor: Extractor
    n_epochs: int = 1
    augment: Augment | None = None
    plain_first: bool = True
    """Whether the first of several epochs leaves the records as they are."""
    seed: int = 0
    n_threads: int | None = None
    progress: Progress | None = None
    batches: Callable[..., Iterator[Batch]] = extract_batches
    """What makes them, here or elsewhere."""

    def random(self, epoch: int) -> Randomness | None:
        """What changes the records of one epoch."""
        if self.augment is None or (epoch == 0 and self.plain_first):
            return None
        return Randomness.of_epoch(self.augment, self.seed, epoch)


def extract_epochs(plan: Plan, folder: Path | None = None) -> Extraction:
    """Extract the first epoch, and each further one while the one before is in use.

    Epochs are kept in ``folder``, by default in the user's cache, under a digest of the content of
    the records, the model and the seed: what is there is not extracted again, and what a killed
    run had begun is gone on with.
    """
    if not len(plan.records):
        raise InputError("there are 0 records; there is nothing to check")
    place = cache_directory("features") if folder is None else folder
    with ThreadPoolExecutor(plan.n_threads or usable_cores()) as pool:
        content = content_hash(plan.records, pool)
    first = _extract(plan, place, content, 0, Event())
    failed = first.failed
    readable = np.ones(len(plan.records), bool)
    readable[list(failed)] = False
    kept = np.flatnonzero(readable)
    epochs = _remaining(plan, place, content, first, kept)
    return Extraction(epochs, kept, _named(failed, plan.records))


def _named(failed: Mapping[int, Skipped], records: Records) -> tuple[Skipped, ...]:
    """Failed records by row, under the names they have now.

    Features are kept under a digest of the content alone, so names may be those of a copy.
    """
    if not failed:
        return ()
    now = islice(records, max(failed) + 1)
    return tuple(
        Skipped(record.name, failed[row].reason) for row, record in enumerate(now) if row in failed
    )


def _remaining(
    plan: Plan, place: Path, content: str, first: Epoch, kept: NDArray[np.int64]
) -> Iterator[NDArray[np.float32]]:
    stop = Event()
    with ThreadPoolExecutor(1, thread_name_prefix="simifeat-epoch") as beside:
        try:
            epoch = first
            for number in range(plan.n_epochs):
                if number + 1 < plan.n_epochs:
                    coming = beside.submit(_extract, plan, place, content, number + 1, stop)
                yield _of_kept(epoch, kept)
                if number + 1 < plan.n_epochs:
                    epoch = coming.result()
                    if set(epoch.failed) != set(first.failed):
                        raise InputError(
                            "records that could be read before cannot be read now, or the other "
                            "way round; leave the files alone while they are examined"
                        )
        finally:
            stop.set()


def _of_kept(epoch: Epoch, kept: NDArray[np.int64]) -> NDArray[np.float32]:
    return epoch.features if len(kept) == len(epoch.features) else epoch.features[kept]


def _extract(plan: Plan, place: Path, content: str, number: int, stop: Event) -> Epoch:
    random = plan.random(number)
    parts = (_FORMAT, content, plan.extractor.identity, random.identity if random else "plain")
    key = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    file = EpochFile(place, key, len(plan.records))
    with locked(place / f"{key}.lock", stop):  # another run may be at it: then wait for its epoch
        epoch = file.read()
        if epoch is not None:
            return epoch
        n_done = file.n_done(plan.extractor.batch_size)
        batches = plan.batches(
            plan.records,
            plan.extractor,
            random,
            start=n_done,
            n_threads=plan.n_threads,
            stop=stop,
        )
        return file.write(_watched(batches, plan, number), n_done)


def _watched(batches: Iterator[Batch], plan: Plan, number: int) -> Iterator[Batch]:
    stage = "features" if plan.n_epochs == 1 else f"features of epoch {number + 1}"
    for batch in batches:
        yield batch
        if plan.progress is not None:
            plan.progress(stage, batch.start + len(batch.features), len(plan.records))
