"""Which rows to look at, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.review.answers import State
from simifeat.review.desk import Desk

Scope = Literal["flagged", "all"]
Order = Literal["suspicious", "uncertain", "row"]
Search = Callable[[NDArray[np.int64], str], NDArray[np.bool_]]
"""Of some rows [m], those whose id, label or text holds the words."""
Measure = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""How uncertain it is whether the labels of some rows [m] are corrupted, [m]."""
_MOST_SEARCHED = 500


@dataclass(frozen=True)
class Filter:
    """What a row must be like to be shown; what is None or empty asks for nothing."""

    scope: Scope = "flagged"
    given: int | None = None
    """Code of the given label."""
    suggested: int | None = None
    p_from: float = 0.0
    p_to: float = 1.0
    states: frozenset[State] = frozenset()
    reviewer: str = ""
    """Rows this person has said something about."""
    words: str = ""
    order: Order = "suspicious"

    def __post_init__(self) -> None:
        if self.scope not in get_args(Scope) or self.order not in get_args(Order):
            raise InputError(f"there is no scope {self.scope!r} or no order {self.order!r}")
        if len(self.words) > _MOST_SEARCHED:
            raise InputError(f"search for at most {_MOST_SEARCHED} characters")


def select(desk: Desk, wanted: Filter, search: Search, uncertainty: Measure) -> NDArray[np.int64]:
    """Rows that ``wanted`` lets through, in its order."""
    sheet = desk.sheet
    rows = sheet.flagged if wanted.scope == "flagged" else np.arange(sheet.n_rows)
    kept = np.ones(len(rows), bool)
    if wanted.given is not None:
        kept &= sheet.labels[rows] == wanted.given
    if wanted.suggested is not None:
        kept &= sheet.suggested[rows] == wanted.suggested
    if wanted.p_from > 0 or wanted.p_to < 1:
        p = sheet.p_corrupted[rows]
        kept &= (p >= wanted.p_from) & (p <= wanted.p_to)
    if wanted.states:
        kept &= np.isin(desk.state[rows], [int(state) for state in wanted.states])
    if wanted.reviewer:
        said = [row for row in desk.ledger.rows if _spoke(desk, row, wanted.reviewer)]
        kept &= np.isin(rows, said)
    rows = rows[kept]
    if wanted.words:
        rows = rows[search(rows, wanted.words)]
    if wanted.order == "row":
        return np.sort(rows)
    by = sheet.p_corrupted[rows] if wanted.order == "suspicious" else uncertainty(rows)
    return rows[np.argsort(-by, kind="stable")]


def next_row(
    rows: NDArray[np.int64],
    after: int | None,
    open_rows: NDArray[np.bool_] | None = None,
    step: int = 1,
) -> int | None:
    """The row that follows ``after`` in ``rows``, from the start again at the end.

    Only rows that are ``open_rows`` [n] count, if given. None if there is no other.
    """
    places = np.arange(len(rows)) if open_rows is None else np.flatnonzero(open_rows[rows])
    places = places[rows[places] != after] if after is not None else places
    if not len(places):
        return None
    found = np.flatnonzero(rows == after) if after is not None else np.array([], np.int64)
    if not len(found):
        return int(rows[places[0 if step > 0 else -1]])
    later = places > found[0] if step > 0 else places < found[0]
    if not later.any():
        return int(rows[places[0 if step > 0 else -1]])
    return int(rows[places[later][0 if step > 0 else -1]])


def _spoke(desk: Desk, row: int, reviewer: str) -> bool:
    return any(voice.reviewer == reviewer for voice in desk.ledger.voices(row))
