"""Answers that are no verdicts: one row an example, and beside it as JSON what belongs to all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from simifeat.errors import OutputError
from simifeat.io import exact_json
from simifeat.io.atomic import check_target, replacing


def check_answer_target(target: Path, endings: Sequence[str]) -> None:
    """Refuse, before any work is done for it, a path that an answer cannot be saved to."""
    if target.suffix.lower() not in endings:
        raise OutputError(f"cannot write {target}: give a file that ends in {' or '.join(endings)}")
    check_target(target)
    check_target(_beside(target))


def save_answer(
    columns: Mapping[str, Any], record: Mapping[str, Any], target: Path, endings: Sequence[str]
) -> None:
    """Write ``columns`` [n] in the format that ``target`` ends in, and ``record`` beside it."""
    check_answer_target(target, endings)
    try:
        table = pa.table({name: pa.array(_plain(values)) for name, values in columns.items()})
    except pa.ArrowException as error:
        raise OutputError(
            f"cannot write {target}: ids or labels mix types ({error}); make them all strings"
        ) from error
    with replacing(target, _beside(target)) as (file, about):
        suffix = target.suffix.lower()
        if suffix == ".parquet":
            pq.write_table(table, file, compression="zstd")
        elif suffix == ".csv":
            pa.csv.write_csv(table, file)
        else:
            for batch in table.to_batches(1 << 14):
                for row in batch.to_pylist():
                    file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        about.write(exact_json.dumps(record).encode())


def _beside(target: Path) -> Path:
    return target.with_name(target.name + ".json")


def _plain(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
