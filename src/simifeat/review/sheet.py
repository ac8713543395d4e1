"""What a review is about: the verdicts of a dataset, in little memory, labels as codes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.verdicts import Verdicts


@dataclass(frozen=True, eq=False)
class Sheet:
    """Verdicts of n rows; a label is a code, ``classes[code]`` is its value."""

    ids: pa.Array  # [n]
    labels: NDArray[np.int32]  # [n] as given
    suggested: NDArray[np.int32]  # [n]
    classes: tuple[Any, ...]  # [K], sorted
    is_corrupted: NDArray[np.bool_]  # [n]
    p_corrupted: NDArray[np.float32]  # [n]
    metadata: Mapping[str, Any]

    @classmethod
    def from_verdicts(cls, verdicts: Verdicts) -> Sheet:
        """The sheet of ``verdicts``; ids and labels are copied into less room."""
        given = pa.chunked_array([_as_arrow(verdicts.labels)])
        suggested = pa.chunked_array([_as_arrow(verdicts.suggested)])
        return cls.from_columns(
            pa.chunked_array([_as_arrow(verdicts.ids)]),
            given,
            suggested,
            np.asarray(verdicts.is_corrupted),
            np.asarray(verdicts.p_corrupted),
            verdicts.metadata,
        )

    @classmethod
    def from_columns(
        cls,
        ids: pa.ChunkedArray,
        labels: pa.ChunkedArray,
        suggested: pa.ChunkedArray,
        is_corrupted: NDArray[np.bool_],
        p_corrupted: NDArray[np.float32],
        metadata: Mapping[str, Any],
    ) -> Sheet:
        """The sheet of columns [n] as Arrow reads them."""
        given_codes, given_values = _coded(labels)
        new_codes, new_values = _coded(suggested)
        classes = tuple(sorted({*given_values, *new_values}))
        number = {value: code for code, value in enumerate(classes)}
        renumber_given = np.array([number[value] for value in given_values], np.int32)
        renumber_new = np.array([number[value] for value in new_values], np.int32)
        return cls(
            ids.combine_chunks(),
            renumber_given[given_codes],
            renumber_new[new_codes],
            classes,
            is_corrupted,
            p_corrupted,
            metadata,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows of the dataset."""
        return len(self.labels)

    @cached_property
    def flagged(self) -> NDArray[np.int64]:
        """Rows whose label was found corrupted, the most suspicious first."""
        rows = np.flatnonzero(self.is_corrupted)
        return rows[np.argsort(-self.p_corrupted[rows], kind="stable")]

    @cached_property
    def fingerprint(self) -> str:
        """Names the rows and their labels: the same whatever was found about them."""
        digest = hashlib.sha256(repr([str(value) for value in self.classes]).encode())
        digest.update(self.labels.tobytes())
        for buffer in self.ids.cast(pa.large_string()).buffers()[1:]:
            digest.update(memoryview(buffer))
        return digest.hexdigest()

    def id_of(self, row: int) -> Any:
        """The id of ``row`` as it was given."""
        return self.ids[row].as_py()


def _as_arrow(values: NDArray[Any]) -> pa.Array:
    return pa.array(values.tolist() if values.dtype == object else values)


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[Any]]:
    """Codes [n] and the distinct values they stand for."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    return whole.indices.to_numpy(zero_copy_only=False), whole.dictionary.to_pylist()
