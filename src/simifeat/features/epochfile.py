"""The features of one epoch on disk: written as they come, so that a killed run loses a batch.

``<key>.npy`` is there once the epoch is whole. Until then ``<key>.draft`` grows batch by batch: its
length says how far it got. ``<key>.failed`` has one line for each record that could not be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simifeat.errors import InputError, OutputError
from simifeat.features.extract import Batch
from simifeat.io.source import Skipped

_HEADER_BYTES = 128  # of a .npy file this small; checked when one is read


@dataclass(frozen=True)
class Epoch:
    """The features of every record, those of a failed one being NaN."""

    features: NDArray[np.float32]  # [n, d], mapped from the file
    failed: dict[int, Skipped]
    """By row."""


class EpochFile:
    """One epoch of ``n_records`` under ``key`` in ``folder``."""

    def __init__(self, folder: Path, key: str, n_records: int) -> None:
        self.n_records = n_records
        self._whole = folder / f"{key}.npy"
        self._draft = folder / f"{key}.draft"
        self._failed = folder / f"{key}.failed"

    def read(self) -> Epoch | None:
        """The epoch if it is there and whole; it counts as used just now."""
        try:
            features = np.load(self._whole, mmap_mode="r", allow_pickle=False)
            failed = self._read_failed()
            os.utime(self._whole)
        except (OSError, ValueError):
            return None
        if features.ndim != 2 or len(features) != self.n_records or features.dtype != np.float32:
            return None
        return Epoch(features, failed)

    def n_done(self, batch_size: int) -> int:
        """Rows of an unfinished epoch that need no second extraction: whole batches."""
        try:
            with self._draft.open("rb") as file:
                width = _width(file, self.n_records)
            rows = (self._draft.stat().st_size - _HEADER_BYTES) // (4 * width)
        except (OSError, ValueError):
            return 0
        return max(0, rows - rows % batch_size)

    def write(self, batches: Iterable[Batch], n_done: int) -> Epoch:
        """Go on after ``n_done`` rows with ``batches`` to the end."""
        failed = {row: f for row, f in self._read_failed().items() if row < n_done}
        unwritten = 0  # rows that failed before the width of the features was known
        width = None
        try:
            self._write_failed(failed)
            with (
                self._draft.open("r+b" if n_done else "wb") as file,
                self._failed.open("a") as names,
            ):
                if n_done:
                    width = _width(file, self.n_records)
                    file.truncate(_HEADER_BYTES + 4 * width * n_done)
                    file.seek(0, os.SEEK_END)
                for batch in batches:
                    for row, name, reason in batch.failed:
                        failed[row] = Skipped(name, reason)
                        names.write(_line(row, failed[row]))
                    names.flush()  # before the rows, which say that this batch is done
                    if width is None and batch.features.shape[1] == 0:
                        unwritten += len(batch.features)
                        continue
                    if width is None:
                        width = batch.features.shape[1]
                        _write_header(file, self.n_records, width)
                        _write_nan(file, unwritten, width)
                    if batch.features.shape[1] == 0:
                        _write_nan(file, len(batch.features), width)
                    else:
                        file.write(np.ascontiguousarray(batch.features).data)
                file.flush()
                os.fsync(file.fileno())
            if width is None:
                raise _nothing_readable(failed)
            os.replace(self._draft, self._whole)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(
                f"cannot keep features in {self._draft.parent}: {error.strerror or error}; free "
                "some space, or name another folder in the environment variable SIMIFEAT_CACHE"
            ) from error
        whole = self.read()
        if whole is None:
            raise OutputError(
                f"{self._whole} changed while it was written; start once more, and let one run at "
                "a time use the cache"
            )
        return whole

    def _read_failed(self) -> dict[int, Skipped]:
        found = {}
        with suppress(FileNotFoundError):
            for line in self._failed.read_text(encoding="utf-8").splitlines():
                row, name, reason = json.loads(line)
                found[int(row)] = Skipped(name, reason)
        return found

    def _write_failed(self, failed: dict[int, Skipped]) -> None:
        lines = "".join(_line(row, f) for row, f in failed.items())
        self._failed.write_text(lines, encoding="utf-8")


def _line(row: int, failed: Skipped) -> str:
    return json.dumps([row, failed.name, failed.reason]) + "\n"


def _write_header(file: BinaryIO, n_records: int, width: int) -> None:
    npy.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": (n_records, width)}
    )


def _write_nan(file: BinaryIO, n_rows: int, width: int) -> None:
    row = np.full(width, np.nan, np.float32).tobytes()
    for _ in range(n_rows):
        file.write(row)


def _width(file: BinaryIO, n_records: int) -> int:
    if npy.read_magic(file) != (1, 0):
        raise ValueError("not a draft of features")
    shape, _fortran, dtype = npy.read_array_header_1_0(file)
    if len(shape) != 2 or shape[0] != n_records or dtype != np.dtype("<f4"):
        raise ValueError("features of something else")
    if file.tell() != _HEADER_BYTES:
        raise ValueError("a header of another length")
    return int(shape[1])


def _nothing_readable(failed: dict[int, Skipped]) -> InputError:
    first = next(iter(failed.values()))
    kinds = {re.sub(r"\d+", "", f.reason) for f in failed.values()}
    also = f", {len(kinds) - 1} other reasons" if len(kinds) > 1 else ""
    return InputError(
        f"none of the {len(failed)} records can be read; the first is {first.name} "
        f"({first.reason}{also}); check the paths and the kind of the files"
    )
