"""What reviewers can answer about a row, and how their voices become one outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal, get_args

Action = Literal["keep", "relabel", "drop", "skip", "clear"]
Kind = Literal["decide", "check", "settle"]
Step = Literal["do", "undo", "redo"]

ACTIONS: tuple[Action, ...] = get_args(Action)
KINDS: tuple[Kind, ...] = get_args(Kind)
NO_LABEL = -1


class State(IntEnum):
    """Where a row stands, as it is kept in arrays."""

    UNDECIDED = 0
    KEEP = 1
    RELABEL = 2
    DROP = 3
    SKIP = 4
    CONFLICT = 5

    @property
    def word(self) -> str:
        """The name the page and the files use."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody wants to say about a row."""

    row: int
    action: Action
    label: int = NO_LABEL
    kind: Kind = "decide"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: what one person said about one row, or took back."""

    row: int
    reviewer: str
    action: Action
    """``clear`` only where an undo leaves no answer."""
    label: int = NO_LABEL
    """Code of the new label if the action is ``relabel``."""
    kind: Kind = "decide"
    """``check`` is a second look at a sample; ``settle`` ends a conflict."""
    step: Step = "do"
    at: str = ""
    """UTC, ISO 8601."""
    seq: int = 0
    """Place in the log, from 1."""
    batch: int = 0
    """``seq`` of the first entry said in the same breath; undone together."""
    request: str = ""
    """Name the page gave the request, so that one sent twice counts once."""

    @property
    def slot(self) -> tuple[str, str]:
        """Whose voice this replaces: that of the same person, said for the same reason."""
        return (self.kind, self.reviewer)

    @property
    def answer(self) -> tuple[str, int]:
        """What was said, without who and when."""
        return (self.action, self.label)

    def said_again(self, step: Step, at: str, request: str) -> Entry:
        """The entry that an undo or redo writes to bring this voice back."""
        return replace(self, step=step, at=at, request=request, seq=0, batch=0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What stands for a row when all voices are heard."""

    state: State
    label: int = NO_LABEL
    voices: tuple[Entry, ...] = ()
    """The entries it rests on, oldest first."""


def outcome(voices: Iterable[Entry]) -> Outcome:
    """Weigh the voices about one row.

    A settlement outweighs everything said before it. What is left must agree; a skip is no answer,
    so it agrees with anything.
    """
    heard = sorted(voices, key=lambda voice: voice.seq)
    settled = max((voice.seq for voice in heard if voice.kind == "settle"), default=0)
    heard = [voice for voice in heard if voice.seq >= settled]
    answers = {voice.answer for voice in heard if voice.action != "skip"}
    if not heard:
        return Outcome(State.UNDECIDED)
    if not answers:
        return Outcome(State.SKIP, voices=tuple(heard))
    if len(answers) > 1:
        return Outcome(State.CONFLICT, voices=tuple(heard))
    action, label = answers.pop()
    return Outcome(State[action.upper()], label, tuple(heard))
