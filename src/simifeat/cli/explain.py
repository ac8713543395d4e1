"""``simifeat explain``: why rows of a verdict file were judged as they were."""

from __future__ import annotations

from dataclasses import asdict

import click
import numpy as np

from simifeat.cli.options import json_option, print_json
from simifeat.errors import InputError
from simifeat.verdicts import Verdicts


@click.command()
@click.argument("path", metavar="OUT")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("-n", "count", type=click.IntRange(1), default=3, show_default=True,
              help="Without an ID: how many of the most suspicious rows.")  # fmt: skip
@json_option
def command(path: str, ids: tuple[str, ...], count: int, as_json: bool) -> None:
    """Say why rows of OUT were flagged: who was asked, what they said, what decided.

    OUT is a verdict file; the neighbours of its flagged rows are kept beside it. Rows are named by
    their id. Without one the most suspicious are explained.
    """
    verdicts = Verdicts.load(path)
    if ids:
        rows = [_row_of(verdicts, name, path) for name in ids]
    else:
        order = verdicts.most_suspicious()
        rows = order[verdicts.is_corrupted[order]][:count].tolist()
    found = [verdicts.explain(row) for row in rows]
    if as_json:
        print_json([asdict(each) for each in found])
    elif found:
        click.echo("\n\n".join(map(str, found)))
    else:
        click.echo("No label looks corrupted.")


def _row_of(verdicts: Verdicts, name: str, path: str) -> int:
    """The one row with the id ``name``."""
    rows = np.flatnonzero(np.array([str(id) == name for id in verdicts.ids.tolist()]))
    if len(rows) == 1:
        return int(rows[0])
    if len(rows):
        raise InputError(f"{len(rows)} rows of {path} have the id {name!r}; ids must tell apart")
    raise InputError(f"{path} has no row with the id {name!r}")
