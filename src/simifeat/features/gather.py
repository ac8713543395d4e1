"""Some pictures of a source, decoded at one size, to train on; on disk rather than in memory."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.cache import cache_directory
from simifeat.features.decode import decode_rgb, known_formats
from simifeat.features.extract import usable_cores
from simifeat.io.records import Record, Records, Unreadable
from simifeat.io.source import Progress

_AHEAD = 16  # pictures in work or waiting, for each thread


@contextmanager
def decoded(
    records: Records, rows: NDArray[np.int64], size: int, progress: Progress | None
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Pictures [m, size, size, 3] of the ``rows`` (rising) that can be read, and which those are.

    They lie in a file of the cache that has no name and goes with the process.
    """
    known_formats()
    with tempfile.TemporaryFile(dir=cache_directory("training")) as file:
        file.truncate(max(1, len(rows)) * size * size * 3)
        pictures = np.memmap(file, np.uint8, "r+", shape=(max(1, len(rows)), size, size, 3))
        kept: list[int] = []
        for row, picture in _pictures(records, rows, size):
            if picture is not None:
                pictures[len(kept)] = picture
                kept.append(row)
            if progress is not None:
                progress("pictures to train on", int(np.searchsorted(rows, row)) + 1, len(rows))
        if not kept:
            raise InputError(
                "none of the pictures can be read; check the paths and the kind of the files"
            )
        yield pictures[: len(kept)], np.array(kept)


def _pictures(
    records: Records, rows: NDArray[np.int64], size: int
) -> Iterator[tuple[int, NDArray[np.uint8] | None]]:
    wanted = iter(rows.tolist())
    following = next(wanted, None)
    threads = usable_cores()
    waiting: deque[tuple[int, Future[NDArray[np.uint8] | None]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for row, record in enumerate(records):
            if row != following:
                continue
            waiting.append((row, pool.submit(_picture, record, size)))
            if len(waiting) >= _AHEAD * threads:
                done, future = waiting.popleft()
                yield done, future.result()
            following = next(wanted, None)
            if following is None:
                break
        for done, future in waiting:
            yield done, future.result()


def _picture(record: Record, size: int) -> NDArray[np.uint8] | None:
    try:
        content = record.read()
        return None if isinstance(content, str) else decode_rgb(content, size)
    except Unreadable:  # it will be counted and named when features are extracted
        return None
