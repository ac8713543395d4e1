"""What every export is made from, and what a format is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from simifeat.examples import Examples
from simifeat.io.records import Unreadable
from simifeat.review.finished import Finished


@dataclass(frozen=True)
class Material:
    """A review as it stands, with the examples it is about."""

    finished: Finished
    examples: Examples
    origin: Mapping[str, Any] | None
    """What the verdicts say of their source, its path where it is now."""
    name: str
    """The name of the dataset."""

    def file_name(self, row: int) -> str:
        """The picture file of ``row``: as the dataset spells it, or after the id."""
        known = self.examples.file_name(row)
        return known or f"{self.finished.sheet.id_of(row)}.png"

    def size(self, row: int) -> tuple[int, int]:
        """Width and height of the picture of ``row``; zeros if it cannot be read."""
        try:
            return self.examples.picture_size(row)
        except Unreadable:
            return 0, 0


@dataclass(frozen=True)
class Format:
    """One way to write a review down."""

    title: str
    text: str
    """What it holds, in a sentence."""
    ending: Callable[[Material], str]
    write: Callable[[Material, BinaryIO], None]
    why_not: Callable[[Material], str | None] = lambda material: None
    """Why this review cannot be written so, or None."""


def only_pictures(material: Material) -> str | None:
    """For formats that know nothing but pictures."""
    return None if material.examples.kind == "image" else "This format is for pictures."


def write_list(file: BinaryIO, items: Iterable[Any]) -> None:
    """Write ``items`` as a JSON list, one a line, holding one of them at a time."""
    separator = b"[\n"
    for item in items:
        file.write(separator + json.dumps(item, ensure_ascii=True).encode())
        separator = b",\n"
    file.write(b"\n]\n" if separator == b",\n" else b"[]\n")
