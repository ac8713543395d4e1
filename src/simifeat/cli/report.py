"""``simifeat report``: a page to look at, from verdicts already there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from simifeat.cli.loading import load
from simifeat.cli.progress import progress_line
from simifeat.errors import InputError, SimifeatError
from simifeat.io.atomic import check_target
from simifeat.verdict_files import load_verdicts
from simifeat.verdicts import Verdicts


@click.command()
@click.argument("verdicts_path", metavar="OUT")
@click.option("-o", "--output", metavar="FILE", help="The page; OUT with .html by default.")
@click.option("--examples", "n_shown", default=24, show_default=True, help="How many are shown.")
def command(verdicts_path: str, output: str | None, n_shown: int) -> None:
    """Write a page to look at, and the same facts as JSON.

    OUT is a verdict file of ``simifeat detect``. The page needs no network: it can be mailed,
    printed, or opened on a phone.
    """
    from simifeat.report import write_report

    target = Path(output) if output else Path(verdicts_path).with_suffix(".html")
    check_target(target)
    verdicts = load_verdicts(verdicts_path)
    features = _features(verdicts) if verdicts.neighbors is None else None
    for path in write_report(verdicts, target, features, n_shown):
        click.echo(f"written to {path}", err=True)


def _features(verdicts: Verdicts) -> NDArray[Any] | None:
    """Features of the judged source, if it is still there and still the same size."""
    source = verdicts.metadata.get("source")
    if not source:
        return None
    asked = {name: source.get(name) for name in ("labels", "features", "extractor", "id")}
    try:
        with progress_line() as progress:
            read = load(source["path"], **asked, progress=progress)
        if len(read.labels) != verdicts.n_examples:
            raise InputError(f"{source['path']} has changed since it was judged")
    except SimifeatError as error:
        click.echo(f"note: examples are shown without neighbours: {error}", err=True)
        return None
    return read.features if isinstance(read.features, np.ndarray) else None
