"""Patterns that name several files: ``shard-{000..011}.tar``, ``data/train-*.parquet``."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

from simifeat.errors import InputError

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST = 1_000_000


def is_pattern(text: str) -> bool:
    """Whether a path has signs that stand for several."""
    return any(sign in text for sign in "*?[{")


def matching(pattern: str) -> list[Path]:
    """The files that a pattern names, in order; those in braces must be there."""
    found: list[Path] = []
    for each in expanded(pattern):
        if any(sign in each for sign in "*?["):
            found += sorted(Path(name) for name in glob.glob(each) if os.path.isfile(name))
        else:
            found.append(Path(each))
    missing = next((path for path in found if not path.is_file()), None)
    if missing is not None:
        raise InputError(f"{missing} does not exist, but {pattern} names it; check the path")
    if not found:
        raise InputError(f"{pattern} names no file; check the path")
    return list(dict.fromkeys(found))


def expanded(pattern: str) -> Iterator[str]:
    """``a{0..2}b`` as a0b, a1b, a2b; ``{x,y}`` as x, y; from left to right."""
    braces = _BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    head, tail = pattern[: braces.start()], pattern[braces.end() :]
    for choice in _choices(braces[1]):
        for rest in expanded(tail):
            yield head + choice + rest


def _choices(text: str) -> list[str]:
    span = _RANGE.fullmatch(text)
    if span is None:
        return text.split(",")
    first, last = int(span[1]), int(span[2])
    if not 0 <= last - first < _MOST:
        raise InputError(f"{{{text}}} is no range that rises, such as {{000..011}}")
    return [f"{number:0{len(span[1])}}" for number in range(first, last + 1)]
