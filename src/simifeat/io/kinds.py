"""Which kind of source a path is, judged by its ending, or by its content if it is a folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from simifeat.errors import InputError
from simifeat.io.cifar import is_cifar
from simifeat.io.datasets import DICT, INFO, parquet_splits
from simifeat.io.idx import is_idx
from simifeat.io.patterns import is_pattern, matching
from simifeat.io.table_file import SPELLINGS
from simifeat.io.tar_source import is_tar, tars_in


def kind_of(path: Path, known: Collection[str]) -> str:
    """One of the ``known`` kinds."""
    try:
        if path.is_dir():
            return _kind_of_folder(path)
        if not path.exists():
            if is_pattern(str(path)):
                return _kind_of_pattern(path)
            raise InputError(f"{path} does not exist; check the path")
    except PermissionError:
        raise InputError(f"cannot read {path}: no permission") from None
    if is_tar(path):
        return ".tar"
    if is_cifar(path):
        return "CIFAR binaries"
    if is_idx(path):
        return "idx files"
    suffix = path.suffix.lower()
    suffix = SPELLINGS.get(suffix, suffix)
    if suffix not in known:
        names = ", ".join(name for name in known if name.startswith("."))
        raise InputError(f"{path} is of no kind that can be read; give {names} or a folder")
    return suffix


def _kind_of_folder(path: Path) -> str:
    if any((path / name).exists() for name in (DICT, INFO)) or parquet_splits(path):
        return "dataset folder"
    if is_cifar(path):
        return "CIFAR binaries"
    if is_idx(path):
        return "idx files"
    has_folders = any(each.is_dir() and not each.name.startswith(".") for each in path.iterdir())
    return ".tar" if tars_in(path) and not has_folders else "image folder"


def _kind_of_pattern(path: Path) -> str:
    files = matching(str(path))
    if all(map(is_tar, files)):
        return ".tar"
    if all(file.suffix == ".parquet" for file in files):
        return "dataset folder"
    raise InputError(f"{path} names files that are neither all .tar nor all .parquet")
