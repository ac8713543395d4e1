"""``simifeat demo``: the whole way on data that come along, with the truth at hand."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from simifeat import noise
from simifeat.cli.demo_data import write_digits, write_mail
from simifeat.cli.loading import load
from simifeat.cli.options import seed_option
from simifeat.cli.progress import progress_line
from simifeat.detect import detect
from simifeat.errors import MissingExtra, OutputError, require
from simifeat.metrics import average_precision, detection_scores
from simifeat.nearest_file import save_nearest
from simifeat.report import write_report
from simifeat.verdicts import Verdicts

_N_SHOWN = 6
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")  # one is set where a browser can open a window


@click.command()
@click.option(
    "-o",
    "--output",
    default="demo-output",
    show_default=True,
    metavar="FOLDER",
    help="Where the files go.",
)
@click.option("--no-browser", is_flag=True, help="Write the report and do not open it.")
@seed_option
def command(output: str, no_browser: bool, seed: int) -> None:
    """The whole way on bundled data, in under a minute.

    Takes the 1,797 handwritten digits of scikit-learn, corrupts a quarter of their labels, finds
    them again and says how well that went; then the same with short texts, where simifeat[text] is
    installed. Needs no network.
    """
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    table, found, page = (folder / n for n in ("digits.csv", "verdicts.parquet", "report.html"))
    truth = write_digits(table, seed)
    click.echo(
        f"1. {table}: {len(truth):,} handwritten digits, pictures of 8 x 8 pixels. A quarter of "
        f"their labels\n   was corrupted on purpose. Now: simifeat detect {table} -o {found} "
        f"--report {page}\n"
    )
    verdicts = _judged(table, found, page, seed)
    click.echo(verdicts.summary())
    click.echo("\n" + "\n".join(_table(verdicts, truth)))
    click.echo("\nAgainst the truth:\n  " + "\n  ".join(_measured(verdicts, truth)))
    click.echo("\n2. " + "\n   ".join(_texts(folder, seed)))
    program = _program()
    click.echo(
        f"\nThe report is {page}, also as JSON beside it. Next, look at the verdicts or apply "
        "them:\n"
        f"  {program} review {found}\n"
        f"  {program} clean {found} -o {folder / 'cleaned.csv'}\n"
        f"  {program} noise {table}"
    )
    if not no_browser and _has_screen():
        webbrowser.open(page.absolute().as_uri())


def _judged(table: Path, found: Path, page: Path, seed: int) -> Verdicts:
    """Verdicts on the labels of ``table``, written with their report."""
    with progress_line() as progress:
        examples = load(str(table), progress=progress)
        verdicts = detect(
            examples.features,
            examples.labels,
            ids=examples.ids,
            metric=examples.metric,
            seed=seed,
            progress=progress,
        )
    verdicts = replace(verdicts, metadata={**verdicts.metadata, "source": examples.origin})
    verdicts.save(found)
    save_nearest(found, verdicts)
    assert isinstance(examples.features, np.ndarray)  # one epoch
    write_report(verdicts, page, examples.features)
    return verdicts


def _texts(folder: Path, seed: int) -> list[str]:
    """The same with texts, if what reads them is installed."""
    try:
        for module in ("tokenizers", "wordllama"):
            require(module, extra="text")
    except MissingExtra as error:
        return [f"Texts are left out: {error}"]
    table, found = folder / "mail.csv", folder / "mail.parquet"
    truth = write_mail(table, seed)
    verdicts = _judged(table, found, folder / "mail.html", seed)
    scores = detection_scores(verdicts.is_corrupted, verdicts.labels, truth)
    return [
        f"{table}: {len(truth):,} made-up mails to a shop on five topics, corrupted alike.",
        f"Now: simifeat detect {table} -o {found} --report {folder / 'mail.html'}",
        f"{scores.n_flagged} labels were flagged, {scores.n_hit} of the {scores.n_corrupted} "
        f"corrupted ones among them: F1 {scores.f1:.1%}; noise rate estimated "
        f"{verdicts.transition.noise_rate:.1%}, true {(verdicts.labels != truth).mean():.1%}",
    ]


def _table(verdicts: Verdicts, truth: NDArray[Any]) -> list[str]:
    """The most suspicious rows, with what they really are."""
    head = f"{'id':>5}  {'label':<6} {'suggested':<9}  {'P(corrupted)':>12}  {'score':>6}  really"
    lines = ["The most suspicious:", f"  {head}"]
    for n in verdicts.most_suspicious(_N_SHOWN):
        lines.append(
            f"  {verdicts.ids[n]:>5}  {verdicts.labels[n]:<6} {verdicts.suggested[n]:<9}  "
            f"{verdicts.p_corrupted[n]:>12.4f}  {verdicts.score[n]:>6.3f}  {truth[n]}"
        )
    return lines


def _program() -> str:
    """What to type for simifeat: its path, where its environment is not on the PATH."""
    called = Path(sys.argv[0])
    hidden = called.name == "simifeat" and shutil.which("simifeat") is None
    return str(called) if hidden else "simifeat"


def _has_screen() -> bool:
    """Whether somebody is there to look at a page."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, _DISPLAYS))


def _measured(verdicts: Verdicts, truth: NDArray[Any]) -> list[str]:
    """What was found against what is true."""
    scores = detection_scores(verdicts.is_corrupted, verdicts.labels, truth)
    wrong = verdicts.labels != truth
    hit = verdicts.is_corrupted & wrong
    right = np.mean(verdicts.suggested[hit] == truth[hit]) if hit.any() else 0.0
    true_matrix = noise.transition_of(verdicts.labels, truth, classes=verdicts.classes)
    error = np.abs(np.diagonal(true_matrix) - np.diagonal(verdicts.transition.matrix)).mean()
    return [
        f"{scores.n_corrupted} labels are corrupted; {scores.n_flagged} were flagged, "
        f"{scores.n_hit} of them rightly: precision {scores.precision:.1%}, "
        f"recall {scores.recall:.1%}, F1 {scores.f1:.1%}",
        f"average precision {average_precision(-verdicts.p_corrupted, verdicts.labels, truth):.1%}",
        f"noise rate estimated {verdicts.transition.noise_rate:.1%}, true {wrong.mean():.1%}; "
        f"mean error of the diagonal of T {error:.3f}",
        f"the label suggested for a corrupted one is the true one in {right:.1%}",
    ]
