"""Features, labels and ids of a dataset, checked once, here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.errors import InputError


class Hash(Protocol):
    """What hashlib's functions return."""

    def update(self, data: Any, /) -> None:
        """Take in more bytes."""


_BLOCK_BYTES = 1 << 26  # the finite check and the hash read this much at a time


@dataclass(frozen=True)
class Labels:
    """Given labels as codes: ``classes[codes]`` are the labels as they were given."""

    codes: NDArray[np.int32]  # [n], 0..K-1
    classes: NDArray[Any]  # [K], sorted, in the type the labels came in

    @classmethod
    def encode(cls, labels: ArrayLike | Sequence[Any]) -> Labels:
        """Number the distinct values of ``labels`` [n] in sorted order."""
        values = label_array(labels)
        if values.dtype != object:
            classes, codes = np.unique(values, return_inverse=True)
            return cls(codes.astype(np.int32), classes)
        kinds = {type(value).__name__ for value in set(values)}
        if len(kinds) > 1:
            raise InputError(
                f"labels mix values of the types {', '.join(sorted(kinds))}; "
                "convert them all to one type, such as str"
            )
        distinct = sorted(set(values))
        number = {value: code for code, value in enumerate(distinct)}
        classes = np.empty(len(distinct), dtype=object)
        classes[:] = distinct
        numbers = (number[value] for value in values)
        return cls(np.fromiter(numbers, np.int32, len(values)), classes)

    @property
    def n_classes(self) -> int:
        """Number of distinct labels."""
        return len(self.classes)

    def check_two_classes(self) -> None:
        """With one class no label can be wrong."""
        if self.n_classes < 2:
            raise InputError(
                f"all {len(self.codes)} labels are {str(self.classes[0])!r} (1 class); "
                "detection needs at least 2 classes"
            )

    @property
    def given(self) -> NDArray[Any]:
        """The labels as they were given, [n]."""
        return self.classes[self.codes]


@dataclass(frozen=True)
class Dataset:
    """A labelled dataset fit for detection: finite features, two classes or more, one id a row."""

    features: NDArray[np.float32]  # [n, d]
    labels: Labels
    ids: NDArray[Any]  # [n]

    @classmethod
    def from_arrays(
        cls,
        features: ArrayLike,
        labels: ArrayLike | Labels,
        ids: ArrayLike | None = None,
    ) -> Dataset:
        """Check ``features`` [n, d], ``labels`` [n] and ``ids`` [n]; ids default to row numbers."""
        matrix = feature_matrix(features)
        encoded = labels if isinstance(labels, Labels) else Labels.encode(labels)
        check_lengths(len(matrix), len(encoded.codes))
        encoded.check_two_classes()
        return cls(matrix, encoded, check_ids(ids, len(matrix)))

    @property
    def n_examples(self) -> int:
        """Number of rows."""
        return len(self.labels.codes)


def check_ids(ids: ArrayLike | None, n_examples: int) -> NDArray[Any]:
    """``ids`` [n], by default the row numbers."""
    if ids is None:
        return np.arange(n_examples)
    names = np.asarray(ids)
    if names.shape != (n_examples,):
        raise InputError(
            f"ids have the shape {names.shape}, but there are {n_examples} rows; give one id a row"
        )
    return names


def check_lengths(n_features: int, n_labels: int) -> None:
    """Features and labels belong together row by row."""
    if n_features != n_labels:
        raise InputError(
            f"there are {n_features} rows of features but {n_labels} labels; "
            "give one label for every row"
        )


