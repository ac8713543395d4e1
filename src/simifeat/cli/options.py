"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from simifeat.io.exact_json import dumps

F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """SOURCE and what says how to read it: ``path, labels, features, extractor, id``."""
    for decorate in (
        click.option("--id", "id", metavar="COL", help="Column or key of the ids."),
        click.option(
            "--extractor", metavar="NAME", help="What turns images or text into features."
        ),
        click.option("--features", metavar="COL|FILE", help="Column, key or file of features."),
        click.option("--labels", metavar="COL|FILE", help="Column, key or file of labels."),
        click.argument("path", metavar="SOURCE"),
    ):
        command = decorate(command)
    return command


def tell(notes: tuple[str, ...]) -> None:
    """Notes on stderr, one line each."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    click.echo(dumps(value), nl=False)


seed_option = click.option("--seed", default=0, show_default=True, help="Seed of every choice.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
threads_option = click.option(
    "--threads", "n_threads", type=click.IntRange(1), help="Threads; by default one a core."
)
