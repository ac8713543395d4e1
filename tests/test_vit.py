from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch
from torch.nn import functional

from pictures import picture
from simifeat.errors import InputError
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.vit import (
    CLIP_MEAN,
    CLIP_STD,
    build_clip_vision,
    build_dinov2,
    resized_positions,
)

WIDTH, HEADS, PATCH = 16, 2, 8


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: (rng.normal(size=shape) * 0.3 + (1 if "norm" in name or "ln_" in name else 0)).astype(
            np.float32
        )
        for name, shape in shapes.items()
    }


def clip_weights(grid):
    shapes = {
        "visual.class_embedding": (WIDTH,),
        "visual.positional_embedding": (1 + grid * grid, WIDTH),
        "visual.conv1.weight": (WIDTH, 3, PATCH, PATCH),
        "visual.proj": (WIDTH, 10),
    }
    for norm in ("ln_pre", "ln_post"):
        shapes |= {f"visual.{norm}.weight": (WIDTH,), f"visual.{norm}.bias": (WIDTH,)}
    for number in range(2):
        name = f"visual.transformer.resblocks.{number}"
        shapes |= {
            f"{name}.attn.in_proj_weight": (3 * WIDTH, WIDTH),
            f"{name}.attn.in_proj_bias": (3 * WIDTH,),
            f"{name}.attn.out_proj.weight": (WIDTH, WIDTH),
            f"{name}.attn.out_proj.bias": (WIDTH,),
            f"{name}.mlp.c_fc.weight": (4 * WIDTH, WIDTH),
            f"{name}.mlp.c_fc.bias": (4 * WIDTH,),
            f"{name}.mlp.c_proj.weight": (WIDTH, 4 * WIDTH),
            f"{name}.mlp.c_proj.bias": (WIDTH,),
        }
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"{name}.{norm}.weight": (WIDTH,), f"{name}.{norm}.bias": (WIDTH,)}
    return drawn(shapes)


def dinov2_weights(grid):
    shapes = {
        "embeddings.cls_token": (1, 1, WIDTH),
        "embeddings.mask_token": (1, WIDTH),
        "embeddings.position_embeddings": (1, 1 + grid * grid, WIDTH),
        "embeddings.patch_embeddings.projection.weight": (WIDTH, 3, PATCH, PATCH),
        "embeddings.patch_embeddings.projection.bias": (WIDTH,),
        "layernorm.weight": (WIDTH,),
        "layernorm.bias": (WIDTH,),
    }
    for number in range(2):
        name = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            shapes[f"{name}.attention.attention.{part}.weight"] = (WIDTH, WIDTH)
            shapes[f"{name}.attention.attention.{part}.bias"] = (WIDTH,)
        shapes |= {
            f"{name}.attention.output.dense.weight": (WIDTH, WIDTH),
            f"{name}.attention.output.dense.bias": (WIDTH,),
            f"{name}.mlp.fc1.weight": (4 * WIDTH, WIDTH),
            f"{name}.mlp.fc1.bias": (4 * WIDTH,),
            f"{name}.mlp.fc2.weight": (WIDTH, 4 * WIDTH),
            f"{name}.mlp.fc2.bias": (WIDTH,),
            f"{name}.layer_scale1.lambda1": (WIDTH,),
            f"{name}.layer_scale2.lambda1": (WIDTH,),
        }
        for norm in ("norm1", "norm2"):
            shapes |= {f"{name}.{norm}.weight": (WIDTH,), f"{name}.{norm}.bias": (WIDTH,)}
    return drawn(shapes)


def tensors(weights):
    return {name: torch.from_numpy(value) for name, value in weights.items()}


def normalised(shown, mean, std):
    pixels = torch.from_numpy(shown.transpose(0, 3, 1, 2).astype(np.float32))
    return (pixels - torch.tensor(mean).view(1, 3, 1, 1)) / torch.tensor(std).view(1, 3, 1, 1)


def places_for(table, side):
    """[1 + g * g, d] for another grid, by torch's own interpolation."""
    grid = round((len(table) - 1) ** 0.5)
    square = table[1:].T.reshape(1, -1, grid, grid)
    resized = functional.interpolate(square, (side, side), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], resized.reshape(table.shape[1], -1).T])


