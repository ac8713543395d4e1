"""Figure 3: delta_k and Proposition 1's lower bound against k, and the F1 that the vote reaches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.bench.cells import Say
from simifeat.bench.data import feature_files, subset
from simifeat.bench.graphs import graph_of, load_graph
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.noisy import NoisyLabels
from simifeat.bench.paper import DATASET_TITLES
from simifeat.bench.pictures import EXTRACTORS, with_extracted
from simifeat.bench.plots import plot_lines
from simifeat.bench.report import write_table
from simifeat.detect import detect
from simifeat.metrics import detection_scores
from simifeat.neighbors import Neighbors
from simifeat.theory import clusterability_curve, vote_lower_bound

NOISE_RATE = 0.4  # e of Proposition 1, as in the paper's remark
_NOISE = "symm40"  # labels corrupted as the proposition has it: at that rate, one by one
_SHOWN = (2, 5, 10, 20, 30, 40)


def figure3(
    data: Path,
    output: Path,
    *,
    pictures: Path | None = None,
    extractors: tuple[str, ...] = tuple(EXTRACTORS),
    datasets: tuple[str, ...] = ("cifar10",),
    limit: int | None = None,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Write figure3.* to ``output`` and give back delta_k and the bound at a few k."""
    given = feature_files(data, datasets)
    files = with_extracted(given, pictures, datasets, output / "features", extractors, say)
    cells = output / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    deltas: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    bounds: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    found: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    first = {file.dataset: NoisyLabels(data, file) for file in reversed(files)}
    for file in files:
        rows = subset(file.n_examples, limit)
        clean = first[file.dataset].clean(rows)
        graph = load_graph(graph_of(file, rows, cells, say).path)
        shares = clusterability_curve(graph, clean)
        ks = np.arange(1, len(shares) + 1)
        name = file.extractor
        if len(datasets) > 1:
            name = f"{DATASET_TITLES.get(file.dataset, file.dataset)} {name}"
        deltas[name] = (ks.tolist(), (1 - shares).tolist())
        even = ks[1::2]  # an odd k has an even number of voters, and a tie counts as wrong
        bound = vote_lower_bound(even, NOISE_RATE, 1 - shares[1::2])
        bounds[name] = (even.tolist(), bound.tolist())
        labels = first[file.dataset].draw(_NOISE, 0, rows)
        asked = [k for k in _SHOWN if k <= graph.k]
        found[name] = (asked, [_f1_of_vote(graph, labels, clean, k) for k in asked])
    grids = [
        _at(deltas, "delta_k"),
        _at(bounds, f"Lower bound of P(vote is correct), e = {NOISE_RATE}"),
        _at(found, f"F1 of the vote, symmetric noise of {NOISE_RATE}"),
    ]
    record = {"delta_k": deltas, "lower_bound": bounds, "f1_of_vote": found}
    write_table(output, "figure3", grids, {"limit": limit, **record})
    panels = {
        "delta_k": deltas,
        f"lower bound of P(vote is correct), e = {NOISE_RATE}": bounds,
        f"F1 of the vote, symmetric noise of {NOISE_RATE}": found,
    }
    plot_lines(panels, "k", output / "figure3.png")
    return grids


def _f1_of_vote(graph: Neighbors, labels: NDArray[Any], clean: NDArray[Any], k: int) -> float:
    verdicts = detect(None, labels, method="vote", k=k, n_epochs=1, neighbors=graph, seed=0)
    return detection_scores(verdicts.is_corrupted, labels, clean).f1


def _at(lines: dict[str, tuple[Sequence[float], Sequence[float]]], title: str) -> Grid:
    figures = {
        (name, f"k = {k}"): Figure((dict(zip(xs, ys, strict=True))[k],))
        for name, (xs, ys) in lines.items()
        for k in _SHOWN
        if k in xs
    }
    columns = [f"k = {k}" for k in _SHOWN if any(column == f"k = {k}" for _, column in figures)]
    return Grid(title, "Extractor", list(lines), columns, figures, digits=3)
