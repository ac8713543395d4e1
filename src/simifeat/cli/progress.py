"""One line on stderr that says how far the work is and how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from simifeat.io.source import Progress

_EVERY = 0.1  # seconds between two drawings
_PATIENCE = 1.0  # no forecast from less than that


@contextmanager
def progress_line(stream: TextIO | None = None) -> Iterator[Progress | None]:
    """A callback that draws the line; None where nobody watches a terminal."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield None
        return
    line = _Line(stream)
    try:
        yield line
    finally:
        line.wipe()


class _Line:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._began = self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage or done <= 0:
            self._stage, self._began, self._drawn = stage, now, 0.0
        if now - self._drawn < _EVERY and done < total:
            return
        self._drawn = now
        share = min(1.0, done / total) if total > 0 else 0.0
        self._stream.write(f"\r\x1b[K{stage} {share:4.0%}{_forecast(now - self._began, share)}")
        self._stream.flush()

    def wipe(self) -> None:
        """Leave an empty line behind."""
        self._stream.write("\r\x1b[K")
        self._stream.flush()


def _forecast(elapsed: float, share: float) -> str:
    if elapsed < _PATIENCE or not 0 < share < 1:
        return ""
    seconds = round(elapsed * (1 - share) / share)
    if seconds < 60:
        return f", {seconds} s left"
    minutes = round(seconds / 60)
    return f", {minutes} min left" if minutes < 60 else f", {minutes / 60:.1f} h left"
