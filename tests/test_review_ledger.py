from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simifeat.review.answers import Entry, State, outcome
from simifeat.review.ledger import Ledger


def voice(action, reviewer="Ana", seq=1, label=-1, kind="decide"):
    return Entry(7, reviewer, action, label, kind, seq=seq)


@pytest.mark.parametrize(
    ("voices", "state", "label"),
    [
        ([], State.UNDECIDED, -1),
        ([voice("keep")], State.KEEP, -1),
        ([voice("relabel", label=3)], State.RELABEL, 3),
        ([voice("skip")], State.SKIP, -1),
        ([voice("skip"), voice("drop", "Ben", 2)], State.DROP, -1),
        ([voice("keep"), voice("drop", "Ben", 2)], State.CONFLICT, -1),
        ([voice("relabel", label=1), voice("relabel", "Ben", 2, 2)], State.CONFLICT, -1),
        ([voice("relabel", label=1), voice("relabel", "Ben", 2, 1)], State.RELABEL, 1),
        ([voice("keep"), voice("drop", "Ben", 2), voice("keep", "C", 3, -1, "settle")],
         State.KEEP, -1),
        ([voice("drop", "C", 1, -1, "settle"), voice("keep", "Ben", 2)], State.CONFLICT, -1),
        ([voice("keep"), voice("relabel", "Ana", 2, 1, "check")], State.CONFLICT, -1),
    ],
)  # fmt: skip
def test_voices_make_one_outcome(voices, state, label):
    found = outcome(voices)
    assert (found.state, found.label) == (state, label)


class Log:
    """The log as a list, numbered as the file numbers it."""

    def __init__(self):
        self.entries, self.live = [], Ledger()

    def add(self, entries):
        start = len(self.entries) + 1
        numbered = [replace(e, seq=start + i, batch=start) for i, e in enumerate(entries)]
        self.entries += numbered
        self.live.add(numbered)

    def do(self, reviewer, rows, action, label=-1, kind="decide"):
        self.add([Entry(row, reviewer, action, label, kind) for row in rows])

    def step(self, reviewer, step):
        self.add(self.live.plan(reviewer, step, "", ""))


def test_undo_and_redo_go_back_and_forth():
    log = Log()
    log.do("Ana", [1, 2], "keep")
    log.do("Ana", [1], "drop")
    log.step("Ana", "undo")
    assert log.live.outcome(1).state == State.KEEP
    log.step("Ana", "undo")
    assert log.live.outcome(1).state == log.live.outcome(2).state == State.UNDECIDED
    log.step("Ana", "redo")
    log.step("Ana", "redo")
    assert log.live.outcome(1).state == State.DROP
    assert not log.live.can("Ana", "redo")
    log.step("Ana", "undo")
    log.do("Ana", [3], "keep")
    assert not log.live.can("Ana", "redo")  # a new decision ends what could come back


def test_undoing_a_settlement_brings_back_the_one_before():
    log = Log()
    log.do("Ben", [2], "keep", kind="settle")
    log.do("Ana", [2], "drop", kind="settle")
    assert log.live.outcome(2).state == State.DROP
    log.step("Ana", "undo")
    assert log.live.outcome(2).state == State.KEEP


say = st.tuples(
    st.sampled_from(["Ana", "Ben"]),
    st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
    st.sampled_from(["keep", "drop", "skip", "relabel"]),
    st.sampled_from(["decide", "check", "settle"]),
)
move = st.tuples(st.sampled_from(["Ana", "Ben"]), st.sampled_from(["undo", "redo"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(say, move), max_size=25))
def test_a_ledger_read_again_is_the_ledger_that_was(steps):
    log = Log()
    for step in steps:
        if len(step) == 2:
            log.step(*step)
        else:
            reviewer, rows, action, kind = step
            log.do(reviewer, rows, action, 1 if action == "relabel" else -1, kind)
    again = Ledger()
    again.add(log.entries)
    for row in range(3):
        assert again.outcome(row) == log.live.outcome(row)
    for reviewer in ("Ana", "Ben"):
        for step in ("undo", "redo"):
            planned = log.live.plan(reviewer, step, "", "")
            assert again.plan(reviewer, step, "", "") == planned


@settings(max_examples=30, deadline=None)
@given(st.lists(say, min_size=1, max_size=10))
def test_undoing_everything_leaves_nothing(steps):
    log = Log()
    for reviewer, rows, action, kind in steps:
        log.do(reviewer, rows, action, 1 if action == "relabel" else -1, kind)
    for reviewer in ("Ana", "Ben"):
        while log.live.can(reviewer, "undo"):
            log.step(reviewer, "undo")
    assert not log.live.rows
