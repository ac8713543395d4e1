"""Every extractor by name; its module is imported when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, urlencode

from simifeat.errors import InputError
from simifeat.features.base import Asked, AtHand, Extractor
from simifeat.io.records import Kind


@dataclass(frozen=True)
class Entry:
    """Where an extractor is made: ``make(asked)``."""

    kinds: tuple[Kind, ...]
    maker: str
    """``module:function``"""
    about: str


DEFAULTS: Mapping[Kind, str] = {"image": "efficientnet-lite0", "text": "wordllama"}

EXTRACTORS: Mapping[str, Entry] = {
    "efficientnet-lite0": Entry(
        ("image",),
        "simifeat.features.embedded:open_efficientnet_lite0",
        "EfficientNet-lite0, ImageNet; comes with simifeat[image]",
    ),
    "wordllama": Entry(
        ("text",),
        "simifeat.features.embedded:open_wordllama",
        "WordLlama, vectors of words averaged; comes with simifeat[text]",
    ),
    "resnet18": Entry(
        ("image",), "simifeat.features.hub_models:open_resnet", "ResNet-18, ImageNet; 47 MB"
    ),
    "resnet34": Entry(
        ("image",), "simifeat.features.hub_models:open_resnet", "ResNet-34, ImageNet; 87 MB"
    ),
    "resnet50": Entry(
        ("image",), "simifeat.features.hub_models:open_resnet", "ResNet-50, ImageNet; 102 MB"
    ),
    "clip-vit-b32": Entry(
        ("image",),
        "simifeat.features.hub_models:open_clip_vision",
        "CLIP ViT-B/32, 400 million captioned pictures; 605 MB",
    ),
    "dinov2-small": Entry(
        ("image",),
        "simifeat.features.hub_models:open_dinov2",
        "DINOv2 ViT-S/14, 142 million pictures without labels; 88 MB",
    ),
    "minilm": Entry(
        ("text",), "simifeat.features.hub_models:open_minilm", "all-MiniLM-L6-v2; 91 MB"
    ),
    "bge-small": Entry(
        ("text",), "simifeat.features.hub_models:open_bert", "BGE-small-en-v1.5; 133 MB"
    ),
    "bert-base": Entry(
        ("text",), "simifeat.features.hub_models:open_bert", "BERT base, uncased; 440 MB"
    ),
    "simclr": Entry(
        ("image",),
        "simifeat.features.trained:open_simclr",
        "trained on your own pictures",
    ),
    "onnx:": Entry(
        ("image", "text"), "simifeat.features.onnxmodel:open_onnx", "your own network: onnx:PATH"
    ),
    "timm:": Entry(
        ("image",), "simifeat.features.torchmodels:open_timm", "a network of timm: timm:NAME"
    ),
    "open_clip:": Entry(
        ("image",),
        "simifeat.features.torchmodels:open_open_clip",
        "an image tower of OpenCLIP: open_clip:NAME",
    ),
    "sentence-transformers:": Entry(
        ("text",),
        "simifeat.features.torchmodels:open_sentence_transformer",
        "a network of Sentence Transformers: sentence-transformers:NAME",
    ),
}
"""A name that ends in a colon takes what follows it: a path or a model's name."""


def open_extractor(spec: str | None, kind: Kind, at_hand: AtHand | None = None) -> Extractor:
    """The extractor that ``spec`` names, or the default of ``kind``.

    ``spec`` is a name of the registry, ``NAME:ARGUMENT`` for those that take one, each with
    options such as ``?size=224&batch=8`` after it.
    """
    name, argument, options = _parsed(spec or DEFAULTS[kind])
    entry = _entry(name, kind)
    if kind not in entry.kinds:
        raise InputError(
            f"the extractor {name!r} reads {' and '.join(entry.kinds)} records, and these are "
            f"{kind} records; choose one of {', '.join(names_for(kind))}"
        )
    module, function = entry.maker.split(":")
    asked = Asked(name.rstrip(":"), argument, options, kind, at_hand or AtHand())
    return cast(Extractor, getattr(importlib.import_module(module), function)(asked))


def without_options(spec: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """``spec`` without the options ``names``, and those."""
    head, _, query = spec.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    taken = {name: options.pop(name) for name in names if name in options}
    if not taken:
        return spec, taken
    return (f"{head}?{urlencode(options, safe=':/,')}" if options else head), taken


def kind_read_by(spec: str, guess: Kind) -> Kind:
    """What the extractor reads: ``guess`` if it can."""
    kinds = _entry(_parsed(spec)[0], guess).kinds
    return guess if guess in kinds else kinds[0]


def names_for(kind: Kind) -> list[str]:
    """Names of the extractors that read ``kind``."""
    return [name for name, entry in EXTRACTORS.items() if kind in entry.kinds]


def _parsed(spec: str) -> tuple[str, str, dict[str, str]]:
    """Name, argument and options."""
    head, _, query = spec.partition("?")
    name, colon, argument = head.partition(":")
    return name + colon, argument, dict(parse_qsl(query, keep_blank_values=True))


def _entry(name: str, kind: Kind) -> Entry:
    if name not in EXTRACTORS:
        near = difflib.get_close_matches(name, EXTRACTORS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names_for(kind))}"
        raise InputError(f"there is no extractor {name!r}; {hint}")
    return EXTRACTORS[name]
