"""The folder that a run keeps its results in, stage by stage: every file whole or absent."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import OutputError
from simifeat.io.atomic import replacing, write_bytes

_KEY = "key"
_OWN = re.compile(r"\.simifeat-.*|rows|row_ids|[a-z]+-\d{6}\.npz")
"""What a run that was killed while it began, or while it cleaned up, may leave without a key."""


@dataclass(frozen=True)
class Work:
    """Results by stage and number, as .npz files."""

    root: Path

    def prepare(self, key: str, fresh: bool) -> bool:
        """Make the folder ready for the run ``key``; whether it goes on with an earlier one."""
        stored = self.root / _KEY
        try:
            going_on = not fresh and stored.exists() and stored.read_text() == key
            if self.root.exists() and not going_on:
                if not stored.exists() and not all(_OWN.fullmatch(name) for name in self._names()):
                    raise OutputError(
                        f"cannot work in {self.root}: it holds other files; name another folder"
                    )
                shutil.rmtree(self.root)
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(
                f"cannot work in {self.root}: {error.strerror or error}; choose another folder"
            ) from error
        if not going_on:
            write_bytes(stored, key.encode())
        return going_on

    def _names(self) -> list[str]:
        return [path.name for path in self.root.iterdir()]

    def path(self, stage: str, number: int) -> Path:
        """Where a result is kept."""
        return self.root / f"{stage}-{number:06d}.npz"

    def done(self, stage: str) -> set[int]:
        """Numbers of the results of a stage that are there."""
        return {int(path.stem.rsplit("-", 1)[1]) for path in self.root.glob(f"{stage}-*.npz")}

    def save(self, stage: str, number: int, **arrays: Any) -> None:
        """Write a result."""
        with replacing(self.path(stage, number)) as (file,):
            np.savez(file, allow_pickle=False, **arrays)

    def load(self, stage: str, number: int, *names: str) -> dict[str, NDArray[Any]]:
        """Read a result, or only the arrays of it that are named."""
        with np.load(self.path(stage, number), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names or arrays.files}

    def remove(self) -> None:
        """Forget the run."""
        shutil.rmtree(self.root, ignore_errors=True)


@dataclass(frozen=True)
class Table:
    """Rows of one length in a file that many may write at once, each its own rows."""

    path: Path
    dtype: np.dtype[Any]
    width: int

    def create(self, n: int) -> None:
        """Room for ``n`` rows; what is there stays."""
        with self.path.open("ab") as file:
            file.truncate(n * self._size)

    def write(self, first: int, rows: NDArray[Any]) -> None:
        """Put rows at ``first`` and after."""
        with self.path.open("r+b", buffering=0) as file:
            left = np.ascontiguousarray(rows, self.dtype).reshape(-1).view(np.uint8).data
            place = first * self._size
            while len(left):
                written = os.pwrite(file.fileno(), left, place)
                left, place = left[written:], place + written

    def sync(self) -> None:
        """Have everything on disk."""
        with self.path.open("r+b") as file:
            os.fsync(file.fileno())

    def read(self, first: int, stop: int) -> NDArray[Any]:
        """Rows first..stop by a plain read, never through a map of the file."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(first * self._size)
            flat = np.fromfile(file, self.dtype, (stop - first) * self.width)
        return flat if self.width == 1 else flat.reshape(-1, self.width)

    @property
    def _size(self) -> int:
        return self.width * self.dtype.itemsize
