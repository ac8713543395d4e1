"""Table 3: the better the features (the higher 1 - delta_k), the higher the F1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.registry import detector
from simifeat.bench.cells import Say, Store, run
from simifeat.bench.compare import column_title, groups, method_runs
from simifeat.bench.data import chosen_noise, feature_files, label_sets, subset
from simifeat.bench.graphs import graph_of, load_graph
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.paper import DATASET_TITLES, TABLE3
from simifeat.bench.pictures import EXTRACTORS, extracted, has_pictures
from simifeat.bench.plots import plot_points
from simifeat.bench.report import write_table
from simifeat.errors import InputError
from simifeat.theory import clusterability_curve

K = 10


def table3(
    data: Path,
    output: Path,
    *,
    pictures: Path | None = None,
    extractors: tuple[str, ...] = tuple(EXTRACTORS),
    datasets: tuple[str, ...] = ("cifar10", "cifar100"),
    methods: tuple[str, ...] = ("rank", "propagate"),
    noises: tuple[str, ...] = ("human", "inst40"),
    seeds: Sequence[int] = (0,),
    limit: int | None = None,
    n_jobs: int = 1,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Compute what is missing, write table3.* to ``output`` and give back the tables.

    Takes every feature file in ``data``; with ``pictures`` also those made from the pictures.
    """
    files = feature_files(data, datasets)
    if pictures is not None:
        there = [dataset for dataset in datasets if has_pictures(pictures, dataset)]
        if not there:
            raise InputError(f"{pictures} holds the pictures of none of {', '.join(datasets)}")
        for dataset in there:
            files += extracted(pictures, dataset, output / "features", extractors, say)
    for file in files:
        chosen_noise(label_sets(data, file.dataset), file.dataset, noises)
    store = Store(output / "cells")
    work = [
        group
        for file in files
        for group in groups(
            "table3", file, data, noises, methods, seeds, limit, store.folder, LinearTrainer, say
        )
    ]
    results = run(work, store, n_jobs, say)

    clusterable = {}
    for file in files:
        rows = subset(file.n_examples, limit)
        clean = label_sets(data, file.dataset)["clean"]
        graph = load_graph(graph_of(file, rows, store.folder, say).path)
        share = clusterability_curve(graph, clean if rows is None else clean[rows], [K])[0]
        clusterable[file.dataset, file.extractor] = 100 * float(share)

    present = [dataset for dataset in datasets if any(f.dataset == dataset for f in files)]
    grids = []
    for method in methods:
        figures, columns = {}, []
        for dataset in present:
            title = DATASET_TITLES.get(dataset, dataset)
            columns += [f"{title} 1-delta_k", *(column_title(dataset, n) for n in noises)]
        for file in files:
            title = DATASET_TITLES.get(file.dataset, file.dataset)
            share = clusterable[file.dataset, file.extractor]
            figures[file.extractor, f"{title} 1-delta_k"] = Figure((share,))
            for noise in noises:
                runs = method_runs(results, "table3", file, noise, method, seeds)
                figures[file.extractor, column_title(file.dataset, noise)] = Figure(runs)
        for name, printed in TABLE3.items():
            for dataset, three in zip(
                ("cifar10", "cifar100"), (printed[:3], printed[3:]), strict=True
            ):
                title = DATASET_TITLES[dataset]
                places = [f"{title} 1-delta_k"]
                places += [column_title(dataset, noise) for noise in ("human", "inst40")]
                for place, value in zip(places, three, strict=True):
                    if place in columns and method == "rank":
                        figures[f"{name} (paper)", place] = Figure((value,))
        names = sorted({f.extractor for f in files}, key=lambda n: -_best(figures, n, columns))
        if method == "rank":
            names += [f"{name} (paper)" for name in TABLE3]
        title = f"F1 (%) of {detector(method).title} by extractor, k = {K} for 1 - delta_k (%)"
        grids.append(Grid(title, "Extractor", names, columns, figures))
    write_table(
        output,
        "table3",
        grids,
        {
            "seeds": list(seeds),
            "limit": limit,
            "clusterability": {"/".join(key): value for key, value in clusterable.items()},
            "cells": {name: dict(result) for name, result in results.items()},
        },
    )
    _plot(grids[0], present, noises, output / "table3.png")
    return grids


def _best(figures: dict[tuple[str, str], Figure], name: str, columns: list[str]) -> float:
    """The extractor's clusterability on the first dataset it was used on."""
    shares = [figures[name, c].mean for c in columns if "delta" in c and (name, c) in figures]
    return shares[0]


def _plot(grid: Grid, datasets: list[str], noises: Sequence[str], path: Path) -> None:
    panels = {}
    for dataset in datasets:
        share = f"{DATASET_TITLES.get(dataset, dataset)} 1-delta_k"
        for noise in noises:
            column = column_title(dataset, noise)
            series: dict[str, list[tuple[float, float, str]]] = {"here": [], "paper": []}
            for row in grid.rows:
                if (row, share) in grid.figures and (row, column) in grid.figures:
                    kind = "paper" if row.endswith("(paper)") else "here"
                    x, y = grid.figures[row, share].mean, grid.figures[row, column].mean
                    series[kind].append((x, y, row.removesuffix(" (paper)")))
            panels[column] = {kind: points for kind, points in series.items() if points}
    plot_points(panels, f"1 - delta_{K} (%)", "F1 (%)", path)
