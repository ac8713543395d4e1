"""Hugging Face datasets: what ``save_to_disk`` left, and folders of Parquet files as on the hub.

Read with pyarrow alone. Names of classes become the labels.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrow import ArrowFile
from simifeat.io.cells import holds_content
from simifeat.io.class_names import class_names, with_clean_label
from simifeat.io.embeddings import is_embedding
from simifeat.io.folder_source import FolderSource
from simifeat.io.names import guess_record, is_label, quoted
from simifeat.io.parquet import ParquetFile
from simifeat.io.patterns import matching
from simifeat.io.reading import reading
from simifeat.io.shards import Shards
from simifeat.io.source import Request
from simifeat.io.table_file import check_names

DICT, INFO, STATE = "dataset_dict.json", "dataset_info.json", "state.json"
"""What ``save_to_disk`` writes: the splits; the features; the data files."""
_TRAIN = "train"
_COUNTS = ("splits", "dataset_size", "size_in_bytes", "download_size", "download_checksums")


def open_dataset_folder(request: Request) -> FolderSource:
    """A saved dataset, or Parquet files of one split in a folder."""
    file, notes = open_dataset(request.path)
    guessed, more = _guessed(file, request)
    return FolderSource(file, guessed, (*notes, *more))


def open_dataset(path: Path) -> tuple[Shards, tuple[str, ...]]:
    """The rows of a dataset folder, and what was chosen without being asked."""
    notes: tuple[str, ...] = ()
    file: Shards
    if (path / DICT).exists():
        splits = [name for name in _splits(path / DICT) if (path / name / STATE).exists()]
        name, notes = _chosen({name: str(path / name) for name in splits}, path)
        file = SavedDataset(path / name)
    elif (path / INFO).exists() or (path / STATE).exists():
        file = SavedDataset(path)
    elif not path.is_dir():
        files = matching(str(path))
        file = parquet_shards(Path(os.path.commonpath([each.parent for each in files])), files)
    else:
        by_split = parquet_splits(path)
        patterns = {name: str(files[0].parent / f"{name}*") for name, files in by_split.items()}
        name, notes = _chosen(patterns, path)
        file = parquet_shards(path, by_split[name])
    check_names(file)
    return file, notes


def parquet_splits(path: Path) -> Mapping[str, list[Path]]:
    """Parquet files directly in ``path``, or in its folder data, by the split in their names.

    ``train-00000-of-00002.parquet`` is of the split train, ``0000.parquet`` of the one that its
    folder is named for.
    """
    splits: dict[str, list[Path]] = {}
    for file in sorted(path.glob("*.parquet")) or sorted(path.glob("data/*.parquet")):
        name = re.sub(r"(^|[-_.])(part[-_.]?)?\d+([-_]of[-_]\d+)?([-_.].*)?$", "", file.stem)
        splits.setdefault(name or file.parent.name, []).append(file)
    return splits


def parquet_shards(path: Path, files: list[Path]) -> Shards:
    """Parquet ``files`` below ``path`` as one table."""
    opened = [ParquetFile(file) for file in files]
    return Shards(path, opened, opened[0].class_names)


def holds_records(path: Path) -> bool:
    """Whether a file is Parquet of a dataset whose features are yet to be extracted."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    file = ParquetFile(path)
    kinds = [file.schema.field(name).type for name in file.schema.names]
    if any(map(is_embedding, kinds)):
        return False
    return bool(file.class_names) or any(map(holds_content, kinds))


class SavedDataset(Shards):
    """A folder of Arrow files with dataset_info.json and state.json."""

    def __init__(self, path: Path) -> None:
        info = path / INFO
        with reading(info, "JSON"):
            names = class_names(info.read_bytes() if info.exists() else b"{}")
        files = [ArrowFile(place) for place in _data_files(path)]
        super().__init__(path, files, names or files[0].class_names)

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the rows to ``keep`` [n], and what is known of the dataset as far as it stays."""
        super().write_folder(columns, keep, place)
        digest = hashlib.blake2b(np.packbits(keep).tobytes(), digest_size=8)
        for cells in columns.values():
            digest.update(repr(cells.to_pylist()).encode())
        state: dict[str, Any] = {
            "_data_files": [{"filename": file.path.name} for file in self.files],
            "_fingerprint": digest.hexdigest(),
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
        info = _json_object(self.path / INFO) if (self.path / INFO).exists() else {}
        info = {key: value for key, value in info.items() if key not in _COUNTS}
        for name, value in ((STATE, state), (INFO, with_clean_label(info, columns))):
            (place / name).write_text(json.dumps(value, indent=2), encoding="utf-8")


def _guessed(file: Shards, request: Request) -> tuple[Request, tuple[str, ...]]:
    """What a dataset says of its columns beyond what any table does."""
    names, notes = file.schema.names, []
    coded = [name for name in names if name in file.class_names]
    if request.labels is None and sum(map(is_label, names)) != 1 and len(coded) == 1:
        request = replace(request, labels=coded[0])
        notes.append(f"labels: column {coded[0]!r}")
    kinds = {name: file.schema.field(name).type for name in names}
    texts = [
        name
        for name in names
        if pa.types.is_string(kinds[name]) or pa.types.is_large_string(kinds[name])
        if name not in (request.labels, request.id, request.groups) and not is_label(name)
    ]
    others = any(holds_content(kind) or is_embedding(kind) for kind in kinds.values())
    if request.features is None and request.extractor is None and texts and not others:
        request = replace(request, features=guess_record(texts, file.path))
        notes.append(f"features: extracted from column {request.features!r}")
    return request, tuple(notes)


def _chosen(splits: Mapping[str, str], path: Path) -> tuple[str, tuple[str, ...]]:
    """The only split, or the one to train on; how to ask for another is told."""
    if len(splits) == 1:
        return next(iter(splits)), ()
    if not splits:
        raise InputError(f"{path} holds none of the splits it names; save the dataset again")
    if _TRAIN not in splits:
        raise InputError(
            f"{path} has {len(splits)} splits ({quoted(list(splits))}); give one of them, such as "
            f"{next(iter(splits.values()))}"
        )
    other = next(name for name in splits if name != _TRAIN)
    return _TRAIN, (f"split {_TRAIN!r} of {quoted(list(splits))}; {splits[other]} is another",)


def _data_files(path: Path) -> list[Path]:
    if (path / STATE).exists():
        state = _json_object(path / STATE)
        if state.get("_indices_data_files"):
            raise InputError(
                f"{path} was saved with a list of rows beside the data; load and save it once "
                "more with a version of datasets from 2.0 on"
            )
        entries = state.get("_data_files") or []
        named = [entry.get("filename") for entry in entries if isinstance(entry, dict)]
        files = [path / name for name in named if isinstance(name, str)]
    else:
        files = sorted(path.glob("*.arrow"))
    top = os.path.realpath(path)
    outside = [file for file in files if os.path.dirname(os.path.realpath(file)) != top]
    if outside:
        raise InputError(f"{path} names a data file outside the folder ({outside[0].name})")
    if not files:
        raise InputError(f"{path} holds no data files (.arrow); save the dataset again")
    return files


def _splits(path: Path) -> list[str]:
    """Names of folders beside ``path``."""
    names = _json_object(path).get("splits")
    names = names if isinstance(names, list) else []
    return [name for name in names if isinstance(name, str) and Path(name).name == name]


def _json_object(path: Path) -> dict[str, Any]:
    with reading(path, "JSON"):
        found = json.loads(path.read_text("utf-8"))
        if not isinstance(found, dict):
            raise ValueError("not an object")
    return found
