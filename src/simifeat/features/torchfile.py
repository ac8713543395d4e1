"""Reads the tensors of a ``torch.save`` state dict without torch and without running its pickle.

A ``.pth`` of PyTorch before 1.6 is five pickles in a row (magic number, protocol version, system
information, the state dict, the storage keys) followed by the raw storages. Unpickling calls
whatever the file names; here every name but the few that a state dict of plain tensors needs is
refused before anything is called, and those few are our own stand-ins.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from simifeat.errors import InputError

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_STORAGES: Mapping[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("i1"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype("?"),
}


class _StorageType:
    """Stands for ``torch.FloatStorage`` and its like: the name of an element type, no more."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype


class _Tensor:
    """A tensor whose storage has not been read yet: where its elements lie."""

    def __init__(self, storage: Any, offset: Any, shape: Any, stride: Any, *_unused: Any) -> None:
        self.storage, self.offset, self.shape, self.stride = storage, offset, shape, stride


class _TensorsOnly(pickle.Unpickler):
    """An unpickler which knows ordered dicts, tensors and storages and refuses everything else."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, tuple[np.dtype[Any], int]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for one of the few names that are allowed."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no list of tensors needs")

    def persistent_load(self, pid: Any) -> str:
        """Note a storage's element type and length; answers its key."""
        kind, storage_type, key, _location, size, view = pid
        if kind != "storage" or view is not None or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError("it refers to something that is not a plain storage")
        self.storages[str(key)] = (storage_type.dtype, int(size))
        return str(key)


def read_state_dict(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a state dict by name, as arrays of their own.

    Raises InputError, having called nothing the file names, if it is anything but tensors.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise InputError(f"cannot read the weights {path}: {error}") from error
    except Exception as error:  # a damaged pickle raises nearly anything, from IndexError on
        raise InputError(f"the weights {path} are not a plain state dict: {error}") from error


def _read(file: BinaryIO) -> dict[str, np.ndarray]:
    if _TensorsOnly(file).load() != _MAGIC or _TensorsOnly(file).load() != _PROTOCOL:
        _refuse("it does not begin like a file of torch.save in its old format")
    information = _TensorsOnly(file).load()
    if not isinstance(information, dict) or not information.get("little_endian"):
        _refuse("it was written on a big-endian machine")
    reader = _TensorsOnly(file)
    tensors = reader.load()
    keys = _TensorsOnly(file).load()
    if not isinstance(tensors, dict) or set(keys) != set(reader.storages):
        _refuse("its storages are not the ones its tensors use")
    storages = {key: _read_storage(file, *reader.storages[key]) for key in keys}
    return {str(name): _view(tensor, storages) for name, tensor in tensors.items()}


def _read_storage(file: BinaryIO, dtype: np.dtype[Any], size: int) -> np.ndarray:
    written = int.from_bytes(file.read(8), "little", signed=True)
    if written != size:
        _refuse(f"a storage holds {written} elements, not {size}")
    data = file.read(size * dtype.itemsize)
    if len(data) != size * dtype.itemsize:
        _refuse("it is cut off")
    values = np.frombuffer(data, dtype)
    return values if sys.byteorder == "little" else values.astype(dtype.newbyteorder("="))


def _view(tensor: Any, storages: Mapping[str, np.ndarray]) -> np.ndarray:
    if not isinstance(tensor, _Tensor):
        _refuse("an entry is not a tensor")
    storage = storages[tensor.storage]
    shape = tuple(int(size) for size in tensor.shape)
    stride = tuple(int(step) for step in tensor.stride)
    if len(shape) != len(stride) or min((*shape, *stride, tensor.offset), default=0) < 0:
        _refuse("a tensor has no sensible shape")
    last = tensor.offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if 0 in shape or last >= len(storage):
        _refuse("a tensor reaches beyond its storage")
    if math.prod(shape) > len(storage):
        _refuse("a tensor repeats its storage")
    step_bytes = [step * storage.itemsize for step in stride]
    return np.ascontiguousarray(
        np.lib.stride_tricks.as_strided(storage[tensor.offset :], shape, step_bytes)
    )


def _refuse(why: str) -> NoReturn:
    raise pickle.UnpicklingError(why)
