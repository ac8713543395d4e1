"""``simifeat multilabel``: verdicts on several labels a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from simifeat.cli.loading import tell_skipped
from simifeat.cli.options import (
    json_option,
    print_json,
    seed_option,
    source_options,
    tell,
    threads_option,
)
from simifeat.cli.progress import progress_line
from simifeat.io.answer_file import check_answer_target
from simifeat.io.several_labels import open_several_labels
from simifeat.multilabel import detect_multilabel
from simifeat.multilabel_verdicts import ENDINGS, MultilabelVerdicts
from simifeat.neighbors.base import Metric
from simifeat.settings import Method

_N_SHOWN = 5


@click.command()
@source_options
@click.option("-o", "--output", metavar="FILE", help="Verdicts: a .parquet or .jsonl file.")
@click.option("--method", type=click.Choice(get_args(Method)), help="How labels are judged.")
@click.option("-k", type=click.IntRange(1), help="Neighbours that count.")
@click.option("--metric", type=click.Choice(get_args(Metric)), help="What near means.")
@seed_option
@threads_option
@json_option
def command(
    output: str | None,
    seed: int,
    n_threads: int | None,
    as_json: bool,
    path: str,
    labels: str | None,
    features: str | None,
    extractor: str | None,
    id: str | None,
    **choices: Any,
) -> None:
    """Say which labels of SOURCE are missing or too many, where a row has several.

    --labels names a column of lists, or columns of 0 and 1 with commas between; in an .npz file a
    matrix of 0 and 1.
    """
    if output is not None:
        check_answer_target(Path(output), ENDINGS)
    with progress_line() as progress:
        source = open_several_labels(path, labels, features, extractor, id)
        tell(source.notes)
        read = source.load_features(progress)
        tell(read.notes)
        tell_skipped(read.skipped)
        n = len(source.matrix)
        rows = np.arange(n) if read.kept is None else read.kept
        ids = np.arange(n) if source.ids is None else source.ids
        choices["metric"] = choices["metric"] or read.metric
        verdicts = detect_multilabel(
            np.asarray(read.matrix),
            source.matrix[rows],
            classes=source.classes,
            ids=ids[rows],
            seed=seed,
            n_threads=n_threads,
            progress=progress,
            **choices,
        )
    if output is not None:
        verdicts.save(output)
    if as_json:
        print_json(
            {
                "n_examples": len(verdicts.ids),
                "n_rows_corrupted": int(verdicts.any_corrupted.sum()),
                "n_missing": int(verdicts.missing.sum()),
                "n_extra": int(verdicts.extra.sum()),
                "classes": verdicts.class_table(),
                "metadata": verdicts.metadata,
                "written": [] if output is None else [output],
            }
        )
    else:
        click.echo("\n".join([verdicts.summary(), "", *_worst(verdicts)]))
    if output is not None:
        click.echo(f"written to {output}", err=True)


def _worst(verdicts: MultilabelVerdicts) -> list[str]:
    """The most suspicious labels, for a first look."""
    lines = []
    for n, j in verdicts.most_suspicious(_N_SHOWN):
        if verdicts.is_corrupted[n, j]:
            what = "too many" if verdicts.labels[n, j] else "missing"
            lines.append(
                f"  {verdicts.ids[n]}: {verdicts.classes[j]} is {what} "
                f"(P(corrupted) {verdicts.p_corrupted[n, j]:.2f})"
            )
    return ["Most suspicious:", *lines] if lines else ["No label looks wrong."]
