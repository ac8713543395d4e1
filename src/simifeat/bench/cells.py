"""Tables cell by cell: each result is a file, so a run that was cut goes on at the missing cell.

Cells that share work (features, a training) form a group, which one process computes in order.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simifeat.io.atomic import write_bytes

Result = Mapping[str, Any]
Save = Callable[["Cell", Result], None]
Say = Callable[[str], None]
_LOOK_EVERY = 0.5  # seconds between two looks at what is done


@dataclass(frozen=True)
class Cell:
    """One entry of a table and everything its result depends on."""

    name: str
    """Unique within a run and fit for a file name."""
    inputs: Mapping[str, Any]
    """Plain values; a stored result made from others is computed anew."""
    code: str = ""
    """Fingerprint of the source that computes it."""
    same_code: bool = False
    """Whether a result that other source made is computed anew, too."""


@dataclass(frozen=True)
class Group:
    """Cells that one call computes, saving each as soon as it is done."""

    cells: tuple[Cell, ...]
    work: Callable[[tuple[Cell, ...], Save], None]
    """Can be pickled: a function of a module, perhaps with arguments bound by ``partial``."""


@dataclass(frozen=True)
class Store:
    """Results of cells as JSON files in one folder."""

    folder: Path

    def load(self, cell: Cell) -> Result | None:
        """The result of ``cell`` if it is there and as good as one computed now."""
        stored = self._stored(cell)
        if stored is None or (cell.same_code and stored["code"] != cell.code):
            return None
        return stored["result"]

    def has_other_code(self, cell: Cell) -> bool:
        """Whether the result that is there was made by other source."""
        stored = self._stored(cell)
        return stored is not None and stored["code"] != cell.code

    def save(self, cell: Cell, result: Result) -> None:
        """Write the result whole."""
        stored = {"inputs": cell.inputs, "code": cell.code, "result": result}
        content = json.dumps(stored, indent=1)
        write_bytes(self._path(cell), (content + "\n").encode())

    def _stored(self, cell: Cell) -> dict[str, Any] | None:
        """What is there, if it was made from the same inputs."""
        try:
            stored = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        same = stored.get("inputs") == json.loads(json.dumps(cell.inputs))
        return stored if same else None

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.name}.json"


def run(groups: Sequence[Group], store: Store, n_jobs: int, say: Say) -> dict[str, Result]:
    """Results by cell name; only what ``store`` lacks is computed, in ``n_jobs`` processes."""
    store.folder.mkdir(parents=True, exist_ok=True)
    cells = [cell for group in groups for cell in group.cells]
    older = sum(not cell.same_code and store.has_other_code(cell) for cell in cells)
    if older:
        say(f"{older} of the cells there were made by other code; --again computes them anew")
    pending = [(group, missing) for group in groups if (missing := _missing(group, store))]
    count = _Count(len(cells), sum(len(missing) for _, missing in pending), say)
    if n_jobs == 1 or len(pending) <= 1:
        for group, missing in pending:
            group.work(missing, count.noting(store.save))
    else:
        for name in _in_processes(pending, store, n_jobs):
            count.note(name)
    results = {cell.name: store.load(cell) for cell in cells}
    lost = [name for name, result in results.items() if result is None]
    if lost:
        raise RuntimeError(f"no result was saved for {', '.join(lost)}")
    return {name: result for name, result in results.items() if result is not None}


def _missing(group: Group, store: Store) -> tuple[Cell, ...]:
    return tuple(cell for cell in group.cells if store.load(cell) is None)


def _in_processes(
    pending: Sequence[tuple[Group, tuple[Cell, ...]]], store: Store, n_jobs: int
) -> Iterator[str]:
    """Compute in processes; names of cells as their results appear."""
    unseen = [cell for _, missing in pending for cell in missing]
    with ProcessPoolExecutor(
        n_jobs, multiprocessing.get_context("spawn"), _end_with_parent, (os.getpid(),)
    ) as pool:
        waiting: set[Future[None]] = {
            pool.submit(group.work, missing, store.save) for group, missing in pending
        }
        try:
            while waiting:
                finished, waiting = wait(waiting, _LOOK_EVERY, FIRST_COMPLETED)
                for future in finished:
                    future.result()
                seen = [cell for cell in unseen if store.load(cell) is not None]
                unseen = [cell for cell in unseen if cell not in seen]
                yield from (cell.name for cell in seen)
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent(parent: int) -> None:
    """A worker whose run was killed stops too, rather than work on for nobody."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Count:
    """Says how many cells are done and how long the others will take."""

    def __init__(self, n_cells: int, n_missing: int, say: Say) -> None:
        self._n_cells, self._n_missing, self._say = n_cells, n_missing, say
        self._done = 0
        self._began = time.monotonic()
        if n_missing < n_cells:
            say(f"{n_cells - n_missing} of {n_cells} cells are there already")

    def note(self, name: str) -> None:
        self._done += 1
        left = self._n_missing - self._done
        seconds = (time.monotonic() - self._began) / self._done * left
        forecast = f", {_duration(seconds)} left" if left else ""
        self._say(f"{self._n_cells - left} of {self._n_cells} cells{forecast}: {name}")

    def noting(self, save: Save) -> Save:
        def saved(cell: Cell, result: Result) -> None:
            save(cell, result)
            self.note(cell.name)

        return saved


def _duration(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 90 else f"{round(seconds / 60)} min"
