"""JSON lines: one object a row. The first rows say which keys there are, and of what type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.csv_errors import not_utf8
from simifeat.io.reading import reading
from simifeat.io.values import plain_values

_KIND = "JSON lines"
_HEAD_ROWS = 100
_BLOCK_BYTES = 1 << 26  # no row can be longer
_BATCH_ROWS = 1 << 14
_CHANGE = re.compile(r"Column\(/(.*?)\) changed from (\w+) to (\w+) in row (\d+)")
_HALF = re.compile("[\ud800-\udfff]")


class JsonlFile:
    """The rows of a JSON lines file; see ``simifeat.io.table_file.TableFile``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, _KIND):
            self._first_rows = list(islice(self._rows(), _HEAD_ROWS))
        if not self._first_rows:
            raise InputError(f"{path} is empty: 0 rows; there is nothing to check")
        found: dict[str, pa.DataType] = {}
        for row in self._first_rows:
            for name, value in row.items():
                found[name] = _wider(found.get(name), _kind(value))
        self.schema = pa.schema([(name, kind or pa.null()) for name, kind in found.items()])

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        return self._first_rows[0].get(name)

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]."""
        with reading(self.path, _KIND):
            column = self._read(pa.schema([self.schema.field(name)])).column(0)
            return plain_values(column, name, self.path)

    def contents(self, name: str) -> Iterator[Any]:
        """The cells of a column one by one; None where a row has no such key."""
        with reading(self.path, _KIND):
            for row in self._rows():
                yield row.get(name)

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]: JSON text."""
        with reading(self.path, _KIND):
            return pa.chunked_array([[_json(row.get(name)) for row in self._rows()]], pa.string())

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written: JSON text."""
        return pa.chunked_array([[_json(value) for value in values.tolist()]], pa.string())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        fields = (self.schema.field(name) for name in names)
        floats = [  # integers may be followed by numbers that are none
            field.with_type(pa.float64()) if pa.types.is_integer(field.type) else field
            for field in fields
        ]
        with reading(self.path, _KIND):
            yield from self._read(pa.schema(floats)).to_batches(_BATCH_ROWS)

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""
        texts = {name: cells.to_pylist() for name, cells in columns.items()}
        with reading(self.path, _KIND):
            for number, row in enumerate(self._rows()):
                if keep[number]:
                    new = {name: json.loads(cells[number]) for name, cells in texts.items()}
                    file.write(f"{_json({**row, **new})}\n".encode())

    def _rows(self) -> Iterator[dict[str, Any]]:
        number = 0
        with self.path.open("rb") as file:
            for line in file:
                if not line.strip():
                    continue
                try:
                    row = json.loads(line.rstrip().decode("utf-8-sig"))
                except UnicodeDecodeError:
                    raise not_utf8(self.path) from None
                except json.JSONDecodeError as error:
                    raise InputError(
                        f"{self.path} is damaged or cut short: row {number} is not JSON "
                        f"({error.msg} in column {error.colno})"
                    ) from None
                if not isinstance(row, dict):
                    raise InputError(
                        f"row {number} of {self.path} is not an object; "
                        'give one object a line, such as {"label": "cat", "text": "..."}'
                    )
                yield row
                number += 1

    def _read(self, schema: pa.Schema) -> pa.Table:
        try:
            return pj.read_json(
                self.path,
                pj.ReadOptions(block_size=_BLOCK_BYTES),
                pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid as error:
            change = _CHANGE.search(str(error))
            if change is not None:
                raise InputError(
                    f"column {change[1]!r} of {self.path} changes from {change[2]} to {change[3]} "
                    f"in row {change[4]}; make its cells of one type"
                ) from None
            if "surrogate" not in str(error):
                raise
        rows = list(self._rows())  # slower, but takes halves of characters
        columns = [pa.array([_whole(row.get(f.name)) for row in rows], f.type) for f in schema]
        return pa.table(columns, schema=schema)


def _whole(value: Any) -> Any:
    """``value`` with halves of characters, which no encoding takes, spelled out as in \\ud83d."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _HALF.search(text) else text


def _kind(value: Any) -> pa.DataType | None:
    """The column type that holds a JSON value; None where null says nothing."""
    if value is None:
        return None
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, list):
        kinds = {_kind(item) for item in value} - {None}
        if kinds <= {pa.int64(), pa.float64()}:
            return pa.list_(pa.float32())
        return pa.list_(kinds.pop()) if len(kinds) == 1 else pa.list_(pa.string())
    return pa.struct([])


def _wider(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """The type that holds both: integers give way to floats, anything to text."""
    if one == pa.int64() and other == pa.float64():
        return other
    if one is None or other is None:
        return other if one is None else one
    return pa.string() if pa.string() in (one, other) else one
