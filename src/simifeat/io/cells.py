"""The cells of a column as records: texts, paths of pictures, or pictures themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from simifeat.dataset import check_lengths
from simifeat.errors import InputError
from simifeat.io.images import ENDINGS, read_file
from simifeat.io.records import Content, Kind, Record, Unreadable
from simifeat.io.table_file import TableFile

_LOOKED_AT = 1000  # cells that decide whether a column holds paths of pictures
_WORDS = {
    bool: "a truth value",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class Column:
    """A column of ``n`` cells as records, read anew whenever they are gone through.

    A cell is a text, the path of a picture below ``folder``, the bytes of a picture, or a struct
    of ``bytes`` and ``path`` as Hugging Face datasets keep pictures. Nothing is kept in memory.
    """

    file: TableFile
    name: str
    kind: Kind
    folder: Path
    n: int

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Record]:
        top = Path(os.path.realpath(self.folder))
        n_read = 0
        for value in self.file.contents(self.name):
            yield _record(value, n_read, self.kind, top)
            n_read += 1
        check_lengths(n_read, self.n)


@dataclass(frozen=True)
class Cells:
    """A column [n] in memory (or mapped) as records, any of them at once; see ``Column``."""

    column: pa.ChunkedArray
    kind: Kind
    folder: Path

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[Record]:
        return (self[row] for row in range(len(self.column)))

    def __getitem__(self, row: int) -> Record:
        top = Path(os.path.realpath(self.folder))
        return _record(self.column[row].as_py(), row, self.kind, top)


def kind_of_contents(file: TableFile, name: str) -> Kind:
    """Whether a column holds texts or pictures, by the first of its cells."""
    kind = file.schema.field(name).type
    if holds_content(kind):
        return "image"
    found = [cell for cell in islice(file.contents(name), _LOOKED_AT) if cell not in (None, "")]
    pictures = sum(map(_is_picture_struct, found))
    texts = [cell for cell in found if isinstance(cell, str)]
    if found and not pictures and not texts:
        raise _neither(name, file.path, kind)
    paths = sum(map(_is_picture_path, texts))
    return "image" if 2 * (pictures + paths) > len(found) else "text"


def kind_of_column(column: pa.ChunkedArray, name: str, path: Path) -> Kind:
    """Whether a column of strings, bytes or structs holds texts or pictures."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if holds_content(kind):
        return "image"
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise _neither(name, path, kind)
    looked_at = [text for text in column[:_LOOKED_AT].to_pylist() if text]
    paths = sum(map(_is_picture_path, looked_at))
    return "image" if paths > len(looked_at) / 2 else "text"


def holds_content(kind: pa.DataType) -> bool:
    """Whether cells are pictures as bytes, or structs that hold them."""
    if pa.types.is_struct(kind):
        return bool({"bytes", "path"} & {field.name for field in kind})
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _record(value: Any, row: int, kind: Kind, top: Path) -> Record:
    return Record(_name(value, row, kind), partial(_read, value, kind, top))


def _read(value: Any, kind: Kind, top: Path) -> Content:
    if _is_picture_struct(value):
        content = value.get("bytes")
        value = value.get("path") if content is None else content
    if value is None or value == "":
        raise Unreadable("empty cell")
    if not isinstance(value, (str, bytes)):
        wanted = "a text" if kind == "text" else "a picture"
        raise Unreadable(
            f"{_WORDS.get(type(value), type(value).__name__)} where {wanted} should be"
        )
    if kind == "text" and isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # JSON may hold halves of characters
    if isinstance(value, bytes):
        return value
    return read_file(_inside(value, top))


def _inside(text: str, top: Path) -> Path:
    """The file that a cell names, if it lies below the folder ``top``."""
    try:
        path = Path(os.path.realpath(top / text))
    except (OSError, ValueError) as error:  # a loop of links; a zero byte in the name
        raise Unreadable(f"no path: {error}") from error
    if not path.is_relative_to(top):
        raise Unreadable(f"a path outside the folder {top}")
    return path


def _name(value: Any, row: int, kind: Kind) -> str:
    if isinstance(value, dict):
        value = value.get("path")
    return value if kind == "image" and isinstance(value, str) and value else f"row {row}"


def _is_picture_struct(value: Any) -> bool:
    return isinstance(value, dict) and bool({"bytes", "path"} & value.keys())


def _is_picture_path(text: str) -> bool:
    return os.path.splitext(text)[1].lower() in ENDINGS


def _neither(name: str, path: Path, kind: pa.DataType) -> InputError:
    return InputError(
        f"column {name!r} of {path} has the type {kind}; features are made from numbers, "
        "lists of numbers, texts, paths of pictures or their bytes"
    )
