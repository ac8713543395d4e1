"""Sources of several labels a row: a column of lists, columns of 0 and 1, or a matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrays import Archive, flat, load_npy
from simifeat.io.names import CLEAN_LABEL, guess_feature, guess_id, guess_label, require_name
from simifeat.io.other_files import features_of_file, is_file_name
from simifeat.io.reading import reading
from simifeat.io.source import Features, Progress, Request
from simifeat.io.table_features import choose_columns, read_columns
from simifeat.io.table_file import TableFile, is_table, open_table_file
from simifeat.io.values import is_number
from simifeat.label_sets import label_matrix


@dataclass(frozen=True)
class SeveralLabels:
    """A matrix of labels [n, K] by name, and how to read the features that belong to it."""

    matrix: NDArray[np.bool_]
    classes: NDArray[Any]
    ids: NDArray[Any] | None
    notes: tuple[str, ...]
    load_features: Callable[[Progress | None], Features]


def open_several_labels(
    path: str,
    labels: str | None = None,
    features: str | None = None,
    extractor: str | None = None,
    id: str | None = None,
) -> SeveralLabels:
    """Open a table, or an .npz with a matrix of labels.

    ``labels`` names one column of lists, or columns of 0 and 1 with commas between; in an .npz an
    array [n, K]. A list in a text cell is JSON, or has ``|`` between the labels.
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"{place} does not exist; check the path")
    if is_table(place):
        return _of_table(place, labels, features, extractor, id)
    if place.suffix.lower() == ".npz":
        return _of_archive(place, labels, features, id)
    raise InputError(
        f"{place} cannot hold several labels a row; give a .csv, .tsv, .parquet, .jsonl or .npz"
    )


def _of_table(
    path: Path, labels: str | None, features: str | None, extractor: str | None, id: str | None
) -> SeveralLabels:
    file = open_table_file(path)
    names, notes = list(file.schema.names), []
    if labels is None:
        columns = [guess_label(names, path)]
        notes.append(f"labels: column {columns[0]!r}")
    elif labels in names:
        columns = [labels]
    else:
        columns = [require_name(name.strip(), names, path) for name in labels.split(",")]
    if id is not None:
        id = require_name(id, names, path)
    else:
        id = guess_id([name for name in names if name not in columns])
        if id is not None:
            notes.append(f"ids: column {id!r}")
    if len(columns) > 1:
        matrix, classes = label_matrix(_numbers(file, columns), columns)
    else:
        matrix, classes = label_matrix(_lists(file, columns[0]))
    taken = [*columns, CLEAN_LABEL, *([id] if id is not None else [])]
    request = Request(path, features=features, extractor=extractor)

    def read(progress: Progress | None) -> Features:
        if features is not None and is_file_name(features, names):
            return features_of_file(features, len(matrix))
        choice = choose_columns(file, request, taken)
        return read_columns(file, choice, len(matrix), request, progress)

    ids = None if id is None else file.values(id)
    return SeveralLabels(matrix, classes, ids, tuple(notes), read)


def _numbers(file: TableFile, columns: list[str]) -> NDArray[np.float64]:
    """Columns of 0 and 1, [n, K]."""
    out = []
    for name in columns:
        kind = file.schema.field(name).type
        if not is_number(kind) and str(kind) != "bool":
            raise InputError(
                f"column {name!r} of {file.path} holds no numbers ({kind}); of several columns of "
                "labels each holds 0 and 1"
            )
        cells = [np.nan if v is None else float(v) for v in file.cells(name).to_pylist()]
        out.append(cells)
    return np.array(out).T


def _lists(file: TableFile, name: str) -> list[list[Any]]:
    """A column of lists of labels."""
    kind = file.schema.field(name).type
    if is_number(kind):
        raise InputError(
            f"column {name!r} of {file.path} holds numbers ({kind}), no lists of labels; "
            "for one label a row use simifeat detect"
        )
    out: list[list[Any]] = []
    for row, cell in enumerate(file.cells(name).to_pylist()):
        if cell is None or cell == "":
            out.append([])
        elif isinstance(cell, str):
            out.append(_of_text(cell, row, name, file.path))
        else:
            out.append(list(cell))
    return out


def _of_text(cell: str, row: int, name: str, path: Path) -> list[Any]:
    if not cell.lstrip().startswith("["):
        return [part.strip() for part in cell.split("|") if part.strip()]
    try:
        return list(json.loads(cell))
    except ValueError as error:
        raise InputError(
            f"row {row} of column {name!r} in {path} is no JSON list ({error}); "
            'write ["cat", "dog"] or cat|dog'
        ) from error


def _of_archive(
    path: Path, labels: str | None, features: str | None, id: str | None
) -> SeveralLabels:
    archive = Archive(path)
    names = list(archive.shapes)
    if labels is None:
        raise InputError(
            f"{path} holds arrays; say which is the matrix of labels with --labels NAME"
        )
    if is_file_name(labels, names):
        table = np.array(load_npy(Path(labels)))
    else:
        with reading(path, ".npz"):
            table = np.array(archive[require_name(labels, names, path, "array")])
    matrix, classes = label_matrix(table)
    if features is None:
        features = guess_feature([n for n in archive.names(2) if n != labels], path)
    id = guess_id(archive.names(1)) if id is None else require_name(id, names, path, "array")
    chosen = features

    def read(progress: Progress | None) -> Features:
        if is_file_name(chosen, names):
            return features_of_file(chosen, len(matrix))
        return Features(archive[require_name(chosen, names, path, "array")])

    ids = None if id is None else flat(archive[id])
    return SeveralLabels(matrix, classes, ids, (), read)
