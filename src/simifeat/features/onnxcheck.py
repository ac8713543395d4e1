"""Looks through an ONNX file for what would make the runtime read other files.

A tensor may say that its numbers lie in another file, at any path. The protocol buffer is walked
by the few field numbers of ``onnx.proto`` below which tensors can stand; nothing is built from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simifeat.errors import InputError

_DEEPEST = 64  # messages inside one another
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # of a TensorProto
_BELOW: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse",
        23: "sparse",
    },
    "function": {7: "node", 11: "attribute"},
    "training": {1: "graph", 2: "graph"},
    "sparse": {1: "tensor", 2: "tensor"},
}


def check_onnx(file: bytes, name: str) -> None:
    """Refuse a file that is no protocol buffer, or that keeps numbers elsewhere."""
    try:
        elsewhere = _reads_elsewhere(memoryview(file), "model", 0)
    except ValueError as error:
        raise InputError(
            f"{name} is no ONNX file, or a damaged one ({error}); give another"
        ) from error
    if elsewhere:
        raise InputError(
            f"{name} keeps its weights in other files, which are not read: an ONNX file may name "
            "any path there; save the model with its weights in one file"
        )


def _reads_elsewhere(message: memoryview, kind: str, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("too many messages inside one another")
    if kind == "tensor":
        return any(
            number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value != 0)
            for number, value in _fields(message)
        )
    below = _BELOW[kind]
    return any(
        isinstance(value, memoryview) and _reads_elsewhere(value, below[number], depth + 1)
        for number, value in _fields(message)
        if number in below
    )


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field; bytes are handed out as they lie."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield number, value
            continue
        if wire == 2:
            length, place = _varint(message, place)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"a field of the unknown kind {wire}")
        if length > len(message) - place:
            raise ValueError("a field reaches beyond its end")
        yield number, message[place : place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise ValueError("it is cut off")
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number without an end")
