"""What happens to the rows of a source, as an ``Edit`` that any format can carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.dataset import Labels
from simifeat.errors import InputError
from simifeat.io.source import Edit
from simifeat.verdicts import Verdicts

Action = Literal["drop", "relabel"]


def edit_to_labels(given: NDArray[Any], wanted: NDArray[Any], *, keep_clean: bool = False) -> Edit:
    """The edit that gives every row the label ``wanted`` [n], each of which some row has."""
    labels = Labels.encode(given)
    first = np.full(labels.n_classes, -1, np.int64)
    first[labels.codes[::-1]] = np.arange(len(given))[::-1]
    number = {value: code for code, value in enumerate(labels.classes.tolist())}
    unknown = next((value for value in wanted.tolist() if value not in number), None)
    if unknown is not None:
        raise InputError(f"the label {unknown!r} is on no row of the source; add one first")
    codes = np.fromiter((number[value] for value in wanted.tolist()), np.int64, len(wanted))
    stays = codes == labels.codes
    label_from = np.where(stays, np.arange(len(given)), first[codes])
    return Edit(label_from, np.ones(len(given), np.bool_), keep_clean)


def edit_of_verdicts(
    verdicts: Verdicts, given: NDArray[Any], action: Action, origin: Mapping[str, Any]
) -> Edit:
    """Drop the corrupted rows, or give them their suggested label; rows not judged stay.

    ``given`` [n] are the labels of the source now: they must still be those that were judged.
    """
    n = len(given)
    judged = judged_rows(verdicts.labels, given, origin)
    if action == "relabel":
        wanted = given.copy()
        wanted[judged] = verdicts.suggested
        return edit_to_labels(given, wanted)
    keep = np.ones(n, np.bool_)
    keep[judged[verdicts.is_corrupted]] = False
    return Edit(np.arange(n), keep)


def judged_rows(
    labels: NDArray[Any], given: NDArray[Any], origin: Mapping[str, Any]
) -> NDArray[np.int64]:
    """The row of the source for each of the judged ``labels`` [m], [m].

    ``given`` [n] are the labels of the source now: they must still be those that were judged.
    """
    n = len(given)
    judged = np.setdiff1d(np.arange(n), np.asarray(origin.get("not_judged", []), np.int64))
    if len(judged) != len(labels):
        raise InputError(
            f"the source has {n} rows, but {len(labels)} were judged; it was changed "
            "since: run simifeat detect again"
        )
    differs = np.flatnonzero(np.asarray(given[judged] != labels))
    if differs.size:
        row = judged[differs[0]]
        raise InputError(
            f"{differs.size} labels of the source are no longer those that were judged, the first "
            f"in row {row} ({given[row]!r}, was {labels[differs[0]]!r}); "
            "run simifeat detect again"
        )
    return judged
