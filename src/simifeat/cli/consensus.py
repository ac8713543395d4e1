"""``simifeat consensus``: one label a row out of several annotators'."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
import numpy as np

from simifeat.annotators import consensus_labels
from simifeat.cli.loading import tell_skipped
from simifeat.cli.options import json_option, print_json, seed_option, tell, threads_option
from simifeat.cli.progress import progress_line
from simifeat.consensus_verdicts import ENDINGS
from simifeat.io.answer_file import check_answer_target
from simifeat.io.several_annotators import open_several_annotators
from simifeat.neighbors.base import Metric

_N_SHOWN = 5


@click.command()
@click.argument("path", metavar="SOURCE")
@click.option(
    "--annotations",
    metavar="COLS",
    required=True,
    help="Columns of labels, one an annotator, commas between; in an .npz an array.",
)
@click.option("--features", metavar="COL|FILE", help="Column, key or file of features.")
@click.option("--extractor", metavar="NAME", help="What turns images or text into features.")
@click.option("--id", "id", metavar="COL", help="Column or key of the ids.")
@click.option("-o", "--output", metavar="FILE", help="A .parquet, .csv or .jsonl file.")
@click.option(
    "-k", type=click.IntRange(1), default=30, show_default=True, help="Neighbours that count."
)
@click.option("--metric", type=click.Choice(get_args(Metric)), help="What near means.")
@seed_option
@threads_option
@json_option
def command(
    path: str,
    annotations: str,
    features: str | None,
    extractor: str | None,
    id: str | None,
    output: str | None,
    k: int,
    metric: Metric | None,
    seed: int,
    n_threads: int | None,
    as_json: bool,
) -> None:
    """Make one label of several annotators', and say how good each of them is.

    An empty cell is a label that was not given; in a table of integers so is what is below 0.
    """
    if output is not None:
        check_answer_target(Path(output), ENDINGS)
    with progress_line() as progress:
        source = open_several_annotators(path, annotations, features, extractor, id)
        tell(source.notes)
        read = source.load_features(progress)
        tell(read.notes)
        tell_skipped(read.skipped)
        n = len(source.labels)
        rows = np.arange(n) if read.kept is None else read.kept
        ids = np.arange(n) if source.ids is None else source.ids
        found = consensus_labels(
            np.asarray(read.matrix),
            source.labels[rows],
            annotators=source.annotators,
            k=k,
            metric=metric or read.metric or "cosine",
            ids=ids[rows],
            seed=seed,
            n_threads=n_threads,
            progress=progress,
        )
    if output is not None:
        found.save(output)
    if as_json:
        print_json(
            {
                "n_examples": len(found.ids),
                "expected_right": float(found.p_label.mean(dtype=np.float64)),
                "annotators": found.annotator_table(),
                "ask_again": [found.ids[n] for n in found.ask_again(_N_SHOWN)],
                "written": [] if output is None else [output],
            }
        )
    else:
        again = ", ".join(str(found.ids[n]) for n in found.ask_again(_N_SHOWN))
        click.echo(f"{found.summary()}\n\nOne more label helps most for: {again}")
    if output is not None:
        click.echo(f"written to {output}", err=True)
