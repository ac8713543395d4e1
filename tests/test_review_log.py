from __future__ import annotations

import sqlite3

import pytest

from simifeat.errors import InputError, OutputError
from simifeat.review.answers import Entry
from simifeat.review.ledger import Ledger
from simifeat.review.log import DecisionLog, log_path


@pytest.fixture
def log(tmp_path):
    log = DecisionLog(tmp_path / "log.sqlite", "abc")
    yield log
    log.close()


def say(row, action="keep", reviewer="Ana", **more):
    return Entry(row=row, reviewer=reviewer, action=action, **more)


def test_entries_come_back_numbered_and_in_batches(log):
    first = log.append(0, lambda missed: [say(5), say(6, "relabel", label=2)])
    second = log.append(2, lambda missed: [say(7, request="r1", at="2026-01-01")])
    assert [(e.seq, e.batch, e.row) for e in first + second] == [(1, 1, 5), (2, 1, 6), (3, 3, 7)]
    assert log.read() == first + second
    assert log.read(after=2) == second


def test_another_process_is_heard_before_a_decision_is_planned(log, tmp_path):
    other = DecisionLog(tmp_path / "log.sqlite", "abc")
    theirs = other.append(0, lambda missed: [say(1, reviewer="Ben")])
    heard = []
    new = log.append(0, lambda missed: heard.extend(missed) or [say(2)])
    assert heard == theirs
    assert [(entry.row, entry.seq) for entry in new] == [(1, 1), (2, 2)]
    other.close()


def test_a_plan_that_fails_adds_nothing(log):
    def plan(missed):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        log.append(0, plan)
    assert log.read() == []
    assert log.append(0, lambda missed: [say(1)])[0].seq == 1


def test_what_is_written_is_on_disk_before_append_returns(log):
    assert log._base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert log._base.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.parametrize("change", ["UPDATE entries SET label = 1", "DELETE FROM entries"])
def test_the_file_refuses_to_change_the_past(log, change):
    log.append(0, lambda missed: [say(1)])
    with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
        log._base.execute(change)


def test_a_log_of_other_data_is_refused(log, tmp_path):
    with pytest.raises(InputError, match="holds decisions about other rows or labels"):
        DecisionLog(tmp_path / "log.sqlite", "other")


def test_a_file_that_is_no_log_is_refused(tmp_path):
    path = tmp_path / "log.sqlite"
    path.write_bytes(b"not a database, but quite long" * 100)
    with pytest.raises(OutputError, match="cannot keep decisions in .*: file is not a database"):
        DecisionLog(path, "abc")


def test_the_log_stands_beside_the_verdicts(tmp_path):
    assert log_path(tmp_path / "out.parquet") == tmp_path / "out.decisions.sqlite"


def test_the_same_log_gives_the_same_ledger(log):
    log.append(0, lambda missed: [say(1), say(2)])
    log.append(2, lambda missed: [say(1, "drop", reviewer="Ben")])
    one, two = Ledger(), Ledger()
    one.add(log.read())
    for entry_batch in (log.read()[:2], log.read()[2:]):
        two.add(entry_batch)
    assert one.outcome(1) == two.outcome(1)
    assert one.outcome(1).state.word == "conflict"
