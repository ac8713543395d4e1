"""Detectors on the same labels: the cells of Tables 1 and 2."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.registry import code_mark, detector
from simifeat.baselines.training import Remembering, Trainer
from simifeat.bench.cells import Cell, Group, Result, Save, Say, Store
from simifeat.bench.data import FeatureFile, fingerprint, subset
from simifeat.bench.graphs import graph_of, load_graph
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.noisy import NoisyLabels
from simifeat.bench.paper import DATASET_TITLES, NOISE_TITLES
from simifeat.bench.pictures import PictureFile
from simifeat.errors import NotIdentifiable
from simifeat.metrics import average_precision, detection_scores, expected_calibration_error
from simifeat.theory import clusterability_curve
from simifeat.verdicts import Verdicts

K = 10


def scores(verdicts: Verdicts, clean_labels: NDArray[Any]) -> dict[str, Any]:
    """Everything measured of one detection, figures in [0, 1]."""
    counts = detection_scores(verdicts.is_corrupted, verdicts.labels, clean_labels)
    return {
        "f1": counts.f1,
        "precision": counts.precision,
        "recall": counts.recall,
        "n_flagged": counts.n_flagged,
        "n_corrupted": counts.n_corrupted,
        "n_examples": counts.n_examples,
        "average_precision": average_precision(verdicts.score, verdicts.labels, clean_labels),
        "calibration_error": expected_calibration_error(
            verdicts.p_corrupted, verdicts.labels, clean_labels
        ),
        "noise_rate_estimate": verdicts.transition.noise_rate,
    }


def groups(
    table: str,
    file: FeatureFile,
    labels: NoisyLabels,
    noises: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    limit: int | None,
    store: Path,
    make_trainer: Callable[[], Trainer],
    say: Say,
    again: Sequence[str] = (),
    pictures: PictureFile | None = None,
) -> list[Group]:
    """One group for each noise and seed on the features of ``file``; methods are its cells.

    With ``pictures`` the methods that train are shown those in place of the features.
    A cell of a method in ``again`` is computed anew if other code made its result.
    """
    rows = subset(file.n_examples, limit)
    graph = graph_of(file, rows, store, say)
    shown = None if pictures is None else fingerprint(pictures.load(rows))
    found = []
    for seed in seeds:
        for noise in noises:
            mark = fingerprint(labels.draw(noise, seed, rows))
            cells = []
            for method in methods:
                entry = detector(method)
                inputs: dict[str, Any] = {
                    "method": method,
                    "features": graph.features,
                    "labels": mark,
                    "detector": entry.place,
                    "options": dict(entry.options),
                    "trainer": repr(make_trainer()) if entry.takes == "trainer" else None,
                    "seed": seed,
                }
                if shown is not None and entry.takes == "trainer":
                    inputs["pictures"] = shown
                name = cell_name(table, file, noise, method, seed)
                cells.append(Cell(name, inputs, code_mark(entry), method in again))
            place = (file, labels, noise, rows, graph.path, make_trainer, seed, pictures)
            work = partial(compute, *place)
            found.append(Group(tuple(cells), work))
    return found


def cell_name(table: str, file: FeatureFile, noise: str, method: str, seed: int) -> str:
    """Fit for a file, whatever the method is called."""
    parts = (table, file.dataset, file.extractor, noise, method, str(seed))
    return "-".join(parts).replace(":", ".")


def compute(
    file: FeatureFile,
    noisy: NoisyLabels,
    noise: str,
    rows: NDArray[np.int64] | None,
    graph: Path,
    make_trainer: Callable[[], Trainer],
    seed: int,
    pictures: PictureFile | None,
    cells: tuple[Cell, ...],
    save: Save,
) -> None:
    """Run the methods of ``cells`` one after the other on the same features and labels.

    A training that several share counts for the first of them.
    """
    features = file.load(rows)
    seen: Any = features if pictures is None else pictures.load(rows)
    labels, clean = noisy.draw(noise, seed, rows), noisy.clean(rows)
    shared: dict[str, dict[str, Any]] = {
        "": {},
        "trainer": {"trainer": Remembering(make_trainer())},
        "neighbors": {"neighbors": load_graph(graph)},
    }
    for cell in cells:
        entry = detector(cell.inputs["method"])
        detect = entry.load()
        inputs = seen if entry.takes == "trainer" else features
        began, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", NotIdentifiable)
            verdicts = detect(inputs, labels, seed=seed, **entry.options, **shared[entry.takes])
        times = {
            "seconds": round(time.perf_counter() - began, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
        }
        notes = {"notes": sorted({str(each.message) for each in heard})}
        save(cell, {**scores(verdicts, clean), **times, **notes})


def clusterable(
    file: FeatureFile, labels: NoisyLabels, limit: int | None, store: Store, say: Say
) -> float:
    """1 - delta_k of the features for k = 10, in per cent."""
    rows = subset(file.n_examples, limit)
    graph = load_graph(graph_of(file, rows, store.folder, say).path)
    return 100 * float(clusterability_curve(graph, labels.clean(rows), [K])[0])


def column_title(dataset: str, noise: str) -> str:
    """The setting as tables print it."""
    return f"{DATASET_TITLES.get(dataset, dataset)} {NOISE_TITLES.get(noise, noise)}"


def method_runs(
    results: Mapping[str, Result],
    table: str,
    file: FeatureFile,
    noise: str,
    method: str,
    seeds: Sequence[int],
    measure: str = "f1",
) -> tuple[float, ...]:
    """One figure in per cent a seed."""
    names = [cell_name(table, file, noise, method, seed) for seed in seeds]
    return tuple(100 * results[name][measure] for name in names)


def f1_grid(
    title: str,
    results: Mapping[str, Result],
    table: str,
    files: Sequence[FeatureFile],
    noises: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    paper: Mapping[tuple[str, str, str], float],
    measure: str = "f1",
) -> Grid:
    """Methods by settings, F1 in per cent, mean over seeds."""
    figures, columns = {}, []
    for file in files:
        for noise in noises:
            column = column_title(file.dataset, noise)
            columns.append(column)
            for method in methods:
                runs = method_runs(results, table, file, noise, method, seeds, measure)
                printed = paper.get((method, file.dataset, noise)) if measure == "f1" else None
                figures[detector(method).title, column] = Figure(runs, printed)
    rows = [detector(method).title for method in methods]
    return Grid(title, "Method", rows, columns, figures, n_best=2)
