"""numpy's own files: .npy arrays, mapped into memory, and .npz archives of them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.names import guess_feature, guess_label
from simifeat.io.reading import reading

_NPY_START, _ZIP_START = b"\x93NUMPY", b"PK"


def load_npy(path: Path) -> NDArray[Any]:
    """An array, mapped and not read."""
    with reading(path, ".npy"):
        _check_start(path, _NPY_START)
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise _no_objects(path, error) from error


class Archive:
    """The arrays of an .npz file by name; only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        with reading(path, ".npz"):
            _check_start(path, _ZIP_START)
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if member.endswith(".npy"):
                        with archive.open(member) as file:
                            self.shapes[member.removesuffix(".npy")] = _shape(file)
        if not self.shapes:
            raise InputError(f"{path} holds no arrays; save features and labels with numpy.savez")

    def names(self, n_dimensions: int) -> list[str]:
        """Names of the arrays with so many dimensions."""
        return [name for name, shape in self.shapes.items() if len(shape) == n_dimensions]

    def __getitem__(self, name: str) -> NDArray[Any]:
        with reading(self.path, ".npz"), np.load(self.path, allow_pickle=False) as arrays:
            try:
                array: NDArray[Any] = arrays[name]
            except ValueError as error:
                raise _no_objects(self.path, error) from error
        return array


def flat(values: NDArray[Any]) -> NDArray[Any]:
    """Labels or ids in memory; bytes become text."""
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8")
    return np.array(values)


def labels_of_arrays(path: Path) -> NDArray[Any]:
    """The labels in a .npy, or in an .npz with a key named like labels."""
    if path.suffix.lower() == ".npy":
        with reading(path, ".npy"):
            return flat(load_npy(path))
    archive = Archive(path)
    with reading(path, ".npz"):
        return flat(archive[guess_label(archive.names(1), path, "key")])


def features_of_arrays(path: Path) -> NDArray[Any]:
    """The features in a .npy, or in an .npz with a key named like features."""
    if path.suffix.lower() == ".npy":
        return load_npy(path)
    archive = Archive(path)
    return archive[guess_feature(archive.names(2), path)]


def _shape(file: Any) -> tuple[int, ...]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, _ = read(file)
    return tuple(shape)


def _check_start(path: Path, start: bytes) -> None:
    with path.open("rb") as file:
        found = file.read(len(start))
    if found != start:
        why = "it is empty" if not found else "it is another kind of file, or damaged"
        raise InputError(f"cannot read {path} as {path.suffix}: {why}")


def _no_objects(path: Path, error: ValueError) -> Exception:
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return InputError(
            f"{path} holds pickled Python objects, which could run code when they are loaded; "
            "save numbers or strings, for example with array.astype(str)"
        )
    return error
