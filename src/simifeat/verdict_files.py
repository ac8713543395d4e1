"""Verdicts as files: Parquet, CSV or JSON lines, and beside each its metadata as JSON.

A file has one row an example in input order and the columns of ``Verdicts.columns()``. What made
them (transition, settings, seed, ...) stands in ``<file name>.json`` beside it; a Parquet file also
carries the same text inside, so it can travel alone. ``docs/formats.md`` describes both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from simifeat.errors import InputError, OutputError
from simifeat.io import exact_json
from simifeat.io.atomic import check_target, replacing
from simifeat.io.columns import arrow_type, from_arrow, to_arrow, type_tag
from simifeat.io.jsonl_text import write_rows
from simifeat.io.reading import reading
from simifeat.nearest_file import load_nearest
from simifeat.transition import Transition
from simifeat.verdicts import COLUMNS, Verdicts

FORMAT = "simifeat verdicts"
FORMAT_VERSION = 1
_KEY = b"simifeat"  # of the metadata inside a Parquet file
_BLOCK_BYTES = 1 << 26  # a row of a text file must fit into a block


def save_verdicts(verdicts: Verdicts, path: str | PathLike[str]) -> None:
    """Write ``verdicts`` in the format that ``path`` ends in, and the JSON beside it."""
    target = Path(path)
    check_verdict_target(target)
    types = {name: type_tag(values, name) for name, values in verdicts.columns().items()}
    table = pa.table(
        {name: to_arrow(values, types[name], name) for name, values in verdicts.columns().items()}
    )
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "n_examples": verdicts.n_examples,
        "n_corrupted": verdicts.n_corrupted,
        "noise_rate": verdicts.transition.noise_rate,
        "types": types,
        "classes": verdicts.classes.tolist(),
        "classes_type": type_tag(verdicts.classes, "classes"),
        "transition": {**verdicts.transition.to_dict(), "matrix": verdicts.transition.matrix},
        "metadata": verdicts.metadata,
    }
    text = exact_json.dumps(record).encode()
    with replacing(target, metadata_path(target)) as (rows, beside):
        _FORMATS[target.suffix.lower()].write(table, text, rows)
        beside.write(text)


def load_verdicts(path: str | PathLike[str]) -> Verdicts:
    """Read what ``save_verdicts`` wrote, equal to the last bit."""
    source = Path(path)
    form = _format(source, "read")
    with reading(source, form.name):
        table, record = form.read(source)
        columns = {
            name: from_arrow(table.column(name), tag) for name, tag in record["types"].items()
        }
        classes = from_arrow(
            pa.chunked_array([to_arrow(record["classes"], record["classes_type"], "classes")]),
            record["classes_type"],
        )
        transition = Transition.from_dict(record["transition"])
    kept = load_nearest(source, record["metadata"])
    if len(table) != record["n_examples"]:
        raise InputError(
            f"{source} has {len(table)} rows, but {record['n_examples']} were written; "
            "it was edited or cut short: run detect again"
        )
    if transition.classes is not None:
        transition = replace(transition, classes=classes)
    return Verdicts(
        ids=columns["id"],
        labels=columns["label"],
        is_corrupted=columns["is_corrupted"],
        score=columns["score"],
        p_corrupted=columns["p_corrupted"],
        flag_rate=columns["flag_rate"],
        suggested=columns["suggested"],
        classes=classes,
        transition=transition,
        metadata=record["metadata"],
        extra={name: values for name, values in columns.items() if name not in COLUMNS},
        neighbors=kept if len(kept.rows) else None,
    )


def metadata_path(path: Path) -> Path:
    """The JSON file beside a verdict file."""
    return path.with_name(path.name + ".json")


def check_verdict_target(target: Path) -> None:
    """Refuse, before any work is done for it, a path that verdicts cannot be saved to."""
    _format(target, "write")
    check_target(target)
    beside = metadata_path(target)
    check_target(beside)
    if beside.exists() and FORMAT.encode() not in beside.read_bytes()[:64]:
        raise OutputError(
            f"cannot write {target}: its metadata would replace {beside}, "
            "which simifeat did not write; choose another name"
        )


@dataclass(frozen=True)
class _Format:
    name: str
    write: Callable[[pa.Table, bytes, BinaryIO], None]
    read: Callable[[Path], tuple[pa.Table, Mapping[str, Any]]]


def _format(path: Path, verb: str) -> _Format:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise (OutputError if verb == "write" else InputError)(
            f"cannot {verb} {path}: a verdict file ends in {', '.join(_FORMATS)}"
        )
    return form


def _write_parquet(table: pa.Table, text: bytes, file: BinaryIO) -> None:
    pq.write_table(table.replace_schema_metadata({_KEY: text}), file, compression="zstd")


def _read_parquet(path: Path) -> tuple[pa.Table, Mapping[str, Any]]:
    # The limits guard against hostile files; a transition matrix of many classes is large.
    limit = max(100_000_000, path.stat().st_size)
    file = pq.ParquetFile(path, thrift_string_size_limit=limit, thrift_container_size_limit=limit)
    with file:
        text = (file.schema_arrow.metadata or {}).get(_KEY)
        if text is None:
            raise InputError(f"{path} holds no verdicts; give a file that simifeat detect wrote")
        return file.read(), _checked(text, path)


def _write_csv(table: pa.Table, text: bytes, file: BinaryIO) -> None:
    pa.csv.write_csv(table, file)


def _read_csv(path: Path) -> tuple[pa.Table, Mapping[str, Any]]:
    record = _record_beside(path)
    table = pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types={name: arrow_type(tag) for name, tag in record["types"].items()},
            quoted_strings_can_be_null=False,
        ),
    )
    return table, record


def _write_jsonl(table: pa.Table, text: bytes, file: BinaryIO) -> None:
    write_rows(table, file)


def _read_jsonl(path: Path) -> tuple[pa.Table, Mapping[str, Any]]:
    record = _record_beside(path)
    schema = pa.schema([(name, arrow_type(tag)) for name, tag in record["types"].items()])
    table = pa.json.read_json(
        path,
        read_options=pa.json.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pa.json.ParseOptions(explicit_schema=schema),
    )
    return table, record


def _record_beside(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path")
    beside = metadata_path(path)
    if not beside.exists():
        raise InputError(
            f"{beside} is missing: it holds what belongs to the verdicts in {path}; "
            "keep the two files together"
        )
    with reading(beside, "JSON"):
        return _checked(beside.read_bytes(), beside)


def _checked(text: bytes, path: Path) -> Mapping[str, Any]:
    record = exact_json.loads(text)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path} is not the metadata of verdicts; run simifeat detect again")
    if record["format_version"] > FORMAT_VERSION:
        raise InputError(
            f"{path} was written by a later version of simifeat; update: pip install -U simifeat"
        )
    missing = [name for name in COLUMNS if name not in record["types"]]
    if missing:
        raise InputError(f"{path} lacks the type of the column {missing[0]!r}; run detect again")
    return record


_FORMATS: Mapping[str, _Format] = {
    ".parquet": _Format("Parquet", _write_parquet, _read_parquet),
    ".csv": _Format("CSV", _write_csv, _read_csv),
    ".jsonl": _Format("JSON lines", _write_jsonl, _read_jsonl),
}
