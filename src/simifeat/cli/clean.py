"""``simifeat clean``: a copy of a source with decisions, or the verdicts alone, applied."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from simifeat.cli.options import json_option, print_json
from simifeat.errors import InputError, require
from simifeat.io.atomic import check_target, replacing
from simifeat.io.source import Source
from simifeat.review.exports import FORMATS, Material
from simifeat.review.finished import Finished, Undecided, source_behind
from simifeat.review.imports.cleanlab import load_judged
from simifeat.review.ledger import Ledger
from simifeat.review.log import log_path, read_log
from simifeat.review.opening import examples_of, moved, source_of
from simifeat.review.sheet import Sheet


@click.command()
@click.argument("verdicts_path", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="CLEANED",
    type=click.Path(path_type=Path),
    help="The copy to write.",
)
@click.option(
    "--as",
    "name",
    type=click.Choice(list(FORMATS)),
    default="dataset",
    show_default=True,
    help="What to write: the cleaned dataset, or what was decided for another tool.",
)
@click.option(
    "--action",
    type=click.Choice(get_args(Undecided)),
    help="Flagged rows that nobody decided about: keep (the default if there are decisions), "
    "drop (the default if there are none), or relabel as suggested.",
)
@click.option(
    "--decisions",
    metavar="FILE|none",
    help="The log of decisions; by default the one beside OUT, if there is one.",
)
@click.option("--source", metavar="SOURCE", help="Where the judged data are now.")
@json_option
def command(
    verdicts_path: Path,
    output: Path,
    name: str,
    action: Undecided | None,
    decisions: str | None,
    source: str | None,
    as_json: bool,
) -> None:
    """Apply what was decided in a review of OUT, or its verdicts without one.

    OUT is a verdict file of ``simifeat detect`` (or a frame of label issues of cleanlab); it knows
    which source was judged. The copy has the format of that source.
    """
    sheet = Sheet.from_verdicts(load_judged(verdicts_path, source))
    ledger = Ledger()
    ledger.add(_entries(verdicts_path, decisions, sheet))
    action = action or ("keep" if ledger.rows else "drop")
    finished = Finished.of(sheet, ledger, action)
    origin = source_of(sheet.metadata, source)
    if name == "dataset":
        if origin is None:
            raise InputError(
                f"{verdicts_path} does not say which files were judged; give them with --source"
            )
        opened = _opened(origin, source)
        edit = finished.edit(opened.labels, origin)
        written = opened.write_edited(output, edit)
    else:
        written = (_export(finished, origin, output, name, source),)
    facts = _facts(finished)
    if as_json:
        print_json({**facts, "written": written})
    else:
        click.echo("\n".join(_told(finished, facts)))
    for path in written:
        click.echo(f"written to {path}", err=True)


def _entries(verdicts: Path, decisions: str | None, sheet: Sheet) -> Any:
    if decisions == "none":
        return []
    path = Path(decisions) if decisions else log_path(verdicts)
    if not path.exists():
        if decisions:
            raise InputError(f"{path} does not exist; give the log of decisions, or none")
        return []
    return read_log(path, sheet.fingerprint)


def _opened(origin: Mapping[str, Any], source: str | None) -> Source:
    with moved(origin, source):
        return source_behind(origin)


def _export(
    finished: Finished,
    origin: Mapping[str, Any] | None,
    output: Path,
    name: str,
    source: str | None,
) -> Path:
    check_target(output)
    if name != "patch":
        require("PIL", extra="review")
    with tempfile.TemporaryDirectory(prefix="simifeat-clean-") as spool:
        everything = np.ones(finished.sheet.n_rows, bool)
        examples = examples_of(finished.sheet, source, Path(spool), everything)
        title = Path(origin["path"]).name if origin else output.stem
        material = Material(finished, examples, origin, title)
        refused = FORMATS[name].why_not(material)
        if refused:
            raise InputError(f"cannot write {name}: {refused}")
        with replacing(output) as (file,):
            FORMATS[name].write(material, file)
    return output


def _facts(finished: Finished) -> dict[str, Any]:
    sheet = finished.sheet
    changed = finished.stays & (finished.label != sheet.labels)
    return {
        "n_rows": sheet.n_rows,
        "n_kept": int(finished.stays.sum()),
        "n_dropped": int((~finished.stays).sum()),
        "n_relabelled": int(changed.sum()),
        "n_decided": len(finished.decided),
        "n_undecided": len(finished.open_rows),
        "undecided": finished.undecided,
    }


def _told(finished: Finished, facts: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{facts['n_relabelled']:,} labels changed, {facts['n_dropped']:,} rows dropped, "
        f"{facts['n_kept']:,} of {facts['n_rows']:,} rows kept"
    ]
    done = {"keep": "kept as they are", "drop": "dropped", "relabel": "relabelled as suggested"}
    if finished.decided:
        lines.append(f"{facts['n_decided']:,} rows were decided by people")
    if len(finished.open_rows):
        lines.append(
            f"{facts['n_undecided']:,} flagged rows without a decision were "
            f"{done[finished.undecided]} (--action)"
        )
    return lines
