"""The docs of the command line and of the formats are complete; test_docs.py runs them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

from simifeat.cli import COMMANDS
from simifeat.io.open import READERS
from simifeat.verdicts import COLUMNS

DOCS = Path(__file__).parent.parent / "docs"
SHARED = "Options that many commands share"


def sections(path: Path) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(command: click.Command) -> list[str]:
    names = [
        name for item in command.params if isinstance(item, click.Option) for name in item.opts
    ]
    if isinstance(command, click.Group):
        names += [name for inner in command.commands.values() for name in options(inner)]
    return names


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name):
    command = importlib.import_module(f"simifeat.cli.{name}").command
    documented = sections(DOCS / "cli.md")
    assert name in documented
    text = documented[name] + documented[SHARED]
    for page in re.findall(r"\]\((\w+\.md)\)", documented[name]):  # a page of its own may say more
        text += (DOCS / page).read_text("utf-8")
    missing = [option for option in options(command) if f"`{option}" not in text]
    assert not missing


def test_the_docs_name_no_command_that_is_not_there():
    assert set(sections(DOCS / "cli.md")) - {SHARED} == set(COMMANDS)


def test_every_ending_and_column_is_documented():
    text = (DOCS / "formats.md").read_text("utf-8")
    for name in (*COLUMNS, *(kind for kind in READERS if kind.startswith("."))):
        assert f"`{name}`" in text, name
