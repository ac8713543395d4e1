"""Every extractor by name; its module is imported when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl

from simifeat.errors import InputError
from simifeat.features.base import Extractor
from simifeat.io.records import Kind


@dataclass(frozen=True)
class Entry:
    """Where an extractor is made: ``make(argument, options)``."""

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
    "minilm": Entry(
        ("text",), "simifeat.features.embedded:open_minilm", "all-MiniLM-L6-v2, a transformer"
    ),
    "onnx:": Entry(
        ("image",), "simifeat.features.onnxmodel:open_onnx", "your own network: onnx:PATH"
    ),
}
"""A name that ends in a colon takes what follows it: a path or a model's name."""


def open_extractor(spec: str | None, kind: Kind) -> Extractor:
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
    return cast(Extractor, getattr(importlib.import_module(module), function)(argument, options))


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
