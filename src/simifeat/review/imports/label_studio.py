"""Results of Label Studio (its JSON and JSON-MIN exports) as decisions of a review."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simifeat.errors import InputError
from simifeat.review.answers import NO_LABEL, Answer
from simifeat.review.desk import MOST_AT_ONCE, Desk
from simifeat.review.exports.label_studio import CHOICE, DROP, DROP_TEXT
from simifeat.review.sheet import Sheet
from simifeat.review.show import reviewer_name, visible

_SOMEBODY = "Label Studio"


@dataclass(frozen=True)
class Imported:
    """How many annotations became decisions, and how many were left out."""

    added: int
    skipped: int


@dataclass(frozen=True)
class _Said:
    reviewer: str
    answer: Answer


def import_results(desk: Desk, content: bytes) -> Imported:
    """Write the results in ``content`` down as decisions of those who annotated.

    Left out: annotations of other data, with a label that no row has, cancelled, empty, or written
    by ``simifeat`` itself. The same file taken in twice counts once. Of several annotations of one
    person about one row the last one counts.
    """
    said: dict[tuple[str, int], _Said] = {}
    n_skipped = 0
    read = _Reader(desk.sheet)
    for found in read.annotations(_tasks(content)):
        if found is None:
            n_skipped += 1
            continue
        key = (found.reviewer, found.answer.row)
        n_skipped += key in said
        said[key] = found
    digest = hashlib.sha256(content).hexdigest()[:24]
    n_added = 0
    for name in dict.fromkeys(found.reviewer for found in said.values()):
        answers = [found.answer for found in said.values() if found.reviewer == name]
        for start in range(0, len(answers), MOST_AT_ONCE):
            part = answers[start : start + MOST_AT_ONCE]
            request = f"ls-{digest}-{start}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
            n_added += len(desk.decide(part, name, request).rows)
    return Imported(n_added, n_skipped)


def _tasks(content: bytes) -> list[Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("this is no JSON; export the project of Label Studio as JSON") from None
    if not isinstance(found, list):
        raise InputError("this is no list of tasks; export the project of Label Studio as JSON")
    return found


class _Reader:
    """Reads tasks against the rows and labels of ``sheet``."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._codes = {str(value): code for code, value in enumerate(sheet.classes)}
        for name, code in list(self._codes.items()):
            self._codes.setdefault(visible(name, len(name)), code)
        self._rows: dict[str, int] | None = None

    def annotations(self, tasks: Sequence[Any]) -> Iterator[_Said | None]:
        """What each annotation says, or None if it is left out."""
        for task in tasks:
            if not isinstance(task, dict):
                yield None
            elif isinstance(task.get("annotations"), list):
                row = self._row(task.get("data"))
                yield from (self._said(row, found) for found in task["annotations"])
            elif CHOICE in task or DROP in task:  # JSON-MIN: the data and the choices in one
                chosen = [_first(task.get(CHOICE)), _first(task.get(DROP))]
                yield self._answer(self._row(task), chosen, _who(task.get("annotator")))

    def _said(self, row: int | None, annotation: Any) -> _Said | None:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            return None
        results = annotation.get("result")
        results = [item for item in results or [] if isinstance(item, dict)]
        if any("simifeat" in _dict(item.get("meta")) for item in results):
            return None
        chosen = [_first(_dict(item.get("value")).get("choices")) for item in results]
        return self._answer(row, chosen, _who(annotation.get("completed_by")))

    def _answer(self, row: int | None, chosen: Sequence[Any], who: str) -> _Said | None:
        if row is None:
            return None
        if DROP_TEXT in chosen:
            return _Said(who, Answer(row, "drop"))
        code = next((self._codes[name] for name in chosen if name in self._codes), NO_LABEL)
        if code == NO_LABEL:
            return None
        if code == self._sheet.labels[row]:
            return _Said(who, Answer(row, "keep"))
        return _Said(who, Answer(row, "relabel", code))

    def _row(self, data: Any) -> int | None:
        """The row a task is about: as we numbered it, or by its id."""
        given = _dict(data)
        row = given.get("simifeat_row")
        if isinstance(row, int) and given.get("simifeat_data") == self._sheet.fingerprint[:16]:
            return row if 0 <= row < self._sheet.n_rows else None
        if "simifeat_row" in given or "id" not in given:
            return None  # made from other data
        if self._rows is None:
            ids = self._sheet.ids.to_pylist()
            self._rows = {str(name): number for number, name in enumerate(ids)}
        return self._rows.get(str(given["id"]))


def _who(completed_by: Any) -> str:
    """The name of an annotator: a mail address, or a number."""
    person = _dict(completed_by)
    known = person.get("email") or person.get("username") or person.get("id")
    known = known or (completed_by if isinstance(completed_by, int | str) else "")
    text = str(known)
    return reviewer_name(f"{_SOMEBODY} {text}" if text.isdigit() or not text else text)


def _first(value: Any) -> Any:
    if isinstance(value, dict):
        value = value.get("choices")
    found = value[0] if isinstance(value, list) and value else value
    return found if isinstance(found, str) else None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
