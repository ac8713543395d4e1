"""From a path or a pattern to the rows it stands for: only headers are read."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simifeat.distributed.inputs import BadShard, Input, Shard
from simifeat.distributed.shards import ENDINGS, TableShard, first_cell, npy_shape, open_table
from simifeat.errors import InputError
from simifeat.io.cloud import is_url
from simifeat.io.datasets import holds_records
from simifeat.io.embeddings import is_embedding
from simifeat.io.names import CLEAN_LABEL, guess_id, guess_label, is_index, is_label, require_name
from simifeat.io.other_files import is_file_name
from simifeat.io.table_features import is_numbered
from simifeat.io.values import is_number


def open_input(
    source: str,
    labels: str | None = None,
    features: str | None = None,
    id: str | None = None,
    groups: str | None = None,
    skip: frozenset[Path] = frozenset(),
) -> Input:
    """The rows of ``source``: a path, or a pattern such as ``shards/*.parquet``.

    The labels of .npy files are one file for all, or by a pattern one for each.
    """
    every = _matching(source)
    paths = [path for path in every if path not in skip]
    if not paths:
        raise InputError(f"none of the {len(every)} files of {source} can be used")
    if every[0].suffix.lower() == ".npy":
        opened = _open_npy(every, paths, labels)
    else:
        opened = _open_tables(paths, labels, features, id, groups)
    return replace(opened, group=groups)


def can_be_ranged(source: str) -> bool:
    """Whether ``source`` names one or several files of features that are read by ranges of rows.

    Addresses elsewhere are fetched first, and pictures and texts become features first.
    """
    suffix = Path(source).suffix.lower()
    if is_url(source) or suffix not in ENDINGS:
        return not is_url(source) and not suffix and glob.has_magic(source)
    first = next(iter(sorted(glob.glob(source))), None) if glob.has_magic(source) else source
    return first is None or not holds_records(Path(first))


def _matching(source: str) -> list[Path]:
    """The files that ``source`` names, in the order of their names."""
    found = glob.glob(source) if glob.has_magic(source) else [source]
    if not found:
        raise InputError(f"no file matches {source}; check the pattern")
    endings = sorted({Path(name).suffix.lower() for name in found})
    if len(endings) > 1:
        raise InputError(
            f"{source} matches files of different kinds ({', '.join(endings)}); "
            "give a pattern that matches one kind"
        )
    if endings[0] not in ENDINGS:
        raise InputError(
            f"{source} cannot be read by ranges of rows; give {', '.join(ENDINGS)} files, "
            "or leave out --memory and --cluster"
        )
    missing = [name for name in found if not Path(name).exists()]
    if missing:
        raise InputError(f"{missing[0]} does not exist; check the path")
    return sorted(map(Path, found))


def _open_npy(every: Sequence[Path], paths: Sequence[Path], labels: str | None) -> Input:
    if labels is None:
        raise InputError(f"{paths[0]} holds features alone; give their labels with --labels FILE")
    label_of: dict[Path, Path] = {}
    if glob.has_magic(labels):
        found = _matching(labels)
        if len(found) != len(every):
            raise InputError(
                f"there are {len(every)} files of features but {len(found)} match {labels}; "
                "give one file of labels for each"
            )
        label_of = dict(zip(every, found, strict=True))
    elif len(paths) < len(every):
        raise InputError(
            f"a file of features is left out but {labels} holds the labels of all; "
            "give a pattern of one file of labels for each"
        )
    shards: list[Shard] = []
    first, width = 0, None
    for path in paths:
        try:
            n, found_width = npy_shape(path)
            width = found_width if width is None else width
            _check_width(path, found_width, width)
        except InputError as error:
            raise BadShard(path, str(error)) from error
        shards.append(Shard(path, first, n, label_of.get(path)))
        first += n
    _check_rows(first, str(paths[0]))
    return Input(tuple(shards), (), int(width or 0), labels, None)


def _open_tables(
    paths: Sequence[Path],
    labels: str | None,
    features: str | None,
    id: str | None,
    groups: str | None,
) -> Input:
    shards: list[Shard] = []
    first, width = 0, None
    columns: tuple[str, ...] = ()
    column: str | None = None
    for path in paths:
        try:
            table = open_table(path)
            names = [name for name in table.schema.names if not is_index(name)]
            if not shards:
                labels = guess_label(names, path) if labels is None else labels
                id = guess_id([name for name in names if name != labels]) if id is None else id
                column = groups if groups and not is_file_name(groups, names) else None
                columns = _choose(table, names, (labels, id, column), features)
            for name in (str(labels), *columns, *filter(None, (id, column))):
                require_name(name, names, path)
            found = len(columns)
            if is_embedding(table.schema.field(columns[0]).type):
                found = len(first_cell(table, columns[0]) or ())
            width = found if width is None else width
            _check_width(path, found, width)
        except InputError as error:
            raise BadShard(path, str(error)) from error
        shards.append(Shard(path, first, table.n))
        first += table.n
    _check_rows(first, str(paths[0]))
    return Input(tuple(shards), columns, int(width or 0), str(labels), id)


def _choose(
    table: TableShard, names: Sequence[str], taken: Sequence[str | None], features: str | None
) -> tuple[str, ...]:
    """The columns that are features: one of lists, or numbered ones."""
    if features is not None:
        names = [require_name(name.strip(), names, table.path) for name in features.split(",")]
    else:
        taken = (*taken, CLEAN_LABEL)
        names = [name for name in names if name not in taken and not is_label(name)]
    lists = [name for name in names if is_embedding(table.schema.field(name).type)]
    numbers = [name for name in names if is_number(table.schema.field(name).type)]
    if len(lists) == 1 or (not lists and is_numbered(numbers)):
        return tuple(lists or numbers)
    raise InputError(
        f"{table.path} has {len(lists)} columns of lists and {len(numbers)} of numbers; part by "
        "part one column of lists can be read, or numbered columns such as x0, x1, x2; choose "
        "them with --features"
    )


def _check_width(path: Path, found: int, width: int) -> None:
    if found != width:
        raise InputError(
            f"{path} has {found} dimensions but the files before it {width}; "
            "give features of one kind"
        )


def _check_rows(n: int, name: str) -> None:
    if n < 2:
        raise InputError(f"{name} has {n} rows; neighbours need at least 2 examples")
