"""One example at a time, whatever kind of dataset it is in."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.io.cells import Cells
from simifeat.io.records import Unreadable

Kind = Literal["image", "text", "table", "none"]

_LOSSLESS = 128  # pictures up to this size are sent without loss


class Pictures(Protocol):
    """Pictures that are no files, by row of the dataset."""

    def png(self, row: int) -> bytes:
        """The picture of ``row`` as a PNG file."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples by row of the verdicts."""

    record: Cells | None = None
    """Pictures or texts, if the dataset holds some."""
    drawn: Pictures | None = None
    """Pictures drawn from numbers."""
    table: pa.Table | None = None
    """What else is known of a row, column by column."""
    source_rows: NDArray[np.int64] | None = None
    """Row of the dataset for each row of the verdicts, if some were not judged."""

    @property
    def kind(self) -> Kind:
        """What there is to look at."""
        if self.record is not None:
            return self.record.kind
        if self.drawn is not None:
            return "image"
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
        if self.drawn is not None:
            return self.drawn.png(self._at(row)), "image/png"
        from simifeat.features.decode import decode_to_fit  # needs Pillow

        if self.record is None or self.record.kind != "image":
            raise Unreadable("there are no pictures in this dataset")
        content = self.record[self._at(row)].read()
        if isinstance(content, str):
            raise Unreadable("a text where a picture should be")
        picture = decode_to_fit(content, size)
        picture.info.clear()  # comments, places and profiles would be written along
        file = io.BytesIO()
        if max(picture.size) <= _LOSSLESS:
            picture.save(file, "PNG")
            return file.getvalue(), "image/png"
        picture.save(file, "JPEG", quality=88)
        return file.getvalue(), "image/jpeg"

    def file_name(self, row: int) -> str | None:
        """The path of the picture of ``row`` as the dataset spells it; None if it is no file."""
        if self.record is None or self.record.kind != "image":
            return None
        value = self.record.column[self._at(row)].as_py()
        path = value.get("path") if isinstance(value, dict) else value
        return path if isinstance(path, str) and path else None

    def picture_size(self, row: int) -> tuple[int, int]:
        """Width and height of the picture of ``row`` upright; raises ``Unreadable``."""
        from simifeat.features.decode import upright_size  # needs Pillow

        if self.drawn is not None:
            return upright_size(self.drawn.png(self._at(row)))
        if self.record is None or self.record.kind != "image":
            raise Unreadable("there are no pictures in this dataset")
        content = self.record[self._at(row)].read()
        if isinstance(content, str):
            raise Unreadable("a text where a picture should be")
        return upright_size(content)

    def find(self, rows: NDArray[np.int64], words: str) -> NDArray[np.bool_]:
        """Which of ``rows`` [m] hold ``words`` in a text, a path or a cell, in any case."""
        found = np.zeros(len(rows), bool)
        at = pa.array(rows if self.source_rows is None else self.source_rows[rows])
        columns = [] if self.table is None else list(self.table.columns)
        if self.record is not None:
            columns.append(self.record.column)
        for column in columns:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                hits = pc.match_substring(column.take(at), words, ignore_case=True)
                found |= pc.fill_null(hits, False).to_numpy()
        return found

    def _at(self, row: int) -> int:
        return row if self.source_rows is None else int(self.source_rows[row])
