"""The patch: a CSV of what was decided, to apply or to keep as a record."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from simifeat.review.exports.base import Format, Material

COLUMNS = ("id", "old", "new", "action", "who", "when")


def _write(material: Material, file: BinaryIO) -> None:
    """One line a decision; ``new`` is empty for a row that was dropped."""
    finished, sheet = material.finished, material.finished.sheet
    text = io.TextIOWrapper(file, "utf-8", newline="", errors="backslashreplace")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for change in finished.changes():
        old = finished.value(int(sheet.labels[change.row]))
        new = "" if change.action == "drop" else finished.value(int(finished.label[change.row]))
        identity = sheet.id_of(change.row)
        lines.writerow([identity, old, new, change.action, change.who, change.when])
    text.detach()  # flushes; the file is not ours to close


FORMAT = Format(
    "Patch",
    "One line a decision: id, old and new label, who, when.",
    lambda material: ".csv",
    _write,
)
