"""The plots of the tables, by matplotlib; drawn off screen."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simifeat.bench.grid import Grid
from simifeat.errors import require
from simifeat.io.atomic import write_bytes


def plot_against_paper(grid: Grid, path: Path) -> None:
    """One panel a column: our figure of each row as a bar, the paper's as a mark."""
    n_columns = min(4, len(grid.columns))
    n_lines = -(-len(grid.columns) // n_columns)
    figure = _figure(3.2 * n_columns, (0.8 + 0.28 * len(grid.rows)) * n_lines)
    axes = figure.subplots(n_lines, n_columns, sharey=True, squeeze=False)
    places = np.arange(len(grid.rows))[::-1]
    for axis, column in zip(axes.ravel(), grid.columns, strict=False):
        entries = [grid.figures.get((row, column)) for row in grid.rows]
        means = [entry.mean if entry else 0.0 for entry in entries]
        axis.barh(places, means, color="#7aa6d9", label="here")
        printed = [
            (entry.paper, place)
            for entry, place in zip(entries, places, strict=True)
            if entry is not None and entry.paper is not None
        ]
        if printed:
            axis.plot(*zip(*printed, strict=True), "k|", markersize=10, label="paper")
        axis.set_title(column, fontsize=9)
        axis.set_xlim(0, 100)
        axis.set_yticks(places, grid.rows, fontsize=8)
    for axis in axes.ravel()[len(grid.columns) :]:
        axis.set_visible(False)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8
    )
    _save(figure, path)


def plot_lines(
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    x_title: str,
    path: Path,
    *,
    marker: str = "",
) -> None:
    """One panel a title with one line (x, y) a name."""
    figure = _figure(5.0 * len(panels), 3.8)
    for place, (title, lines) in enumerate(panels.items(), start=1):
        axis = figure.add_subplot(1, len(panels), place)
        for name, (x, y) in lines.items():
            axis.plot(x, y, marker=marker, label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x_title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    _save(figure, path)


def plot_points(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float, str]]]],
    x_title: str,
    y_title: str,
    path: Path,
) -> None:
    """One panel a title with named points (x, y, name) of one or more series."""
    figure = _figure(5.0 * len(panels), 4.2)
    for place, (title, series) in enumerate(panels.items(), start=1):
        axis = figure.add_subplot(1, len(panels), place)
        for name, points in series.items():
            axis.plot([x for x, _, _ in points], [y for _, y, _ in points], "o", label=name)
            for x, y, text in points:
                axis.annotate(text, (x, y), (4, 3), textcoords="offset points", fontsize=7)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x_title)
        axis.set_ylabel(y_title)
        axis.margins(0.12)
        axis.grid(alpha=0.3)
        if len(series) > 1:
            axis.legend(fontsize=7)
    _save(figure, path)


def _figure(width: float, height: float) -> Any:
    # the figure class itself: pyplot would keep state and look for a screen
    return require("matplotlib.figure", extra="bench").Figure(
        figsize=(width, height), layout="constrained"
    )


def _save(figure: Any, path: Path) -> None:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=130, metadata={"Software": None})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, file.getvalue())
