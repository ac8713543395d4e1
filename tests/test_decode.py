from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from PIL import Image

from pictures import encoded, picture, png_that_claims
from simifeat.features.decode import decode_rgb
from simifeat.io.records import Unreadable

UPRIGHT = picture(1)


def close(found, wanted, most=3.0):
    return np.abs(found.astype(float) - wanted).mean() < most


def test_a_picture_comes_as_it_is():
    np.testing.assert_array_equal(decode_rgb(encoded(UPRIGHT), 24), UPRIGHT)


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "BMP", "TIFF", "PPM", "GIF", "ICO"])
def test_every_format_gives_its_colours(kind):
    assert close(decode_rgb(encoded(UPRIGHT, kind), 24), UPRIGHT, most=12)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_exif_turns_the_picture_upright(orientation, kind):
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,  # the camera was turned the other way
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = Image.fromarray(UPRIGHT)
    if orientation > 1:
        stored = stored.transpose(undo[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = decode_rgb(encoded(stored, kind, exif=exif), 24)
    assert close(found, UPRIGHT, most=8)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_exif_says_nothing():
    content = encoded(UPRIGHT, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff")
    assert close(decode_rgb(content, 24), UPRIGHT, most=8)


def test_cmyk_grey_and_palette_become_rgb():
    as_cmyk = Image.fromarray(UPRIGHT).convert("CMYK")
    assert close(decode_rgb(encoded(as_cmyk, "JPEG", quality=95), 24), UPRIGHT, most=8)
    grey = Image.fromarray(UPRIGHT).convert("L")
    found = decode_rgb(encoded(grey), 24)
    np.testing.assert_array_equal(found, np.repeat(np.asarray(grey)[..., None], 3, axis=2))
    palette = Image.fromarray(UPRIGHT).quantize(256)
    assert close(decode_rgb(encoded(palette), 24), UPRIGHT)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_become_eight(kind):
    ramp = np.linspace(0, 65535, 24 * 24).reshape(24, 24).astype(np.uint16)
    found = decode_rgb(encoded(ramp, kind), 24)
    np.testing.assert_allclose(found[..., 0], ramp / 257, atol=1)


def test_floating_point_is_scaled():
    ramp = np.linspace(0, 1, 24 * 24).reshape(24, 24).astype(np.float32)
    np.testing.assert_allclose(decode_rgb(encoded(ramp, "TIFF"), 24)[..., 1], ramp * 255, atol=1)


def test_what_is_transparent_is_white():
    clear = np.dstack([UPRIGHT, np.zeros((24, 24), np.uint8)])
    assert (decode_rgb(encoded(clear), 24) == 255).all()
    marked = Image.fromarray(UPRIGHT).quantize(4)
    marked.info["transparency"] = bytes([0, 255, 255, 255])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = decode_rgb(encoded(marked, transparency=bytes([0] * 4)), 24)
    assert (found == 255).all()


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_of_an_animation_the_first_frame_counts(kind):
    frames = [Image.fromarray(np.full((24, 24, 3), shade, np.uint8)) for shade in (200, 20)]
    content = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    assert close(decode_rgb(content, 24), np.full((24, 24, 3), 200))


def test_a_large_picture_is_made_small_without_cutting():
    wide = np.zeros((40, 400, 3), np.uint8)
    wide[:, :200] = 255
    found = decode_rgb(encoded(wide, "JPEG", quality=95), 20)
    assert found.shape == (20, 20, 3)
    assert found[:, :9].min() > 240
    assert found[:, 11:].max() < 15


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", r"empty file \(0 bytes\)"),
        (b"hello, I am a text", "not a picture of a known format"),
        (encoded(UPRIGHT)[:-200], "damaged picture: .+"),
        (encoded(picture(1, 64), "JPEG")[:-400], "damaged picture: .*truncated.*"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture of a known format"),
        (png_that_claims(20_000, 20_000), r"more than 89,478,485 pixels, which may be a decomp.*"),
        (png_that_claims(11_000, 11_000), r"more than 89,478,485 pixels, which may be a decomp.*"),
    ],
    ids=["zero bytes", "text", "cut png", "cut jpeg", "postscript", "bomb", "large"],
)
def test_what_is_no_whole_picture_says_why(content, reason):
    with pytest.raises(Unreadable) as caught:
        decode_rgb(content, 24)
    assert re.fullmatch(reason, str(caught.value))


@pytest.mark.filterwarnings("ignore:Image size")
def test_a_large_picture_is_refused_where_warnings_are_no_errors():
    with pytest.raises(Unreadable, match="more than"):
        decode_rgb(png_that_claims(11_000, 11_000), 24)