def clip_by_torch(weights, shown):
    w = tensors(weights)

    def norm(x, name):
        return functional.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    x = normalised(shown, CLIP_MEAN, CLIP_STD)
    x = functional.conv2d(x, w["visual.conv1.weight"], stride=PATCH)
    side = x.shape[-1]
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([w["visual.class_embedding"].expand(len(x), 1, -1), x], dim=1)
    x = norm(x + places_for(w["visual.positional_embedding"], side), "visual.ln_pre")
    for number in range(2):
        name = f"visual.transformer.resblocks.{number}"
        y = norm(x, f"{name}.ln_1").transpose(0, 1)
        mixed, _ = functional.multi_head_attention_forward(
            *(y, y, y, WIDTH, HEADS),
            *(w[f"{name}.attn.in_proj_weight"], w[f"{name}.attn.in_proj_bias"]),
            *(None, None, False, 0.0),
            *(w[f"{name}.attn.out_proj.weight"], w[f"{name}.attn.out_proj.bias"]),
            training=False,
            need_weights=False,
        )
        x = x + mixed.transpose(0, 1)
        y = functional.linear(
            norm(x, f"{name}.ln_2"), w[f"{name}.mlp.c_fc.weight"], w[f"{name}.mlp.c_fc.bias"]
        )
        y = y * torch.sigmoid(1.702 * y)
        x = x + functional.linear(y, w[f"{name}.mlp.c_proj.weight"], w[f"{name}.mlp.c_proj.bias"])
    return norm(x[:, 0], "visual.ln_post") @ w["visual.proj"]


def dinov2_by_torch(weights, shown):
    w = tensors(weights)

    def norm(x, name):
        return functional.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-6)

    def linear(x, name):
        return functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def heads(x):
        return x.view(len(x), -1, HEADS, WIDTH // HEADS).transpose(1, 2)

    name = "embeddings.patch_embeddings.projection"
    x = normalised(shown, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
    x = functional.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], stride=PATCH)
    side = x.shape[-1]
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([w["embeddings.cls_token"].expand(len(x), -1, -1), x], dim=1)
    x = x + places_for(w["embeddings.position_embeddings"][0], side)
    for number in range(2):
        name = f"encoder.layer.{number}"
        y = norm(x, f"{name}.norm1")
        q, k, v = (
            heads(linear(y, f"{name}.attention.attention.{part}"))
            for part in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        mixed = linear(mixed, f"{name}.attention.output.dense")
        x = x + w[f"{name}.layer_scale1.lambda1"] * mixed
        y = linear(
            functional.gelu(linear(norm(x, f"{name}.norm2"), f"{name}.mlp.fc1")), f"{name}.mlp.fc2"
        )
        x = x + w[f"{name}.layer_scale2.lambda1"] * y
    return norm(x[:, 0], "layernorm")


@pytest.mark.parametrize("grid", [4, 3, 6], ids=["own size", "fewer places", "more places"])
@pytest.mark.parametrize(
    ("build", "weights_of", "by_torch"),
    [
        (build_clip_vision, clip_weights, clip_by_torch),
        (build_dinov2, dinov2_weights, dinov2_by_torch),
    ],
    ids=["clip", "dinov2"],
)
def test_what_is_described_is_what_torch_computes(build, weights_of, by_torch, grid):
    size = 4 * PATCH
    weights = weights_of(grid)
    shown = np.stack([picture(seed, size) for seed in range(5)])
    found = ImageExtractor(ImageModel("test", build(weights, HEADS, size), size)).run(list(shown))
    wanted = by_torch(weights, shown).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("side", [1, 3, 5, 7, 16])
def test_positions_between_positions_are_those_of_torch(side):
    table = np.random.default_rng(0).normal(size=(1 + 49, 6)).astype(np.float32)
    wanted = places_for(torch.from_numpy(table), side)[1:].numpy()
    np.testing.assert_allclose(resized_positions(table[1:], side), wanted, rtol=1e-4, atol=1e-5)


def test_a_size_of_broken_patches_is_refused():
    with pytest.raises(InputError) as caught:
        build_dinov2(dinov2_weights(4), HEADS, 30)
    assert str(caught.value) == (
        "pictures of 30 pixels are no whole number of patches of 8; give a size such as 32"
    )


def test_weights_of_another_network_are_refused():
    with pytest.raises(InputError, match=r"lack the tensor 'visual.class_embedding'"):
        build_clip_vision(dinov2_weights(4), HEADS, 32)
