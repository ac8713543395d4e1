"""Vision transformers up to the features of their class token: CLIP's and DINOv2's.

Tensor names are those of OpenCLIP's and of the hub's files. Pictures of another size than the
network was trained on get positions between its own (bicubic, as both projects do).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.features.layers import Layers, Weights
from simifeat.features.resnet import MEAN, STD

CLIP_MEAN, CLIP_STD = (
    (122.7709383, 116.7460125, 104.09373615),
    (68.5005327, 66.6321579, 70.32316305),
)
_BEND = -0.75  # of the cubic between two positions


@dataclass(frozen=True)
class _Block:
    """The tensors of one block of attention, its layer scales folded in."""

    norm: str
    parts: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    """Weight and bias of query, key and value."""
    out: tuple[NDArray[np.float32], NDArray[np.float32]]
    inner_norm: str
    wide: tuple[NDArray[np.float32], NDArray[np.float32]]
    narrow: tuple[NDArray[np.float32], NDArray[np.float32]]


def build_clip_vision(weights: Weights, n_heads: int, size: int) -> bytes:
    """CLIP's image tower: ``pixels`` uint8 [n, size, size, 3] to ``features`` [n, d]."""
    layers = Layers("clip", weights)
    name = "visual"
    cls = layers.weight(f"{name}.class_embedding")
    places = layers.weight(f"{name}.positional_embedding")  # [1 + g * g, d]
    pixels = layers.pixels(CLIP_MEAN, CLIP_STD)
    value = _tokens(layers, pixels, f"{name}.conv1", cls, places, size)
    value = layers.layer_norm(value, f"{name}.ln_pre", 1e-5)
    number = 0
    while layers.has(f"{name}.transformer.resblocks.{number}.ln_1.weight"):
        block = _clip_block(layers, f"{name}.transformer.resblocks.{number}")
        value = _block(layers, value, block, n_heads, 1e-5, quick=True)
        number += 1
    value = layers.layer_norm(layers.first_token(value), f"{name}.ln_post", 1e-5)
    projection = layers.weight(f"{name}.proj")  # [width, d]
    layers.features(layers.affine(value, projection.T), projection.shape[1])
    return layers.model()


def build_dinov2(weights: Weights, n_heads: int, size: int) -> bytes:
    """DINOv2: ``pixels`` uint8 [n, size, size, 3] to ``features`` [n, d]."""
    layers = Layers("dinov2", weights)
    cls = layers.weight("embeddings.cls_token").reshape(-1)
    places = layers.weight("embeddings.position_embeddings")[0]
    pixels = layers.pixels(MEAN, STD)
    value = _tokens(layers, pixels, "embeddings.patch_embeddings.projection", cls, places, size)
    number = 0
    while layers.has(f"encoder.layer.{number}.norm1.weight"):
        block = _dinov2_block(layers, f"encoder.layer.{number}")
        value = _block(layers, value, block, n_heads, 1e-6, quick=False)
        number += 1
    value = layers.layer_norm(layers.first_token(value), "layernorm", 1e-6)
    layers.features(value, len(cls))
    return layers.model()


def resized_positions(places: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Positions [g * g, d] of a grid as those [side * side, d] of another one."""
    old = round(len(places) ** 0.5)
    if old == side:
        return places
    weights = _cubic_weights(old, side)  # [side, old]
    grid = places.reshape(old, old, -1).astype(np.float64)
    grid = np.einsum("yi,xj,ijd->yxd", weights, weights, grid, optimize=True)
    return grid.reshape(side * side, -1).astype(np.float32)


def _cubic_weights(n_in: int, n_out: int) -> NDArray[np.float64]:
    """Keys' cubic through four neighbours, the border repeated; pixel centres, [out, in]."""
    centres = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
    below = np.floor(centres).astype(int)
    weights = np.zeros((n_out, n_in))
    for step in (-1, 0, 1, 2):
        x = np.abs(centres - (below + step))
        near = (_BEND + 2) * x**3 - (_BEND + 3) * x**2 + 1
        far = _BEND * (x**3 - 5 * x**2 + 8 * x - 4)
        source = np.clip(below + step, 0, n_in - 1)
        np.add.at(weights, (np.arange(n_out), source), np.where(x <= 1, near, far))
    return weights


def _tokens(
    layers: Layers,
    pixels: str,
    name: str,
    cls: NDArray[np.float32],
    places: NDArray[np.float32],
    size: int,
) -> str:
    """Patches and the class token before them, each with its place, [n, 1 + g * g, d]."""
    width, patch = len(cls), layers.weight(f"{name}.weight").shape[-1]
    if size % patch:
        raise InputError(
            f"pictures of {size} pixels are no whole number of patches of {patch}; give a size "
            f"such as {max(1, round(size / patch)) * patch}"
        )
    shape = layers.constant(np.array([0, width, -1], np.int64))
    patches = layers.node("Reshape", layers.conv(pixels, name, stride=patch), shape)
    patches = layers.node("Transpose", patches, perm=[0, 2, 1])  # [n, g * g, d]
    n = layers.node("Shape", patches, start=0, end=1)
    wanted = layers.node("Concat", n, layers.constant(np.array([1, width], np.int64)), axis=0)
    first = layers.node("Expand", layers.constant(cls.reshape(1, 1, width)), wanted)
    table = np.concatenate([places[:1], resized_positions(places[1:], size // patch)])
    tokens = layers.node("Concat", first, patches, axis=1)
    return layers.node("Add", tokens, layers.constant(table[None]))


def _block(
    layers: Layers, value: str, block: _Block, n_heads: int, eps: float, *, quick: bool
) -> str:
    normed = layers.layer_norm(value, block.norm, eps)
    query, key, content = (layers.affine(normed, *part) for part in block.parts)
    mixed = layers.attention(query, key, content, n_heads, len(block.out[1]))
    value = layers.node("Add", value, layers.affine(mixed, *block.out))
    inner = layers.affine(layers.layer_norm(value, block.inner_norm, eps), *block.wide)
    inner = layers.quick_gelu(inner) if quick else layers.gelu(inner)
    return layers.node("Add", value, layers.affine(inner, *block.narrow))


def _clip_block(layers: Layers, name: str) -> _Block:
    weight = np.split(layers.weight(f"{name}.attn.in_proj_weight"), 3)
    bias = np.split(layers.weight(f"{name}.attn.in_proj_bias"), 3)
    return _Block(
        f"{name}.ln_1",
        tuple(zip(weight, bias, strict=True)),
        _linear(layers, f"{name}.attn.out_proj"),
        f"{name}.ln_2",
        _linear(layers, f"{name}.mlp.c_fc"),
        _linear(layers, f"{name}.mlp.c_proj"),
    )


def _dinov2_block(layers: Layers, name: str) -> _Block:
    parts = ("query", "key", "value")
    return _Block(
        f"{name}.norm1",
        tuple(_linear(layers, f"{name}.attention.attention.{part}") for part in parts),
        _linear(layers, f"{name}.attention.output.dense", f"{name}.layer_scale1.lambda1"),
        f"{name}.norm2",
        _linear(layers, f"{name}.mlp.fc1"),
        _linear(layers, f"{name}.mlp.fc2", f"{name}.layer_scale2.lambda1"),
    )


def _linear(
    layers: Layers, name: str, scale: str | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight and bias of a layer, times the scale [out] of what it answers."""
    weight, bias = layers.weight(f"{name}.weight"), layers.weight(f"{name}.bias")
    if scale is None:
        return weight, bias
    factor = layers.weight(scale)
    return weight * factor[:, None], bias * factor
