"""What the page is told, as plain dictionaries: the review as data, without HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.examples import Examples
from simifeat.nearest_file import Nearest
from simifeat.review.answers import Entry, State
from simifeat.review.calibrate import Calibration, calibrate
from simifeat.review.checks import agreements, sample_order, to_check
from simifeat.review.desk import Desk
from simifeat.review.filters import Filter, next_row, select
from simifeat.review.show import one_line, visible

Lead = Literal["open", "uncertain", "forward", "back"]
Json = dict[str, Any]

MOST_ROWS = 200
_SNIPPET, _TEXT, _CELL = 280, 20_000, 2_000
_FIELDS_IN_SNIPPET = 4
_ANSWERED = (State.KEEP, State.RELABEL, State.DROP)


class Views:
    """Looks at a desk and the examples it is about; all methods may be called from any thread."""

    def __init__(
        self,
        desk: Desk,
        examples: Examples,
        nearest: Nearest,
        name: str,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self.desk, self.examples, self.nearest, self.name = desk, examples, nearest, name
        self.origin = origin
        self._sample = sample_order(desk)
        self._calibration: tuple[int, Calibration] | None = None
        flags = desk.sheet.is_corrupted
        self._p_unflagged = float(desk.sheet.p_corrupted[~flags].sum(dtype=np.float64))

    def about(self) -> Json:
        """What stays the same: the dataset, its classes, how often each change is suggested."""
        sheet = self.desk.sheet
        rows = sheet.flagged
        pairs = Counter(
            zip(sheet.labels[rows].tolist(), sheet.suggested[rows].tolist(), strict=True)
        )
        return {
            "name": one_line(self.name),
            "n_rows": sheet.n_rows,
            "n_flagged": len(rows),
            "kind": self.examples.kind,
            "classes": [one_line(value) for value in sheet.classes],
            "pairs": [[*pair, times] for pair, times in pairs.most_common(100)],
            "fingerprint": sheet.fingerprint[:16],
        }

    def rows(self, wanted: Filter, offset: int, limit: int) -> Json:
        """A page of the rows that ``wanted`` lets through."""
        with self.desk.lock:
            rows = self._select(wanted)
            limit = max(1, min(limit, MOST_ROWS))
            page = rows[max(0, offset) :][:limit].tolist()
            return {
                "total": len(rows),
                "offset": max(0, offset),
                "seq": self.desk.seq,
                "rows": [self.brief(row) for row in page],
            }

    def lead(self, wanted: Filter, after: int | None, how: str, reviewer: str) -> Json:
        """The row to look at next: the next open one, the most uncertain, or a neighbour in order.

        A filter by decision says itself what is open: conflicts, say. What somebody else is looking
        at is passed over, unless rows are gone through in order.
        """
        if how not in get_args(Lead):
            raise InputError(f"there is no way {how!r} to go on")
        with self.desk.lock:
            rows = self._select(wanted)
            if how in ("forward", "back"):
                found = next_row(rows, after, None, 1 if how == "forward" else -1)
                return {"row": found, "total": len(rows)}
            state = self.desk.state
            free = np.ones(len(state), bool) if wanted.states else state == State.UNDECIDED  # [n]
            free[list(self.desk.claimed_by_others(reviewer))] = False
            if how == "uncertain":
                choice = rows[free[rows] & (rows != (-1 if after is None else after))]
                best = int(choice[self._uncertainty(choice).argmax()]) if len(choice) else None
                return {"row": best, "total": len(rows)}
            return {"row": next_row(rows, after, free), "total": len(rows)}

    def row(self, row: int, *, blind: bool = False) -> Json:
        """Everything about one row; ``blind`` leaves out what was decided."""
        self._check(row)
        with self.desk.lock:
            found = self.brief(row, blind=blind)
        found["neighbors"] = [
            {**self._example(other), "similarity": round(similarity, 4)}
            for other, similarity in self.nearest.to(row)
            if other < self.desk.sheet.n_rows
        ]
        text = self.examples.text(row)
        if text is not None:
            found["text"], found["n_characters"] = visible(text, _TEXT), len(text)
        found["fields"] = [
            [one_line(name), "" if value is None else visible(str(value), _CELL)]
            for name, value in self.examples.fields(row)
        ]
        return found

    def brief(self, row: int, *, blind: bool = False) -> Json:
        """A row as a card of the grid shows it."""
        state = State.UNDECIDED if blind else State(int(self.desk.state[row]))
        p = self.desk.sheet.p_corrupted[row : row + 1]
        return {
            **self._example(row),
            "p": round(float(p[0]), 4),
            "p_now": round(float(self._calibrated().probability(p)[0]), 4),
            "state": state.word,
            "label": int(self.desk.label[row]) if state == State.RELABEL else None,
            "voices": [] if blind else [_voice(v) for v in self.desk.ledger.voices(row)],
        }

    def picture(self, row: int, size: int) -> tuple[bytes, str]:
        """The picture of a row and its media type."""
        self._check(row)
        return self.examples.picture(row, size)

    def progress(self, reviewer: str) -> Json:
        """How far the review is, and how many errors are expected to be left."""
        with self.desk.lock:
            sheet, state = self.desk.sheet, self.desk.state
            flagged = sheet.flagged
            counts = np.bincount(state[flagged], minlength=len(State))
            answered = np.isin(state, [int(s) for s in _ANSWERED])
            n_answered = int(answered[flagged].sum())
            n_kept = int(counts[State.KEEP])
            left = flagged[~answered[flagged]]
            unseen = float(sheet.p_corrupted[answered & ~sheet.is_corrupted].sum())
            voices = Counter(
                voice.reviewer
                for row in self.desk.ledger.rows
                for voice in self.desk.ledger.voices(row)
            )
            return {
                "seq": self.desk.seq,
                "n_flagged": len(flagged),
                "n_answered": n_answered,
                "states": {s.word: int(counts[s]) for s in State},
                "precision": (n_answered - n_kept) / n_answered if n_answered else None,
                "errors_left": asdict(self._calibrated().expected_errors(sheet.p_corrupted[left])),
                "errors_unflagged": max(0.0, self._p_unflagged - unseen),
                "reviewers": [[name, voices[name]] for name in self.desk.ledger.reviewers],
                "can_undo": self.desk.ledger.can(reviewer, "undo"),
                "can_redo": self.desk.ledger.can(reviewer, "redo"),
                "looking": sorted(set(self.desk.claimed_by_others(reviewer).values())),
            }

    def check(self, reviewer: str, share: float) -> Json:
        """The next row to double-check, how many are left, and the agreement so far."""
        if not 0 < share <= 1:
            raise InputError(f"the share to double-check is {share}; give one above 0, at most 1")
        with self.desk.lock:
            left = to_check(self.desk, self._sample, share, reviewer)
            return {
                "row": left[0] if left else None,
                "left": len(left),
                "agreements": [asdict(found) for found in agreements(self.desk)],
            }

    def _select(self, wanted: Filter) -> NDArray[np.int64]:
        return select(self.desk, wanted, self._search, self._uncertainty)

    def _search(self, rows: NDArray[np.int64], words: str) -> NDArray[np.bool_]:
        sheet = self.desk.sheet
        found = self.examples.find(rows, words)
        ids = sheet.ids.take(pa.array(rows)).cast(pa.string())
        found |= pc.match_substring(ids, words, ignore_case=True).to_numpy(zero_copy_only=False)
        hits = np.array([words.lower() in str(value).lower() for value in sheet.classes])
        return found | hits[sheet.labels[rows]] | hits[sheet.suggested[rows]]

    def _uncertainty(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        probability = self._calibrated().probability(self.desk.sheet.p_corrupted[rows])
        return -np.abs(probability - np.float32(0.5))

    def _calibrated(self) -> Calibration:
        if self._calibration is None or self._calibration[0] != self.desk.seq:
            rows = np.flatnonzero(np.isin(self.desk.state, [int(s) for s in _ANSWERED]))
            found = calibrate(
                self.desk.sheet.p_corrupted[rows], self.desk.state[rows] != State.KEEP
            )
            self._calibration = (self.desk.seq, found)
        return self._calibration[1]

    def _example(self, row: int) -> Json:
        sheet = self.desk.sheet
        return {
            "row": row,
            "id": one_line(sheet.id_of(row)),
            "given": int(sheet.labels[row]),
            "suggested": int(sheet.suggested[row]),
            "flagged": bool(sheet.is_corrupted[row]),
            "snippet": self._snippet(row),
        }

    def _snippet(self, row: int) -> str:
        if self.examples.kind == "text":
            return one_line(self.examples.text(row) or "", _SNIPPET)
        if self.examples.kind == "table":
            fields = self.examples.fields(row)[:_FIELDS_IN_SNIPPET]
            return " · ".join(f"{one_line(n, 40)}: {one_line(value, 60)}" for n, value in fields)
        return ""

    def _check(self, row: int) -> None:
        if not 0 <= row < self.desk.sheet.n_rows:
            raise InputError(f"there is no row {row}")


def filter_of(query: Mapping[str, str]) -> Filter:
    """The filter that the parameters of an address describe."""
    try:
        states = frozenset(State[word.upper()] for word in query.get("states", "").split() if word)
        return Filter(
            scope=query.get("scope", "flagged"),  # type: ignore[arg-type]  # Filter checks
            given=_number(query.get("given")),
            suggested=_number(query.get("suggested")),
            p_from=float(query.get("p_from") or 0),
            p_to=float(query.get("p_to") or 1),
            states=states,
            reviewer=query.get("by", ""),
            words=query.get("words", "").strip(),
            order=query.get("order", "suspicious"),  # type: ignore[arg-type]  # Filter checks
        )
    except (ValueError, KeyError) as error:
        raise InputError(f"a filter cannot be read: {error}") from error


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _voice(entry: Entry) -> Json:
    return {
        "reviewer": entry.reviewer,
        "action": entry.action,
        "label": entry.label if entry.action == "relabel" else None,
        "kind": entry.kind,
        "at": entry.at,
    }
