"""The cells of a column as records: texts, paths of pictures, or pictures themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from simifeat.errors import InputError
from simifeat.io.images import ENDINGS, read_file
from simifeat.io.records import Content, Kind, Record, Unreadable

_LOOKED_AT = 1000  # cells that decide whether a column holds paths of pictures


@dataclass(frozen=True)
class Cells:
    """A column [n] as records.

    A cell is a text, the path of a picture below ``folder``, the bytes of a picture, or a struct
    of ``bytes`` and ``path`` as Hugging Face datasets keep pictures.
    """

    column: pa.ChunkedArray
    kind: Kind
    folder: Path

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[Record]:
        top = Path(os.path.realpath(self.folder))
        row = 0
        for chunk in self.column.chunks:
            for cell in chunk:
                value = cell.as_py()
                yield Record(_name(value, row, self.kind), partial(_read, value, self.kind, top))
                row += 1

    def __getitem__(self, row: int) -> Record:
        value = self.column[row].as_py()
        top = Path(os.path.realpath(self.folder))
        return Record(_name(value, row, self.kind), partial(_read, value, self.kind, top))


def kind_of_column(column: pa.ChunkedArray, name: str, path: Path) -> Kind:
    """Whether a column of strings, bytes or structs holds texts or pictures."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if _is_bytes(kind):
        return "image"
    if pa.types.is_struct(kind) and {"bytes", "path"} & {field.name for field in kind}:
        return "image"
    if not _is_string(kind):
        raise InputError(
            f"column {name!r} of {path} has the type {kind}; features are made from numbers, "
            "lists of numbers, texts, paths of pictures or their bytes"
        )
    looked_at = [text for text in column[:_LOOKED_AT].to_pylist() if text]
    paths = sum(os.path.splitext(text)[1].lower() in ENDINGS for text in looked_at)
    return "image" if paths > len(looked_at) / 2 else "text"


def _read(value: Any, kind: Kind, top: Path) -> Content:
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if value is None or value == "":
        raise Unreadable("empty cell")
    if kind == "text" or isinstance(value, bytes):
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


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
