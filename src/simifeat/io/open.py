"""From a path to the reader of its kind: one table says which."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from simifeat.io import kinds
from simifeat.io.cloud import fetched, is_url
from simifeat.io.patterns import is_pattern
from simifeat.io.source import Progress, Request, Source

READERS: Mapping[str, str] = {
    ".npy": "simifeat.io.array_source:open_npy",
    ".npz": "simifeat.io.array_source:open_npz",
    ".csv": "simifeat.io.tables:open_table",
    ".tsv": "simifeat.io.tables:open_table",
    ".parquet": "simifeat.io.tables:open_table",
    ".jsonl": "simifeat.io.tables:open_table",
    ".tar": "simifeat.io.tar_source:open_tars",
    "dataset folder": "simifeat.io.datasets:open_dataset_folder",
    "CIFAR binaries": "simifeat.io.cifar:open_cifar",
    "idx files": "simifeat.io.idx:open_idx",
    "image folder": "simifeat.io.images:open_image_folder",
}
"""Kind of path -> the function that opens it, imported when such a path is opened."""


def open_source(
    path: str | PathLike[str],
    labels: str | None = None,
    features: str | None = None,
    extractor: str | None = None,
    id: str | None = None,
    groups: str | None = None,
    *,
    n_epochs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
    spread: Callable[..., Any] | None = None,
) -> Source:
    """Open the labelled examples at ``path``; features are read when they are asked for.

    ``labels`` and ``features`` name a column (or a key of an .npz file), or a file of their own;
    what is not named is guessed, and the guess is told in ``notes``. Each of them may be a URL such
    as ``s3://bucket/data``; its files are fetched, which ``progress`` is told of. ``spread``
    extracts features in place of this machine.
    """
    labels, features = (_local(name, progress) for name in (labels, features))
    place = Path(path) if not is_url(path) else fetched(str(path), progress)
    reader = READERS[kind_of(place)]
    module, _, function = reader.partition(":")
    opener = getattr(importlib.import_module(module), function)
    return opener(Request(place, labels, features, extractor, id, groups, n_epochs, seed, spread))


def may_be_there(path: str) -> bool:
    """Whether it is worth a try to open ``path``; nothing is fetched to find out."""
    return is_url(path) or is_pattern(path) or Path(path).exists()


def _local(name: str | None, progress: Progress | None) -> str | None:
    return str(fetched(name, progress)) if name is not None and is_url(name) else name


def kind_of(path: Path) -> str:
    """The key of ``READERS`` for ``path``."""
    return kinds.kind_of(path, READERS)
