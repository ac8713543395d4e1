"""JSON that comes back as it went: every float to the last bit, large arrays packed.

Standard JSON has no NaN and no infinity, so these are written as ``{"float": "nan"}``. An array of
more than a few thousand numbers is written as ``{"packed": ..., "dtype": ..., "shape": ...}``, the
base64 text of its zlib-compressed bytes: a transition matrix of 1,000 classes takes 10 MB, not 25.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

_MOST_SPELT_OUT = 4096  # numbers of an array written as plain lists: 64 x 64


def dumps(value: Any) -> str:
    """``value`` of mappings, sequences, strings, numbers and arrays as JSON text."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str | bytes) -> Any:
    """What ``dumps`` wrote; sequences and small arrays come back as lists."""
    return json.loads(text, object_hook=_restored)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _packed(value) if _is_large(value) else _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, PurePath):
        return str(value)
    return value


def _is_large(array: np.ndarray[Any, Any]) -> bool:
    return array.size > _MOST_SPELT_OUT and array.dtype.kind in "biuf"


def _packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "packed": base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii"),
        "dtype": little.dtype.str,
        "shape": list(array.shape),
    }


def _restored(found: dict[str, Any]) -> Any:
    if found.keys() == {"float"}:
        return float(found["float"])
    if found.keys() == {"packed", "dtype", "shape"}:
        raw = zlib.decompress(base64.b64decode(found["packed"], validate=True))
        return np.frombuffer(raw, found["dtype"]).reshape(found["shape"]).copy()
    return found
