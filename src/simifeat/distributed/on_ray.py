"""The stages as tasks of a Ray cluster whose nodes share the files."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from threadpoolctl import threadpool_limits

from simifeat.distributed.job import Job
from simifeat.distributed.stages import STAGES
from simifeat.errors import InputError, SimifeatError, require

_MOST_RETRIES = 20
"""Times a task is started again after its worker or node was lost."""

_SLOW = 4.0
"""A task that takes so many times the median of its stage is started a second time."""

_PATIENCE = 10.0
"""Seconds in which a cluster must answer."""

_WINDOW = 4
"""Tasks handed over for each core of the cluster."""


class OnRay:
    """Runs the stages on the cluster at an address, or on one of this machine's own ("auto")."""

    def __init__(self, address: str, slow_seconds: float = 20.0) -> None:
        self._slow_seconds = slow_seconds  # no task is slow before
        self.ray = connect(address)
        self._task = self.ray.remote(max_retries=_MOST_RETRIES, num_cpus=1)(_run_one)

    def run(
        self, job: Job, stage: str, numbers: Sequence[int], tick: Callable[[int], None]
    ) -> None:
        """One task a number; what is slow runs twice, as whoever is first makes the same file."""
        ray, waiting = self.ray, list(reversed(numbers))
        started: dict[Any, tuple[int, float]] = {}
        done: set[int] = set()
        seconds: list[float] = []
        doubled: set[int] = set()
        stored = ray.put(job)
        window = max(2, int(ray.cluster_resources().get("CPU", 1)) * _WINDOW)
        while len(done) < len(numbers):
            while waiting and len(started) < window:
                number = waiting.pop()
                started[self._task.remote(stored, stage, number)] = number, time.monotonic()
            ready, _ = ray.wait(list(started), num_returns=1, timeout=1.0)
            for task in ready:
                number, _ = started.pop(task)
                seconds.append(_outcome(ray, task))
                if number not in done:
                    done.add(number)
                    tick(1)
            if not waiting and seconds:
                limit = max(self._slow_seconds, _SLOW * sorted(seconds)[len(seconds) // 2])
                now = time.monotonic()
                for number, begun in list(started.values()):
                    if now - begun > limit and number not in doubled and number not in done:
                        doubled.add(number)
                        started[self._task.remote(stored, stage, number)] = number, now


def connect(address: str) -> Any:
    """Ray, connected to the cluster at ``address``."""
    ray: Any = require("ray", "ray")
    if ray.is_initialized():
        return ray
    try:
        if address == "auto":
            try:
                ray.init("auto", log_to_driver=False, logging_level="ERROR")
            except ConnectionError:  # no cluster runs here: start one for this run
                ray.init(log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        else:
            _check_reachable(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        detail = " ".join(str(error).split())[:160]
        raise InputError(f"cannot reach the Ray cluster {address}: {detail}") from error
    return ray


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes where nobody answers."""
    place = urlsplit(address if "://" in address else f"ray://{address}")
    if place.port is None:
        raise ValueError("give it as HOST:PORT")
    socket.create_connection((place.hostname, place.port), _PATIENCE).close()


def _run_one(job: Job, stage: str, number: int) -> float:
    """Run one task there; how long it took. A result that is there already stays."""
    begun = time.monotonic()
    if not job.work.path(stage, number).exists():
        with threadpool_limits(limits=1):
            STAGES[stage].run(job, number)
    return time.monotonic() - begun


def _outcome(ray: Any, task: Any) -> float:
    """What a task came to; its own errors as they were raised there."""
    try:
        return float(ray.get(task))
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SimifeatError):
            raise error.cause from None
        raise
