"""Table 4: training on what was selected from Clothing1M, or from a set laid out like it."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.bench.cells import Cell, Group, Result, Save, Say, Store, run
from simifeat.bench.clothing import ClothingSet, read_clothing
from simifeat.bench.data import fingerprint
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.paper import TABLE4
from simifeat.bench.plots import plot_lines
from simifeat.bench.report import write_table
from simifeat.bench.schedule import Schedule, train_selected
from simifeat.bench.select import Selection, selected_rows
from simifeat.io.atomic import write_bytes

PAPER_SCHEDULE = Schedule()
COLUMNS = ("Selected (%)", "Best epoch", "Last 10", "Last")


def table4(
    data: Path,
    output: Path,
    *,
    selections: tuple[str, ...] = ("none", "efficientnet-lite0", "warmup"),
    samplings: tuple[str, ...] = ("unbalanced", "balanced"),
    method: str = "rank",
    n_rounds: int = 600,
    schedule: Schedule = PAPER_SCHEDULE,
    seeds: Sequence[int] = (0,),
    limit: int | None = None,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Compute what is missing, write table4.* to ``output`` and give back the table."""
    clothing = read_clothing(data, limit)
    store = Store(output / "cells")
    mark = _mark(clothing)
    work = []
    for seed in seeds:
        for name in selections:
            how = Selection(name, method, n_rounds, schedule.n_batches, schedule.batch_size)
            cells = tuple(
                Cell(
                    _cell_name(name, sampling, seed),
                    {
                        "data": mark,
                        "selection": asdict(how),
                        "sampling": sampling,
                        "schedule": repr(schedule),
                        "seed": seed,
                    },
                )
                for sampling in samplings
            )
            place = (clothing, how, schedule, seed, output, mark, say)
            work.append(Group(cells, partial(_compute, *place)))
    results = run(work, store, 1, say)  # a training has all cores to itself
    grid = _grid(results, selections, samplings, seeds, data.name, len(clothing.train))
    write_table(
        output,
        "table4",
        [grid],
        {
            "seeds": list(seeds),
            "limit": limit,
            "n_train": len(clothing.train),
            "n_test": len(clothing.test),
            "schedule": repr(schedule),
            "n_rounds": n_rounds,
            "cells": {name: dict(result) for name, result in results.items()},
        },
    )
    plot_lines(_curves(results, selections, samplings, seeds[0]), "epoch", output / "table4.png")
    return [grid]


def _curves(
    results: Mapping[str, Result], selections: Sequence[str], samplings: Sequence[str], seed: int
) -> dict[str, dict[str, tuple[list[int], list[float]]]]:
    """Test accuracy after each epoch, one panel a sampling."""
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    for sampling in samplings:
        lines = panels.setdefault(f"test accuracy (%), {sampling}", {})
        for name in selections:
            shares = results[_cell_name(name, sampling, seed)]["test_accuracy"]
            lines[name] = (list(range(1, len(shares) + 1)), [100 * share for share in shares])
    return panels


def _compute(
    clothing: ClothingSet,
    how: Selection,
    schedule: Schedule,
    seed: int,
    output: Path,
    mark: str,
    say: Say,
    cells: tuple[Cell, ...],
    save: Save,
) -> None:
    """Select once, then train for every sampling."""
    folder = output / "trainings"
    folder.mkdir(parents=True, exist_ok=True)
    parts = (mark, how, seed, *((schedule,) if how.name == "warmup" else ()))
    rows = _kept(
        folder / f"selected-{_digest(parts)}.npy", clothing, how, schedule, seed, output, say
    )
    for cell in cells:
        sampling = cell.inputs["sampling"]
        keep = folder / f"{_digest((mark, how, seed, schedule, sampling))}.npz"
        balanced = sampling == "balanced"
        shares = train_selected(clothing, rows, balanced, schedule, seed, keep, say)
        save(
            cell,
            {
                "n_selected": len(rows),
                "share_selected": len(rows) / len(clothing.train),
                "test_accuracy": shares,
            },
        )


def _kept(
    path: Path,
    clothing: ClothingSet,
    how: Selection,
    schedule: Schedule,
    seed: int,
    output: Path,
    say: Say,
) -> NDArray[np.int64]:
    """The rows selected, found once."""
    if not path.exists():
        rows = selected_rows(clothing.train, clothing.n_classes, how, schedule, seed, output, say)
        content = io.BytesIO()
        np.save(content, rows)
        write_bytes(path, content.getvalue())
    return np.load(path, allow_pickle=False)


def _grid(
    results: Mapping[str, Result],
    selections: Sequence[str],
    samplings: Sequence[str],
    seeds: Sequence[int],
    where: str,
    n_train: int,
) -> Grid:
    """A selection and a sampling a row, the paper's below."""
    figures, rows = {}, []
    for name in selections:
        for sampling in samplings:
            row = f"{name}, {sampling}"
            rows.append(row)
            found = [results[_cell_name(name, sampling, seed)] for seed in seeds]
            runs = [_summary(each) for each in found]
            for place, column in enumerate(COLUMNS):
                figures[row, column] = Figure(tuple(run[place] for run in runs))
    for (name, sampling), printed in TABLE4.items():
        row = f"{name}, {sampling} (paper, Clothing1M)"
        rows.append(row)
        for column, value in zip(COLUMNS, printed, strict=True):
            figures[row, column] = Figure((value,))
    title = f"Test accuracy (%) after training on what was selected of {n_train:,} rows of {where}"
    return Grid(title, "Selection, sampling", rows, COLUMNS, figures)


def _summary(result: Result) -> tuple[float, float, float, float]:
    shares = result["test_accuracy"]
    last10 = float(np.mean(shares[-10:]))
    return 100 * result["share_selected"], 100 * max(shares), 100 * last10, 100 * shares[-1]


def _cell_name(selection: str, sampling: str, seed: int) -> str:
    return re.sub(r"[^\w.-]", ".", f"table4-{selection}-{sampling}-{seed}")


def _mark(clothing: ClothingSet) -> str:
    names = "\n".join([*clothing.train.names, "", *clothing.test.names])
    digest = np.frombuffer(hashlib.sha256(names.encode()).digest(), np.uint8)
    return fingerprint(digest, clothing.train.labels, clothing.test.labels)


def _digest(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
