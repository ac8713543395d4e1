"""Several labels a row as one matrix of booleans, checked once, here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.errors import InputError


def label_matrix(
    labels: Any, classes: ArrayLike | None = None
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Matrix [n, K] and the names [K] of its columns, from 0/1 columns or from lists of labels."""
    if hasattr(labels, "toarray"):
        labels = labels.toarray()
    if _are_sets(labels):
        return _from_sets(list(labels), classes)
    columns = getattr(labels, "columns", None)
    try:
        values = np.asarray(labels)
    except ValueError as error:
        raise InputError(
            f"labels do not form a table ({error}); give one row of equal length an example"
        ) from error
    if values.ndim != 2:
        raise InputError(
            f"labels have the shape {values.shape}; give a matrix [n, K] of 0 and 1, or a list of "
            "labels for every row"
        )
    if 0 in values.shape:
        raise InputError(f"labels have the shape {values.shape}; there is nothing to check")
    is_one = np.asarray(values == 1, bool)
    bad = ~(is_one | np.asarray(values == 0, bool))
    if bad.any():
        row, column = (int(at[0]) for at in np.nonzero(bad))
        raise InputError(
            f"labels hold {values[row, column]!s} in row {row}, column {column}; "
            "a matrix of labels holds 0 and 1 alone"
        )
    if classes is None:
        classes = np.arange(values.shape[1]) if columns is None else list(columns)
    return is_one, _names(classes, values.shape[1])


def _are_sets(labels: Any) -> bool:
    """Whether rows are collections of labels: not all of one length, or not of 0 and 1."""
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return False
    if hasattr(labels, "columns") or getattr(labels, "ndim", 1) != 1 or isinstance(labels, str):
        return False
    rows = list(labels)
    if not rows or not all(_is_collection(row) for row in rows):
        return False
    if any(isinstance(row, set | frozenset) for row in rows):
        return True
    if len({len(row) for row in rows}) > 1:
        return True
    return any(not isinstance(v, int | float | np.generic) for row in rows for v in row)


def _is_collection(row: Any) -> bool:
    return isinstance(row, Iterable) and hasattr(row, "__len__") and not isinstance(row, str)


def _from_sets(
    rows: list[Any], classes: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    try:
        names = sorted({v for row in rows for v in row}) if classes is None else None
    except TypeError as error:
        raise InputError(
            f"lists of labels mix types ({error}); convert them all to one type, such as str"
        ) from error
    if names is not None and not names:
        raise InputError("all lists of labels are empty; there is nothing to check")
    known = _names(names if names is not None else classes, None)
    place = {value: j for j, value in enumerate(known.tolist())}
    matrix = np.zeros((len(rows), len(known)), bool)
    for n, row in enumerate(rows):
        for value in row:
            if value not in place:
                raise InputError(f"row {n} has the label {value!r}, which is not among the classes")
            matrix[n, place[value]] = True
    return matrix, known


def _names(classes: Any, n_columns: int | None) -> NDArray[Any]:
    values = list(classes)
    if n_columns is not None and len(values) != n_columns:
        raise InputError(f"there are {len(values)} classes for {n_columns} columns of labels")
    if len(set(values)) < len(values):
        twice = next(v for v in values if values.count(v) > 1)
        raise InputError(f"the class {twice!r} is named twice; give every column a name of its own")
    names = np.asarray(values)
    return names.astype(object) if names.dtype.kind in "US" else names
