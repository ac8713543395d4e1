"""``simifeat detect``: verdicts on the labels of a source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from numpy.typing import NDArray

from simifeat.cli import EXIT_GATE
from simifeat.cli.loading import load
from simifeat.cli.options import (
    json_option,
    print_json,
    seed_option,
    source_options,
    threads_option,
)
from simifeat.cli.progress import progress_line
from simifeat.cli.scaled import Scale, scale_options
from simifeat.detect import detect
from simifeat.errors import InputError
from simifeat.io.atomic import check_target
from simifeat.io.source import Progress
from simifeat.nearest_file import save_nearest
from simifeat.neighbors.base import Metric
from simifeat.neighbors.find import Engine
from simifeat.settings import Estimator, Method, Preset
from simifeat.soft_labels import Center, Weights
from simifeat.verdict_files import check_verdict_target
from simifeat.verdicts import Verdicts

_N_SHOWN = 5


def _choice(kind: Any) -> click.Choice[str]:
    return click.Choice(get_args(kind))


@click.command()
@source_options
@click.option("-o", "--output", metavar="FILE", help="Verdicts: a .parquet, .csv or .jsonl file.")
@click.option("--report", metavar="FILE", help="A page to look at: an .html file.")
@click.option("--method", type=_choice(Method), help="How labels are judged; propagate by default.")
@click.option("--preset", type=_choice(Preset), help="The paper's choices, or its authors' code's.")
@click.option("-k", type=click.IntRange(1), help="Neighbours that count; 30, or 10 for the others.")
@click.option("--epochs", "n_epochs", type=click.IntRange(1), help="Rounds; the majority decides.")
@click.option("--metric", type=_choice(Metric), help="What near means; cosine by default.")
@click.option("--engine", type=_choice(Engine), help="How neighbours are searched.")
@click.option("--weights", type=_choice(Weights), help="What a neighbour's vote counts.")
@click.option("--center", type=_choice(Center), help="Whether an example votes for itself.")
@click.option("--groups", metavar="COL|FILE", help="Rows of a group do not vote for each other.")
@click.option(
    "--transition", type=_choice(Estimator), help="Estimator of the noise; ml by default."
)
@click.option(
    "--fail-above",
    metavar="RATE",
    type=click.FloatRange(0, 1),
    help="Exit with 1 if a larger share of the labels looks corrupted.",
)
@click.option(
    "--probe", is_flag=True, default=None, help="Train a linear probe, too, and join what it says."
)
@click.option("--budget", type=click.IntRange(1), help="Labels that you can review.")
@click.option("--evidence", is_flag=True, help="Columns of the neighbours that were asked.")
@click.option("--outliers", is_flag=True, help="Columns that tell rows that no class fits.")
@scale_options
@seed_option
@threads_option
@json_option
def command(
    output: str | None,
    report: str | None,
    fail_above: float | None,
    budget: int | None,
    evidence: bool,
    outliers: bool,
    seed: int,
    n_threads: int | None,
    as_json: bool,
    path: str,
    labels: str | None,
    features: str | None,
    extractor: str | None,
    id: str | None,
    groups: str | None,
    memory: int | None,
    cluster: str | None,
    work: str | None,
    resume: bool,
    skip_bad: bool,
    dry_run: bool,
    **choices: Any,
) -> int | None:
    """Say which labels of SOURCE are probably corrupted.

    Prints a summary; -o writes one verdict a row. SOURCE is a table (.csv, .tsv, .parquet,
    .jsonl), features (.npy, .npz), a folder of pictures, a Hugging Face dataset, WebDataset shards
    (.tar), CIFAR or MNIST files; or a URL such as s3://bucket/data of one of these.
    """
    scale = Scale(memory, cluster, work, resume, skip_bad, dry_run)
    staged = scale.is_asked(path)
    where: dict[str, Any] = {"labels": labels, "features": features, "id": id, "groups": groups}
    how = {"seed": seed, "n_threads": n_threads, **choices}
    if staged and (evidence or outliers or choices["probe"]):
        raise InputError(
            "--evidence, --outliers and --probe need all rows in memory, which a staged run does "
            "not hold; leave out --memory, --cluster and --work"
        )
    if dry_run:
        scale.forecast(path, as_json, **where, **how)
        return None
    if output is not None:
        check_verdict_target(Path(output))
    if report is not None:
        check_target(Path(report))
    with progress_line() as progress:
        if staged:
            verdicts = scale.detect(path, extractor, output, progress, **where, **how)
            known = None
        else:
            verdicts, known = _detect(path, extractor, progress, **where, **how)
    if budget is not None:
        verdicts = replace(verdicts, metadata={**verdicts.metadata, "budget": budget})
    if outliers:
        verdicts = verdicts.with_outliers()
    if evidence:
        verdicts = verdicts.with_evidence()
    written = []
    if output is not None:
        verdicts.save(output)
        save_nearest(Path(output), verdicts)  # the reasons that review shows
        written.append(output)
    if report is not None:
        from simifeat.report import write_report

        write_report(verdicts, Path(report), known)
        written.append(report)
    if staged:
        scale.forget(output)
    tripped = fail_above is not None and verdicts.corrupted_rate > fail_above
    if as_json:
        facts = _facts(verdicts)
        if budget is not None:
            facts["expected_yield"] = verdicts.expected_yield(budget)
        if outliers:
            facts["n_outliers"] = int(verdicts.is_outlier.sum())
        print_json(facts | {"written": written, "gate_tripped": tripped})
    else:
        click.echo("\n".join([verdicts.summary(), "", *_worst(verdicts)]))
        if outliers:
            click.echo("\n".join(["", *_strangest(verdicts)]))
    for name in written:
        click.echo(f"written to {name}", err=True)
    if not tripped:
        return None
    click.echo(f"gate: {verdicts.corrupted_rate:.2%} is above {fail_above:.2%}", err=True)
    return EXIT_GATE


def _detect(
    path: str,
    extractor: str | None,
    progress: Progress | None,
    *,
    labels: str | None,
    features: str | None,
    id: str | None,
    groups: str | None,
    seed: int,
    **choices: Any,
) -> tuple[Verdicts, NDArray[Any] | None]:
    """Verdicts on a source that fits into memory, and its features if they are one array."""
    examples = load(
        path,
        labels,
        features,
        extractor,
        id,
        groups,
        n_epochs=choices["n_epochs"] or 1,
        seed=seed,
        progress=progress,
    )
    choices["metric"] = choices["metric"] or examples.metric
    verdicts = detect(
        examples.features,
        examples.labels,
        ids=examples.ids,
        groups=examples.groups,
        seed=seed,
        progress=progress,
        **choices,
    )
    known = examples.features if isinstance(examples.features, np.ndarray) else None
    about = {**verdicts.metadata, "source": examples.origin}
    return replace(verdicts, metadata=about), known


def _facts(verdicts: Verdicts) -> dict[str, Any]:
    return {
        "n_examples": verdicts.n_examples,
        "n_classes": len(verdicts.classes),
        "n_corrupted": verdicts.n_corrupted,
        "corrupted_rate": verdicts.corrupted_rate,
        "noise_rate": verdicts.transition.noise_rate,
        "identifiable": verdicts.transition.identifiable,
        "reasons": list(verdicts.transition.reasons),
        "skipped": verdicts.metadata.get("source", {}).get("skipped", []),
        "metadata": verdicts.metadata,
    }


def _worst(verdicts: Verdicts) -> list[str]:
    """The most suspicious rows, for a first look."""
    rows = [n for n in verdicts.most_suspicious(_N_SHOWN) if verdicts.is_corrupted[n]]
    if not rows:
        return ["No label looks corrupted."]
    lines = ["Most suspicious:"]
    for n in rows:
        lines.append(
            f"  {verdicts.ids[n]}: {verdicts.labels[n]}, probably {verdicts.suggested[n]} "
            f"(P(corrupted) {verdicts.p_corrupted[n]:.2f})"
        )
    return lines


def _strangest(verdicts: Verdicts) -> list[str]:
    """The rows that no class fits, the strangest first."""
    rows = np.flatnonzero(verdicts.is_outlier)
    if not len(rows):
        return ["Every row looks like one of the classes."]
    score = verdicts.outlier_score
    rows = rows[np.argsort(-score[rows], kind="stable")]
    lines = [f"{len(rows):,} rows look like no class:"]
    for n in rows[:_N_SHOWN]:
        lines.append(f"  {verdicts.ids[n]}: {verdicts.labels[n]} (outlier score {score[n]:.2f})")
    return lines
