"""Reads a safetensors file: a header of JSON, then the numbers. Nothing in it can run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from simifeat.errors import InputError

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_LONGEST_HEADER = 100_000_000  # bytes, as the format says


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors by name; bfloat16 comes as float32."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the weights {path}: {error.strerror or error}") from error
    try:
        return _read(memoryview(data))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"the weights {path} are no safetensors file, or a damaged one ({error}); fetch them "
            "again"
        ) from error


def _read(data: memoryview) -> dict[str, np.ndarray]:
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _LONGEST_HEADER):
        raise ValueError("its header is longer than the file")
    header = json.loads(bytes(data[8 : 8 + length]))
    body = data[8 + length :]
    header.pop("__metadata__", None)
    return {name: _tensor(entry, body) for name, entry in header.items()}


def _tensor(entry: dict[str, Any], body: memoryview) -> np.ndarray:
    kind, shape = entry["dtype"], [int(size) for size in entry["shape"]]
    begin, end = (int(place) for place in entry["data_offsets"])
    dtype: np.dtype[Any] = np.dtype("<u2") if kind == "BF16" else _TYPES[kind]
    size = math.prod(shape)
    if min(shape, default=0) < 0 or not 0 <= begin <= end <= len(body):
        raise ValueError("a tensor lies outside the file")
    if end - begin != size * dtype.itemsize:
        raise ValueError("a tensor has another size than its place")
    values = np.frombuffer(body[begin:end], dtype)
    if kind == "BF16":  # the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(shape)
