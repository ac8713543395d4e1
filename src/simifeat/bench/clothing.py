"""Clothing1M (Xiao et al., CVPR 2015) in the layout it comes in, or a set laid out like it.

noisy_train_key_list.txt, clean_val_key_list.txt, clean_test_key_list.txt    one picture a line
noisy_label_kv.txt, clean_label_kv.txt                                       a picture and its label
images/...                                                                   the pictures
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.decode import decode_rgb
from simifeat.features.extract import usable_cores
from simifeat.io.records import Kind, Record, Unreadable

Decoded = list[Future[NDArray[np.uint8]]]
_AHEAD = 4  # batches decoded while one is learnt


@dataclass(frozen=True)
class Part:
    """Some pictures of the set and the labels they have there."""

    folder: Path
    names: tuple[str, ...]
    labels: NDArray[np.int64]  # [n]

    kind: Kind = "image"

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Record]:
        """The pictures as records, for an extractor."""
        for name in self.names:
            yield Record(name, partial(self._content, name))

    def taken(self, rows: NDArray[np.int64]) -> Part:
        """The pictures of ``rows``."""
        return Part(self.folder, tuple(self.names[row] for row in rows), self.labels[rows])

    def batches(self, parts: Sequence[NDArray[np.int64]], size: int) -> Iterator[NDArray[np.uint8]]:
        """The pictures [b, size, size, 3] of each array of rows, decoded ahead."""
        with ThreadPoolExecutor(usable_cores()) as pool:
            coming = deque(self._coming(pool, rows, size) for rows in parts[:_AHEAD])
            for number in range(len(parts)):
                if number + _AHEAD < len(parts):
                    coming.append(self._coming(pool, parts[number + _AHEAD], size))
                yield np.stack([each.result() for each in coming.popleft()])

    def _coming(self, pool: ThreadPoolExecutor, rows: NDArray[np.int64], size: int) -> Decoded:
        return [pool.submit(self._pixels, self.names[row], size) for row in rows]

    def _pixels(self, name: str, size: int) -> NDArray[np.uint8]:
        try:
            return decode_rgb(self._content(name), size)
        except Unreadable as error:
            raise InputError(f"cannot read {self.folder / name}: {error}") from error

    def _content(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise Unreadable(error.strerror or str(error)) from error


@dataclass(frozen=True)
class ClothingSet:
    """Noisy training pictures and clean ones to test on."""

    train: Part
    test: Part
    n_classes: int


def read_clothing(folder: Path, limit: int | None = None) -> ClothingSet:
    """The set below ``folder``; ``limit`` draws so many training pictures, always the same."""
    noisy = _labels(folder / "noisy_label_kv.txt")
    clean = _labels(folder / "clean_label_kv.txt")
    train = _part(folder, "noisy_train_key_list.txt", noisy, "noisy_label_kv.txt")
    test = _part(folder, "clean_test_key_list.txt", clean, "clean_label_kv.txt")
    if limit is not None and limit < len(train):
        rows = np.sort(np.random.default_rng(0).permutation(len(train))[:limit])
        train = train.taken(rows)
    n_classes = int(max(train.labels.max(), test.labels.max())) + 1
    return ClothingSet(train, test, n_classes)


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror or error}; give the folder of Clothing1M, with "
            "its lists of keys and labels"
        ) from error
    return [line.strip() for line in lines if line.strip()]


def _labels(path: Path) -> dict[str, int]:
    labels = {}
    for number, line in enumerate(_lines(path), start=1):
        name, _, label = line.rpartition(" ")
        if not name or not label.isdecimal():
            raise InputError(
                f"{path}, line {number}: {line!r} is not a picture and its label; lines look like "
                "images/0/00/1,2.jpg 5"
            )
        labels[name.strip()] = int(label)
    return labels


def _part(folder: Path, keys: str, labels: dict[str, int], where: str) -> Part:
    names = _lines(folder / keys)
    if not names:
        raise InputError(f"{folder / keys} names no picture")
    missing = next((name for name in names if name not in labels), None)
    if missing is not None:
        raise InputError(f"{missing} of {keys} has no label in {folder / where}")
    return Part(folder, tuple(names), np.array([labels[name] for name in names], np.int64))
