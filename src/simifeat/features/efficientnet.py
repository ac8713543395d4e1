"""EfficientNet-lite0 up to its pooled features, from the weights in a Python package.

The lite variant has no squeeze-and-excitation and no swish: convolutions, ReLU6 and sums, nothing
more. Padding is that of the network at its training size of 224 pixels, whatever size it is given,
as in the package its weights come from.
"""

from __future__ import annotations

from typing import Any

from simifeat.features.layers import Layers, Weights

WIDTH = 1280
MEAN, STD = (127.0,) * 3, (128.0,) * 3
_EPS = 1e-3  # batch norm
_STAGES = (  # repeats, kernel, stride, expansion
    (1, 3, 1, 1),
    (2, 3, 2, 6),
    (2, 5, 2, 6),
    (3, 3, 2, 6),
    (3, 5, 1, 6),
    (4, 5, 2, 6),
    (1, 3, 1, 6),
)


def build_efficientnet_lite0(weights: Weights) -> bytes:
    """The ONNX file: ``pixels`` uint8 [n, h, w, 3] to ``features`` float32 [n, 1280]."""
    layers = Layers("efficientnet_lite0", weights)
    describe_efficientnet_lite0(layers)
    return layers.model()


def describe_efficientnet_lite0(layers: Any) -> None:
    """The network on ``Layers``, or on ``TorchLayers`` to train it."""
    value = layers.pixels(MEAN, STD)
    value = _conv(layers, value, "_conv_stem", "_bn0", kernel=3, stride=2)
    number = 0
    for repeats, kernel, first_stride, expansion in _STAGES:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            value = _block(
                layers, value, f"_blocks.{number}", kernel, stride, expansion, repeat > 0
            )
            number += 1
    value = _conv(layers, value, "_conv_head", "_bn1")
    layers.features(layers.node("ReduceMean", value, axes=[2, 3], keepdims=0), WIDTH)


def _block(
    layers: Any,
    value: Any,
    name: str,
    kernel: int,
    stride: int,
    expansion: int,
    keeps_shape: bool,
) -> Any:
    """Inverted bottleneck: widen, filter each channel, narrow; added to what came in."""
    inside = value
    if expansion > 1:
        inside = _conv(layers, inside, f"{name}._expand_conv", f"{name}._bn0")
    depthwise = f"{name}._depthwise_conv"
    channels = layers.weight(f"{depthwise}.weight").shape[0]
    inside = _conv(layers, inside, depthwise, f"{name}._bn1", kernel, stride, channels)
    inside = layers.conv(inside, f"{name}._project_conv", norm=f"{name}._bn2", eps=_EPS)
    return layers.node("Add", inside, value) if keeps_shape else inside


def _conv(
    layers: Any,
    value: Any,
    name: str,
    norm: str,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
) -> Any:
    """Convolution with "same" padding, the odd pixel after, batch norm and ReLU6."""
    total = kernel - stride  # at 224 pixels every stride divides the size
    pads = (total // 2, total - total // 2) if kernel > 1 else (0, 0)
    value = layers.conv(value, name, norm=norm, eps=_EPS, stride=stride, pads=pads, groups=groups)
    return layers.clip(value, 0.0, 6.0)
