"""ResNets up to their pooled features, under the tensor names of torchvision's state dicts.

The stem is told from its kernel: 7 x 7 with stride 2 and a pooling after it for photographs, 3 x 3
with stride 1 and no pooling for pictures of about 32 pixels, as the paper uses on CIFAR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.layers import Layers, Weights

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
_EPS = 1e-5  # batch norm


@dataclass(frozen=True)
class Shape:
    """Blocks in each of the four stages, and how much wider a block's output is than its inside."""

    blocks: tuple[int, int, int, int]
    expansion: int = 1

    @property
    def is_bottleneck(self) -> bool:
        """Whether a block is 1 x 1, 3 x 3, 1 x 1 instead of 3 x 3 twice."""
        return self.expansion > 1


SHAPES = {
    10: Shape((1, 1, 1, 1)),
    18: Shape((2, 2, 2, 2)),
    34: Shape((3, 4, 6, 3)),
    50: Shape((3, 4, 6, 3), expansion=4),
}


def build_resnet(weights: Weights, depth: int) -> bytes:
    """The ONNX file: ``pixels`` uint8 [n, h, w, 3] to ``features`` float32 [n, d]."""
    layers = Layers(f"resnet{depth}", weights)
    describe_resnet(layers, depth)
    return layers.model()


def describe_resnet(layers: Any, depth: int) -> None:
    """The network on ``Layers``, or on ``TorchLayers`` to train it."""
    shape = shape_of(depth)
    value = layers.pixels(MEAN, STD)
    kernel = layers.weight("conv1.weight").shape[-1]
    stride = 2 if kernel == 7 else 1
    pad = kernel // 2
    value = layers.conv(value, "conv1", norm="bn1", eps=_EPS, stride=stride, pads=(pad, pad))
    value = layers.node("Relu", value)
    if kernel == 7:
        value = layers.max_pool(value)
    for stage, n_blocks in enumerate(shape.blocks, 1):
        for number in range(n_blocks):
            stride = 2 if stage > 1 and number == 0 else 1
            value = _block(layers, value, f"layer{stage}.{number}", stride, shape)
    width = layers.weight("layer4.0.conv1.weight").shape[0] * shape.expansion
    layers.features(layers.node("ReduceMean", value, axes=[2, 3], keepdims=0), width)


def shape_of(depth: int) -> Shape:
    """The shape of a network of so many layers."""
    if depth not in SHAPES:
        raise InputError(
            f"there is no ResNet of depth {depth}; choose one of {', '.join(map(str, SHAPES))}"
        )
    return SHAPES[depth]


def random_resnet(
    depth: int, width: int, rng: np.random.Generator
) -> dict[str, NDArray[np.float32]]:
    """Weights to start from: the small stem, ``width`` channels in the first stage (He et al.)."""
    shape = shape_of(depth)
    weights: dict[str, NDArray[np.float32]] = {}

    def conv(name: str, norm: str, n_in: int, n_out: int, kernel: int) -> None:
        deviation = np.sqrt(2 / (n_out * kernel**2))
        drawn = rng.standard_normal((n_out, n_in, kernel, kernel)) * deviation
        weights[f"{name}.weight"] = drawn.astype(np.float32)
        for part, start in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            weights[f"{norm}.{part}"] = np.full(n_out, start, np.float32)

    conv("conv1", "bn1", 3, width, 3)
    n_in = width
    for stage, n_blocks in enumerate(shape.blocks, 1):
        inside = width * 2 ** (stage - 1)
        n_out = inside * shape.expansion
        for number in range(n_blocks):
            name = f"layer{stage}.{number}"
            kernels = (1, 3, 1) if shape.is_bottleneck else (3, 3)
            widths = (n_in, *[inside] * (len(kernels) - 1), n_out)
            for place, kernel in enumerate(kernels):
                conv(
                    f"{name}.conv{place + 1}",
                    f"{name}.bn{place + 1}",
                    widths[place],
                    widths[place + 1],
                    kernel,
                )
            if n_in != n_out:
                conv(f"{name}.downsample.0", f"{name}.downsample.1", n_in, n_out, 1)
            n_in = n_out
    return weights


def _block(layers: Any, value: Any, name: str, stride: int, shape: Shape) -> Any:
    kernels = (1, 3, 1) if shape.is_bottleneck else (3, 3)
    strides = (1, stride, 1) if shape.is_bottleneck else (stride, 1)  # as torchvision: "v1.5"
    inside = value
    for place, (kernel, step) in enumerate(zip(kernels, strides, strict=True), 1):
        pads = (kernel // 2, kernel // 2)
        norm = f"{name}.bn{place}"
        inside = layers.conv(
            inside, f"{name}.conv{place}", norm=norm, eps=_EPS, stride=step, pads=pads
        )
        if place < len(kernels):
            inside = layers.node("Relu", inside)
    if layers.has(f"{name}.downsample.0.weight"):
        value = layers.conv(
            value, f"{name}.downsample.0", norm=f"{name}.downsample.1", eps=_EPS, stride=stride
        )
    return layers.node("Relu", layers.node("Add", inside, value))
