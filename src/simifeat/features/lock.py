"""One process at a time, by a lock on a file that the system drops when its holder dies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import BinaryIO

from simifeat.features.extract import Stopped

_PAUSE = 0.1  # seconds between two tries


@contextmanager
def locked(path: Path, stop: Event) -> Iterator[None]:
    """Hold the lock ``path``; ``Stopped`` if told so while waiting for it.

    The file goes with the last holder that ended well; who waited for it finds the work done.
    """
    with path.open("ab") as file:
        while not _try(file):
            if stop.wait(_PAUSE):
                raise Stopped
        yield
    with suppress(OSError):
        path.unlink()


if sys.platform == "win32":
    import msvcrt

    def _try(file: BinaryIO) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
