"""A ResNet with a last layer on it, trained by torch: on noisy pictures, and in Table 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.confidence_loss import FLOOR
from simifeat.baselines.training import Floats
from simifeat.errors import InputError, require
from simifeat.features.resnet import build_resnet, describe_resnet, random_resnet
from simifeat.features.torchlayers import (
    TorchLayers,
    as_arrays,
    best_device,
    parameters,
    planes,
    trainable,
)
from simifeat.features.views import cropped_and_flipped

Pictures = NDArray[np.uint8]  # [n, s, s, 3]
_LOOK_BATCH = 256
_LAST = "last."  # the last layer's tensors, beside those of the encoder


class Network:
    """The tensors of a ResNet of ``depth`` and of its last layer."""

    def __init__(
        self, encoder: Mapping[str, Floats], depth: int, n_classes: int, seed: int
    ) -> None:
        """Start from the weights ``encoder`` and a random last layer for ``n_classes``."""
        draws = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        expansion = 4 if depth == 50 else 1
        width = encoder["layer4.0.conv1.weight"].shape[0] * expansion
        drawn = draws.standard_normal((n_classes, width)) / np.sqrt(width)
        last = {"weight": drawn.astype(np.float32), "bias": np.zeros(n_classes, np.float32)}
        self.depth = depth
        self.device = best_device()
        start = {**encoder, **{f"{_LAST}{name}": value for name, value in last.items()}}
        self.tensors: dict[str, Any] = trainable(start, self.device)

    @classmethod
    def random(cls, depth: int, width: int, n_classes: int, seed: int) -> Network:
        """Start from random weights, ``width`` channels in the first stage."""
        draws = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        return cls(random_resnet(depth, width, draws), depth, n_classes, seed)

    def optimiser(self, momentum: float, weight_decay: float) -> Any:
        """Stochastic gradient descent on all of it; the learning rate is set by ``step``."""
        torch: Any = require("torch", extra="torch")
        return torch.optim.SGD(
            parameters(self.tensors), lr=1.0, momentum=momentum, weight_decay=weight_decay
        )

    def forward(self, pixels: Any, *, trains: bool) -> tuple[Any, Any]:
        """Features [b, d] and logits [b, K] of float pixels [b, 3, h, w] in 0..255."""
        layers = TorchLayers(self.tensors, pixels, trains=trains)
        describe_resnet(layers, self.depth)
        weight, bias = self.tensors[f"{_LAST}weight"], self.tensors[f"{_LAST}bias"]
        return layers.output, layers.output @ weight.T + bias

    def step(self, optimiser: Any, loss: Any, rate: float) -> None:
        """One step down the gradient of ``loss``."""
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    def shown(self, pictures: Pictures, rows: NDArray[np.int64], generator: Any) -> Any:
        """Pictures of ``rows`` as pixels, cropped and flipped at random."""
        return cropped_and_flipped(planes(pictures, rows, self.device), generator)

    def look(self, pictures: Pictures) -> tuple[Floats, Floats]:
        """Features [n, d] and logits [n, K] of all pictures as they are."""
        torch: Any = require("torch", extra="torch")
        features, logits = [], []
        with torch.no_grad():
            for start in range(0, len(pictures), _LOOK_BATCH):
                rows = np.arange(start, min(start + _LOOK_BATCH, len(pictures)))
                seen, said = self.forward(planes(pictures, rows, self.device), trains=False)
                features.append(seen.cpu().numpy())
                logits.append(said.cpu().numpy())
        return np.concatenate(features), np.concatenate(logits)

    def encoder(self) -> bytes:
        """The network without its last layer as an ONNX file."""
        arrays = as_arrays(self.tensors)
        return build_resnet(
            {k: v for k, v in arrays.items() if not k.startswith(_LAST)}, self.depth
        )


def torch_loss(logits: Any, codes: Any, prior: Any, beta: float, sieving: bool) -> Any:
    """Mean of ``simifeat.baselines.confidence_loss`` over what the sieve lets through."""
    torch: Any = require("torch", extra="torch")
    plain = torch.nn.functional.cross_entropy(logits, codes, reduction="none")
    if not beta and not sieving:
        return plain.mean()
    bounded = -(torch.softmax(logits, dim=1) + FLOOR).log()  # [b, K]
    losses = plain - beta * (bounded @ prior)
    if not sieving:
        return losses.mean()
    passed = (bounded.mean(dim=1) > plain).detach()
    return (losses * passed).sum() / passed.sum().clamp(min=1)


def check_pictures(inputs: Any) -> Pictures:
    """``inputs`` as uint8 [n, s, s, 3]."""
    pictures = np.asarray(inputs)
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[3] != 3:
        raise InputError(
            f"a ResNet is trained on pictures, uint8 [n, s, s, 3], and these are "
            f"{pictures.dtype} {list(pictures.shape)}; give the pixels of the pictures"
        )
    return pictures
