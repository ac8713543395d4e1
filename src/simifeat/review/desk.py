"""The desk where reviewers meet: the sheet, the log, and what stands for every row right now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from simifeat.errors import InputError
from simifeat.review.answers import ACTIONS, KINDS, NO_LABEL, Answer, Entry, State, Step
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
        """Told, in some thread, of entries that are new; of none if somebody came."""
        self._log = log
        self._claims: dict[int, tuple[str, float]] = {}
        self._take_in(log.read())

    @property
    def seq(self) -> int:
        """Number of the last entry taken in."""
        return self.ledger.last_seq

    def decide(self, answers: Sequence[Answer], reviewer: str, request: str = "") -> Said:
        """Write down what ``reviewer`` says, as one batch."""
        self._check(answers, reviewer)
        at = _now()

        def plan() -> list[Entry]:
            for answer in answers:
                self._check_settling(answer)
            return [
                Entry(a.row, reviewer, a.action, a.label, a.kind, "do", at, request=request)
                for a in answers
            ]

        return self._append(request, plan)

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
            came = reviewer not in {name for name, _ in self._claims.values()}
            self._claims = {
                other: (name, since)
                for other, (name, since) in self._claims.items()
                if name != reviewer and now - since < _CLAIM_SECONDS
            }
            self._claims.setdefault(row, (reviewer, now))
            if came:
                self._tell([])

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
        self._tell(entries)

    def _tell(self, entries: list[Entry]) -> None:
        for listener in self.listeners:
            listener(entries)

    def _check(self, answers: Sequence[Answer], reviewer: str) -> None:
        if not reviewer:
            raise InputError("a decision needs the name of who takes it; give one")
        if not 1 <= len(answers) <= MOST_AT_ONCE:
            raise InputError(
                f"{len(answers)} rows were chosen; decide about 1 to {MOST_AT_ONCE:,} at a time"
            )
        if len({answer.row for answer in answers}) != len(answers):
            raise InputError("a row was chosen twice")
        for answer in answers:
            if not 0 <= answer.row < self.sheet.n_rows:
                raise InputError(
                    f"there is no row {answer.row}; the last is {self.sheet.n_rows - 1}"
                )
            if answer.action not in ACTIONS or answer.action == "clear" or answer.kind not in KINDS:
                raise InputError(f"there is no action {answer.action!r} of kind {answer.kind!r}")
            codes = range(len(self.sheet.classes)) if answer.action == "relabel" else (NO_LABEL,)
            if answer.label not in codes:
                raise InputError(f"label number {answer.label} does not go with {answer.action!r}")

    def _check_settling(self, answer: Answer) -> None:
        if answer.kind == "settle" and self.state[answer.row] != State.CONFLICT:
            raise InputError("only a conflict can be settled, and here is none (any more)")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
