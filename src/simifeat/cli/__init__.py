"""The command line: one command a module, imported when it is called or asked for its help.

A command parses, makes one call of the library and prints. Results go to stdout, everything else
to stderr. Exit codes: 0 done, 1 the gate of --fail-above tripped, 2 anything wrong with the input.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from simifeat.errors import NotIdentifiable, SimifeatError
from simifeat.version import __version__

COMMANDS: Mapping[str, str] = {
    "demo": "The whole way on bundled data, in under a minute.",
    "detect": "Say which labels of SOURCE are probably corrupted.",
    "multilabel": "Say which labels of SOURCE are missing or too many, where a row has several.",
    "explain": "Say why rows of OUT were flagged: who was asked, what they said, what decided.",
    "consensus": "Make one label of several annotators', and say how good each of them is.",
    "add": "Add the rows of SOURCE to RUN, and say which labels look corrupted.",
    "noise": "Estimate how noisy the labels of SOURCE are, and which become which.",
    "fitness": "Say whether the features of SOURCE are good enough, and for which k.",
    "report": "Write a page to look at, and the same facts as JSON.",
    "review": "Go through the flagged rows of OUT on a page and decide about them.",
    "clean": "Apply what was decided in a review of OUT, or its verdicts without one.",
    "corrupt": "Corrupt the labels of SOURCE on purpose, to measure a detector.",
    "bench": "Run a table or figure of the paper, its own figures beside ours.",
}
"""Name -> one line of help. ``simifeat.cli.<name>`` holds the click command as ``command``."""

EXIT_OK, EXIT_GATE, EXIT_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130


class _LazyGroup(click.Group):
    """Lists its commands from the table, without importing any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"simifeat.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="simifeat")
def cli() -> None:
    """Find the wrong labels in a classification dataset without training a model."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", NotIdentifiable)
        warnings.showwarning = _show_warning
        try:
            code = cli.main(arguments, prog_name="simifeat", standalone_mode=False)
        except click.ClickException as error:
            return _fail(_usage_line(error))
        except SimifeatError as error:
            return _fail(str(error))
        except MemoryError:
            return _fail("there is not enough memory; give fewer rows or features")
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted; nothing was written", err=True)
            return EXIT_INTERRUPTED
        except BrokenPipeError:  # whoever read stdout has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_OK
    return code if isinstance(code, int) else EXIT_OK


def _fail(message: str) -> int:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return EXIT_INPUT


def _usage_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    where = f"; see {context.command_path} --help" if context is not None else ""
    return error.format_message().rstrip(".") + where


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"note: {message}", err=True)
