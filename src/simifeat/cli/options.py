"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from simifeat.io import Source, open_source

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


def opened(
    path: str,
    labels: str | None,
    features: str | None,
    extractor: str | None,
    id: str | None,
    *,
    n_epochs: int = 1,
    seed: int = 0,
) -> Source:
    """The source, with what was guessed told on stderr."""
    source = open_source(path, labels, features, extractor, id, n_epochs=n_epochs, seed=seed)
    tell(source.notes)
    return source


def tell(notes: tuple[str, ...]) -> None:
    """Notes on stderr, one line each."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


seed_option = click.option("--seed", default=0, show_default=True, help="Seed of every choice.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
threads_option = click.option(
    "--threads", "n_threads", type=click.IntRange(1), help="Threads; by default one a core."
)
