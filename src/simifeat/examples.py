"""The examples behind verdicts, one at a time: a picture, a text, the cells of a row.

Reads nothing but the dataset: a row number goes in, never a path, and what a cell or a name points
to outside the folder of the dataset is refused. Tables are spooled once into a memory-mapped file,
so that any row of many is there at once and takes no memory.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.cells import Cells, kind_of_column
from simifeat.io.embeddings import looks_like_list
from simifeat.io.names import CLEAN_LABEL, guess_label, is_index
from simifeat.io.open import kind_of
from simifeat.io.records import Unreadable
from simifeat.io.table_file import TableFile, is_table, open_table_file

Kind = Literal["image", "text", "table", "none"]

_ROWS_A_BATCH = 4096
_MOST_FIELDS = 100
_MOST_NUMBERED = 8  # x0, x1, ... beyond this are a vector, which says nothing to people
_SHORTEST_TEXT = 15  # mean length from which a column of strings is what a row is about
_LOOKED_AT = 1000
_SMALL = 128  # pictures up to this size are sent without loss


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples by row of the verdicts."""

    record: Cells | None = None
    """Pictures or texts, if the dataset holds some."""
    table: pa.Table | None = None
    """What else is known of a row, column by column."""
    source_rows: NDArray[np.int64] | None = None
    """Row of the dataset for each row of the verdicts, if some were not judged."""

    @property
    def kind(self) -> Kind:
        """What there is to look at."""
        if self.record is not None:
            return self.record.kind
        return "none" if self.table is None or not self.table.num_columns else "table"

    def text(self, row: int) -> str | None:
        """The text of ``row``, or None if it is empty or there is no text."""
        if self.record is None or self.record.kind != "text":
            return None
        try:
            content = self.record[self._at(row)].read()
        except Unreadable:
            return None
        return content if isinstance(content, str) else None

    def fields(self, row: int) -> list[tuple[str, Any]]:
        """Names and values of the other columns in ``row``."""
        if self.table is None:
            return []
        at = self._at(row)
        return [(name, self.table.column(name)[at].as_py()) for name in self.table.column_names]

    def picture(self, row: int, size: int) -> tuple[bytes, str]:
        """The picture of ``row``, no side longer than ``size``, and its media type.

        It is decoded and encoded anew, so whatever else was in the file stays behind. Raises
        ``Unreadable`` for what is no picture: SVG, HTML, a text.
        """
        from simifeat.features.decode import decode_to_fit  # needs Pillow

        if self.record is None or self.record.kind != "image":
            raise Unreadable("there are no pictures in this dataset")
        content = self.record[self._at(row)].read()
        if isinstance(content, str):
            raise Unreadable("a text where a picture should be")
        picture = decode_to_fit(content, size)
        file = io.BytesIO()
        if max(picture.size) <= _SMALL:
            picture.save(file, "PNG")
            return file.getvalue(), "image/png"
        picture.save(file, "JPEG", quality=88)
        return file.getvalue(), "image/jpeg"

    def find(self, rows: NDArray[np.int64], words: str) -> NDArray[np.bool_]:
        """Which of ``rows`` [m] hold ``words`` in a text, a path or a cell, in any case."""
        found = np.zeros(len(rows), bool)
        at = pa.array(rows if self.source_rows is None else self.source_rows[rows])
        columns = [] if self.table is None else list(self.table.columns)
        if self.record is not None:
            columns.append(self.record.column)
        for column in columns:
            kind = column.type
            if pa.types.is_string(kind) or pa.types.is_large_string(kind):
                hits = pc.match_substring(column.take(at), words, ignore_case=True)
                found |= pc.fill_null(hits, False).to_numpy()
        return found

    def _at(self, row: int) -> int:
        return row if self.source_rows is None else int(self.source_rows[row])


