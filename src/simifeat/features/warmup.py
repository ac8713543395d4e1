"""One short epoch of fine-tuning on the given labels, as the paper does for Clothing1M."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.features.layers import Weights
from simifeat.features.torchlayers import (
    TorchLayers,
    as_arrays,
    best_device,
    parameters,
    planes,
    trainable,
)
from simifeat.features.trainstate import read_state, write_state
from simifeat.features.views import cropped_and_flipped
from simifeat.io.source import Progress

BATCH = 32
_RATE, _MOMENTUM = 2e-3, 0.9
_PART = 50  # batches between two states on disk


def balanced_draws(codes: NDArray[np.int64], n_batches: int, seed: int) -> NDArray[np.int64]:
    """Rows [n_batches, 32]: a class is drawn first, every one alike, then one of its rows."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    drawn = rng.integers(len(counts), size=(n_batches, BATCH))
    return order[starts[drawn] + rng.integers(counts[drawn])]


def train_on_labels(
    weights: Weights,
    describe: Callable[[Any], None],
    pictures: NDArray[np.uint8],
    batches: Sequence[NDArray[np.int64]],
    codes: NDArray[np.int64],
    *,
    seed: int = 0,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, NDArray[np.float32]]:
    """The weights after a step of SGD for each of ``batches``, rows of ``pictures`` [m, s, s, 3].

    A linear layer on the features tells the classes ``codes`` [m] apart; it starts at 0 and is
    left behind. Pictures are cropped and flipped at random.
    """
    torch: Any = require("torch", extra="torch")
    device = best_device()

    def features(tensors: dict[str, Any], pixels: Any, *, trains: bool) -> Any:
        layers = TorchLayers(tensors, pixels, trains=trains)
        describe(layers)
        return layers.output

    used = {name: value for name, value in weights.items() if np.asarray(value).ndim > 0}
    with torch.no_grad():
        some = planes(pictures, np.arange(1), device)
        width = features(trainable(used, device), some, trains=False).shape[1]
    n_classes = int(codes.max()) + 1
    head = {
        "head.weight": np.zeros((n_classes, width), np.float32),
        "head.bias": np.zeros(n_classes, np.float32),
    }
    tensors = trainable({**used, **head}, device)
    optimiser = torch.optim.SGD(parameters(tensors), lr=_RATE, momentum=_MOMENTUM)
    settings = repr((len(batches), len(pictures), pictures.shape[1], n_classes, seed))
    n_done = read_state(keep, settings, tensors, optimiser)
    for number in range(n_done, len(batches)):
        rows = batches[number]
        numbers = np.random.SeedSequence(seed, spawn_key=(3, number)).generate_state(1)
        generator = torch.Generator().manual_seed(int(numbers[0]))
        if len(rows) > 1:  # a batch norm of one picture is none
            pixels = cropped_and_flipped(planes(pictures, rows, device), generator)
            found = features(tensors, pixels, trains=True)
            told = found @ tensors["head.weight"].T + tensors["head.bias"]
            wanted = torch.from_numpy(codes[rows]).to(device)
            loss = torch.nn.functional.cross_entropy(told, wanted)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        if progress is not None:
            progress("warm-up", number + 1, len(batches))
        if (number + 1) % _PART == 0:
            write_state(keep, settings, tensors, optimiser, number + 1)
    return {name: v for name, v in as_arrays(tensors).items() if not name.startswith("head.")}
