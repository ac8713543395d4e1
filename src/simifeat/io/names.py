"""Which column is meant: guesses that are said, and the nearest name for one that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from simifeat.errors import InputError

CLEAN_LABEL = "clean_label"
"""Holds the truth in a dataset that simifeat corrupted on purpose; never read as a feature."""

_LABEL_NAMES = ("label", "labels", "target", "targets", "class", "category", "y")
_FEATURE_NAMES = ("features", "feature", "embeddings", "embedding", "x")
_RECORD_NAMES = ("text", "sentence", "review", "image", "path", "file", "filename", "file_name")
_ID_NAMES = ("id", "ids")
_INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls a nameless index


def guess_label(names: Sequence[str], path: Path, kind: str = "column") -> str:
    """The one name among ``names`` that labels usually go by, or the only name there is."""
    found = [name for name in names if is_label(name)]
    if len(names) == 1:
        return names[0]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{path} has {len(found)} {kind}s that could hold the labels ({quoted(found)}); "
            "choose one with --labels"
        )
    raise InputError(
        f"{path} has no {kind} named like labels; choose one with --labels from {quoted(names)}"
    )


def guess_feature(names: Sequence[str], path: Path) -> str:
    """The only array [n, d] among ``names``, or the one that features usually go by."""
    found = [name for name in names if name.lower() in _FEATURE_NAMES]
    if len(names) == 1 or len(found) == 1:
        return found[0] if found else names[0]
    if not names:
        raise InputError(f"{path} holds no array [n, d] of features; give a file with --features")
    raise InputError(
        f"{path} has {len(names)} arrays that could be features ({quoted(names)}); "
        "choose one with --features"
    )


def guess_record(names: Sequence[str], path: Path) -> str:
    """The only column of texts among ``names``, or the one that records usually go by."""
    found = [name for name in names if name.lower() in _RECORD_NAMES]
    if len(names) == 1 or len(found) == 1:
        return found[0] if found else names[0]
    raise InputError(
        f"{path} has {len(names)} columns that features could be extracted from "
        f"({quoted(names)}); choose one with --features"
    )


def guess_id(names: Sequence[str]) -> str | None:
    """The name that ids go by, if it is there."""
    return next((name for name in names if name.lower() in _ID_NAMES), None)


def is_label(name: str) -> bool:
    """Whether labels usually go by this name."""
    return name.lower() in _LABEL_NAMES


def is_index(name: str) -> bool:
    """Whether a column is a row number that pandas wrote along."""
    return name in _INDEX_NAMES


def require_name(name: str, names: Sequence[str], path: Path, kind: str = "column") -> str:
    """``name`` if it is one of ``names``; otherwise an error with the nearest one."""
    if name in names:
        return name
    lowered = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1)
    hint = f"did you mean {lowered[near[0]]!r}?" if near else f"there is {quoted(names)}"
    raise InputError(f"{path} has no {kind} {name!r}; {hint}")


def quoted(names: Sequence[str], most: int = 8) -> str:
    """Names for a message, the first few of many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
