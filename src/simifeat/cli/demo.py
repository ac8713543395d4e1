"""``simifeat demo``: the whole way on data that come along, with the truth at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from simifeat import noise
from simifeat.cli.loading import load
from simifeat.cli.options import seed_option
from simifeat.cli.progress import progress_line
from simifeat.detect import detect
from simifeat.errors import OutputError
from simifeat.io.atomic import replacing
from simifeat.io.names import CLEAN_LABEL
from simifeat.metrics import average_precision, detection_scores
from simifeat.nearest_file import save_nearest
from simifeat.verdicts import Verdicts

_NAMES = np.array(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], dtype=object
)
_TO_ANY, _TO_NEXT = 0.15, 0.1  # shares of labels that go to any other class, and to the next


@click.command()
@click.option(
    "-o",
    "--output",
    default="demo-output",
    show_default=True,
    metavar="FOLDER",
    help="Where the files go.",
)
@seed_option
def command(output: str, seed: int) -> None:
    """The whole way on bundled data, in under a minute.

    Takes the 1,797 handwritten digits of scikit-learn, corrupts a quarter of their labels, finds
    them again and says how well that went. Needs no network.
    """
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    table, found = folder / "digits.csv", folder / "verdicts.parquet"
    truth = _write_digits(table, seed)
    click.echo(f"1. {table}: {len(truth):,} handwritten digits, a quarter of the labels corrupted")
    click.echo(f"2. simifeat detect {table} -o {found}\n")
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
    click.echo(verdicts.summary())
    click.echo("\n3. " + "\n   ".join(_measured(verdicts, truth)))
    click.echo(
        "\nNext: look at the verdicts, or apply them:\n"
        f"  simifeat review {found}\n"
        f"  simifeat clean {found} -o {folder / 'cleaned.csv'}\n"
        f"  simifeat noise {table}"
    )


def _write_digits(path: Path, seed: int) -> NDArray[Any]:
    """Write pixels, corrupted labels and clean labels as CSV; the clean labels."""
    from sklearn.datasets import load_digits  # takes a second to import

    pixels, digits = load_digits(return_X_y=True)  # [n, 64], [n]
    k = len(_NAMES)
    matrix = np.full((k, k), _TO_ANY / (k - 1))
    np.fill_diagonal(matrix, 1 - _TO_ANY - _TO_NEXT)
    matrix[np.arange(k), (np.arange(k) + 1) % k] += _TO_NEXT
    labels = noise.from_transition(digits, matrix, seed=seed)
    header = ["id", *(f"pixel{i}" for i in range(pixels.shape[1])), "label", CLEAN_LABEL]
    with replacing(path) as (file,):
        file.write((",".join(header) + "\n").encode())
        for n, row in enumerate(pixels.astype(int)):
            cells = [n, *row, _NAMES[labels[n]], _NAMES[digits[n]]]
            file.write((",".join(map(str, cells)) + "\n").encode())
    clean: NDArray[Any] = _NAMES[digits]
    return clean


def _measured(verdicts: Verdicts, truth: NDArray[Any]) -> list[str]:
    """What was found against what is true."""
    scores = detection_scores(verdicts.is_corrupted, verdicts.labels, truth)
    wrong = verdicts.labels != truth
    hit = verdicts.is_corrupted & wrong
    right = np.mean(verdicts.suggested[hit] == truth[hit]) if hit.any() else 0.0
    true_matrix = noise.transition_of(verdicts.labels, truth, classes=verdicts.classes)
    error = np.abs(np.diagonal(true_matrix) - np.diagonal(verdicts.transition.matrix)).mean()
    return [
        "Against the truth:",
        f"{scores.n_corrupted} labels are corrupted; {scores.n_flagged} were flagged, "
        f"{scores.n_hit} of them rightly: precision {scores.precision:.1%}, "
        f"recall {scores.recall:.1%}, F1 {scores.f1:.1%}",
        f"average precision {average_precision(-verdicts.p_corrupted, verdicts.labels, truth):.1%}",
        f"noise rate estimated {verdicts.transition.noise_rate:.1%}, true {wrong.mean():.1%}; "
        f"mean error of the diagonal of T {error:.3f}",
        f"the label suggested for a corrupted one is the true one in {right:.1%}",
    ]
