"""``simifeat clean``: a copy of a source with verdicts applied."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
import numpy as np

from simifeat.cli.options import json_option, print_json
from simifeat.errors import InputError
from simifeat.io import open_source
from simifeat.io.edits import Action, edit_of_verdicts
from simifeat.verdict_files import load_verdicts


@click.command()
@click.argument("verdicts_path", metavar="OUT")
@click.option("-o", "--output", required=True, metavar="CLEANED", help="The copy to write.")
@click.option(
    "--action",
    type=click.Choice(get_args(Action)),
    default="drop",
    show_default=True,
    help="Leave corrupted rows out, or give them their suggested label.",
)
@click.option("--source", "moved", metavar="SOURCE", help="Where the judged data are now.")
@json_option
def command(
    verdicts_path: str, output: str, action: Action, moved: str | None, as_json: bool
) -> None:
    """Apply the verdicts of OUT: drop corrupted rows, or relabel them.

    OUT is a verdict file of ``simifeat detect``; it knows which source was judged. The copy has
    the format of that source.
    """
    verdicts = load_verdicts(verdicts_path)
    origin = verdicts.metadata.get("source")
    if not origin:
        raise InputError(
            f"{verdicts_path} does not say which files were judged; make it with simifeat detect"
        )
    asked = {name: origin[name] for name in ("path", "labels", "features", "extractor", "id")}
    try:
        source = open_source(**{**asked, "path": moved or asked["path"]})
    except InputError as error:
        if moved is not None or Path(asked["path"]).exists():
            raise
        raise InputError(
            f"{asked['path']} was judged, but cannot be opened from here; "
            "say with --source where it is now"
        ) from error
    edit = edit_of_verdicts(verdicts, source.labels, action, origin)
    written = source.write_edited(Path(output), edit)
    n_dropped = int((~edit.keep).sum())
    n_changed = int((edit.label_from != np.arange(len(edit.keep))).sum())
    if as_json:
        print_json({"n_dropped": n_dropped, "n_relabelled": n_changed, "written": written})
    elif action == "drop":
        click.echo(f"{n_dropped:,} rows dropped, {int(edit.keep.sum()):,} kept")
    else:
        click.echo(f"{n_changed:,} of {len(edit.keep):,} labels changed")
    for path in written:
        click.echo(f"written to {path}", err=True)
