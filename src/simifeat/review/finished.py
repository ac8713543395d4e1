"""What a review comes to: for every row whether it stays, which label it has, and who said so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.io import open_source
from simifeat.io.edits import edit_to_labels, judged_rows
from simifeat.io.source import Edit, Source
from simifeat.review.answers import Action, Outcome, State
from simifeat.review.ledger import Ledger
from simifeat.review.sheet import Sheet

Undecided = Literal["keep", "drop", "relabel"]
MACHINE = "simifeat"  # who decided where nobody did
_ANSWERS = (State.KEEP, State.RELABEL, State.DROP)


@dataclass(frozen=True)
class Change:
    """What happens to one row, and who said so; ``when`` is empty if nobody did."""

    row: int
    action: Action
    who: str
    when: str


@dataclass(frozen=True, eq=False)
class Finished:
    """The end of a review, or where it stands."""

    sheet: Sheet
    stays: NDArray[np.bool_]  # [n]
    label: NDArray[np.int32]  # [n] codes
    decided: Mapping[int, Outcome]
    """Rows whose answers agree, rising."""
    open_rows: NDArray[np.int64]
    """Flagged rows without an answer that stands, rising."""
    undecided: Undecided
    """What happens to them."""

    @classmethod
    def of(cls, sheet: Sheet, ledger: Ledger, undecided: Undecided = "keep") -> Finished:
        """Add up what stands in ``ledger``; other flagged rows are treated as ``undecided`` says.

        A conflict and a skip are no answers.
        """
        outcomes = {row: ledger.outcome(row) for row in sorted(ledger.rows) if row < sheet.n_rows}
        decided = {row: found for row, found in outcomes.items() if found.state in _ANSWERS}
        is_open = sheet.is_corrupted.copy()
        is_open[list(decided)] = False
        open_rows = np.flatnonzero(is_open)
        stays, label = np.ones(sheet.n_rows, bool), sheet.labels.copy()
        if undecided == "drop":
            stays[open_rows] = False
        elif undecided == "relabel":
            label[open_rows] = sheet.suggested[open_rows]
        for row, found in decided.items():
            stays[row] = found.state != State.DROP
            if found.state == State.RELABEL:
                label[row] = found.label
        return cls(sheet, stays, label, decided, open_rows, undecided)

    def changes(self) -> Iterator[Change]:
        """Every row that was decided about, by a person or without one, by row."""
        rows = list(self.decided)
        if self.undecided != "keep":
            rows = sorted([*rows, *self.open_rows.tolist()])
        for row in rows:
            found = self.decided.get(row)
            if found is None:
                yield Change(row, self.undecided, MACHINE, "")
                continue
            voices = [voice for voice in found.voices if voice.action != "skip"]
            names = dict.fromkeys(voice.reviewer for voice in voices)
            action = voices[0].action
            yield Change(row, action, ", ".join(names), max(voice.at for voice in voices))

    def value(self, code: int) -> Any:
        """A label as it was given."""
        return self.sheet.classes[code]

    def edit(self, given: NDArray[Any], origin: Mapping[str, Any]) -> Edit:
        """The edit that carries this out on a source with the labels ``given`` [m]."""
        classes = np.empty(len(self.sheet.classes), object)
        classes[:] = self.sheet.classes
        judged = judged_rows(classes[self.sheet.labels], given, origin)
        wanted = given.astype(object)
        wanted[judged] = classes[self.label]
        keep = np.ones(len(given), np.bool_)
        keep[judged[~self.stays]] = False
        # A label that only stands on dropped rows may still be given to others.
        return Edit(edit_to_labels(given, wanted).label_from, keep)


def source_behind(origin: Mapping[str, Any]) -> Source:
    """The source that verdicts with this ``origin`` are about."""
    asked = (origin.get(name) for name in ("labels", "features", "extractor", "id"))
    return open_source(origin["path"], *asked)
