"""From what the verdicts say of their source to its examples: which column shows what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.examples.one import Examples
from simifeat.examples.pixels import PixelRows, pixel_columns
from simifeat.examples.spool import PIXELS, spooled
from simifeat.io.cells import Cells, holds_content, kind_of_column
from simifeat.io.cloud import fetch, is_url
from simifeat.io.embeddings import looks_like_list
from simifeat.io.names import CLEAN_LABEL, guess_id, guess_label, is_index
from simifeat.io.open import kind_of, open_source
from simifeat.io.table_file import TableFile, is_table, open_table_file
from simifeat.io.tables import TableSource

_MOST_FIELDS = 100
_MOST_NUMBERED = 8  # x0, x1, ... beyond this are a vector, which says nothing to people
_SHORTEST_TEXT = 15  # mean length from which a column of strings is what a row is about
_LOOKED_AT = 1000


def open_examples(
    source: Mapping[str, Any],
    ids: pa.Array,
    spool: Path,
    shown: NDArray[np.bool_] | None = None,
) -> Examples:
    """The examples of the dataset that ``source`` (metadata of verdicts) describes.

    ``ids`` [n] are those of the verdicts, ``spool`` a folder that lasts as long as the examples.
    Pictures inside a table are kept only for rows of the verdicts that are ``shown`` [n].
    """
    if is_url(source["path"]):
        source = {**source, "path": str(fetch(source["path"], spool))}
    path = Path(source["path"])
    if kind_of(path) == "image folder":
        names = pa.chunked_array([ids.cast(pa.string())])
        return Examples(Cells(names, "image", path))
    file = _rows_of(source)
    if file is None:
        return Examples()
    rows = _source_rows(source, len(ids))
    if shown is not None and rows is not None:
        of_source = np.zeros(int(rows.max()) + 1 + len(source["not_judged"]), bool)
        of_source[rows] = shown
        shown = of_source
    names, pixels = _columns(file, source)
    table = spooled(file, names, pixels, spool / "examples.arrow", shown)
    record = _record_column(table, names, path, source.get("features"))
    plain = [n for n in names if n != record and not holds_content(table.schema.field(n).type)]
    cells = None
    if record is not None:
        kind = kind_of_column(table.column(record), record, path)
        cells = Cells(table.column(record), kind, path if path.is_dir() else path.parent)
    drawn = PixelRows.of(table.column(PIXELS)) if pixels and record is None else None
    return Examples(cells, drawn, table.select(plain[:_MOST_FIELDS]), rows)


def _rows_of(source: Mapping[str, Any]) -> TableFile | None:
    """The rows with named columns behind a source, if it has such."""
    path = Path(source["path"])
    if is_table(path) and path.is_file():
        return open_table_file(path)
    asked = (source.get(role) for role in ("labels", "features", "extractor", "id"))
    opened = open_source(path, *asked)
    return opened.rows if isinstance(opened, TableSource) else None


def _source_rows(source: Mapping[str, Any], n_judged: int) -> NDArray[np.int64] | None:
    """The row of the source for each row of the verdicts [n], if some were left out."""
    left_out = np.asarray(source.get("not_judged") or [], np.int64)
    if not len(left_out):
        return None
    return np.setdiff1d(np.arange(n_judged + len(left_out)), left_out)


def _columns(file: TableFile, source: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Columns that people can look at (no vectors, in whatever form), and those of pixels."""
    names = file.schema.names
    taken = {CLEAN_LABEL, *(str(source.get(role)) for role in ("labels", "id"))}
    if source.get("labels") is None:
        with suppress(InputError):
            taken.add(guess_label(names, file.path))
    if source.get("id") is None:
        taken.add(str(guess_id(names)))
    numbered = Counter(_pattern(name) for name in names)
    pixels = pixel_columns(names)
    found = []
    for field in file.schema:
        is_vector = pa.types.is_nested(field.type) or _is_written_list(file, field)
        is_dimension = numbered[_pattern(field.name)] > _MOST_NUMBERED or field.name in pixels
        if field.name in taken or is_dimension or is_index(field.name):
            continue
        if holds_content(field.type) or not is_vector:
            found.append(field.name)
    return found, pixels


def _record_column(
    table: pa.Table, names: list[str], path: Path, features: str | None
) -> str | None:
    """The column of pictures or texts: the one features came from, else what looks like it."""
    candidates = [name for name in names if _may_be_record(table.schema.field(name).type)]
    if features in candidates:
        return features
    lengths: dict[str, float] = {}
    for name in candidates:
        if kind_of_column(table.column(name), name, path) == "image":
            return name
        length = pc.mean(pc.utf8_length(table.column(name)[:_LOOKED_AT])).as_py()
        if length is not None and length >= _SHORTEST_TEXT:
            lengths[name] = length
    return max(lengths, key=lengths.__getitem__, default=None)


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _is_written_list(file: TableFile, field: pa.Field) -> bool:
    if not _is_string(field.type):
        return False
    first = file.first(field.name)
    return isinstance(first, str) and looks_like_list(first)


def _may_be_record(kind: pa.DataType) -> bool:
    return _is_string(kind) or holds_content(kind)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
