"""The desk where reviewers meet: the sheet, the log, and what stands for every row right now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from simifeat.errors import InputError
from simifeat.review.answers import ACTIONS, KINDS, NO_LABEL, Action, Entry, Kind, State, Step
from simifeat.review.ledger import Ledger
from simifeat.review.log import DecisionLog
from simifeat.review.sheet import Sheet

MOST_AT_ONCE = 10_000
_CLAIM_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a request led to: the rows it touched, and how long the log is now."""

    rows: tuple[int, ...]
    seq: int


class Desk:
    """Takes decisions one at a time, from any thread; every answer given is already on disk."""

    def __init__(self, sheet: Sheet, log: DecisionLog) -> None:
        self.sheet = sheet
        self.ledger = Ledger()
        self.state = np.zeros(sheet.n_rows, np.uint8)  # [n] of State
        self.label = np.full(sheet.n_rows, NO_LABEL, np.int32)  # [n] the new label of a relabelled
        self.lock = threading.RLock()
        self.listeners: list[Callable[[list[Entry]], None]] = []
        """Told, in some thread, of entries that are new."""
        self._log = log
        self._claims: dict[int, tuple[str, float]] = {}
        self._take_in(log.read())

    @property
    def seq(self) -> int:
        """Number of the last entry taken in."""
        return self.ledger.last_seq

    def decide(
        self,
        rows: Sequence[int],
        action: Action,
        reviewer: str,
        *,
        label: int = NO_LABEL,
        kind: Kind = "decide",
        request: str = "",
    ) -> Said:
        """Write down what ``reviewer`` says about ``rows``, as one batch."""
        self._check(rows, action, reviewer, label, kind)
        label = label if action == "relabel" else NO_LABEL
        at = _now()
        entries = [
            Entry(row, reviewer, action, label, kind, "do", at, request=request) for row in rows
        ]
        return self._append(request, lambda: entries)

    def step(self, reviewer: str, step: Step, request: str = "") -> Said:
        """Take back the last batch of ``reviewer`` that still stands, or bring one back."""

        return self._append(request, lambda: self.ledger.plan(reviewer, step, _now(), request))

    def catch_up(self) -> int:
        """Take in what other processes have added to the log; how long it is now."""
        with self.lock:
            self._take_in(self._log.read(self.seq))
            return self.seq

    def claim(self, row: int, reviewer: str) -> None:
        """Note that ``reviewer`` is looking at ``row``, so that nobody else is led to it."""
        with self.lock:
            now = time.monotonic()
            self._claims = {
                other: (name, since)
                for other, (name, since) in self._claims.items()
                if name != reviewer and now - since < _CLAIM_SECONDS
            }
            self._claims.setdefault(row, (reviewer, now))

    def claimed_by_others(self, reviewer: str) -> dict[int, str]:
        """Rows that other reviewers are looking at, and who does."""
        now = time.monotonic()
        return {
            row: name
            for row, (name, since) in self._claims.items()
            if name != reviewer and now - since < _CLAIM_SECONDS
        }

    def _append(self, request: str, plan: Callable[[], list[Entry]]) -> Said:
        with self.lock:

            def planned(missed: list[Entry]) -> list[Entry]:
                self._take_in(missed)
                heard.update(entry.seq for entry in missed)
                return [] if request and request in self.ledger.requests else plan()

            heard: set[int] = set()
            new = self._log.append(self.seq, planned)
            added = [entry for entry in new if entry.seq not in heard]
            self._take_in(added)
            return Said(tuple(dict.fromkeys(entry.row for entry in added)), self.seq)

    def _take_in(self, entries: list[Entry]) -> None:
        if not entries:
            return
        self.ledger.add(entries)
        for row in {entry.row for entry in entries}:
            if not 0 <= row < self.sheet.n_rows:
                continue  # a log written by hand
            standing = self.ledger.outcome(row)
            self.state[row], self.label[row] = standing.state, standing.label
        for listener in self.listeners:
            listener(entries)

    def _check(
        self, rows: Sequence[int], action: str, reviewer: str, label: int, kind: str
    ) -> None:
        if not reviewer:
            raise InputError("a decision needs the name of who takes it; give one")
        if action not in ACTIONS or action == "clear" or kind not in KINDS:
            raise InputError(f"there is no action {action!r} of the kind {kind!r}")
        if not 1 <= len(rows) <= MOST_AT_ONCE:
            raise InputError(
                f"{len(rows)} rows were chosen; decide about 1 to {MOST_AT_ONCE:,} at a time"
            )
        if len(set(rows)) != len(rows):
            raise InputError("a row was chosen twice")
        for row in rows:
            if not 0 <= row < self.sheet.n_rows:
                raise InputError(f"there is no row {row}; the last is {self.sheet.n_rows - 1}")
        if action == "relabel" and not 0 <= label < len(self.sheet.classes):
            raise InputError(f"there is no label number {label}; choose one of the classes")
        if kind == "settle" and any(self.state[row] != State.CONFLICT for row in rows):
            raise InputError("only a conflict can be settled, and here is none (any more)")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
