"""Which columns of a table are features, and reading them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.augment import noisy_epoch
from simifeat.dataset import check_lengths
from simifeat.errors import InputError
from simifeat.io.cells import holds_content
from simifeat.io.embeddings import is_embedding, lists_of_texts, looks_like_list, put_lists
from simifeat.io.names import guess_record, is_index, quoted, require_name
from simifeat.io.source import Features, Progress, Request
from simifeat.io.table_columns import Values, categories, read_mixed, told
from simifeat.io.table_file import TableFile
from simifeat.io.values import is_number

_STAGE = "reading"
_COMPARABLE = (
    "numbers of different columns are made comparable: mean 0, deviation 1, Euclidean metric"
)
_NOISY = "each epoch after the first adds a little noise to the columns, a tenth of their deviation"


@dataclass(frozen=True)
class Choice:
    """The columns that are features, and what they hold."""

    names: tuple[str, ...]
    kind: Literal["numbers", "mixed", "lists", "records"]
    notes: tuple[str, ...] = ()
    categories: Mapping[str, Values] = field(default_factory=dict)
    """Those of ``names`` that are categories."""


def choose_columns(file: TableFile, request: Request, taken: Sequence[str]) -> Choice:
    """The columns asked for; else of embeddings, of pictures, all of numbers, or of texts."""
    names = [name for name in file.schema.names if name not in taken and not is_index(name)]
    if request.features is not None:
        return _asked(file, _split(request.features, file), request)
    if not names:
        raise InputError(f"{file.path} has no column of features; give a file with --features")
    lists = [name for name in names if _holds_lists(file, name)]
    numbers = [name for name in names if is_number(file.schema.field(name).type)]
    texts = [name for name in names if name not in lists and name not in numbers]
    if request.extractor is not None:
        return Choice((guess_record(texts or names, file.path),), "records")
    if len(lists) > 1:
        raise InputError(
            f"{file.path} has {len(lists)} columns of lists ({quoted(lists)}); "
            "choose one with --features"
        )
    if lists:
        return Choice((lists[0],), "lists", (f"features: column {lists[0]!r}",))
    pictures = [name for name in texts if holds_content(file.schema.field(name).type)]
    if len(pictures) == 1:
        return Choice((pictures[0],), "records", (f"features: pictures in column {pictures[0]!r}",))
    alone = len(texts) == 1 and not numbers  # a text, then, of whatever type its cells are
    found = {} if alone or is_numbered(numbers) else categories(file, texts)
    if numbers or (len(found) == len(texts) > 1):
        left = [name for name in texts if name not in found]
        notes = (told(numbers, found, left),)
        kind: Literal["numbers", "mixed"] = "numbers" if is_numbered(numbers) else "mixed"
        return Choice((*numbers, *found), kind, notes, found)
    record = guess_record(texts, file.path)
    return Choice((record,), "records", (f"features: extracted from column {record!r}",))


def read_columns(
    file: TableFile,
    choice: Choice,
    n: int,
    request: Request,
    progress: Progress | None = None,
    labels: NDArray[Any] | None = None,
) -> Features:
    """The features [n, d] of the columns chosen; ``labels`` for extractors that warm up on them."""
    if choice.kind == "records":
        from simifeat.features import column_features  # extractors are heavy

        found: Features = column_features(file, choice.names[0], n, request, progress, labels)
        return Features(
            found.matrix, found.metric, (*choice.notes, *found.notes), found.skipped, found.kept
        )
    if choice.kind == "lists":
        return Features(_read_lists(file, choice.names[0], n, progress), notes=choice.notes)
    if choice.kind == "numbers":
        return Features(_read_numbers(file, choice.names, n, progress), None, choice.notes)
    numbers = [name for name in choice.names if name not in choice.categories]
    mixed, notes = read_mixed(file, numbers, choice.categories, n, progress)
    notes = (*choice.notes, _COMPARABLE, *notes)
    if request.n_epochs == 1:
        return Features(mixed, "euclidean", notes)
    epochs = (
        noisy_epoch(mixed, request.seed, number) if number else mixed
        for number in range(request.n_epochs)
    )
    return Features(epochs, "euclidean", (*notes, _NOISY))


def _asked(file: TableFile, names: list[str], request: Request) -> Choice:
    others = [name for name in names if not is_number(file.schema.field(name).type)]
    if request.extractor is None and not others:
        return Choice(tuple(names), "numbers" if is_numbered(names) else "mixed")
    if len(names) > 1:
        found = categories(file, others) if request.extractor is None else {}
        odd = next((name for name in others if name not in found), None)
        if odd is None:
            return Choice(tuple(names), "mixed", (), found)
        raise InputError(
            f"column {odd!r} of {file.path} holds neither numbers nor categories "
            f"({file.schema.field(odd).type}); several columns can be features together only if "
            "all of them do"
        )
    if request.extractor is None and _holds_lists(file, names[0]):
        return Choice((names[0],), "lists")
    return Choice((names[0],), "records")


def _split(features: str, file: TableFile) -> list[str]:
    names = file.schema.names
    if features in names:
        return [features]
    asked = [require_name(name.strip(), names, file.path) for name in features.split(",")]
    return list(dict.fromkeys(asked))


def _holds_lists(file: TableFile, name: str) -> bool:
    kind = file.schema.field(name).type
    return is_embedding(kind) or (_is_text(kind) and looks_like_list(file.first(name)))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_numbered(names: Sequence[str]) -> bool:
    """Whether columns are the dimensions of one vector: alike but for a number, as x0, x1, x2."""
    return len(names) > 1 and len({re.sub(r"\d+", "#", name) for name in names}) == 1


def _read_lists(
    file: TableFile, name: str, n: int, progress: Progress | None
) -> NDArray[np.float32]:
    matrix: NDArray[np.float32] | None = None
    start = 0
    for batch in file.batches([name]):
        column = batch.column(name)
        if _is_text(column.type):
            column = lists_of_texts(column, start, name, file.path)
        matrix = put_lists(column, matrix, start, n, name, file.path)
        start += len(column)
        if progress is not None:
            progress(_STAGE, start, n)
    check_lengths(start, n)
    assert matrix is not None  # a file without rows was refused when it was opened
    return matrix


def _read_numbers(
    file: TableFile, names: Sequence[str], n: int, progress: Progress | None
) -> NDArray[np.float32]:
    matrix = np.empty((n, len(names)), np.float32)
    n_bad = np.zeros(len(names), np.int64)
    first_bad = np.full(len(names), -1, np.int64)
    start = 0
    for batch in file.batches(names):
        block = matrix[start : start + batch.num_rows]  # shorter where there are too many rows
        for j, name in enumerate(names):
            cells = batch.column(name).cast(pa.float64(), safe=False)
            with np.errstate(over="ignore"):
                block[:, j] = cells.to_numpy(zero_copy_only=False)[: len(block)]
            bad = ~np.isfinite(block[:, j])
            if bad.any():
                first_bad[j] = start + int(bad.argmax()) if first_bad[j] < 0 else first_bad[j]
                n_bad[j] += int(bad.sum())
        start += batch.num_rows
        if progress is not None:
            progress(_STAGE, start, n)
    check_lengths(start, n)
    if n_bad.any():
        worst = int(n_bad.argmax())
        others = int((n_bad > 0).sum()) - 1
        more = f" ({others} more columns have some)" if others else ""
        raise InputError(
            f"column {names[worst]!r} of {file.path} has {n_bad[worst]} cells that are empty, NaN "
            f"or infinite, the first in row {first_bad[worst]}{more}; fill them, drop their rows, "
            "or choose other columns with --features"
        )
    return matrix
