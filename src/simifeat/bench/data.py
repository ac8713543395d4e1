"""Features and labels for the tables, from a folder of plain files.

<dataset>_<extractor>.npy   features [n, d], such as cifar10_clip.npy
*_labels.npz                arrays [n] named <dataset>_<noise>, and the truth, <dataset>_clean
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.dataset import feature_matrix
from simifeat.errors import InputError


@dataclass(frozen=True)
class FeatureFile:
    """Features of one dataset by one extractor."""

    dataset: str
    extractor: str
    path: Path

    def load(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """The features [n, d], or those of ``rows``."""
        stored = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return feature_matrix(np.array(stored if rows is None else stored[rows], np.float32))

    @property
    def n_examples(self) -> int:
        """Number of rows, without reading them."""
        return len(np.load(self.path, mmap_mode="r", allow_pickle=False))


def feature_files(folder: Path, datasets: tuple[str, ...]) -> list[FeatureFile]:
    """Every feature file of ``datasets`` in ``folder``, by dataset, then by name."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder of the feature files")
    found = []
    for dataset in datasets:
        for path in sorted(folder.glob(f"{dataset}_*.npy")):
            found.append(FeatureFile(dataset, path.stem.removeprefix(f"{dataset}_"), path))
    if not found:
        wanted = " or ".join(f"{dataset}_NAME.npy" for dataset in datasets)
        raise InputError(f"{folder} has no features; it needs files such as {wanted}")
    return found


def one_extractor(files: list[FeatureFile], extractor: str | None) -> list[FeatureFile]:
    """The file of ``extractor`` for each dataset; with None there must be one only."""
    names = sorted({file.extractor for file in files})
    if extractor is None and len(names) > 1:
        raise InputError(f"there are features of {', '.join(names)}; choose one with --extractor")
    chosen = [file for file in files if extractor in (None, file.extractor)]
    if not chosen:
        raise InputError(f"there are no features of {extractor!r}; found {', '.join(names)}")
    return chosen


def label_sets(folder: Path, dataset: str) -> dict[str, NDArray[Any]]:
    """Every label set of ``dataset`` by its short name, ``clean`` among them."""
    sets: dict[str, NDArray[Any]] = {}
    for path in sorted(folder.glob("*_labels.npz")):
        with np.load(path, allow_pickle=False) as stored:
            for key in stored.files:
                if key.startswith(f"{dataset}_"):
                    sets[key.removeprefix(f"{dataset}_")] = stored[key].astype(np.int64)
    if "clean" not in sets:
        raise InputError(
            f"{folder} has no true labels of {dataset}; it needs a file NAME_labels.npz with the "
            f"array {dataset}_clean"
        )
    return sets


def subset(n_examples: int, limit: int | None) -> NDArray[np.int64] | None:
    """``limit`` rows drawn at random, always the same ones, in order; None: all of them."""
    if limit is None or limit >= n_examples:
        return None
    return np.sort(np.random.default_rng(0).permutation(n_examples)[:limit])


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Sixteen digits that tell these arrays from others."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]
