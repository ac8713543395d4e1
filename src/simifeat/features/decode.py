"""A picture file as the RGB pixels that a network reads."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.io.records import Unreadable

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO")
"""Decoders that are plain code; Pillow would hand other formats to outside programs."""
_ORIENTATION = 0x0112  # the EXIF tag
_BACKGROUND = (255, 255, 255)


@cache
def known_formats() -> tuple[str, ...]:
    """Those of ``FORMATS`` that the installed Pillow decodes; its plugins are loaded."""
    pillow: Any = require("PIL.Image", extra="image")
    pillow.init()
    return tuple(name for name in FORMATS if name in pillow.OPEN)


def decode_rgb(content: bytes, size: int) -> NDArray[np.uint8]:
    """The picture upright, [size, size, 3]; nothing is cut off, so its sides may be stretched.

    Raises ``Unreadable`` for whatever is no whole picture, or one with more pixels than
    ``PIL.Image.MAX_IMAGE_PIXELS``. Of an animation the first frame counts; what is transparent is
    white; 16 bits become 8.
    """
    return np.asarray(_decoded(content, lambda width, height: (size, size)))


def decode_to_fit(content: bytes, most: int) -> Picture:
    """The picture upright in its own shape, neither side longer than ``most`` nor enlarged.

    Refuses what ``decode_rgb`` refuses.
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        scale = min(1.0, most / max(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))

    return _decoded(content, fit)


def upright_size(content: bytes) -> tuple[int, int]:
    """Width and height of the picture upright, read from its header alone."""
    pillow: Any = require("PIL.Image", extra="image")
    try:
        with pillow.open(io.BytesIO(content), formats=known_formats()) as picture:
            width, height = picture.size
            turned = _turn(pillow, picture) in (
                pillow.Transpose.TRANSPOSE,
                pillow.Transpose.ROTATE_270,
                pillow.Transpose.TRANSVERSE,
                pillow.Transpose.ROTATE_90,
            )
    except Exception as error:  # on damaged content a decoder raises nearly anything
        raise Unreadable("not a picture of a known format") from error
    return (height, width) if turned else (width, height)


def _decoded(content: bytes, size: Callable[[int, int], tuple[int, int]]) -> Picture:
    if not content:
        raise Unreadable("empty file (0 bytes)")
    pillow: Any = require("PIL.Image", extra="image")
    try:
        return _decode(pillow, content, size)
    except pillow.UnidentifiedImageError:
        raise Unreadable("not a picture of a known format") from None
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise Unreadable(_too_large(pillow)) from None
    except Unreadable:
        raise
    except Exception as error:  # on damaged content a decoder raises nearly anything
        reason = str(error).strip().splitlines()
        raise Unreadable(f"damaged picture: {reason[0] if reason else type(error).__name__}") from (
            error
        )


def _decode(pillow: Any, content: bytes, size: Callable[[int, int], tuple[int, int]]) -> Picture:
    with pillow.open(io.BytesIO(content), formats=known_formats()) as picture:
        limit = pillow.MAX_IMAGE_PIXELS
        if limit is not None and picture.width * picture.height > limit:
            raise Unreadable(_too_large(pillow))
        wanted = size(picture.width, picture.height)
        picture.draft("RGB", wanted)  # a JPEG is decoded at the scale that is needed
        rgb = _as_rgb(pillow, picture)
        turn = _turn(pillow, picture)
        small = rgb.resize(wanted, pillow.Resampling.BILINEAR)
        if turn is not None:
            small = small.transpose(turn)
        return small


def _too_large(pillow: Any) -> str:
    return f"more than {pillow.MAX_IMAGE_PIXELS:,} pixels, which may be a decompression bomb"


def _as_rgb(pillow: Any, picture: Picture) -> Picture:
    mode = picture.mode
    if mode == "RGB":
        return picture
    if mode.startswith(("I", "F")):
        return pillow.fromarray(_as_bytes(np.asarray(picture))).convert("RGB")
    if mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        ground = pillow.new("RGB", picture.size, _BACKGROUND)
        ground.paste(picture, mask=picture.getchannel("A"))
        return ground
    return picture.convert("RGB")


def _as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Grey values of 16 bits or of floating point as 8 bits: 0..1, 0..255 or 0..65535 to 0..255."""
    top = float(values.max())
    scale = 255.0 if top <= 1 and values.dtype.kind == "f" else 1.0 if top <= 255 else 255 / 65535
    return np.clip(np.rint(values * scale), 0, 255).astype(np.uint8)


def _turn(pillow: Any, picture: Picture) -> Any:
    """How to set the picture upright, or None; EXIF that cannot be read says nothing."""
    ways = pillow.Transpose
    turns: dict[Any, Any] = {
        2: ways.FLIP_LEFT_RIGHT,
        3: ways.ROTATE_180,
        4: ways.FLIP_TOP_BOTTOM,
        5: ways.TRANSPOSE,
        6: ways.ROTATE_270,
        7: ways.TRANSVERSE,
        8: ways.ROTATE_90,
    }
    try:
        return turns.get(picture.getexif().get(_ORIENTATION))
    except Exception:  # the picture itself is whole
        return None
