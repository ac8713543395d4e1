"""The log added up: whose voice stands for which row, and what each reviewer can undo."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from simifeat.review.answers import Entry, Outcome, Step, outcome

Slot = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Change:
    row: int
    slot: Slot
    before: Entry | None
    after: Entry | None


@dataclass
class _History:
    """Batches of one reviewer: those that stand, and those taken back and not overtaken since."""

    done: list[list[_Change]] = field(default_factory=list)
    undone: list[list[_Change]] = field(default_factory=list)


class Ledger:
    """Adds up entries in the order of the log; the same log gives the same ledger."""

    def __init__(self) -> None:
        self._voices: dict[int, dict[Slot, Entry]] = {}
        self._histories: defaultdict[str, _History] = defaultdict(_History)
        self.requests: set[str] = set()
        """Names of the requests that are in the log."""
        self.last_seq = 0

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in what was appended to the log; a batch must come whole."""
        for _, group in groupby(entries, key=lambda entry: entry.batch):
            batch = list(group)
            self.last_seq = batch[-1].seq
            if batch[0].request:
                self.requests.add(batch[0].request)
            self._add_batch(batch)

    def _add_batch(self, batch: list[Entry]) -> None:
        history = self._histories[batch[0].reviewer]
        step = batch[0].step
        if step == "do":
            changes = [
                _Change(entry.row, entry.slot, self._voice(entry.row, entry.slot), entry)
                for entry in batch
            ]
            history.done.append(changes)
            history.undone.clear()
            for change in changes:
                self._set(change.row, change.slot, change.after)
            return
        stack, other = _stacks(history, step)
        if not stack:
            return  # a log written by hand; there is nothing to bring back
        changes = stack.pop()
        other.append(changes)
        for change in changes:
            self._set(change.row, change.slot, _target(change, step))

    def plan(self, reviewer: str, step: Step, at: str, request: str) -> list[Entry]:
        """The entries to append so that the reviewer's last batch is taken back, or comes back.

        Nobody else can have touched those voices, as everybody has a slot of his own. Empty if
        there is nothing to do.
        """
        stack, _ = _stacks(self._history(reviewer), step)
        if not stack:
            return []
        planned = []
        for change in stack[-1]:
            entry = _target(change, step)
            if entry is None:
                kind, _ = change.slot
                planned.append(
                    Entry(
                        row=change.row,
                        reviewer=reviewer,
                        action="clear",
                        kind=kind,  # type: ignore[arg-type]  # slots are made of kinds
                        step=step,
                        at=at,
                        request=request,
                    )
                )
            else:
                planned.append(entry.said_again(step, at, request))
        return planned

    def can(self, reviewer: str, step: Step) -> bool:
        """Whether the reviewer has anything to undo or redo."""
        return bool(_stacks(self._history(reviewer), step)[0])

    def voices(self, row: int) -> list[Entry]:
        """Every voice about ``row``, oldest first."""
        return sorted(self._voices.get(row, {}).values(), key=lambda voice: voice.seq)

    def outcome(self, row: int) -> Outcome:
        """What stands for ``row``."""
        return outcome(self._voices.get(row, {}).values())

    @property
    def rows(self) -> Sequence[int]:
        """Rows somebody has a voice about."""
        return list(self._voices)

    @property
    def reviewers(self) -> list[str]:
        """Everybody in the log, in the order they came."""
        return list(self._histories)

    def _history(self, reviewer: str) -> _History:
        return self._histories.get(reviewer, _History())

    def _voice(self, row: int, slot: Slot) -> Entry | None:
        return self._voices.get(row, {}).get(slot)

    def _set(self, row: int, slot: Slot, voice: Entry | None) -> None:
        if voice is not None:
            self._voices.setdefault(row, {})[slot] = voice
            return
        slots = self._voices.get(row, {})
        slots.pop(slot, None)
        if not slots:
            self._voices.pop(row, None)


def _stacks(history: _History, step: Step) -> tuple[list[list[_Change]], list[list[_Change]]]:
    """Where ``step`` takes its batch from, and where it puts it."""
    if step == "undo":
        return history.done, history.undone
    return history.undone, history.done


def _target(change: _Change, step: Step) -> Entry | None:
    return change.before if step == "undo" else change.after