def feature_matrix(features: ArrayLike) -> NDArray[np.float32]:
    """``features`` as finite float32 [n, d]; a memory map of float32 stays one."""
    if hasattr(features, "tocsr"):
        raise InputError(
            "features are a sparse matrix; give a dense array, for example after "
            "sklearn.decomposition.TruncatedSVD"
        )
    try:
        raw = np.asarray(features)
    except ValueError as error:
        raise InputError(
            f"features do not form a table ({error}); give one row of equal length an example"
        ) from error
    if raw.dtype == object:
        try:
            raw = raw.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"features are not numbers ({error}); encode them first") from error
    if raw.dtype.kind == "c":
        raise InputError(
            "features are complex numbers; give real ones (Complex data not supported)"
        )
    if raw.dtype.kind not in "fiub":
        raise InputError(f"features have the type {raw.dtype}; give numbers")
    if raw.ndim == 1:
        raise InputError(
            f"features have the shape {raw.shape}; give a table [n, d]. Reshape your data with "
            "features.reshape(-1, 1) if it has one column"
        )
    if raw.ndim != 2:
        raise InputError(f"features have the shape {raw.shape}; give a table [n, d]")
    if raw.shape[0] == 0:
        raise InputError("features are empty: 0 rows; there is nothing to check")
    if raw.shape[1] == 0:
        raise InputError(
            f"features have 0 feature(s) (shape={raw.shape}); a minimum of 1 is required"
        )
    with np.errstate(over="ignore"):  # what overflows is infinite below, and said
        matrix = raw.astype(np.float32, copy=False)
    _check_finite(raw, matrix)
    return matrix


def label_array(labels: ArrayLike | Sequence[Any]) -> NDArray[Any]:
    """``labels`` as a one-dimensional array of bool, int, str or other objects, none missing."""
    values = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    if values.ndim != 1:
        hint = ", or several labels a row to detect_multilabel" if values.ndim == 2 else ""
        raise InputError(f"labels have the shape {values.shape}; give a flat list [n]{hint}")
    if len(values) == 0:
        raise InputError("labels are empty: 0 rows; there is nothing to check")
    if values.dtype.kind in "US":  # from the labels themselves: numpy's texts lose a last "\0"
        values = np.array(labels if isinstance(labels, list | tuple) else values, dtype=object)
    if values.dtype == object:
        # None, NaN, NaT and pandas.NA: None apart, each is unequal to itself or will not say.
        missing = np.fromiter((_is_missing(value) for value in values), bool, len(values))
    else:
        missing = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(len(values), bool)
    if missing.any():
        raise InputError(
            f"{missing.sum()} of {len(values)} labels are missing (NaN or empty), the first in row "
            f"{int(missing.argmax())}; drop those rows or label them"
        )
    if values.dtype.kind == "f":
        if not np.array_equal(values, np.round(values)):
            raise InputError(
                "Unknown label type: labels are continuous numbers, such as "
                f"{values[values != np.round(values)][0]:g}; simifeat needs classes"
            )
    elif values.dtype.kind not in "biuO":
        raise InputError(f"Unknown label type: {values.dtype}; give strings, integers or booleans")
    return values


def hash_array(digest: Hash, array: NDArray[Any]) -> None:
    """Feed the shape, type and content of ``array`` [n, d] to ``digest``, a block at a time."""
    digest.update(f"{array.shape} {array.dtype}".encode())
    for block in _blocks(array):
        digest.update(np.ascontiguousarray(block).data)


def hash_labels(digest: Hash, labels: Labels) -> None:
    """Feed codes and classes to ``digest``."""
    hash_array(digest, labels.codes[:, None])
    digest.update(repr(labels.classes.tolist()).encode())


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True


def _check_finite(raw: NDArray[Any], matrix: NDArray[np.float32]) -> None:
    n_bad_values, bad_rows, first = 0, 0, -1
    start = 0
    for block in _blocks(matrix):
        finite = np.isfinite(block)  # [b, d]
        if not finite.all():
            rows = ~finite.all(axis=1)
            n_bad_values += int((~finite).sum())
            bad_rows += int(rows.sum())
            if first < 0:
                first = start + int(rows.argmax())
        start += len(block)
    if not n_bad_values:
        return
    kind = "NaN or infinite"
    if np.isfinite(raw[first].astype(np.float64)).all():
        kind = "too large for float32 (infinity)"
    raise InputError(
        f"features hold {n_bad_values} values that are {kind} in {bad_rows} of {len(matrix)} rows, "
        f"the first in row {first}; drop or fill those rows"
    )


def _blocks(matrix: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = max(1, _BLOCK_BYTES // max(1, matrix.shape[1] * 4))
    for start in range(0, len(matrix), rows):
        yield matrix[start : start + rows]
