"""WebDataset shards as rows with columns: the key, the picture, and every text beside it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.images import ENDINGS
from simifeat.io.source import Skipped
from simifeat.io.tar_samples import Sample, samples
from simifeat.io.values import plain_values, text_values

KEY, IMAGE = "__key__", "image"
_JSON = "json"
_LOOKED_AT = 100  # samples that tell which columns there are
_LONGEST_LABEL = 1 << 16  # bytes; what is longer and no text is left alone
_BATCH_BYTES, _BATCH_ROWS = 1 << 25, 1000
_PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


class TarRows:
    """The samples of all ``shards``; see ``simifeat.io.table_file.TableFile``.

    Columns are ``__key__``, ``image`` (the member that ends like a picture), each ending whose
    members are text, and each plain field of members that end in ``.json``. Samples without
    ``label`` are no rows; they are ``skipped`` once the labels were read.
    """

    def __init__(self, path: Path, shards: Sequence[Path], label: str | None = None) -> None:
        self.path = path
        self.shards = tuple(shards)
        self.skipped: tuple[Skipped, ...] = ()
        head = list(islice(self._every_sample(lambda ending: True), _LOOKED_AT))
        if not head:
            raise InputError(f"{path} holds no samples: no members named like 0001.jpg in a tar")
        self._fields = _fields(head)
        self.schema = pa.schema(_columns(head, self._fields))
        self._label = label

    def first(self, name: str) -> Any:
        """The first cell of a column."""
        return next(self.contents(name))

    def values(self, name: str) -> NDArray[Any]:
        """A column as labels or ids, [n]."""
        cells = pa.chunked_array([list(self.contents(name))], self.schema.field(name).type)
        if name in self._fields:
            return plain_values(cells, name, self.path)
        return text_values([cell or "" for cell in cells.to_pylist()])

    def contents(self, name: str) -> Iterator[Any]:
        """The cells of a column one by one."""
        return (self._cell(sample, name) for sample in self._rows([name]))

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column as it would be written again, [n]: text, of fields JSON."""
        found = self.contents(name)
        if name in self._fields:
            found = map(json.dumps, found)
        return pa.chunked_array([list(found)], pa.string())

    def cells_of(self, values: NDArray[Any]) -> pa.ChunkedArray:
        """``values`` [n] as they would be written: text."""
        return pa.chunked_array([[str(value) for value in values.tolist()]], pa.string())

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns ``names``, some rows at a time."""
        rows: list[list[Any]] = []
        size = 0
        for sample in self._rows(names):
            rows.append([self._cell(sample, name) for name in names])
            size += sum(map(len, sample.parts.values()))
            if size >= _BATCH_BYTES or len(rows) >= _BATCH_ROWS:
                yield self._batch(rows, names)
                rows, size = [], 0
        if rows:
            yield self._batch(rows, names)

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the shards with the rows to ``keep`` [n]; see ``write``."""
        start = 0
        for shard in self.shards:
            with (place / shard.name).open("wb") as file:
                start = self._write_shard(shard, columns, keep, file, start)

    def write(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], file: BinaryIO
    ) -> None:
        """Copy the only shard: rows to ``keep`` [n], with ``columns`` [n] in place of the old.

        Samples that are no rows stay out, and so does what is damaged.
        """
        self._write_shard(self.shards[0], columns, keep, file, 0)

    def _write_shard(
        self,
        shard: Path,
        columns: Mapping[str, pa.ChunkedArray],
        keep: NDArray[np.bool_],
        file: BinaryIO,
        start: int,
    ) -> int:
        packed = shard.name.endswith(("gz", ".tgz"))
        mode: Any = "w|gz" if packed else "w|"
        with tarfile.open(fileobj=file, mode=mode) as tar:
            for sample in samples(shard, lambda ending: True):
                if not self._is_row(sample):
                    continue
                if keep[start]:
                    new = {name: cells[start].as_py() for name, cells in columns.items()}
                    for name, content in self._members(sample, new):
                        member = tarfile.TarInfo(name)
                        member.size = len(content)
                        tar.addfile(member, io.BytesIO(content))
                start += 1
        return start

    def _members(self, sample: Sample, new: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Names and contents of a sample with texts or JSON of ``new`` columns."""
        in_json = not self._fields.keys().isdisjoint(new)  # the label, so the clean one, too
        fields = {name: json.loads(text) for name, text in new.items()} if in_json else {}
        texts = {} if in_json else new
        for ending, name in sample.names.items():
            content = sample.parts.get(ending, b"")
            if ending == _JSON and fields:
                content = json.dumps({**_object(sample), **fields}, ensure_ascii=False).encode()
            elif ending in texts:
                content = texts[ending].encode()
            yield name, content
        for ending in texts.keys() - sample.names.keys():
            yield f"{sample.key}.{ending}", texts[ending].encode()

    def _rows(self, names: Sequence[str]) -> Iterator[Sample]:
        needed = {*names, self._label}

        def wanted(ending: str) -> bool:
            if ending == _JSON:
                return not needed.isdisjoint(self._fields)
            return ending in needed or (IMAGE in needed and is_picture(ending))

        lost: list[Skipped] = []
        for sample in self._every_sample(wanted, lost):
            if self._is_row(sample):
                yield sample
            else:
                lost.append(Skipped(sample.key, f"no {self._label} beside it"))
        self.skipped = tuple(lost)

    def _is_row(self, sample: Sample) -> bool:
        return self._label is None or self._cell(sample, self._label) not in (None, "")

    def _every_sample(self, wanted: Any, lost: list[Skipped] | None = None) -> Iterator[Sample]:
        return chain.from_iterable(samples(shard, wanted, lost) for shard in self.shards)

    def _cell(self, sample: Sample, name: str) -> Any:
        if name == KEY:
            return sample.key
        if name == IMAGE:
            ending = next((ending for ending in sample.names if is_picture(ending)), "")
            return {"bytes": sample.parts.get(ending), "path": sample.names.get(ending)}
        if name in self._fields:
            return _as(self._fields[name], _object(sample).get(name))
        return _text(sample.parts.get(name))

    def _batch(self, rows: list[list[Any]], names: Sequence[str]) -> pa.RecordBatch:
        schema = pa.schema([self.schema.field(name) for name in names])
        columns = [
            pa.array(cells, field.type)
            for cells, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        return pa.record_batch(columns, schema=schema)


def is_picture(ending: str) -> bool:
    """Whether members that end so are pictures; ``seg.png`` and the like are something else."""
    return f".{ending}" in ENDINGS


def _columns(head: list[Sample], fields: Mapping[str, pa.DataType]) -> list[Any]:
    found: list[Any] = [(KEY, pa.string())]
    endings = dict.fromkeys(ending for sample in head for ending in sample.names)
    if any(map(is_picture, endings)):
        found.append((IMAGE, _PICTURE))
    for ending in endings:
        parts = [sample.parts[ending] for sample in head if ending in sample.parts]
        if ending == _JSON or is_picture(ending) or ending in fields:
            continue
        if all(_text(part) is not None for part in parts):
            found.append((ending, pa.string()))
    return [*found, *fields.items()]


def _fields(head: list[Sample]) -> dict[str, pa.DataType]:
    """Names of plain values in the members that end in .json, and their types."""
    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    found: dict[str, pa.DataType] = {}
    for sample in head:
        for name, value in _object(sample).items():
            kind = kinds.get(type(value))
            if kind is None or name in (KEY, IMAGE):
                continue
            if found.setdefault(name, kind) != kind:
                both = {found[name], kind} <= {pa.int64(), pa.float64()}
                found[name] = pa.float64() if both else pa.string()
    return found


def _object(sample: Sample) -> dict[str, Any]:
    try:
        found = json.loads(sample.parts.get(_JSON, b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _as(kind: pa.DataType, value: Any) -> Any:
    """A value of a field in the type of its column; None if it is of another."""
    if kind == pa.string():
        return value if isinstance(value, str) else None
    if kind == pa.float64() and type(value) in (int, float):
        return float(value)
    return value if type(value) is {pa.bool_(): bool, pa.int64(): int}.get(kind) else None


def _text(content: bytes | None) -> str | None:
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
