"""CIFAR-10 and CIFAR-100 in their binary version: label bytes, then 3,072 bytes a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.pixels import PixelFile, PixelSource, new_codes
from simifeat.io.reading import reading
from simifeat.io.source import Request, Skipped

_SIDE, _PIXELS = 32, 3 * 32 * 32


@dataclass(frozen=True)
class _Layout:
    """What the files of a set are called, and which label bytes come before a picture."""

    training: tuple[str, ...]
    test: str
    labels: Mapping[str, str]
    """Column of each label byte -> the file of its names."""

    @property
    def record(self) -> int:
        return len(self.labels) + _PIXELS


_LAYOUTS = {
    "cifar-10-batches-bin": _Layout(
        tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test_batch.bin",
        {"label": "batches.meta.txt"},
    ),
    "cifar-100-binary": _Layout(
        ("train.bin",),
        "test.bin",
        {"coarse_label": "coarse_label_names.txt", "fine_label": "fine_label_names.txt"},
    ),
}
_PICKLES = ("cifar-10-batches-py", "cifar-100-python")
_PICKLED = ("data_batch_1", "batches.meta", "test_batch")


def is_cifar(path: Path) -> bool:
    """Whether ``path`` is a file or a folder of one of the sets, binary or pickled."""
    if path.is_file():
        return any(path.name in (*one.training, one.test) for one in _LAYOUTS.values())
    return _home(path) is not None or _is_pickled(path)


def open_cifar(request: Request) -> PixelSource:
    """The training pictures of a folder, or those of one file."""
    file, notes = open_cifar_file(request.path)
    if request.labels is None and "fine_label" in file.codes:
        request = Request(**{**vars(request), "labels": "fine_label"})
        notes = (*notes, "labels: column 'fine_label'; coarse_label is another")
    return PixelSource(file, request, notes)


def open_cifar_file(path: Path) -> tuple[CifarFile, tuple[str, ...]]:
    """The pictures and codes, and what was chosen without being asked."""
    if path.is_file():
        layout = next(one for one in _LAYOUTS.values() if path.name in (*one.training, one.test))
        return CifarFile(path, [path], layout), ()
    if _home(path) is None:
        raise InputError(
            f"{path} is the Python version, which is pickled: loading it could run code; give the "
            "binary version (cifar-10-binary.tar.gz or cifar-100-binary.tar.gz, unpacked)"
        )
    folder, layout = _home(path) or (path, _LAYOUTS["cifar-10-batches-bin"])
    files = [folder / name for name in layout.training if (folder / name).exists()]
    notes = []
    missing = [name for name in layout.training if not (folder / name).exists()]
    if missing:
        notes.append(f"{', '.join(missing)} is not there; the other files are taken")
    if (folder / layout.test).exists():
        notes.append(f"the training pictures; give {folder / layout.test} for those to test on")
    return CifarFile(folder, files, layout), tuple(notes)


class CifarFile(PixelFile):
    """Pictures of one or several files; see ``simifeat.io.table_file.TableFile``."""

    kind = "CIFAR"

    def __init__(self, path: Path, files: Sequence[Path], layout: _Layout) -> None:
        self._layout = layout
        self._files_read = tuple(files)
        skipped: list[Skipped] = []
        with reading(path, self.kind):
            self._records = [_mapped(file, layout.record, skipped) for file in files]
            codes = {
                name: np.concatenate([part[:, at] for part in self._records]).astype(np.int64)
                for at, name in enumerate(layout.labels)
            }
            folder = path if path.is_dir() else path.parent
            found = {name: _names(folder / beside) for name, beside in layout.labels.items()}
        names = {name: read for name, read in found.items() if read}
        super().__init__(path, codes, names, tuple(skipped))

    def pictures(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Pixels [b, 32, 32, 3] of some rows."""
        parts, first = [], 0
        for records in self._records:
            parts.append(records[max(0, start - first) : max(0, stop - first)])
            first += len(records)
        planes = np.concatenate(parts)[:, -_PIXELS:].reshape(-1, 3, _SIDE, _SIDE)
        return planes.transpose(0, 2, 3, 1)

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the rows to ``keep`` [n] to files of the same names, with new labels.

        Where the fine label of CIFAR-100 changes, the coarse one becomes the one it belongs to.
        """
        changed, codes = new_codes(columns, self.path)
        written = {name: values.astype(np.uint8) for name, values in self.codes.items()}
        if changed == "fine_label":
            coarse = np.zeros(256, np.uint8)
            coarse[written["fine_label"]] = written["coarse_label"]
            written["coarse_label"] = coarse[codes]
        written[changed] = codes
        start = 0
        for file, records in zip(self._files_read, self._records, strict=True):
            part = slice(start, start + len(records))
            copy = np.array(records)
            for at, name in enumerate(self._layout.labels):
                copy[:, at] = written[name][part]
            copy[keep[part]].tofile(place / file.name)
            start += len(records)
        for beside in self._layout.labels.values():
            if (self._files_read[0].parent / beside).exists():
                (place / beside).write_bytes((self._files_read[0].parent / beside).read_bytes())


def _home(path: Path) -> tuple[Path, _Layout] | None:
    """The folder with the binary files: ``path``, or the one of the usual name below it."""
    for name, layout in _LAYOUTS.items():
        for folder in (path, path / name):
            if any((folder / file).is_file() for file in layout.training):
                return folder, layout
    return None


def _is_pickled(path: Path) -> bool:
    return (
        all((path / name).is_file() for name in _PICKLED)
        or any((path / name).is_dir() for name in _PICKLES)
        or (path.name in _PICKLES and (path / "train").is_file())
    )


def _mapped(path: Path, record: int, skipped: list[Skipped]) -> NDArray[np.uint8]:
    n, left = divmod(path.stat().st_size, record)
    if left:
        skipped.append(Skipped(path.name, f"cut short: {left} bytes behind picture {n}"))
    if not n:
        return np.empty((0, record), np.uint8)
    return np.memmap(path, np.uint8, "r", shape=(n, record))


def _names(path: Path) -> tuple[str, ...]:
    if not path.exists():
        return ()
    return tuple(line.strip() for line in path.read_text("utf-8").splitlines() if line.strip())
