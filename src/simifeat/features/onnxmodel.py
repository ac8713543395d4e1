"""``onnx:PATH``: any network; what it does not say of its input is taken from the options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from simifeat.errors import InputError
from simifeat.features.base import Asked
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.onnxcheck import check_onnx
from simifeat.features.options import Options, Triple
from simifeat.features.session import open_session
from simifeat.features.texts import Transformer

IMAGENET_MEAN: Triple = (123.675, 116.28, 103.53)
IMAGENET_STD: Triple = (58.395, 57.12, 57.375)
_OUTPUTS = ("features", "embedding", "embeddings", "image_embeds", "pooler_output")
_FREE_SIZE = 224  # where neither the file nor the options say


def open_onnx(asked: Asked) -> ImageExtractor | Transformer:
    """Options: ``size``, ``layout``, ``mean``, ``std``, ``input``, ``output``, ``batch``.

    Those are for pictures; ``mean`` and ``std`` are in 0..255, or in 0..1 if none is above 1. A
    file may hold them, and ``size``, in its metadata under the same names. For texts: ``tokenizer``
    (the path of a tokenizer.json) and ``tokens``. For both: ``sha256``, which the file must have.
    """
    options = dict(asked.options)
    path = Path(asked.argument)
    name = f"onnx:{path.name}"
    file = _read(path, "model", "onnx:PATH")
    pinned, found = options.pop("sha256", ""), hashlib.sha256(file).hexdigest()
    if pinned and not found.startswith(pinned.lower()):
        raise InputError(
            f"the model {path} is not the one asked for: its SHA-256 is {found}, not {pinned}"
        )
    check_onnx(file, str(path))
    if asked.kind == "image":
        return ImageExtractor(image_model(name, file, options))
    chosen = Options(name, options)
    tokenizer = chosen.text("tokenizer", None)
    n_tokens = chosen.integer("tokens", 256, least=3) or 256
    chosen.finish()
    if tokenizer is None:
        raise InputError(
            f"{name} is to read texts and has no tokenizer; give "
            f"onnx:{path}?tokenizer=PATH of its tokenizer.json"
        )
    return Transformer(name, file, _read(Path(tokenizer), "tokenizer", "its path"), n_tokens)


def _read(path: Path, what: str, give: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read the {what} {path}: {error.strerror or error}; give {give}"
        ) from error


def image_model(name: str, file: bytes, options: Mapping[str, str]) -> ImageModel:
    """What ``file`` wants to be fed, by its input, its metadata and ``options``."""
    session = open_session(file, name)
    stored = dict(session.get_modelmeta().custom_metadata_map)
    names = ("size", "mean", "std")
    chosen = Options(name, {**{key: stored[key] for key in names if key in stored}, **options})
    wanted = _named(session.get_inputs(), chosen.text("input", None), "input", name)
    output = _named(
        session.get_outputs(), chosen.text("output", _known(session)), "output", name
    ).name
    layout, side, batch = _shape(wanted, name, chosen)
    size = chosen.integer("size", side or _FREE_SIZE)
    mean, std = chosen.triple("mean", None), chosen.triple("std", None)
    batch = chosen.integer("batch", batch)
    chosen.finish()
    if side is not None and size != side:
        raise InputError(f"the model {name} takes pictures of {side} pixels a side, not {size}")
    if wanted.type == "tensor(uint8)":
        if mean is not None or std is not None:
            raise InputError(f"the model {name} takes bytes as they are; leave out mean and std")
        fed = None
    elif wanted.type == "tensor(float)":
        fed = _of_255(mean, std) if mean or std else (IMAGENET_MEAN, IMAGENET_STD)
    else:
        raise InputError(
            f"the model {name} takes {wanted.type[7:-1]} as its input; give one that takes float "
            "or uint8 pictures"
        )
    return ImageModel(
        name,
        file,
        cast(int, size),
        input=wanted.name,
        layout=layout,
        mean=fed[0] if fed else None,
        std=fed[1] if fed else (1.0, 1.0, 1.0),
        output=output,
        batch_size=batch,
        notes=()
        if mean or std or fed is None
        else (f"{name} does not say how its input is normalised; ImageNet's mean and deviation",),
    )


def _shape(
    wanted: Any, name: str, chosen: Options
) -> tuple[Literal["nhwc", "nchw"], int | None, int | None]:
    """Layout, side and batch size of an input of four dimensions; None where they are free."""
    shape = [size if isinstance(size, int) and size > 0 else None for size in wanted.shape]
    if len(shape) != 4:
        raise InputError(
            f"the input {wanted.name} of the model {name} has the shape {wanted.shape}; give a "
            "network that takes pictures [n, 3, h, w] or [n, h, w, 3]"
        )
    guess = "nhwc" if shape[3] == 3 and shape[1] != 3 else "nchw"
    layout = cast(Literal["nhwc", "nchw"], chosen.choice("layout", ("nhwc", "nchw"), guess))
    sides = shape[2:] if layout == "nchw" else shape[1:3]
    if sides[0] != sides[1]:
        raise InputError(
            f"the model {name} takes pictures of {sides[0]} by {sides[1]} pixels; give one for "
            "square pictures"
        )
    return layout, sides[0], shape[0]


def _known(session: Any) -> str | None:
    """The one output that is named like features, if there is one."""
    names = [output.name for output in session.get_outputs()]
    return next((name for name in _OUTPUTS if name in names), None)


def _named(values: Any, name: str | None, kind: str, model: str) -> Any:
    if name is None:
        return values[0]
    for value in values:
        if value.name == name:
            return value
    names = ", ".join(value.name for value in values)
    raise InputError(f"the model {model} has no {kind} {name!r}; choose one of {names}")


def _of_255(mean: Triple | None, std: Triple | None) -> tuple[Triple, Triple]:
    def scaled(values: Triple) -> Triple:
        factor = 255.0 if max(values) <= 1 else 1.0
        return values[0] * factor, values[1] * factor, values[2] * factor

    small = max(std or mean or (1.0,)) <= 1  # then what is left out is 0..1 as well
    return scaled(mean) if mean else (0.0, 0.0, 0.0), (
        scaled(std) if std else (255.0,) * 3 if small else (1.0,) * 3
    )
