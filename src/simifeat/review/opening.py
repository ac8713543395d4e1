"""From a verdict file to a review: the sheet, its log, the examples, the neighbours."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.examples import Examples, open_examples
from simifeat.nearest_file import load_nearest
from simifeat.review.desk import Desk
from simifeat.review.imports.cleanlab import load_judged
from simifeat.review.log import DecisionLog, log_path
from simifeat.review.sheet import Sheet
from simifeat.review.views import Views


@contextmanager
def open_review(
    verdicts: Path, *, moved_to: str | None = None, decisions: Path | None = None
) -> Iterator[Views]:
    """The review of a verdict file, as long as the block lasts.

    ``moved_to`` is where the judged data are now, ``decisions`` the log if not beside the file.
    """
    sheet = Sheet.from_verdicts(load_judged(verdicts, moved_to))
    nearest = load_nearest(verdicts, sheet.metadata)
    log = DecisionLog(decisions or log_path(verdicts), sheet.fingerprint)
    try:
        with tempfile.TemporaryDirectory(prefix="simifeat-review-") as spool:
            shown = sheet.is_corrupted.copy()  # rows the page may show, and their neighbours
            shown[nearest.index[nearest.index >= 0]] = True
            examples = examples_of(sheet, moved_to, Path(spool), shown)
            origin = source_of(sheet.metadata, moved_to)
            name = Path(origin["path"]).name if origin else verdicts.name
            yield Views(Desk(sheet, log), examples, nearest, name, origin)
    finally:
        log.close()


def source_of(metadata: Mapping[str, Any], moved_to: str | None = None) -> dict[str, Any] | None:
    """What verdicts say of the files they are about, if anything."""
    origin = metadata.get("source")
    if not origin:
        return {"path": moved_to} if moved_to else None
    return {**origin, "path": moved_to or origin["path"]}


def examples_of(
    sheet: Sheet, moved_to: str | None, spool: Path, shown: NDArray[np.bool_]
) -> Examples:
    """The examples that ``sheet`` is about; none if it does not say.

    Of pictures inside a table those of the rows ``shown`` [n] are kept. ``spool`` is a folder that
    lasts as long as the examples.
    """
    origin = source_of(sheet.metadata, moved_to)
    if origin is None:
        return Examples()
    with moved(origin, moved_to):
        return open_examples(origin, sheet.ids, spool, shown)


@contextmanager
def moved(origin: Mapping[str, Any], moved_to: str | None) -> Iterator[None]:
    """Where the judged data cannot be opened because they are elsewhere, say what to do."""
    try:
        yield
    except InputError as error:
        if moved_to is not None or Path(origin["path"]).exists():
            raise
        raise InputError(
            f"{origin['path']} was judged, but cannot be opened from here; "
            "say with --source where it is now"
        ) from error
