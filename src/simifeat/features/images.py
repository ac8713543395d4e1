"""Images through a network on ONNX Runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.decode import decode_rgb, known_formats
from simifeat.features.options import Triple
from simifeat.features.session import is_on_gpu, open_session
from simifeat.io.records import Content, Kind, Unreadable

_CPU_BATCH = 4  # small activations stay in the cache; larger batches are slower
_GPU_BATCH = 64


@dataclass(frozen=True)
class ImageModel:
    """A network and what it wants to be fed."""

    name: str
    file: bytes
    """The ONNX file."""
    size: int
    """Pixels a side."""
    input: str = "pixels"
    layout: Literal["nhwc", "nchw"] = "nhwc"
    mean: Triple | None = None
    """Channel means in 0..255; None: the network takes bytes as they are."""
    std: Triple = (1.0, 1.0, 1.0)
    output: str = "features"
    batch_size: int | None = None
    """The one batch size it takes, where its shape is fixed."""
    notes: tuple[str, ...] = ()
    """What was assumed of it without being told."""

    @property
    def identity(self) -> str:
        """A digest of the file and of how it is fed."""
        fed = (self.size, self.input, self.layout, self.mean, self.std, self.output)
        return f"{self.name} {hashlib.sha256(self.file).hexdigest()} {fed}"


class ImageExtractor:
    """Decodes, resizes and runs the network; a prepared record is uint8 [size, size, 3]."""

    kind: Kind = "image"

    def __init__(self, model: ImageModel) -> None:
        self.model = model
        self.name = model.name
        self.identity = model.identity
        self.notes = model.notes
        known_formats()  # before threads ask for them
        self._session = open_session(model.file, model.name)
        default = _GPU_BATCH if is_on_gpu(self._session) else _CPU_BATCH
        self.batch_size = model.batch_size or default

    def prepare(self, content: Content) -> NDArray[np.uint8]:
        """Pixels [size, size, 3] of a picture file."""
        if isinstance(content, str):
            raise Unreadable("text where a picture should be")
        return decode_rgb(content, self.model.size)

    def run(self, batch: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Features [b, d]."""
        model = self.model
        pixels: NDArray[Any] = np.stack(batch)  # [b, size, size, 3]
        if model.mean is not None:
            mean, std = (np.array(values, np.float32) for values in (model.mean, model.std))
            pixels = (pixels.astype(np.float32) - mean) / std
        if model.layout == "nchw":
            pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        missing = (model.batch_size or 0) - len(pixels)
        if missing > 0:  # a network of fixed shape takes full batches alone
            pixels = np.concatenate([pixels, np.repeat(pixels[-1:], missing, axis=0)])
        features = self._session.run([model.output], {model.input: pixels})[0]
        return _flat(features[: len(batch)], model.name)


def _flat(features: NDArray[Any], name: str) -> NDArray[np.float32]:
    """[b, d] as they are; maps [b, d, h, w] averaged over their places."""
    if features.ndim == 4:
        features = features.mean(axis=(2, 3))
    if features.ndim != 2:
        raise InputError(
            f"the model {name} answers an array of shape {features.shape}; features are [n, d] "
            "or maps [n, d, h, w]"
        )
    return features.astype(np.float32, copy=False)
