"""The append-only log of decisions: one SQLite file beside the verdicts.

Write-ahead log, ``synchronous=FULL``, one transaction a decision: when ``append`` returns, what it
was given is on disk, whatever happens to the process or the power afterwards. Nothing is ever
changed or deleted, and the file itself refuses both.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields, replace
from pathlib import Path

from simifeat.errors import InputError, OutputError
from simifeat.review.answers import Entry

FORMAT = "1"
_COLUMNS = tuple(field.name for field in fields(Entry))
_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE entries (
        "row" INTEGER NOT NULL, reviewer TEXT NOT NULL, action TEXT NOT NULL,
        label INTEGER NOT NULL, kind TEXT NOT NULL, step TEXT NOT NULL, at TEXT NOT NULL,
        seq INTEGER PRIMARY KEY, batch INTEGER NOT NULL, request TEXT NOT NULL
    ) STRICT""",
    *(
        f"""CREATE TRIGGER no_{change} BEFORE {change} ON entries
        BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END"""
        for change in ("UPDATE", "DELETE")
    ),
)


def log_path(verdicts: Path) -> Path:
    """Where the decisions about a verdict file are kept."""
    return verdicts.with_name(f"{verdicts.stem}.decisions.sqlite")


def read_log(path: Path, fingerprint: str) -> list[Entry]:
    """Everything in the log at ``path``, which may be in use."""
    log = DecisionLog(path, fingerprint)
    try:
        return log.read()
    finally:
        log.close()


class DecisionLog:
    """The log of one dataset; ``fingerprint`` names the rows and labels it is about."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._explained():
            self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA busy_timeout = 10000")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                self._prepare(fingerprint)

    def read(self, after: int = 0) -> list[Entry]:
        """Entries later than number ``after``, in order."""
        with self._lock:
            return self._read(after)

    def append(self, after: int, plan: Callable[[list[Entry]], Sequence[Entry]]) -> list[Entry]:
        """Add what ``plan`` says when told what was added since number ``after``.

        The two happen in one transaction, so that no other process comes between. Returns what is
        new to the caller: entries of others, then the batch that was added, numbered.
        """
        with self._lock, self._explained(), self._transaction():
            missed = self._read(after)
            batch = self._last_seq() + 1
            added = [
                replace(entry, seq=batch + place, batch=batch)
                for place, entry in enumerate(plan(missed))
            ]
            columns = ", ".join(f'"{name}"' for name in _COLUMNS)
            places = ", ".join("?" * len(_COLUMNS))
            self._base.executemany(
                f"INSERT INTO entries ({columns}) VALUES ({places})", map(astuple, added)
            )
        return missed + added

    def close(self) -> None:
        """Fold the write-ahead log into the file and let go of it."""
        self._base.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise OutputError(
                f"cannot keep decisions in {self.path}: {error}; free the disk or the file, "
                "or choose another one with --decisions"
            ) from error

    def _read(self, after: int) -> list[Entry]:
        columns = ", ".join(f'"{name}"' for name in _COLUMNS)
        found = self._base.execute(
            f"SELECT {columns} FROM entries WHERE seq > ? ORDER BY seq", (after,)
        )
        return [Entry(*values) for values in found]

    def _last_seq(self) -> int:
        (last,) = self._base.execute("SELECT coalesce(max(seq), 0) FROM entries").fetchone()
        return int(last)

    def _prepare(self, fingerprint: str) -> None:
        if self._base.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            for statement in _SCHEMA:
                self._base.execute(statement)
            stated = [("format", FORMAT), ("fingerprint", fingerprint)]
            self._base.executemany("INSERT INTO about VALUES (?, ?)", stated)
        about = dict(self._base.execute("SELECT name, value FROM about"))
        if about.get("format") != FORMAT:
            raise InputError(
                f"{self.path} was written by another version of simifeat "
                f"(format {about.get('format')}); read it with that version"
            )
        if about.get("fingerprint") != fingerprint:
            raise InputError(
                f"{self.path} holds decisions about other rows or labels; move it away, "
                "or choose another file with --decisions"
            )
