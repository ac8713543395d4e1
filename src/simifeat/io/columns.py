"""Arrays as columns of a verdict file and back, in the very type they had.

A type is told by a tag: numpy's own ("<i8", "|b1", "<U5"), or "object:str" and the like for an
array of Python values of one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.errors import OutputError

_PYTHON_TYPES: dict[str, pa.DataType] = {
    "str": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
}

_SCALARS = {  # bool before int, which it is a kind of
    "bool": (bool, np.bool_),
    "str": (str,),
    "int": (int, np.integer),
    "float": (float, np.float64),
}


def type_tag(values: NDArray[Any], name: str) -> str:
    """The tag of an array that a verdict file can hold."""
    if values.dtype.kind in "biuU" or values.dtype in (np.float32, np.float64):
        return values.dtype.newbyteorder("<").str
    if values.dtype == object:
        kinds = {_kind(kind) for kind in set(map(type, values))}
        if len(kinds) == 1 and kinds <= _PYTHON_TYPES.keys():
            return f"object:{kinds.pop()}"
    raise OutputError(
        f"a verdict file cannot hold the column {name!r} as it is ({_described(values)}); "
        "make it all strings, integers or booleans"
    )


def arrow_type(tag: str) -> pa.DataType:
    """The type of the column that holds arrays of ``tag``."""
    if tag.startswith("object:"):
        return _PYTHON_TYPES[tag.removeprefix("object:")]
    dtype = np.dtype(tag)
    return pa.string() if dtype.kind == "U" else pa.from_numpy_dtype(dtype)


def to_arrow(values: NDArray[Any] | Sequence[Any], tag: str, name: str) -> Any:
    """``values`` [n] as a column."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        values = values.astype(tag, copy=False)  # the byte order may be another
    try:
        return pa.array(values, arrow_type(tag))
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        detail = " ".join(str(error).split())
        raise OutputError(
            f"a verdict file cannot hold the column {name!r} as it is ({detail}); "
            "make it all strings"
        ) from error


def from_arrow(column: pa.ChunkedArray, tag: str) -> NDArray[Any]:
    """A column as the array that was stored."""
    if tag.startswith("object:"):
        values = np.empty(len(column), object)
        values[:] = column.to_pylist()
        return values
    dtype = np.dtype(tag)
    if dtype.kind == "U":
        return np.array(column.to_pylist(), dtype)
    return np.ascontiguousarray(column.to_numpy(), dtype)


def _kind(of: type) -> str:
    """The Python type that a value of the type ``of`` equals; numpy's scalars have one."""
    for name, kinds in _SCALARS.items():
        if issubclass(of, kinds):
            return name
    return of.__name__


def _described(values: NDArray[Any]) -> str:
    if values.dtype != object:
        return str(values.dtype)
    return "types " + ", ".join(sorted({type(value).__name__ for value in values}))
