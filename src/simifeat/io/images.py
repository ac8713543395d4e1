"""An image folder: ``root/<class>/...``, one picture a file, labels from the folders' names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.folders import copied_folder, free_name
from simifeat.io.records import Kind, Record, Unreadable
from simifeat.io.source import Edit, Features, Progress, Request, Skipped

ENDINGS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pbm", ".jp2", ".avif", ".ico"),
)

LARGEST = 1 << 28
"""Bytes of a file; a larger one is no picture."""


def open_image_folder(request: Request) -> ImageFolder:
    """The pictures below a folder, each labelled with the name of its folder at the top."""
    root = request.path
    for given, option in ((request.labels, "--labels"), (request.features, "--features")):
        if given is not None:
            raise InputError(
                f"{root} is an image folder: labels are the names of its folders and features "
                f"are extracted; leave out {option}"
            )
    try:
        classes = sorted(d for d in root.iterdir() if d.is_dir() and not _is_hidden(d.name))
        loose = sum(1 for f in root.iterdir() if f.suffix.lower() in ENDINGS and f.is_file())
    except OSError as error:
        raise InputError(f"cannot read {root}: {error.strerror or error}") from error
    names: list[str] = []
    skipped: list[Skipped] = []
    top = Path(os.path.realpath(root))
    for folder in classes:
        for path in _files(folder):
            name = PurePosixPath(path.relative_to(root)).as_posix()
            if not Path(os.path.realpath(path)).is_relative_to(top):
                skipped.append(Skipped(name, "a link to outside the folder"))
            elif not path.exists():
                skipped.append(Skipped(name, "a link to nothing"))
            elif not path.is_file():
                skipped.append(Skipped(name, "not a regular file"))
            elif path.suffix.lower() not in ENDINGS:
                skipped.append(Skipped(name, "not a picture by its name"))
            else:
                names.append(name)
    if not names:
        raise InputError(
            f"{root} holds no pictures in folders named like their labels (such as "
            f"{root}/cat/1.jpg); give a folder that does, or a table with a column of paths"
        )
    notes = (f"{loose} pictures directly in {root} have no label and are left out",)
    return ImageFolder(request, tuple(names), tuple(skipped), notes if loose else ())


@dataclass(frozen=True)
class ImageFolder:
    """A ``Source`` of pictures; ids are their paths below the folder."""

    request: Request
    names: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    clean_labels: None = None

    @property
    def path(self) -> Path:
        """The folder."""
        return self.request.path

    @property
    def labels(self) -> NDArray[Any]:
        """The folders' names, [n]."""
        return _array([name.split("/", 1)[0] for name in self.names])

    @property
    def ids(self) -> NDArray[Any]:
        """The paths, [n]."""
        return _array(self.names)

    def load_features(self, progress: Progress | None = None) -> Features:
        """Extract them from the pictures."""
        from simifeat.features.records import record_features

        pictures = ImageFiles(self.path, self.names)
        return record_features(pictures, self.request, progress, self.skipped, self.labels)

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Copy the pictures that are kept into folders of their new labels.

        A name that is taken there already gets its old label before it.
        """
        if edit.keep_clean:
            raise InputError(
                f"an image folder has no place for the labels as they were; give {target} as a "
                "table's name and the pictures as a table with a column of paths"
            )
        labels, taken = self.labels, set[str]()
        with copied_folder(target) as draft:
            for n in np.flatnonzero(edit.keep):
                old, inside = self.names[n].split("/", 1)
                new = str(labels[edit.label_from[n]])
                name = free_name(new, inside, old, taken)
                draft.copy(self.path / self.names[n], name)
        return (target,)


@dataclass(frozen=True)
class ImageFiles:
    """Picture files below ``root`` as records."""

    root: Path
    names: tuple[str, ...]
    kind: Kind = "image"

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Record]:
        for name in self.names:
            yield Record(name, partial(read_file, self.root / name))


def read_file(path: Path) -> bytes:
    """The content of a file, or ``Unreadable``."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):  # reading a pipe would wait for ever
            raise Unreadable("not a regular file")
        if facts.st_size > LARGEST:
            raise Unreadable(f"more than {LARGEST >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error


def _files(folder: Path) -> Iterator[Path]:
    """Every file below ``folder`` in sorted order, hidden ones left out, links not followed."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        yield from (Path(parent, name) for name in sorted(files) if not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in ("Thumbs.db", "desktop.ini", "__MACOSX")


def _array(values: Any) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
