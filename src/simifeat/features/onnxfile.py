"""Writes an ONNX model file: the few messages of its protocol buffer that a graph here needs.

Hand-written so that running an extractor needs neither torch nor the ``onnx`` package. Field
numbers are those of ``onnx.proto``; a test loads the result with ONNX Runtime.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

_ELEMENT_TYPES = {"float32": 1, "uint8": 2, "int64": 7, "float16": 10}
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7  # AttributeProto.AttributeType

Attribute = int | float | str | Sequence[int]
Shape = Sequence[int | str]


class Graph:
    """Collects nodes and constants in order; ``model()`` is the file's bytes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, dtype: str, shape: Shape) -> str:
        """Declare an input; a dimension given by name is free."""
        self._inputs.append(_value_info(name, dtype, shape))
        return name

    def output(self, name: str, dtype: str, shape: Shape) -> None:
        """Declare which value is an output."""
        self._outputs.append(_value_info(name, dtype, shape))

    def constant(self, name: str, value: np.ndarray) -> str:
        """Store an array under ``name``."""
        value = np.ascontiguousarray(value)
        self._constants.append(
            b"".join(_int(1, size) for size in value.shape)
            + _int(2, _ELEMENT_TYPES[value.dtype.name])
            + _bytes(8, name.encode())
            + _bytes(9, value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
        )
        return name

    def node(self, kind: str, inputs: Iterable[str], output: str, **attributes: Attribute) -> str:
        """Append one operator; answers the name of its output."""
        self._nodes.append(
            b"".join(_bytes(1, name.encode()) for name in inputs)
            + _bytes(2, output.encode())
            + _bytes(3, output.encode())
            + _bytes(4, kind.encode())
            + b"".join(_bytes(5, _attribute(k, v)) for k, v in attributes.items())
        )
        return output

    def model(self, *, opset: int, metadata: Mapping[str, str] | None = None) -> bytes:
        """The whole model as ONNX Runtime reads it."""
        graph = (
            b"".join(_bytes(1, node) for node in self._nodes)
            + _bytes(2, self._name.encode())
            + b"".join(_bytes(5, constant) for constant in self._constants)
            + b"".join(_bytes(11, value) for value in self._inputs)
            + b"".join(_bytes(12, value) for value in self._outputs)
        )
        entries = (
            _bytes(1, key.encode()) + _bytes(2, value.encode())
            for key, value in (metadata or {}).items()
        )
        return (
            _int(1, 8)  # IR version 8: opset 17 and before, read by every runtime since 2022
            + _bytes(2, b"simifeat")
            + _bytes(7, graph)
            + _bytes(8, _bytes(1, b"") + _int(2, opset))
            + b"".join(_bytes(14, entry) for entry in entries)
        )


def _attribute(name: str, value: Attribute) -> bytes:
    head = _bytes(1, name.encode())
    if isinstance(value, str):
        return head + _bytes(4, value.encode()) + _int(20, _STRING)
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + _int(20, _FLOAT)
    if isinstance(value, int):
        return head + _int(3, value) + _int(20, _INT)
    return head + b"".join(_int(8, item) for item in value) + _int(20, _INTS)


def _value_info(name: str, dtype: str, shape: Shape) -> bytes:
    dimensions = b"".join(
        _bytes(1, _bytes(2, size.encode()) if isinstance(size, str) else _int(1, size))
        for size in shape
    )
    tensor = _int(1, _ELEMENT_TYPES[dtype]) + _bytes(2, dimensions)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative int64 is written as its two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
