"""Labels of several annotators a row, checked once, here: who said what of which row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.errors import InputError


@dataclass(frozen=True, eq=False)
class Annotations:
    """Each of the r statements: annotator ``who`` says of ``row`` that it is of class ``code``."""

    row: NDArray[np.int64]  # [r], rising
    who: NDArray[np.int64]  # [r]
    code: NDArray[np.int64]  # [r]
    weight: NDArray[np.float64]
    """[r] 1 for a label; of soft labels the probability, or the number of votes."""
    n_rows: int
    annotators: NDArray[Any]  # [m] names
    classes: NDArray[Any]  # [K], sorted

    @property
    def n_annotators(self) -> int:
        """m."""
        return len(self.annotators)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    def votes(self) -> NDArray[np.float64]:
        """What all of them say together, [n, K]."""
        out = np.zeros((self.n_rows, self.n_classes))
        np.add.at(out, (self.row, self.code), self.weight)
        return out


def hard_annotations(labels: Any, annotators: Sequence[Any] | None = None) -> Annotations:
    """From a table [n, m] of labels of one type.

    Missing are None, NaN, empty text, and in a table of integers everything below 0.
    """
    columns = getattr(labels, "columns", None)
    if columns is not None:
        annotators = list(columns) if annotators is None else annotators
        labels = labels.to_numpy()
    try:
        table = np.asarray(labels)
    except ValueError as error:
        raise InputError(
            f"annotations do not form a table ({error}); give one column an annotator"
        ) from error
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(
            f"annotations have the shape {table.shape}; give a table [n, m], one column an "
            "annotator, missing where nothing was said"
        )
    if table.dtype.kind in "iu":
        given = table >= 0
    elif table.dtype.kind == "b":
        given = np.ones(table.shape, bool)
    elif table.dtype.kind == "f":
        given = ~np.isnan(table)
        fraction = given & (table != np.round(table))
        if fraction.any():
            raise InputError(
                f"annotations hold {table[fraction][0]:g}, which is no class; give soft labels "
                "[n, K] as soft="
            )
        table = np.where(given, table, 0).astype(np.int64)
    else:
        table = table.astype(object)
        given = np.array([[not _missing(v) for v in row] for row in table.tolist()])
    if not given.any():
        raise InputError("all annotations are missing; give at least one label")
    row, who = np.nonzero(given)
    values = table[given]
    try:
        classes, code = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InputError(
            f"annotations mix types ({error}); convert them all to one type, such as str"
        ) from error
    names = np.arange(table.shape[1]) if annotators is None else np.asarray(annotators)
    if names.shape != (table.shape[1],):
        raise InputError(f"there are {len(names)} annotators' names for {table.shape[1]} columns")
    return _checked(
        Annotations(row, who, code.ravel(), np.ones(len(row)), len(table), names, classes)
    )


def soft_annotations(soft: ArrayLike, classes: ArrayLike | None = None) -> Annotations:
    """From probabilities or counts of votes [n, K]; all rows count as one annotator's."""
    names = getattr(soft, "columns", None)
    try:
        table = np.asarray(soft, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"soft labels do not form a table of numbers ({error})") from error
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"soft labels have the shape {table.shape}; give a table [n, K]")
    bad = ~np.isfinite(table) | (table < 0)
    if bad.any():
        n, j = (int(at[0]) for at in np.nonzero(bad))
        raise InputError(
            f"soft labels hold {table[n, j]:g} in row {n}, column {j}; give probabilities or "
            "counts, 0 where nothing was said"
        )
    if not table.any():
        raise InputError("all soft labels are 0; give at least one")
    if classes is None:
        classes = np.arange(table.shape[1]) if names is None else list(names)
    known = np.asarray(classes)
    if known.shape != (table.shape[1],):
        raise InputError(f"there are {len(known)} classes for {table.shape[1]} columns")
    row, code = np.nonzero(table)
    who = np.zeros(len(row), np.int64)
    return _checked(
        Annotations(row, who, code, table[row, code], len(table), np.array(["soft"]), known)
    )


def _checked(found: Annotations) -> Annotations:
    if found.n_classes < 2:
        raise InputError(
            f"all annotations are {str(found.classes[0])!r} (1 class); give at least 2 classes"
        )
    size = found.n_annotators * found.n_classes**2
    if size > 1 << 28:
        raise InputError(
            f"{found.n_annotators} annotators of {found.n_classes} classes have {size:,} "
            "probabilities to be told apart; join annotators into groups"
        )
    return found


def _missing(value: Any) -> bool:
    if value is None or value == "":
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True
