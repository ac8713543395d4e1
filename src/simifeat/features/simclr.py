"""SimCLR (Chen et al., 2020) on the pictures at hand: features if no model fits.

No label is needed. On a dataset it is the extractor ``simclr`` (``simifeat.features.trained``).
From Python, on pictures already in memory (needs torch; runs on a GPU if there is one):

    train_simclr(pictures, *, depth=18, width=32, n_epochs=10, batch_size=256, temperature=0.5,
                 learning_rate=1e-3, seed=0, keep=None, progress=None) -> bytes
    simclr_features(pictures, **the_same) -> float32 [n, d]

``pictures`` are uint8 [n, s, s, 3]; ``train_simclr`` answers an ONNX file that needs no torch
(``pixels`` uint8 [n, s, s, 3] to ``features`` [n, 8 * width]). With ``keep``, a path, the state is
written there after every epoch, and a run that was cut goes on after its last whole one. The
paper's R34-C10-SSL is ``depth=34, width=64`` and some hundred epochs, which wants a GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError, require
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.resnet import build_resnet, describe_resnet, random_resnet
from simifeat.features.torchlayers import (
    TorchLayers,
    as_arrays,
    best_device,
    parameters,
    planes,
    trainable,
)
from simifeat.features.trainstate import read_state, write_state
from simifeat.features.views import random_view
from simifeat.io.source import Progress

_PROJECTED = 128  # width of the head's output, where views are compared
_DECAY = 1e-4


def train_simclr(
    pictures: NDArray[np.uint8],
    *,
    depth: int = 18,
    width: int = 32,
    n_epochs: int = 10,
    batch_size: int = 256,
    temperature: float = 0.5,
    learning_rate: float = 1e-3,
    seed: int = 0,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Train on ``pictures`` [n, s, s, 3]; the encoder as an ONNX file."""
    torch: Any = require("torch", extra="torch")
    n = len(pictures)
    if n < 2:
        raise InputError(f"SimCLR compares pictures, and there are {n}; give at least two")
    device = best_device()
    draws = np.random.default_rng(np.random.SeedSequence(seed))
    start = random_resnet(depth, width, draws)
    n_features = start["layer4.0.conv1.weight"].shape[0] * (4 if depth == 50 else 1)
    for place, n_out in enumerate((n_features, _PROJECTED)):
        drawn = draws.standard_normal((n_out, n_features)) * np.sqrt(2 / n_features)
        start[f"head.{place}.weight"] = drawn.astype(np.float32)
    tensors = trainable(start, device)
    optimiser = torch.optim.AdamW(parameters(tensors), weight_decay=_DECAY)
    settings = (depth, width, n_epochs, batch_size, temperature, learning_rate, seed, n)
    n_done = read_state(keep, repr(settings), tensors, optimiser)
    n_batches = max(1, n // batch_size)
    for epoch in range(n_done, n_epochs):
        numbers = np.random.SeedSequence(seed, spawn_key=(epoch,)).generate_state(2)
        generator = torch.Generator().manual_seed(int(numbers[0]))
        order = np.random.default_rng(numbers[1]).permutation(n)
        for number, rows in enumerate(np.array_split(order, n_batches)):
            rate = 0.5 * (1 + np.cos(np.pi * (epoch + number / n_batches) / n_epochs))
            for group in optimiser.param_groups:
                group["lr"] = learning_rate * rate
            pixels = planes(pictures, np.sort(rows), device)
            views = torch.cat([random_view(pixels, generator) for _ in range(2)])
            loss = contrast(_projected(tensors, views, depth), temperature)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            if progress is not None:
                progress("SimCLR", epoch * n_batches + number + 1, n_epochs * n_batches)
        write_state(keep, repr(settings), tensors, optimiser, epoch + 1)
    encoder = {name: v for name, v in as_arrays(tensors).items() if not name.startswith("head.")}
    return build_resnet(encoder, depth)


def simclr_features(pictures: NDArray[np.uint8], **choices: Any) -> NDArray[np.float32]:
    """Features [n, d] of ``pictures`` [n, s, s, 3] by an encoder trained on them."""
    extractor = ImageExtractor(
        ImageModel("simclr", train_simclr(pictures, **choices), pictures.shape[1])
    )
    step = extractor.batch_size
    parts = [pictures[start : start + step] for start in range(0, len(pictures), step)]
    return np.concatenate([extractor.run(list(part)) for part in parts])


def contrast(projected: Any, temperature: float) -> Any:
    """NT-Xent: of the 2 b - 1 other views [2 b, d], which one is of the same picture?

    -log(exp(s_ij / t) / sum over l != i of exp(s_il / t)), averaged over i; j = i + b modulo 2 b.
    """
    torch: Any = require("torch", extra="torch")
    unit = torch.nn.functional.normalize(projected, dim=1)
    similarity = unit @ unit.T / temperature  # [2b, 2b]
    similarity = similarity.masked_fill(
        torch.eye(len(unit), dtype=torch.bool, device=unit.device), float("-inf")
    )
    partner = torch.arange(len(unit), device=unit.device).roll(len(unit) // 2)
    return torch.nn.functional.cross_entropy(similarity, partner)


def _projected(tensors: dict[str, Any], views: Any, depth: int) -> Any:
    torch: Any = require("torch", extra="torch")
    layers = TorchLayers(tensors, views, trains=True)
    describe_resnet(layers, depth)
    hidden = torch.relu(layers.output @ tensors["head.0.weight"].T)
    return hidden @ tensors["head.1.weight"].T
