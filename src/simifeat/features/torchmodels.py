"""Networks of timm, OpenCLIP and Sentence Transformers, for people who have torch.

Whatever these libraries load, they load; they are told not to run code that comes with a model.
The features depend on the library's release and on the device, so both are part of the identity.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError, require
from simifeat.features.base import Asked
from simifeat.features.decode import decode_rgb, known_formats
from simifeat.features.options import Options, Triple
from simifeat.features.texts import checked_text
from simifeat.features.torchlayers import best_device
from simifeat.io.records import Content, Kind, Unreadable

_BATCH = 32


def open_timm(asked: Asked) -> TorchImages:
    """``timm:NAME``; options: ``size``, ``batch``."""
    timm: Any = require("timm", extra="timm")
    model = _loaded(
        asked, lambda: timm.create_model(asked.argument, pretrained=True, num_classes=0)
    )
    wanted = timm.data.resolve_model_data_config(model)
    mean, std, size = wanted["mean"], wanted["std"], int(wanted["input_size"][-1])
    return TorchImages(asked, model, model, size, mean, std, "timm")


def open_open_clip(asked: Asked) -> TorchImages:
    """``open_clip:NAME``; options: ``pretrained`` (openai), ``size``, ``batch``."""
    open_clip: Any = require("open_clip", extra="open-clip")
    options = dict(asked.options)
    weights = options.pop("pretrained", "openai")
    model = _loaded(asked, lambda: open_clip.create_model(asked.argument, pretrained=weights))
    visual = model.visual
    size = visual.image_size
    side = int(size if isinstance(size, int) else size[0])
    mean, std = visual.image_mean, visual.image_std
    asked = Asked(asked.name, asked.argument, options, asked.kind, asked.at_hand)
    return TorchImages(asked, model, model.encode_image, side, mean, std, "open_clip_torch")


def open_sentence_transformer(asked: Asked) -> SentenceTransformer:
    """``sentence-transformers:NAME``; option: ``batch``."""
    library: Any = require("sentence_transformers", extra="sentence-transformers")
    model = _loaded(
        asked, lambda: library.SentenceTransformer(asked.argument, trust_remote_code=False)
    )
    return SentenceTransformer(asked, model)


class TorchImages:
    """A picture network in torch; a prepared record is uint8 [size, size, 3]."""

    kind: Kind = "image"
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        asked: Asked,
        model: Any,
        encode: Callable[[Any], Any],
        size: int,
        mean: Sequence[float],
        std: Sequence[float],
        package: str,
    ) -> None:
        self.name = f"{asked.name}:{asked.argument}"
        chosen = Options(self.name, asked.options)
        self._size = chosen.integer("size", size) or size
        self.batch_size = chosen.integer("batch", _BATCH) or _BATCH
        chosen.finish()
        known_formats()
        self._device = best_device()
        model.to(self._device).eval()
        self._encode = encode
        self._mean, self._std = _of_255(mean), _of_255(std)
        self._one_at_a_time = Lock()  # torch spreads a batch over the cores by itself
        fed = (self._size, self._mean, self._std)
        self.identity = _identity(self.name, package, model, self._device, fed)

    def prepare(self, content: Content) -> NDArray[np.uint8]:
        """Pixels [size, size, 3] of a picture file."""
        if isinstance(content, str):
            raise Unreadable("text where a picture should be")
        return decode_rgb(content, self._size)

    def run(self, batch: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Features [b, d]."""
        torch: Any = require("torch", extra="torch")
        pixels = (np.stack(batch).astype(np.float32) - self._mean) / self._std
        planes = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), np.float32))
        with self._one_at_a_time, torch.inference_mode():
            found = self._encode(planes.to(self._device)).float().cpu().numpy()
        if found.ndim != 2:
            raise InputError(
                f"{self.name} answers an array of shape {found.shape}, and features are [n, d]; "
                "choose another network"
            )
        return np.asarray(found, np.float32)


class SentenceTransformer:
    """A text network of Sentence Transformers."""

    kind: Kind = "text"
    notes: tuple[str, ...] = ()

    def __init__(self, asked: Asked, model: Any) -> None:
        self.name = f"{asked.name}:{asked.argument}"
        chosen = Options(self.name, asked.options)
        self.batch_size = chosen.integer("batch", _BATCH) or _BATCH
        chosen.finish()
        self._model = model
        self._one_at_a_time = Lock()
        device = getattr(model, "device", "cpu")
        self.identity = _identity(self.name, "sentence-transformers", model, device, ())

    def prepare(self, content: Content) -> str:
        """A text with something to read."""
        return checked_text(content)

    def run(self, batch: Sequence[str]) -> NDArray[np.float32]:
        """Features [b, d]."""
        with self._one_at_a_time:
            found = self._model.encode(
                list(batch),
                batch_size=len(batch),
                convert_to_numpy=True,
                normalize_embeddings=False,
                show_progress_bar=False,
            )
        return np.asarray(found, np.float32)


def _loaded(asked: Asked, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # a name that is not known, no network, a damaged file: anything
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{asked.name}:{asked.argument} cannot be loaded: {lines[0]}") from error


def _identity(name: str, package: str, model: Any, device: Any, fed: object) -> str:
    """A digest of the weights, beside what else the features depend on."""
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(key.encode())
        values = tensor.detach().cpu().contiguous()
        digest.update(values.flatten().view(_bytes_type()).numpy().tobytes())
    try:
        release = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        release = "unknown"
    return f"{name} {package} {release} {device} {digest.hexdigest()} {fed}"


def _bytes_type() -> Any:
    torch: Any = require("torch", extra="torch")
    return torch.uint8


def _of_255(values: Sequence[float]) -> Triple:
    red, green, blue = (255 * float(value) for value in values)
    return red, green, blue
