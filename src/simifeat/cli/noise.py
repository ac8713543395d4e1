"""``simifeat noise``: how noisy the labels of a source are as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import click
import numpy as np
from numpy.typing import NDArray

from simifeat.cli.loading import load
from simifeat.cli.options import (
    json_option,
    print_json,
    seed_option,
    source_options,
    threads_option,
)
from simifeat.cli.progress import progress_line
from simifeat.intervals import Intervals
from simifeat.neighbors.base import Metric
from simifeat.neighbors.find import Engine
from simifeat.transition import AnyEstimator, Transition, estimate_transition

_MOST_COLUMNS = 12  # classes whose whole matrix fits a terminal
_N_FLIPS = 15


@click.command()
@source_options
@click.option(
    "--method",
    type=click.Choice(get_args(AnyEstimator)),
    default="beliefs",
    show_default=True,
    help="Neighbours' beliefs; or label triples alone: maximum likelihood, or the paper's HOC.",
)
@click.option("--metric", type=click.Choice(get_args(Metric)), help="What near means.")
@click.option(
    "--engine",
    type=click.Choice(get_args(Engine)),
    default="auto",
    show_default=True,
    help="How neighbours are searched.",
)
@seed_option
@threads_option
@json_option
def command(
    method: AnyEstimator,
    metric: Metric | None,
    engine: Engine,
    seed: int,
    n_threads: int | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Estimate how noisy the labels of SOURCE are, and which become which.

    Prints the noise rate, the transition matrix T (rows: true class, columns: label) and the
    class prior. Nothing is trained and no clean label is needed.
    """
    with progress_line() as progress:
        examples = load(**where, seed=seed, progress=progress)
        transition = estimate_transition(
            examples.features,
            examples.labels,
            method,
            metric=metric or examples.metric or "cosine",
            engine=engine,
            seed=seed,
            n_threads=n_threads,
        )
    if as_json:
        stored = transition.to_dict()
        print_json({"noise_rate": transition.noise_rate, **stored})
    else:
        click.echo("\n".join(_lines(transition)))


def _lines(transition: Transition) -> list[str]:
    names = [str(name) for name in np.asarray(transition.classes).tolist()]
    sure = transition.intervals
    said = f"noise rate {transition.noise_rate:.1%}"
    if sure is not None:
        said += f", {sure.level:.0%} sure: {_range(sure.noise_rate)}"
    lines = [f"{said} ({transition.n_classes} classes)"]
    if not transition.identifiable:
        lines.append("not identifiable: " + "; ".join(transition.reasons))
    lines.append("")
    if len(names) > _MOST_COLUMNS:
        return lines + _flips(transition, names)
    lines += _matrix(transition, names)
    return lines if sure is None else [*lines, "", *_sure(transition, sure, names)]


def _matrix(transition: Transition, names: list[str]) -> list[str]:
    """The whole of T and p."""
    width = max(6, *map(len, names))
    head = " ".join(f"{name:>{width}}" for name in ["true", "prior", *names])
    rows = [head]
    for name, share, row in zip(names, transition.prior, transition.matrix, strict=True):
        cells = [f"{name:>{width}}", *(f"{value:>{width}.3f}" for value in (share, *row))]
        rows.append(" ".join(cells))
    return rows


def _sure(transition: Transition, sure: Intervals, names: list[str]) -> list[str]:
    """The rate of each class and the largest flips with their intervals."""
    width = max(len("true class"), *map(len, names))
    rows = [f"{'true class':>{width}}  {'label':>{width}}  P(label | true)  {sure.level:.0%} sure"]
    for i, name in enumerate(names):
        rate = 1 - transition.matrix[i, i]
        rows.append(
            f"{name:>{width}}  {'any other':>{width}}  {rate:>15.1%}  {_range(sure.class_rates[i])}"
        )
    for i, j, bounds in list(zip(sure.true, sure.label, sure.flips, strict=True))[:_N_FLIPS]:
        rows.append(
            f"{names[i]:>{width}}  {names[j]:>{width}}  {transition.matrix[i, j]:>15.1%}  "
            f"{_range(bounds)}"
        )
    return rows


def _flips(transition: Transition, names: list[str]) -> list[str]:
    """The entries of T off the diagonal that corrupt most labels."""
    joint = transition.joint.copy()  # [K, K]
    np.fill_diagonal(joint, 0)
    largest = np.argsort(-joint, axis=None, kind="stable")[:_N_FLIPS]
    sure = transition.intervals
    known = {}
    if sure is not None:
        known = dict(zip(zip(sure.true, sure.label, strict=True), sure.flips, strict=True))
    width = max(len("true class"), *map(len, names))
    head = f"{'true class':>{width}}  {'label':>{width}}  P(label | true)  share of all labels"
    rows = [head if sure is None else f"{head}  {sure.level:.0%} sure"]
    for i, j in zip(*np.unravel_index(largest, joint.shape), strict=True):
        row = (
            f"{names[i]:>{width}}  {names[j]:>{width}}  {transition.matrix[i, j]:>15.3f}  "
            f"{joint[i, j]:>19.2%}"
        )
        rows.append(f"{row}  {_range(known[i, j])}" if (i, j) in known else row)
    return [*rows, f"(the {len(rows) - 1} largest of {joint.size - len(names)}; --json has all)"]


def _range(bounds: Sequence[float] | NDArray[np.float64]) -> str:
    return f"{bounds[0]:.1%} to {bounds[1]:.1%}"
