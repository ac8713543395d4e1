"""One run from files to verdicts: the stages in order, then the detector on the graph."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from simifeat.dataset import Labels, check_ids, hash_array, hash_labels
from simifeat.detect import engine_of
from simifeat.distributed.cost import Budget, Size, disk, products_per_second, seconds
from simifeat.distributed.inputs import BadShard, InParts
from simifeat.distributed.job import Job
from simifeat.distributed.opening import open_input
from simifeat.distributed.stages import STAGES, load_graph, load_kin
from simifeat.distributed.work import Work
from simifeat.errors import InputError
from simifeat.judge import Judge
from simifeat.neighbors.parallel import run as run_in_threads
from simifeat.neighbors.parallel import usable_threads
from simifeat.settings import Settings
from simifeat.verdicts import Verdicts
from simifeat.version import __version__

Progress = Callable[[str, int, int], None]


class Scheduler(Protocol):
    """Runs a stage for some numbers, anywhere and in any order."""

    def run(
        self, job: Job, stage: str, numbers: Sequence[int], tick: Callable[[int], None]
    ) -> None:
        """Return when all are done; ``tick(1)`` as each one is."""


class Threads:
    """The stages in this process."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads

    def run(
        self, job: Job, stage: str, numbers: Sequence[int], tick: Callable[[int], None]
    ) -> None:
        """A thread a number."""

        def work(number: int) -> int:
            STAGES[stage].run(job, number)
            return 1

        last = 0

        def progress(done: int, _: int) -> None:
            nonlocal last
            tick(done - last)
            last = done

        run_in_threads(work, numbers, self.n_threads, progress, len(numbers))


@dataclass(frozen=True)
class Forecast:
    """What a run will cost."""

    size: Size
    budget: Budget
    memory: int
    """Bytes at most, in each process that works."""
    disk: int
    """Bytes in the work folder."""
    seconds: float
    """On this machine, or on as many cores like these as take part."""

    @classmethod
    def of(cls, size: Size, budget: Budget) -> Forecast:
        """From the size of the input, and the speed of this machine."""
        rate = products_per_second(size.d) * budget.n_threads
        return cls(
            size, budget, budget.memory(size), disk(size), seconds(size, rate, budget.n_threads)
        )


def forecast_files(
    source: str,
    *,
    labels: str | None = None,
    features: str | None = None,
    id: str | None = None,
    groups: str | None = None,
    memory: int | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    **choices: Any,
) -> Forecast:
    """What ``detect_files`` with the same arguments will cost; only headers and labels are read."""
    where = (source, "", labels, features, id, groups)
    job, encoded = _plan(*where, memory, seed, n_threads, choices, frozenset())
    size = Size(job.input.n, job.input.d, job.k, encoded.n_classes)
    return Forecast.of(size, job.budget)


def detect_files(
    source: str,
    work: str | Path,
    *,
    labels: str | None = None,
    features: str | None = None,
    id: str | None = None,
    groups: str | None = None,
    memory: int | None = None,
    cluster: str | None = None,
    fresh: bool = False,
    skip_bad: bool = False,
    keep: bool = False,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
    **choices: Any,
) -> Verdicts:
    """Verdicts on the rows of ``source``: a .npy or .parquet file, or a pattern for several.

    Neighbours are searched by the approximate engine, whatever their number. ``work`` is a folder
    for results of the stages; a run that was stopped goes on from them, unless ``fresh``, and the
    folder is gone when the run is done, unless you ``keep`` it. ``memory`` is the most this process
    may use, in bytes. ``cluster`` is "auto" or the address of a Ray cluster whose nodes all see
    ``source`` and ``work``. ``skip_bad`` leaves out files that cannot be read instead of stopping
    at them. ``choices`` are those of ``simifeat.detect``. The verdicts depend on none of ``work``,
    ``memory``, ``cluster`` and ``n_threads``.
    """
    tell = note or (lambda _: None)
    skipped: frozenset[Path] = frozenset()
    while True:
        try:
            where = (source, work, labels, features, id, groups)
            job, encoded = _plan(*where, memory, seed, n_threads, choices, skipped)
            scheduler: Scheduler = Threads(job.budget.n_threads)
            if cluster is not None:
                from simifeat.distributed.on_ray import OnRay

                scheduler = OnRay(cluster)
            if job.work.prepare(job.key, fresh and not skipped):
                tell(f"going on with the run in {job.work.root}")
            verdicts = _run(job, encoded, scheduler, progress)
            if not keep:
                job.work.remove()
            return verdicts
        except BadShard as error:
            if not skip_bad:
                raise
            tell(f"left out: {error}")
            skipped |= {error.path}


def _run(job: Job, labels: Labels, scheduler: Scheduler, progress: Progress | None) -> Verdicts:
    for stage, what in STAGES.items():
        total = what.count(job)
        done = job.work.done(stage)
        finished = len(done)

        def tick(count: int, stage: str = stage, total: int = total) -> None:
            nonlocal finished
            finished += count
            if progress is not None:
                progress(stage, finished, total)

        todo = [number for number in range(total) if number not in done]
        if todo:
            scheduler.run(job, stage, todo, tick)
    graph, apart = load_graph(job), load_kin(job)
    ids = job.input.ids()
    judge = _judge(labels, job.settings, job.seed, job.budget.n_threads)

    def judging(done: int, total: int) -> None:
        if progress is not None:
            progress("judging", done, total)

    judge.epoch(graph, judge.rounds(), judging, InParts(job.input, job.bounds(0)[1]))
    judge.transition.warn(stacklevel=3)
    digest = hashlib.sha256()
    hash_labels(digest, labels)
    hash_array(digest, graph.index)
    about = {
        "version": __version__,
        "settings": job.settings.to_dict(),
        "seed": job.seed,
        "fingerprint": digest.hexdigest(),
        **engine_of(graph),
    }
    if apart.codes:
        about["kept_apart"] = apart.counts_left(graph, job.settings.n_neighbors)
    return judge.verdicts(check_ids(ids, len(labels.codes)), about)


def _judge(labels: Labels, settings: Settings, seed: int, n_threads: int = 1) -> Judge:
    """As ``simifeat.detect`` makes it of the same seed."""
    return Judge(labels, settings, None, np.random.SeedSequence(seed).spawn(2)[1], n_threads)


def _plan(
    source: str,
    work: str | Path,
    labels: str | None,
    features: str | None,
    id: str | None,
    groups: str | None,
    memory: int | None,
    seed: int,
    n_threads: int | None,
    choices: dict[str, Any],
    skipped: frozenset[Path],
) -> tuple[Job, Labels]:
    """The job and what it may use, from headers, labels and settings alone."""
    preset = choices.get("preset")
    named = {name: value for name, value in choices.items() if name != "preset"}
    settings = Settings.resolve(preset, **{**named, "engine": "approximate"})
    if settings.max_rows is not None:
        raise InputError("max_rows has no meaning here; give fewer files")
    if settings.probe:
        raise InputError("probe needs all rows in memory; use simifeat.detect")
    opened = open_input(source, labels, features, id, groups, skipped)
    encoded = Labels.encode(opened.labels())
    k = _judge(encoded, settings, seed).n_searched
    k = min(k, opened.n - 1)
    size = Size(opened.n, opened.d, k, encoded.n_classes)
    budget = Budget.fit(size, memory, usable_threads(n_threads))
    return Job(opened, settings, seed, k, budget, Work(Path(work))), encoded
