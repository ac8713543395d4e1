"""``simifeat add``: a run that grows with its dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from simifeat.adding import Run
from simifeat.cli.loading import Examples, load
from simifeat.cli.options import json_option, print_json, seed_option, source_options
from simifeat.cli.progress import progress_line
from simifeat.errors import InputError
from simifeat.io.atomic import check_target
from simifeat.nearest_file import save_nearest
from simifeat.neighbors.base import Metric
from simifeat.settings import Method
from simifeat.verdict_files import check_verdict_target


@click.command()
@click.argument("run_path", metavar="RUN")
@source_options
@click.option("-o", "--output", metavar="FILE", help="Verdicts on all rows so far.")
@click.option("--method", type=click.Choice(get_args(Method)), help="How labels are judged.")
@click.option("-k", type=click.IntRange(1), help="Neighbours that count.")
@click.option("--metric", type=click.Choice(get_args(Metric)), help="What near means.")
@click.option("--groups", metavar="COL|FILE", help="Rows of a group do not vote for each other.")
@seed_option
@json_option
def command(
    run_path: str,
    path: str,
    labels: str | None,
    features: str | None,
    extractor: str | None,
    id: str | None,
    groups: str | None,
    output: str | None,
    seed: int,
    as_json: bool,
    **choices: Any,
) -> None:
    """Add the rows of SOURCE to RUN, and say which labels look corrupted.

    RUN is an .npz file of simifeat's own; where it is not there it is begun. --method, -k, --metric
    and --seed are chosen then. Verdicts equal those of a run on all rows.
    """
    kept = Path(run_path)
    asked = {name: choice for name, choice in choices.items() if choice is not None}
    run = Run.load(kept) if kept.exists() else None
    if run is not None and asked:
        raise InputError(
            f"{kept} was begun with choices of its own; leave out --{next(iter(asked))}"
        )
    check_target(kept)
    if output is not None:
        check_verdict_target(Path(output))
    with progress_line() as progress:
        examples = load(path, labels, features, extractor, id, groups, seed=seed, progress=progress)
        matrix = _matrix(examples, path)
    if run is None:
        asked.setdefault("metric", examples.metric or "cosine")
        grown = Run.start(
            matrix, examples.labels, ids=examples.ids, groups=examples.groups, seed=seed, **asked
        )
    else:
        grown = run.extend(
            matrix,
            examples.labels,
            ids=None if examples.source.ids is None else examples.ids,
            groups=examples.groups,
        )
    verdicts = grown.verdicts
    if output is not None:
        verdicts.save(output)
        save_nearest(Path(output), verdicts)
    grown.save(kept)
    written = [run_path, *([] if output is None else [output])]
    facts = {
        "n_examples": verdicts.n_examples,
        "n_added": len(matrix),
        "n_touched": None if grown.touched is None else len(grown.touched),
        "n_corrupted": verdicts.n_corrupted,
        "n_corrupted_added": int(verdicts.is_corrupted[-len(matrix) :].sum()),
        "written": written,
    }
    if as_json:
        print_json(facts)
    else:
        changed = ""
        if grown.touched is not None:
            changed = f"; neighbours of {len(grown.touched):,} others changed"
        click.echo(
            f"{facts['n_corrupted_added']:,} of {len(matrix):,} labels added look corrupted"
            f"{changed}.\n{verdicts.summary()}"
        )
    click.echo(f"written to {' and '.join(written)}", err=True)


def _matrix(examples: Examples, path: str) -> np.ndarray[Any, Any]:
    """The features, where they do not depend on which other rows are in the source."""
    matrix = np.asarray(examples.features)
    if examples.metric == "euclidean" and matrix.shape[1] >= 4:
        raise InputError(
            f"columns of {path} are scaled by the rows that are there, so rows cannot be added to "
            "them; give features of an extractor, a column of lists, or an .npz"
        )
    return matrix
