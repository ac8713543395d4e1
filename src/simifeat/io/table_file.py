"""What every format of tables offers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError

_FORMATS: Mapping[str, str] = {
    ".csv": "simifeat.io.csv:CsvFile",
    ".parquet": "simifeat.io.parquet:ParquetFile",
    ".jsonl": "simifeat.io.jsonl:JsonlFile",
}
SPELLINGS = {".pq": ".parquet", ".ndjson": ".jsonl", ".tsv": ".csv", ".tab": ".csv"}


class TableFile(Protocol):
    """Rows with named columns, at least one of them."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    def first(self, name: str) -> Any:
        """The first cell of a column."""

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]."""

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""

    def contents(self, name: str) -> Iterator[Any]:
        """The cells of a column one by one: texts, bytes, structs, or whatever is there."""

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]."""

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written."""


class WritableFile(TableFile, Protocol):
    """Rows in one file that can be copied."""

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""


def is_table(path: Path) -> bool:
    """Whether the name of a file ends like that of a table."""
    return _suffix(path) in _FORMATS


def cells_one_by_one(batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
    """The cells of the only column of ``batches`` as Python values, one in memory at a time."""
    for batch in batches:
        for cell in batch.column(0):
            yield cell.as_py()


def open_table_file(path: Path) -> WritableFile:
    """Open a CSV, TSV, Parquet or JSON lines file."""
    module, _, name = _FORMATS[_suffix(path)].partition(":")
    file = cast(WritableFile, getattr(importlib.import_module(module), name)(path))
    check_names(file)
    return file


def check_names(file: TableFile) -> None:
    """Every column has a name of its own."""
    names = file.schema.names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{file.path} has two columns named {twice!r}; rename one")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return SPELLINGS.get(suffix, suffix)
