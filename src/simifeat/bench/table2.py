"""Table 2: every method on the same fixed features; those that train, train a linear layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.registry import DETECTORS, detector
from simifeat.bench.cells import Group, Say, Store, run
from simifeat.bench.compare import clusterable, f1_grid, groups
from simifeat.bench.data import feature_files, one_extractor
from simifeat.bench.grid import Grid
from simifeat.bench.noisy import PAPER_NOISE, NoisyLabels
from simifeat.bench.order import order_grid
from simifeat.bench.paper import TABLE2
from simifeat.bench.plots import plot_against_paper
from simifeat.bench.report import write_table


def table2(
    data: Path,
    output: Path,
    *,
    datasets: tuple[str, ...] = ("cifar10", "cifar100"),
    extractor: str | None = None,
    methods: tuple[str, ...] = tuple(DETECTORS),
    noises: tuple[str, ...] = PAPER_NOISE,
    seeds: Sequence[int] = (0, 1, 2),
    limit: int | None = None,
    again: tuple[str, ...] = (),
    n_jobs: int = 1,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Compute what is missing, write table2.* to ``output`` and give back the tables."""
    for method in methods:
        detector(method).load()
    files = one_extractor(feature_files(data, datasets), extractor)
    labels = [NoisyLabels(data, file) for file in files]
    for each in labels:
        for noise in noises:
            each.check(noise)
    store = Store(output / "cells")
    work: list[Group] = []
    for file, each in zip(files, labels, strict=True):
        choices = (noises, methods, seeds, limit, store.folder, LinearTrainer, say, again)
        work += groups("table2", file, each, *choices)
    results = run(work, store, n_jobs, say)
    what = f"on features of {', '.join(sorted({file.extractor for file in files}))}"
    arguments = ("table2", files, noises, methods, seeds, TABLE2)
    grids = [
        f1_grid(f"F1 (%) {what}; in brackets the paper's, on CLIP's", results, *arguments),
        f1_grid(f"Average precision (%) {what}", results, *arguments, "average_precision"),
    ]
    grids.append(order_grid(grids[0]))
    write_table(
        output,
        "table2",
        grids,
        {
            "seeds": list(seeds),
            "limit": limit,
            "clusterability": {
                file.dataset: clusterable(file, each, limit, store, say)
                for file, each in zip(files, labels, strict=True)
            },
            "cells": {name: dict(result) for name, result in results.items()},
        },
    )
    plot_against_paper(grids[0], output / "table2.png")
    return grids
