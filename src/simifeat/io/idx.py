"""MNIST, Fashion-MNIST and their like: idx files of pictures and of labels, also as .gz."""

from __future__ import annotations

import gzip
import re
import struct
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.names import quoted
from simifeat.io.pixels import PixelFile, PixelSource, new_codes
from simifeat.io.reading import reading
from simifeat.io.source import Request

_PICTURES = re.compile(r"(?P<head>.*)images(?P<dot>[-.])idx3-ubyte(?P<gz>\.gz)?", re.IGNORECASE)
_PLACES = ("", "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")  # as torchvision has them
_BYTES = 0x08  # the type of unsigned bytes in a header
_BLOCK = 1 << 20
_TRAIN = "train"


def is_idx(path: Path) -> bool:
    """Whether ``path`` is a file of pictures in this format or a folder of such."""
    if path.is_file():
        return _PICTURES.fullmatch(path.name) is not None
    return bool(_found(path))


def open_idx(request: Request) -> PixelSource:
    """The training pictures of a folder, or those of one file, with the labels beside them."""
    file, notes = open_idx_file(request.path)
    return PixelSource(file, request, notes)


def open_idx_file(path: Path) -> tuple[IdxFile, tuple[str, ...]]:
    """The pictures and codes, and what was chosen without being asked."""
    if path.is_file():
        return IdxFile(path), ()
    by_name = {file.name.split("-")[0].split("_")[0]: file for file in _found(path)}
    if len(by_name) == 1:
        return IdxFile(next(iter(by_name.values()))), ()
    if _TRAIN not in by_name:
        raise InputError(
            f"{path} holds several files of pictures ({quoted([f.name for f in by_name.values()])})"
            "; give one of them"
        )
    other = next(file for name, file in by_name.items() if name != _TRAIN)
    return IdxFile(by_name[_TRAIN]), (f"the training pictures; {other} holds others",)


@dataclass(frozen=True)
class _Pair:
    """The two files of a set."""

    pictures: Path
    labels: Path

    @classmethod
    def of(cls, pictures: Path) -> _Pair:
        found = _PICTURES.fullmatch(pictures.name)
        if found is None:
            raise InputError(f"{pictures} is not named like pictures (images-idx3-ubyte)")
        names = [
            f"{found['head']}labels{dot}idx1-ubyte{end}"
            for dot in (found["dot"], "-", ".")
            for end in (found["gz"] or "", "", ".gz")
        ]
        beside = [pictures.with_name(name) for name in names]
        labels = next((place for place in beside if place.exists()), None)
        if labels is None:
            raise InputError(f"there are no labels beside {pictures}; put {names[0]} there")
        return cls(pictures, labels)


class IdxFile(PixelFile):
    """Pictures of one idx file; see ``simifeat.io.table_file.TableFile``."""

    kind = "idx"

    def __init__(self, path: Path) -> None:
        self._pair = _Pair.of(path)
        self._pixels = _read(self._pair.pictures, 3)
        labels = _read(self._pair.labels, 1)
        promised = _shape(self._pair.pictures, 3)
        if promised[0] != len(labels):
            raise InputError(
                f"{path} holds {promised[0]} pictures but {self._pair.labels} {len(labels)} "
                "labels; get both files once more"
            )
        super().__init__(path, {"label": labels.astype(np.int64)}, {})

    def pictures(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Pixels [b, h, w] of some rows; fewer where the file is cut short."""
        return self._pixels[start:stop]

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the rows to ``keep`` [n] to files of the same names, with new labels."""
        _, codes = new_codes(columns, self.path)
        there = keep[: len(self._pixels)]
        missing = int(keep[len(self._pixels) :].sum())
        height, width = self._pixels.shape[1:]
        blank = np.zeros((missing, height, width), np.uint8)
        pixels = np.concatenate([self._pixels[there], blank])
        _write(place / self._pair.pictures.name, pixels)
        _write(place / self._pair.labels.name, codes[keep])


def _found(folder: Path) -> list[Path]:
    for place in _PLACES:
        if (folder / place).is_dir():
            files = sorted(
                file for file in (folder / place).iterdir() if _PICTURES.fullmatch(file.name)
            )
            if files:
                return files
    return []


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _shape(path: Path, n_dimensions: int) -> tuple[int, ...]:
    """The shape that the header promises."""
    with reading(path, "idx"), _opened(path) as file:
        head = file.read(4 + 4 * n_dimensions)
        if len(head) < 4 + 4 * n_dimensions or head[:4] != bytes((0, 0, _BYTES, n_dimensions)):
            raise ValueError(f"no header of {n_dimensions} dimensions of bytes")
        shape = struct.unpack(f">{n_dimensions}I", head[4:])
        if not all(shape[1:]):
            raise ValueError("a side of 0 pixels")
    return shape


def _read(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """The whole array, mapped; of a file that is cut short the rows that are there.

    A compressed file is unpacked to a nameless temporary file, never further than its header says.
    """
    shape = _shape(path, n_dimensions)
    head, row = 4 + 4 * n_dimensions, int(np.prod(shape[1:], dtype=np.int64))
    with reading(path, "idx"):
        if path.suffix.lower() != ".gz":
            n = min(shape[0], (path.stat().st_size - head) // row)
            return _map(path, head, (n, *shape[1:]))
        with gzip.open(path) as packed, tempfile.TemporaryFile() as file:
            packed.read(head)
            left, whole = shape[0] * row, 0
            try:
                while left and (block := packed.read1(min(_BLOCK, left))):
                    whole += file.write(block)
                    left -= len(block)
            except (EOFError, gzip.BadGzipFile, zlib.error):  # what came before it is there
                pass
            file.flush()
            return _map(file, 0, (whole // row, *shape[1:]))


def _map(file: Any, offset: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    if not shape[0]:
        return np.empty(shape, np.uint8)
    return np.memmap(file, np.uint8, "r", offset, shape)


def _write(path: Path, values: NDArray[np.uint8]) -> None:
    head = bytes((0, 0, _BYTES, values.ndim)) + struct.pack(f">{values.ndim}I", *values.shape)
    content = head + values.tobytes()
    packed = path.suffix.lower() == ".gz"
    path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
