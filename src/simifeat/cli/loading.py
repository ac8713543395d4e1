"""A source as the library takes it: the examples whose features could be had, and where from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from simifeat.cli.options import tell
from simifeat.errors import InputError
from simifeat.io import Source, open_source
from simifeat.io.group_column import read_groups
from simifeat.io.source import Progress, Skipped
from simifeat.neighbors.base import Metric

_N_NAMED = 3


@dataclass(frozen=True)
class Examples:
    """Features, labels and ids row by row, and a record of what they were read from."""

    source: Source
    features: NDArray[Any] | Iterable[NDArray[Any]]
    labels: NDArray[Any]
    ids: NDArray[Any]
    metric: Metric | None
    origin: Mapping[str, Any]
    """What ``simifeat clean`` needs to find the rows again; stored with the verdicts."""
    groups: NDArray[Any] | None = None
    """[n], where they were asked for."""


def load(
    path: str,
    labels: str | None = None,
    features: str | None = None,
    extractor: str | None = None,
    id: str | None = None,
    groups: str | None = None,
    *,
    n_epochs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    spread: Callable[..., Any] | None = None,
) -> Examples:
    """Open and read a source; what was guessed or left out is told on stderr."""
    source = open_source(
        path,
        labels,
        features,
        extractor,
        id,
        groups,
        n_epochs=n_epochs,
        seed=seed,
        progress=progress,
        spread=spread,
    )
    tell(source.notes)
    given = source.labels
    grouped = None if groups is None else read_groups(source, groups)
    read = source.load_features(progress)
    tell(read.notes)
    tell_skipped(read.skipped)
    ids = np.arange(len(given)) if source.ids is None else source.ids
    origin: dict[str, Any] = {
        "path": path,
        "labels": labels,
        "features": features,
        "extractor": extractor,
        "id": id,
    }
    rows: Any = slice(None)
    if read.kept is not None:
        rows = read.kept
        origin["not_judged"] = np.setdiff1d(np.arange(len(given)), rows).tolist()
    if read.skipped:
        origin["skipped"] = [{"name": item.name, "reason": item.reason} for item in read.skipped]
    if grouped is not None:
        if len(grouped) != len(given):
            raise InputError(
                f"there are {len(grouped)} groups in {groups} for {len(given)} rows; "
                "give one group a row"
            )
        grouped = grouped[rows]
    metric = read.metric
    if metric is None and isinstance(read.matrix, np.ndarray) and _is_flat(read.matrix):
        metric = "euclidean"
        tell((f"{read.matrix.shape[1]} dimensions are too few for angles: Euclidean metric",))
    return Examples(source, read.matrix, given[rows], ids[rows], metric, origin, grouped)


def _is_flat(features: NDArray[Any]) -> bool:
    """Whether directions say little: below four dimensions many rows share one."""
    return features.ndim == 2 and features.shape[1] < 4


def tell_skipped(skipped: tuple[Skipped, ...]) -> None:
    """Records that could not be used, the first few by name, on stderr."""
    if not skipped:
        return
    named = "; ".join(f"{item.name} ({item.reason})" for item in skipped[:_N_NAMED])
    more = f"; and {len(skipped) - _N_NAMED} more" if len(skipped) > _N_NAMED else ""
    click.echo(f"note: {len(skipped)} cannot be read and are not judged: {named}{more}", err=True)
