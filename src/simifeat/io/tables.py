"""Tables of any format as sources: which column is what, and the copy with labels changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.dataset import check_lengths
from simifeat.errors import InputError, OutputError
from simifeat.io.atomic import replacing
from simifeat.io.names import CLEAN_LABEL, guess_id, guess_label, is_label, require_name
from simifeat.io.other_files import features_of_file, is_file_name, labels_of_file
from simifeat.io.source import Edit, Features, Progress, Request
from simifeat.io.table_features import choose_columns, read_columns
from simifeat.io.table_file import TableFile, WritableFile, is_table, open_table_file

_NEW_LABEL = "label"  # the column of a copy whose labels came from a file of their own


def open_table(request: Request) -> TableFileSource:
    """Open a CSV, TSV, Parquet or JSON lines file."""
    return TableFileSource(open_table_file(request.path), request)


class TableSource:
    """Labelled examples in rows with named columns; how a copy is written is left open."""

    def __init__(self, file: TableFile, request: Request, notes: tuple[str, ...] = ()) -> None:
        self.path = file.path
        self.rows = file
        self._request = request
        names = file.schema.names
        self._label: str | None = None
        told = list(notes)
        if request.labels is None:
            self._label = guess_label(names, file.path)
            told.append(f"labels: column {self._label!r}")
        elif not is_file_name(request.labels, names):
            self._label = require_name(request.labels, names, file.path)
        if request.id is not None:
            self._id: str | None = require_name(request.id, names, file.path)
        else:
            self._id = guess_id([name for name in names if name != self._label])
            if self._id is not None:
                told.append(f"ids: column {self._id!r}")
        self._has_clean = CLEAN_LABEL in names and self._label != CLEAN_LABEL
        self.notes = tuple(told)
        """What was chosen without being asked, one line each."""

    @cached_property
    def labels(self) -> NDArray[Any]:
        """Labels as given, [n]."""
        if self._label is None:
            return labels_of_file(str(self._request.labels))
        return self.rows.values(self._label)

    @cached_property
    def ids(self) -> NDArray[Any] | None:
        """Ids [n], if there are any."""
        return None if self._id is None else self.rows.values(self._id)

    @cached_property
    def clean_labels(self) -> NDArray[Any] | None:
        """The truth [n] in a dataset that was corrupted on purpose; for evaluation only."""
        return self.rows.values(CLEAN_LABEL) if self._has_clean else None

    def load_features(self, progress: Progress | None = None) -> Features:
        """Read the features [n, d], or extract them."""
        if self._features_apart:
            return features_of_file(str(self._request.features), len(self.labels))
        given = (self._label, self._id, self._request.groups, CLEAN_LABEL)
        taken = [name for name in given if name is not None]
        taken += [name for name in self.rows.schema.names if is_label(name)]  # never a feature
        choice = choose_columns(self.rows, self._request, taken)
        n = len(self.labels)
        return read_columns(self.rows, choice, n, self._request, progress, self.labels)

    @property
    def _features_apart(self) -> bool:
        """Whether features are in a file of their own."""
        wanted = self._request.features
        return wanted is not None and is_file_name(wanted, self.rows.schema.names)

    def _kept_features(self, edit: Edit) -> NDArray[Any] | None:
        """What is left of features in a file of their own, if rows are dropped."""
        if not self._features_apart or edit.keep.all():
            return None
        matrix = self.load_features().matrix
        assert isinstance(matrix, np.ndarray)  # read from a file
        return matrix[edit.keep]

    def _edited(self, edit: Edit) -> Mapping[str, pa.ChunkedArray]:
        """The columns [n] that an edit changes or adds."""
        if edit.keep_clean and CLEAN_LABEL in self.rows.schema.names:
            raise InputError(
                f"{self.path} has a column {CLEAN_LABEL!r}: its labels were corrupted on purpose "
                "before; start from the dataset as it was"
            )
        label, cells = self._label_cells()
        columns = {label: cells.take(pa.array(edit.label_from))}
        if edit.keep_clean:
            columns[CLEAN_LABEL] = cells
        return columns

    def _label_cells(self) -> tuple[str, pa.ChunkedArray]:
        """The labels as they would be written, [n], and their column."""
        if self._label is not None:
            return self._label, self.rows.cells(self._label)
        names = self.rows.schema.names
        if _NEW_LABEL in names:
            raise InputError(
                f"{self.path} has a column {_NEW_LABEL!r} beside the labels in "
                f"{self._request.labels}; rename it, the copy holds the labels there"
            )
        check_lengths(len(self.rows.cells(names[0])), len(self.labels))
        return _NEW_LABEL, self.rows.cells_of(self.labels)


class TableFileSource(TableSource):
    """Labelled examples in the rows of one file."""

    rows: WritableFile

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Write an edited copy in the format of the source, and of a feature file beside it."""
        if not is_table(target) or target.suffix.lower() != self.path.suffix.lower():
            raise OutputError(
                f"cannot write {target}: a copy of {self.path} ends in {self.path.suffix}, too"
            )
        columns, features = self._edited(edit), self._kept_features(edit)
        if features is None:
            with replacing(target) as (file,):
                self.rows.write(columns, edit.keep, file)
            return (target,)
        beside = target.with_name(f"{target.stem}.features.npy")
        with replacing(target, beside) as (file, array):
            self.rows.write(columns, edit.keep, file)
            np.save(array, features, allow_pickle=False)
        return (target, beside)
