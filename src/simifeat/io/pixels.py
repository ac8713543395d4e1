"""Pictures kept as plain bytes, all of one shape, in the binary files of well-known datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.batched import BatchedFile
from simifeat.io.class_names import ClassNames
from simifeat.io.folder_source import FolderSource
from simifeat.io.names import CLEAN_LABEL
from simifeat.io.source import Features, Progress, Skipped

IMAGE = "image"
_BATCH_BYTES = 1 << 24


class PixelFile(BatchedFile):
    """Pictures and codes of labels as a ``simifeat.io.table_file.TableFile``.

    A picture is a cell of bytes: a netpbm file, which is its pixels behind a short header.
    """

    kind: ClassVar[str] = "pictures"

    def __init__(
        self,
        path: Path,
        labels: dict[str, NDArray[np.int64]],
        names: ClassNames,
        skipped: tuple[Skipped, ...] = (),
    ) -> None:
        self.path = path
        self.codes = labels
        self.class_names = names
        self.skipped = skipped
        if not len(self._any_codes()):
            raise InputError(f"{path} is empty: 0 pictures; there is nothing to check")
        columns = [(name, pa.int64()) for name in labels]
        self.schema = pa.schema([(IMAGE, pa.binary()), *columns])

    def pictures(self, start: int, stop: int) -> NDArray[np.uint8] | None:
        """Pixels [b, h, w] or [b, h, w, 3] of some rows; fewer where the file is cut short."""
        raise NotImplementedError

    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._any_codes())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        step = _BATCH_BYTES // 4096
        for start in range(0, self.n_rows(), step):
            stop = min(start + step, self.n_rows())
            columns: dict[str, Any] = {}
            for name in names:
                if name == IMAGE:
                    columns[name] = pa.array(self._files(start, stop), pa.binary())
                else:
                    columns[name] = pa.array(self.codes[name][start:stop])
            yield pa.record_batch(columns)

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """Labels [n] as codes."""
        names = next(iter(self.class_names.values()), ())
        known = {name: code for code, name in enumerate(names)}
        codes = [known.get(value, value) for value in values.tolist()]
        odd = next(
            (code for code in codes if not isinstance(code, int) or code not in range(256)), 0
        )
        if odd:
            raise InputError(
                f"the label {odd!r} has no number in {self.path}, whose files hold numbers from 0 "
                "to 255; give labels that are such numbers"
            )
        return pa.chunked_array([pa.array(codes, pa.int64())])

    def _files(self, start: int, stop: int) -> list[bytes | None]:
        pixels = self.pictures(start, stop)
        files: list[bytes | None] = [] if pixels is None else [netpbm(each) for each in pixels]
        return files + [None] * (stop - start - len(files))

    def _any_codes(self) -> NDArray[np.int64]:
        return next(iter(self.codes.values()))


class PixelSource(FolderSource):
    """Pictures in binary files, with what was lost of them."""

    rows: Any

    def load_features(self, progress: Progress | None = None) -> Features:
        """Extract them from the pictures."""
        found = super().load_features(progress)
        return replace(found, skipped=(*self.rows.skipped, *found.skipped))

    def _label_cells(self) -> tuple[str, pa.ChunkedArray]:
        """Labels from a file of their own take the place of the codes."""
        if self._label is not None:
            return super()._label_cells()
        return next(iter(self.rows.codes)), self.rows.cells_of(self.labels)


def netpbm(pixels: NDArray[np.uint8]) -> bytes:
    """A picture [h, w] or [h, w, 3] as a file."""
    height, width = pixels.shape[:2]
    kind = 5 if pixels.ndim == 2 else 6
    return f"P{kind} {width} {height} 255\n".encode() + pixels.tobytes()


def new_codes(columns: Any, path: Path) -> tuple[str, NDArray[np.uint8]]:
    """The column of a copy that changes, and its codes [n].

    Binary files hold nothing but the labels, so there is no place for others beside them.
    """
    if CLEAN_LABEL in columns:
        raise InputError(
            f"{path} has no place for the labels as they were; keep the corrupted labels in a "
            "file of their own and give it with --labels"
        )
    name, cells = next(iter(columns.items()))
    return name, np.asarray(cells.to_pylist(), np.uint8)
