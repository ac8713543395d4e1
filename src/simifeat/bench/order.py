"""The order of the methods in each setting, ours and the paper's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata, spearmanr

from simifeat.bench.grid import Figure, Grid

AGREEMENT = "agreement of the two orders (Spearman)"


def order_grid(grid: Grid) -> Grid:
    """Places, 1 the best, among rows of ``grid`` that the paper prints too; its own in brackets.

    The last row is the rank correlation of the two orders: 1 the same, 0 unrelated, -1 reversed.
    """
    figures: dict[tuple[str, str], Figure] = {}
    rows: list[str] = []
    for column in grid.columns:
        there = [row for row in grid.rows if _printed(grid, row, column) is not None]
        ours = [grid.figures[row, column].mean for row in there]
        printed = [_printed(grid, row, column) or 0.0 for row in there]
        for row, here, paper in zip(there, _places(ours), _places(printed), strict=True):
            figures[row, column] = Figure((here,), paper)
        if len(there) > 2:
            figures[AGREEMENT, column] = Figure((float(spearmanr(ours, printed).statistic),))
        rows += [row for row in there if row not in rows]
    title = "Place of each method among those the paper prints; in brackets its place in the paper"
    if any(row == AGREEMENT for row, _ in figures):
        rows.append(AGREEMENT)
    return Grid(title, grid.corner, rows, grid.columns, figures, digits=1)


def _printed(grid: Grid, row: str, column: str) -> float | None:
    figure = grid.figures.get((row, column))
    return None if figure is None else figure.paper


def _places(values: Sequence[float]) -> list[float]:
    return [float(place) for place in rankdata(-np.array(values))]
