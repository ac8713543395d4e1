"""Columns of different kinds as one matrix: numbers standardised, categories one column a value.

Two rows of different categories are at the squared distance 2 in that column, as two random rows
are on average in a column of numbers: so no kind outweighs the other. A number that is missing is
taken as the mean of its column, a category that is missing as a category of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.dataset import check_lengths
from simifeat.errors import InputError
from simifeat.io.names import quoted
from simifeat.io.source import Progress
from simifeat.io.table_file import TableFile

_MOST = 50  # values of a category; a column with more of them is text
_ROWS_A_VALUE = 2  # at least, on average: names and numbers of orders are no categories

Values = Mapping[str, int]
"""The values of a category with their numbers, in order."""


def categories(file: TableFile, names: Sequence[str]) -> dict[str, Values]:
    """Those of the columns ``names`` that are categories, with their values."""
    wanted = [name for name in names if _is_plain(file.schema.field(name).type)]
    found: dict[str, set[str]] = {name: set() for name in wanted}
    n = 0
    for batch in file.batches(wanted) if wanted else ():
        n += batch.num_rows
        for name in list(found):
            found[name].update(_texts(batch.column(name)).unique().drop_null().to_pylist())
            if len(found[name]) > _MOST:
                del found[name]
        if not found:
            break
    return {
        name: {value: number for number, value in enumerate(sorted(values))}
        for name, values in found.items()
        if len(values) > 1 and _ROWS_A_VALUE * len(values) <= n
    }


def read_mixed(
    file: TableFile,
    numbers: Sequence[str],
    categories: Mapping[str, Values],
    n: int,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """The columns as [n, d], and what was filled in, one line."""
    matrix = np.empty((n, len(numbers)), np.float64)
    codes = np.empty((n, len(categories)), np.int64)
    start = 0
    for batch in file.batches([*numbers, *categories]):
        stop = min(start + batch.num_rows, n)
        for j, name in enumerate(numbers):
            cells = batch.column(name).cast(pa.float64(), safe=False)
            found = cells.to_numpy(zero_copy_only=False)[: stop - start]
            _check_finite(found, start, name, file)
            matrix[start:stop, j] = found
        for j, (name, values) in enumerate(categories.items()):
            texts = _texts(batch.column(name)).to_pylist()[: stop - start]
            codes[start:stop, j] = [values.get(text, len(values)) for text in texts]
        start += batch.num_rows
        if progress is not None:
            progress("reading", start, n)
    check_lengths(start, n)
    filled = _fill(matrix, numbers, file)
    parts = [_standardised(matrix)]
    for j, (name, values) in enumerate(categories.items()):
        n_missing = int((codes[:, j] == len(values)).sum())
        width = len(values) + (n_missing > 0)
        parts.append(np.equal.outer(codes[:, j], np.arange(width)).astype(np.float32))
        if n_missing:
            filled.append(f"{name!r} ({n_missing})")
    if not filled:
        return np.concatenate(parts, axis=1), ()
    note = (
        f"missing cells: {', '.join(filled[:4])}{', …' if len(filled) > 4 else ''}; a number is "
        "taken as the mean of its column, a category as one of its own"
    )
    return np.concatenate(parts, axis=1), (note,)


def _fill(matrix: NDArray[np.float64], names: Sequence[str], file: TableFile) -> list[str]:
    """Put the mean where a number is missing; the columns where that was so."""
    filled = []
    for j, name in enumerate(names):
        missing = np.isnan(matrix[:, j])
        if missing.all() and len(missing):
            raise InputError(
                f"column {name!r} of {file.path} is empty; choose other columns with --features"
            )
        if missing.any():
            matrix[missing, j] = matrix[~missing, j].mean()
            filled.append(f"{name!r} ({int(missing.sum())})")
    return filled


def _check_finite(found: NDArray[np.float64], start: int, name: str, file: TableFile) -> None:
    infinite = np.isinf(found)
    if infinite.any():
        raise InputError(
            f"column {name!r} of {file.path} is infinite in row {start + int(infinite.argmax())}; "
            "give a number, or leave the cell empty"
        )


def _standardised(matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Every column with mean 0 and standard deviation 1; a constant one becomes 0."""
    matrix -= matrix.mean(axis=0)
    deviation = matrix.std(axis=0)
    matrix /= np.where(deviation > 0, deviation, 1)
    return matrix.astype(np.float32)


def told(numbers: Sequence[str], categories: Mapping[str, Values], left: Sequence[str]) -> str:
    """Which columns are features, and which are not."""
    parts = []
    if numbers:
        parts.append(f"{_counted(len(numbers), 'column')} of numbers ({quoted(numbers, 4)})")
    if categories:
        parts.append(
            f"{_counted(len(categories), 'column')} of categories ({quoted([*categories], 4)})"
        )
    note = f"features: {' and '.join(parts)}"
    return f"{note}; left out: {quoted(left, 4)}" if left else note


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(column: pa.Array) -> Any:
    """Strings; an empty one is a missing cell."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = column.cast(pa.string())
    return pa.compute.if_else(pa.compute.equal(texts, ""), pa.scalar(None, pa.string()), texts)
