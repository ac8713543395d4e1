"""Sources in which several annotators labelled a row: a column each, or a table of an archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrays import Archive, flat
from simifeat.io.names import CLEAN_LABEL, guess_feature, guess_id, is_label, require_name
from simifeat.io.other_files import features_of_file, is_file_name
from simifeat.io.source import Features, Progress, Request
from simifeat.io.table_features import choose_columns, read_columns
from simifeat.io.table_file import is_table, open_table_file


@dataclass(frozen=True)
class SeveralAnnotators:
    """Labels [n, m] with the annotators' names, and how to read the features of the rows."""

    labels: NDArray[Any]
    annotators: list[Any] | None
    ids: NDArray[Any] | None
    notes: tuple[str, ...]
    load_features: Callable[[Progress | None], Features]


def open_several_annotators(
    path: str,
    annotations: str,
    features: str | None = None,
    extractor: str | None = None,
    id: str | None = None,
) -> SeveralAnnotators:
    """Open a table with ``annotations`` as columns, commas between, or an .npz with an array."""
    place = Path(path)
    if not place.exists():
        raise InputError(f"{place} does not exist; check the path")
    if is_table(place):
        return _of_table(place, annotations, features, extractor, id)
    if place.suffix.lower() == ".npz":
        return _of_archive(place, annotations, features, id)
    raise InputError(
        f"{place} cannot hold several annotators; give a .csv, .tsv, .parquet, .jsonl or .npz"
    )


def _of_table(
    path: Path, annotations: str, features: str | None, extractor: str | None, id: str | None
) -> SeveralAnnotators:
    file = open_table_file(path)
    names = list(file.schema.names)
    columns = [require_name(name.strip(), names, path) for name in annotations.split(",")]
    notes: tuple[str, ...] = ()
    if id is not None:
        id = require_name(id, names, path)
    else:
        id = guess_id([name for name in names if name not in columns])
        notes = () if id is None else (f"ids: column {id!r}",)
    cells = [file.cells(name).to_pylist() for name in columns]
    labels = np.empty((len(cells[0]), len(columns)), object)
    for j, column in enumerate(cells):
        labels[:, j] = column
    taken = [*columns, CLEAN_LABEL, *filter(is_label, names), *([id] if id is not None else [])]
    request = Request(path, features=features, extractor=extractor)

    def read(progress: Progress | None) -> Features:
        if features is not None and is_file_name(features, names):
            return features_of_file(features, len(labels))
        choice = choose_columns(file, request, taken)
        return read_columns(file, choice, len(labels), request, progress)

    ids = None if id is None else file.values(id)
    return SeveralAnnotators(labels, columns, ids, notes, read)


def _of_archive(
    path: Path, annotations: str, features: str | None, id: str | None
) -> SeveralAnnotators:
    archive = Archive(path)
    names = list(archive.shapes)
    labels = np.array(archive[require_name(annotations, names, path, "array")])
    if features is None:
        features = guess_feature([n for n in archive.names(2) if n != annotations], path)
    id = guess_id(archive.names(1)) if id is None else require_name(id, names, path, "array")
    chosen = features

    def read(progress: Progress | None) -> Features:
        if is_file_name(chosen, names):
            return features_of_file(chosen, len(labels))
        return Features(archive[require_name(chosen, names, path, "array")])

    ids = None if id is None else flat(archive[id])
    return SeveralAnnotators(labels, None, ids, (), read)
