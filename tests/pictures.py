"""Small pictures, good and bad, and a network small enough to build in a test."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

from simifeat.features.layers import Layers

WIDTH = 6


def picture(seed, size=24):
    """Smooth colours that depend on ``seed``, uint8 [size, size, 3]."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (3, 3, 3), dtype=np.uint8))
    return np.asarray(small.resize((size, size), Image.Resampling.BICUBIC))


def encoded(pixels, kind="PNG", **options):
    """A picture file."""
    file = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(file, kind, **options)
    return file.getvalue()


def png_that_claims(width, height):
    """A PNG whose header promises more pixels than it holds."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(name, content):
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    signature = b"\x89PNG\r\n\x1a\n"
    return (
        signature
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 10))
        + chunk(b"IEND", b"")
    )


def tiny_network(seed=0, metadata=None):
    """An ONNX file: ``pixels`` [n, h, w, 3] to ``features`` [n, 6], in a blink."""
    rng = np.random.default_rng(seed)
    weights = {"conv.weight": rng.normal(size=(WIDTH, 3, 4, 4)).astype(np.float32)}
    layers = Layers("tiny", weights)
    value = layers.conv(layers.pixels((127.0,) * 3, (128.0,) * 3), "conv", stride=4)
    value = layers.node("Relu", value)
    layers.features(layers.node("ReduceMean", value, axes=[2, 3], keepdims=0), WIDTH)
    return layers.graph.model(opset=17, metadata={"size": "24", **(metadata or {})})
