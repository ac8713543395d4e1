"""CSV and TSV files. Labels and ids stay text until it is known what they are: ``007`` survives."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.csv_errors import explained, not_utf8
from simifeat.io.reading import reading
from simifeat.io.table_file import cells_one_by_one
from simifeat.io.values import text_values

_HEAD_BYTES = 1 << 20  # enough to tell the types of the columns
_BLOCK_BYTES = 1 << 26  # no row can be longer
_BOTH = "\r\n"  # Python's writer quotes a sign of a line's end only if it is in its own line end


class CsvFile:
    """The rows of a CSV or TSV file; see ``simifeat.io.table_file.TableFile``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, "CSV"):
            self._delimiter = _delimiter(path)
        self._first_rows = self._head()
        with self._reading():
            self.schema = pa.schema([(f.name, _kind(f.type)) for f in self._first_rows.schema])

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        return self._first_rows.column(name)[0].as_py()

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]."""
        return text_values(self.cells(name).to_pylist())

    def contents(self, name: str) -> Iterator[Any]:
        """The cells of a column one by one, as the text they are."""
        with self._reading():
            yield from cells_one_by_one(self._as_text(name))

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]."""
        with self._reading():
            return self._as_text(name).read_all().column(0)

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written."""
        return pa.chunked_array([[str(value) for value in values.tolist()]], pa.string())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        kinds = {name: self.schema.field(name).type for name in names}
        options = pc.ConvertOptions(include_columns=list(names), column_types=kinds)
        with self._reading():
            yield from self._open(_BLOCK_BYTES, options)

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""
        texts = {name: cells.to_pylist() for name, cells in columns.items()}
        with reading(self.path, "CSV"), self.path.open("rb") as raw:
            first = raw.readline()
            raw.seek(0)
            source = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
            encoding = "utf-8-sig" if first.startswith(codecs.BOM_UTF8) else "utf-8"
            target = io.TextIOWrapper(file, encoding, newline="")
            ending = "\r\n" if first.endswith(b"\r\n") else "\n"
            rows = _Rows(target, ending)
            writer = csv.writer(rows, delimiter=self._delimiter, lineterminator=_BOTH)
            with _cells_of_any_length():
                old = (row for row in csv.reader(source, delimiter=self._delimiter) if row)
                writer.writerows(_edited(old, texts, keep))
            target.detach()  # flushes, and leaves the file open

    def _head(self) -> pa.RecordBatch:
        with self._reading():
            try:
                rows = next(self._open(_HEAD_BYTES), None)
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise
                rows = next(self._open(_BLOCK_BYTES), None)
        if rows is None or not rows.num_rows:
            raise InputError(f"{self.path} is empty: 0 rows; there is nothing to check")
        return rows

    def _as_text(self, name: str) -> Any:
        options = pc.ConvertOptions(include_columns=[name], column_types={name: pa.string()})
        return self._open(_BLOCK_BYTES, options)

    def _open(self, block_size: int, convert: Any = None, *, use_threads: bool = True) -> Any:
        return pc.open_csv(
            self.path,
            pc.ReadOptions(block_size=block_size, use_threads=use_threads),
            pc.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert,
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with reading(self.path, "CSV"):
            try:
                yield
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                raise explained(error, self.path, self._delimiter, self._first_fault) from error

    def _first_fault(self) -> str:
        """The first complaint once more, read by one thread: only that one counts rows."""
        try:
            for _ in self._open(_BLOCK_BYTES, use_threads=False):
                pass
        except pa.ArrowInvalid as error:
            return str(error)
        return ""


class _Rows:
    """Takes rows that end in both signs of a line's end, and writes them with ``ending``."""

    def __init__(self, file: TextIO, ending: str) -> None:
        self._file, self._ending = file, ending

    def write(self, row: str) -> int:
        """Write one row, as Python's csv hands it on."""
        return self._file.write(row.removesuffix(_BOTH) + self._ending)


def _delimiter(path: Path) -> str:
    """Tabs in a .tsv; else what the header is full of, as spreadsheets do not agree on commas."""
    with path.open("rb") as file:
        header = file.readline(_HEAD_BYTES)
    if header.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise not_utf8(path)
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return next((sign for sign in ",;\t" if sign.encode() in header), ",")


def _kind(found: pa.DataType) -> pa.DataType:
    """Numbers as float64, whatever the first rows looked like; all else as text."""
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        return pa.float64()
    return found if pa.types.is_boolean(found) else pa.string()


def _edited(
    rows: Iterator[list[str]], columns: Mapping[str, Sequence[str]], keep: NDArray[np.bool_]
) -> Iterator[list[str]]:
    header = next(rows)
    places = {name: header.index(name) for name in columns if name in header}
    added = [name for name in columns if name not in header]
    yield header + added
    for number, row in enumerate(rows):
        if not keep[number]:
            continue
        for name, place in places.items():
            row[place] = columns[name][number]
        yield row + [columns[name][number] for name in added]


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """An embedding is longer than the 128 KiB that Python's csv takes for a sane cell."""
    before = csv.field_size_limit(_BLOCK_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)