def open_examples(
    source: Mapping[str, Any],
    ids: pa.Array,
    spool: Path,
    shown: NDArray[np.bool_] | None = None,
) -> Examples:
    """The examples of the dataset that ``source`` (metadata of verdicts) describes.

    ``ids`` [n] are those of the verdicts, ``spool`` a folder that lasts as long as the examples.
    Pictures inside a table are spooled only for rows that are ``shown`` [n of the dataset].
    """
    path = Path(source["path"])
    if kind_of(path) == "image folder":
        names = pa.chunked_array([ids.cast(pa.string())])
        return Examples(Cells(names, "image", path))
    if not is_table(path):
        return Examples()
    file = open_table_file(path)
    names_shown = _columns(file, _taken(file, source))
    table = _spooled(file, names_shown, spool / "examples.arrow", shown)
    record = _record_column(table, path, source.get("features"))
    if record is None:
        return Examples(None, table.select(names_shown[:_MOST_FIELDS]))
    kind = kind_of_column(table.column(record), record, path)
    others = [
        name
        for name in names_shown
        if name != record and not _holds_content(table.schema.field(name).type)
    ]
    cells = Cells(table.column(record), kind, path.parent)
    return Examples(cells, table.select(others[:_MOST_FIELDS]))


def _taken(file: TableFile, source: Mapping[str, Any]) -> set[str]:
    """Columns that the page shows elsewhere, or must not show."""
    names = file.schema.names
    taken = {CLEAN_LABEL, *(str(source.get(role)) for role in ("labels", "id"))}
    if source.get("labels") is None:
        with suppress(InputError):
            taken.add(guess_label(names, file.path))
    return taken | {name for name in names if is_index(name)}


def _columns(file: TableFile, taken: set[str]) -> list[str]:
    """Columns that people can look at: no vectors, neither as lists nor as many columns."""
    numbered = Counter(_pattern(name) for name in file.schema.names)
    found = []
    for field in file.schema:
        is_vector = pa.types.is_nested(field.type) or _is_written_list(file, field)
        is_dimension = numbered[_pattern(field.name)] > _MOST_NUMBERED
        if field.name in taken or is_dimension:
            continue
        if _holds_content(field.type) or not is_vector:
            found.append(field.name)
    return found


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _is_written_list(file: TableFile, field: pa.Field) -> bool:
    if not _is_string(field.type):
        return False
    first = file.first(field.name)
    return isinstance(first, str) and looks_like_list(first)


def _holds_content(kind: pa.DataType) -> bool:
    """Whether cells are pictures as bytes, or structs that hold them."""
    if pa.types.is_struct(kind):
        return bool({"bytes", "path"} & {field.name for field in kind})
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _spooled(
    file: TableFile, names: list[str], place: Path, shown: NDArray[np.bool_] | None
) -> pa.Table:
    """Columns ``names`` of ``file`` as a table that lies on disk."""
    if not names:
        return pa.table({})
    start, writer = 0, None
    with pa.OSFile(str(place), "wb") as sink:
        for batch in _small_batches(file, names):
            kept = None if shown is None else pa.array(shown[start : start + batch.num_rows])
            plain = pa.record_batch([_plain(column, kept) for column in batch.columns], names=names)
            if writer is None:
                writer = pa.ipc.new_file(sink, plain.schema)
            writer.write_batch(plain)
            start += batch.num_rows
        if writer is not None:
            writer.close()
    return pa.ipc.open_file(pa.memory_map(str(place))).read_all()


def _small_batches(file: TableFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    for batch in file.batches(names):
        for start in range(0, batch.num_rows, _ROWS_A_BATCH):
            yield batch.slice(start, _ROWS_A_BATCH)


def _plain(column: pa.Array, kept: pa.Array | None) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kept is not None and _holds_content(column.type):
        column = pc.if_else(kept, column, pa.scalar(None, column.type))
    return column


def _record_column(table: pa.Table, path: Path, features: str | None) -> str | None:
    """The column of pictures or texts: the one features came from, else what looks like it."""
    names = table.column_names
    if features in names and (
        _is_string(table.schema.field(features).type)
        or _holds_content(table.schema.field(features).type)
    ):
        return features
    lengths: dict[str, float] = {}
    for name in names:
        kind = table.schema.field(name).type
        if not (_is_string(kind) or _holds_content(kind)):
            continue
        if kind_of_column(table.column(name), name, path) == "image":
            return name
        length = pc.mean(pc.utf8_length(table.column(name)[:_LOOKED_AT])).as_py()
        if length is not None and length >= _SHORTEST_TEXT:
            lengths[name] = length
    return max(lengths, key=lengths.__getitem__, default=None)
