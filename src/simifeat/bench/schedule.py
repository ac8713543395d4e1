"""Table 4's training: cross-entropy on what was selected, tested on clean labels each epoch.

The paper's schedule: a ResNet-50 that knows ImageNet, 80 epochs, each of 1,000 mini-batches of 32
drawn from what was selected, from all alike or from every given class alike. It names no learning
rate but the warm-up's, .002; here that is the rate, and a tenth of it in the second half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.network import Network
from simifeat.baselines.training import Floats
from simifeat.bench.cells import Say
from simifeat.bench.clothing import ClothingSet, Part
from simifeat.errors import InputError, require
from simifeat.features.resnet import random_resnet
from simifeat.features.trainstate import read_state, write_state
from simifeat.io.atomic import write_bytes

_MOMENTUM, _WEIGHT_DECAY = 0.9, 1e-3
_LOOK_BATCH = 128


@dataclass(frozen=True)
class Schedule:
    """How a network is trained; the defaults are the paper's."""

    n_epochs: int = 80
    n_batches: int = 1000
    batch_size: int = 32
    learning_rate: float = 0.002
    size: int = 224
    """Pixels a side."""
    depth: int = 50
    width: int = 64
    weights: Path | None = None
    """A state dict to start from, .safetensors or .pth; None: random weights."""

    def encoder(self, seed: int) -> Mapping[str, Floats]:
        """The weights to start from."""
        if self.weights is None:
            return random_resnet(self.depth, self.width, np.random.default_rng(seed))
        return _read_weights(self.weights)

    def rate(self, epoch: int) -> float:
        """Learning rate in ``epoch``, counted from 0."""
        return self.learning_rate / (10 if epoch >= self.n_epochs / 2 else 1)


def drawn_rows(
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    n_drawn: int,
    balanced: bool,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """``n_drawn`` of ``rows`` in random order; none twice before all were drawn once.

    ``balanced``: equally many of every class that is there, to within one.
    """
    pools = [rows]
    if balanced:
        pools = [rows[labels[rows] == label] for label in np.unique(labels[rows])]
    places, left_over = divmod(n_drawn, len(pools))
    drawn = []
    for turn, pool in enumerate(rng.permutation(len(pools))):
        wanted = places + (turn < left_over)
        members = pools[pool]
        n_rounds = -(-wanted // len(members))
        drawn += [np.concatenate([rng.permutation(members) for _ in range(n_rounds)])[:wanted]]
    return rng.permutation(np.concatenate(drawn))


def train_epoch(
    network: Network,
    optimiser: Any,
    part: Part,
    rows: NDArray[np.int64],
    schedule: Schedule,
    rate: float,
    seed: np.random.SeedSequence,
) -> None:
    """One epoch of cross-entropy on ``rows`` in this order, cropped and flipped at random."""
    torch: Any = require("torch", extra="torch")
    generator = torch.Generator().manual_seed(int(seed.generate_state(1)[0]))
    batches = np.array_split(rows, max(1, round(len(rows) / schedule.batch_size)))
    for batch, pictures in zip(batches, part.batches(batches, schedule.size), strict=True):
        pixels = network.shown(pictures, np.arange(len(pictures)), generator)
        _, logits = network.forward(pixels, trains=True)
        given = torch.from_numpy(part.labels[batch]).to(network.device)
        network.step(optimiser, torch.nn.functional.cross_entropy(logits, given), rate)


def train_selected(
    data: ClothingSet,
    rows: NDArray[np.int64],
    balanced: bool,
    schedule: Schedule,
    seed: int,
    keep: Path,
    say: Say = lambda _: None,
) -> list[float]:
    """Train on ``rows`` of the training pictures; the share of test pictures right, each epoch.

    The state and the shares so far are at ``keep``, a path that no other training has: one that
    was cut goes on there.
    """
    network = Network(schedule.encoder(seed), schedule.depth, data.n_classes, seed)
    optimiser = network.optimiser(_MOMENTUM, _WEIGHT_DECAY)
    told = keep.with_suffix(".json")
    n_done = read_state(keep, repr((schedule, seed)), network.tensors, optimiser)
    shares: list[float] = json.loads(told.read_text()) if n_done else []
    shares = shares[:n_done]
    for epoch in range(n_done, schedule.n_epochs):
        draws = np.random.SeedSequence(seed, spawn_key=(3, epoch))
        order, views = draws.spawn(2)
        n_drawn = schedule.n_batches * schedule.batch_size
        drawn = drawn_rows(rows, data.train.labels, n_drawn, balanced, np.random.default_rng(order))
        train_epoch(network, optimiser, data.train, drawn, schedule, schedule.rate(epoch), views)
        shares.append(share_right(network, data.test, schedule.size))
        say(
            f"epoch {epoch + 1} of {schedule.n_epochs}: {100 * shares[-1]:.2f} % of the tests right"
        )
        write_bytes(told, json.dumps(shares).encode())  # before the state that counts it as done
        write_state(keep, repr((schedule, seed)), network.tensors, optimiser, epoch + 1)
    return shares


def share_right(network: Network, part: Part, size: int) -> float:
    """Share of the pictures whose label the network gives."""
    batches = np.array_split(np.arange(len(part)), -(-len(part) // _LOOK_BATCH))
    right = 0
    for batch, pictures in zip(batches, part.batches(batches, size), strict=True):
        _, logits = network.look(pictures)
        right += int((logits.argmax(axis=1) == part.labels[batch]).sum())
    return right / len(part)


def _read_weights(path: Path) -> Mapping[str, Floats]:
    from simifeat.features.safetensors import read_safetensors
    from simifeat.features.torchfile import read_state_dict

    read = read_safetensors if path.suffix == ".safetensors" else read_state_dict
    try:
        found = read(path)
    except OSError as error:
        raise InputError(f"cannot read the weights {path}: {error.strerror or error}") from error
    encoder = {
        name: np.asarray(value, np.float32)
        for name, value in found.items()
        if not name.startswith("fc.") and not name.endswith("num_batches_tracked")
    }
    if "conv1.weight" not in encoder:
        raise InputError(f"{path} holds no weights of a ResNet under torchvision's names")
    return encoder
