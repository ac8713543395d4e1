"""What a table file offers once it can give its columns batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from numpy.typing import NDArray

from simifeat.io.class_names import ClassNames, class_names, named, with_clean_label
from simifeat.io.reading import reading
from simifeat.io.table_file import cells_one_by_one
from simifeat.io.values import plain_values

_METADATA = b"huggingface"


class BatchedFile:
    """The part of ``simifeat.io.table_file.TableFile`` that follows from ``batches``."""

    kind: ClassVar[str]
    """What to call it in a message."""
    path: Path
    schema: pa.Schema
    class_names: ClassNames

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        raise NotImplementedError

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        return next(self.contents(name))

    def contents(self, name: str) -> Iterator[Any]:
        """The cells of a column one by one."""
        return cells_one_by_one(self.batches([name]))

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]; codes of classes become the names of the classes."""
        with reading(self.path, self.kind):
            values = plain_values(self.cells(name), name, self.path)
        if name in self.class_names:
            return named(values, self.class_names[name], name, self.path)
        return values

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]."""
        batches = list(self.batches([name]))
        return pa.Table.from_batches(batches).unify_dictionaries().column(0)

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written."""
        return pa.chunked_array([pa.array(values.tolist())])

    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))


def names_in(schema: pa.Schema) -> ClassNames:
    """The classes' names that Hugging Face's library left in the metadata of a schema."""
    return class_names((schema.metadata or {}).get(_METADATA, b"{}"))


def with_columns(table: pa.Table, columns: Mapping[str, pa.ChunkedArray], start: int) -> pa.Table:
    """``table`` with ``columns`` from row ``start`` on in place of, or beside, its own."""
    for name, cells in columns.items():
        part = cells.slice(start, len(table))
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(name, part)
        else:
            table = table.set_column(place, table.schema.field(place).with_type(part.type), part)
    metadata = table.schema.metadata or {}
    if _METADATA in metadata:
        with suppress(ValueError):
            info = with_clean_label(json.loads(metadata[_METADATA]), columns)
            table = table.replace_schema_metadata({**metadata, _METADATA: json.dumps(info)})
    return table
