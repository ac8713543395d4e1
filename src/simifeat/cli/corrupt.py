"""``simifeat corrupt``: a copy of a source with labels corrupted on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np
from numpy.typing import NDArray

from simifeat import noise
from simifeat.cli.loading import load
from simifeat.cli.options import json_option, print_json, seed_option, source_options
from simifeat.cli.progress import progress_line
from simifeat.errors import InputError
from simifeat.io import Source, open_source
from simifeat.io.edits import edit_to_labels

Kind = Literal["symmetric", "asymmetric", "instance"]


@click.command()
@source_options
@click.option("-o", "--output", required=True, metavar="OUT", help="The copy, in SOURCE's format.")
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    required=True,
    help="To any other class, to the next class, or depending on the features.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, 1),
    required=True,
    metavar="RATE",
    help="Share of labels to corrupt, between 0 and 1.",
)
@seed_option
@json_option
def command(output: str, kind: Kind, rate: float, seed: int, as_json: bool, **where: Any) -> None:
    """Corrupt the labels of SOURCE on purpose, to measure a detector.

    The copy has the labels as they were as ``clean_label``, which is never used as a feature.
    """
    source = open_source(**where)
    labels = _corrupted(source, kind, rate, seed, where)
    written = source.write_edited(
        Path(output), edit_to_labels(source.labels, labels, keep_clean=True)
    )
    n_changed = int(np.sum(labels != source.labels))
    if as_json:
        print_json(
            {
                "n_examples": len(labels),
                "n_corrupted": n_changed,
                "kind": kind,
                "rate": rate,
                "seed": seed,
                "written": written,
            }
        )
    else:
        click.echo(f"{n_changed:,} of {len(labels):,} labels corrupted ({kind}, rate {rate:g})")
    for path in written:
        click.echo(f"written to {path}", err=True)


def _corrupted(
    source: Source, kind: Kind, rate: float, seed: int, where: dict[str, Any]
) -> NDArray[Any]:
    if kind == "symmetric":
        return noise.symmetric(source.labels, rate, seed=seed)
    if kind == "asymmetric":
        return noise.asymmetric(source.labels, rate, seed=seed)
    with progress_line() as progress:
        examples = load(**where, progress=progress)
    if len(examples.labels) != len(source.labels):
        raise InputError(f"{source.path} has records that cannot be read; remove them first")
    return noise.instance_dependent(np.asarray(examples.features), source.labels, rate, seed=seed)
