"""Table 3: the better the features (the higher 1 - delta_k), the higher the F1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.registry import detector
from simifeat.bench.cells import Group, Result, Say, Store, run
from simifeat.bench.compare import K, clusterable, column_title, groups, method_runs
from simifeat.bench.data import FeatureFile, feature_files
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.noisy import NoisyLabels
from simifeat.bench.paper import DATASET_TITLES, TABLE3
from simifeat.bench.pictures import EXTRACTORS, with_extracted
from simifeat.bench.plots import plot_points
from simifeat.bench.report import write_table

Shares = Mapping[tuple[str, str], float]  # 1 - delta_k in per cent by dataset and extractor


def table3(
    data: Path,
    output: Path,
    *,
    pictures: Path | None = None,
    extractors: tuple[str, ...] = tuple(EXTRACTORS),
    datasets: tuple[str, ...] = ("cifar10", "cifar100"),
    methods: tuple[str, ...] = ("rank", "propagate"),
    noises: tuple[str, ...] = ("human", "inst40"),
    seeds: Sequence[int] = (0, 1, 2),
    limit: int | None = None,
    again: tuple[str, ...] = (),
    n_jobs: int = 1,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Compute what is missing, write table3.* to ``output`` and give back the tables.

    Takes every feature file in ``data``; with ``pictures`` also those made from the pictures. All
    extractors of a dataset are judged on the same labels.
    """
    given = feature_files(data, datasets)
    first = {file.dataset: NoisyLabels(data, file) for file in reversed(given)}
    for labels in first.values():
        for noise in noises:
            labels.check(noise)
    files = with_extracted(given, pictures, datasets, output / "features", extractors, say)
    store = Store(output / "cells")
    work: list[Group] = []
    for file in files:
        choices = (noises, methods, seeds, limit, store.folder, LinearTrainer, say, again)
        work += groups("table3", file, first[file.dataset], *choices)
    results = run(work, store, n_jobs, say)
    shares = {
        (file.dataset, file.extractor): clusterable(file, first[file.dataset], limit, store, say)
        for file in files
    }
    grids = [_grid(files, method, noises, seeds, results, shares) for method in methods]
    write_table(
        output,
        "table3",
        grids,
        {
            "seeds": list(seeds),
            "limit": limit,
            "clusterability": {"/".join(key): value for key, value in shares.items()},
            "cells": {name: dict(result) for name, result in results.items()},
        },
    )
    plot_points(_points(grids[0]), f"1 - delta_{K} (%)", "F1 (%)", output / "table3.png")
    return grids


def _grid(
    files: Sequence[FeatureFile],
    method: str,
    noises: Sequence[str],
    seeds: Sequence[int],
    results: Mapping[str, Result],
    shares: Shares,
) -> Grid:
    """Extractors, the best first, by clusterability and noise; the paper's own below."""
    figures = {}
    for file in files:
        share = shares[file.dataset, file.extractor]
        figures[file.extractor, _share_column(file.dataset)] = Figure((share,))
        for noise in noises:
            runs = method_runs(results, "table3", file, noise, method, seeds)
            figures[file.extractor, column_title(file.dataset, noise)] = Figure(runs)
    datasets = list(dict.fromkeys(file.dataset for file in files))
    columns = [
        column
        for dataset in datasets
        for column in (_share_column(dataset), *(column_title(dataset, n) for n in noises))
    ]
    best: dict[str, float] = {}
    for (_, extractor), share in shares.items():
        best[extractor] = max(share, best.get(extractor, 0.0))
    names = sorted(best, key=lambda name: -best[name])
    if method == "rank":
        printed = _printed(columns)
        figures.update(printed)
        names += list(dict.fromkeys(name for name, _ in printed))
    title = f"F1 (%) of {detector(method).title} by extractor, k = {K} for 1 - delta_k (%)"
    return Grid(title, "Extractor", names, columns, figures)


def _printed(columns: Sequence[str]) -> dict[tuple[str, str], Figure]:
    """The paper's rows, as far as there are columns for them."""
    places = [
        place
        for dataset in ("cifar10", "cifar100")
        for place in (
            _share_column(dataset),
            column_title(dataset, "human"),
            column_title(dataset, "inst40"),
        )
    ]
    return {
        (f"{name} (paper)", place): Figure((value,))
        for name, values in TABLE3.items()
        for place, value in zip(places, values, strict=True)
        if place in columns
    }


def _share_column(dataset: str) -> str:
    return f"{DATASET_TITLES.get(dataset, dataset)} 1-delta_k"


def _points(grid: Grid) -> dict[str, dict[str, list[tuple[float, float, str]]]]:
    """F1 against clusterability, one panel a setting, ours and the paper's."""
    panels = {}
    share = ""
    for column in grid.columns:
        if column.endswith("1-delta_k"):
            share = column
            continue
        series: dict[str, list[tuple[float, float, str]]] = {"here": [], "paper": []}
        for row in grid.rows:
            if (row, share) in grid.figures and (row, column) in grid.figures:
                kind = "paper" if row.endswith("(paper)") else "here"
                x, y = grid.figures[row, share].mean, grid.figures[row, column].mean
                series[kind].append((x, y, row.removesuffix(" (paper)")))
        panels[column] = {kind: points for kind, points in series.items() if points}
    return panels
