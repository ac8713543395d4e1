"""A ResNet trained on the noisy pictures: the paper's Table 1. Needs torch; a GPU for its size.

    cores(pictures, labels, trainer=ResNetTrainer(keep=Path("training")))

With ``keep``, a folder, the state is written after every epoch as plain arrays, and so is every
checkpoint that TracIn asks for: a training that was cut goes on after its last whole epoch, and one
that is complete is not repeated.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.baselines.network import Network, Pictures, check_pictures, torch_loss
from simifeat.baselines.training import (
    CROSS_ENTROPY,
    Checkpoint,
    Codes,
    Objective,
    Recipe,
    Training,
    label_frequency,
    training_key,
)
from simifeat.errors import require
from simifeat.features.trainstate import read_state, write_state
from simifeat.io.atomic import replacing


@dataclass(frozen=True)
class ResNetTrainer:
    """Cross-entropy, or the loss of CORES, on pictures cropped and flipped at random."""

    recipe: Recipe = field(default_factory=Recipe)
    depth: int = 34
    width: int = 64
    """Channels of the first stage; 64 is the paper's."""
    keep: Path | None = field(default=None, repr=False)
    """Folder for the states; None keeps nothing."""

    def fit(
        self,
        inputs: Any,
        codes: Codes,
        n_classes: int,
        *,
        objective: Objective = CROSS_ENTROPY,
        rows: NDArray[np.int64] | None = None,
        last_only: bool = False,
        seed: int = 0,
    ) -> Training:
        """Train on ``rows`` (default all) of the pictures ``inputs`` [n, s, s, 3]; look at all."""
        torch: Any = require("torch", extra="torch")
        pictures = check_pictures(inputs)
        learnt = np.arange(len(pictures)) if rows is None else rows
        recipe = self.recipe
        kept_after = [
            epoch
            for epoch in range(recipe.n_epochs)
            if epoch + 1 == recipe.n_epochs or (recipe.keeps(epoch) and not last_only)
        ]
        key = training_key(pictures, codes, rows, (n_classes, objective, last_only, seed, self))
        states = _States(self.keep, key)
        network, optimiser = self._start(n_classes, seed)
        n_done = read_state(states.path, key, network.tensors, optimiser)
        if not all(states.has(epoch) for epoch in kept_after if epoch < n_done):
            network, optimiser = self._start(n_classes, seed)
            n_done = 0
        given = torch.from_numpy(codes.astype(np.int64)).to(network.device)
        prior = torch.from_numpy(label_frequency(codes[learnt], n_classes)).to(network.device)
        n_batches = max(1, round(len(learnt) / recipe.batch_size))
        for epoch in range(n_done, recipe.n_epochs):
            beta = objective.beta(epoch, recipe.n_epochs)
            sieving = objective.sieves(epoch, recipe.n_epochs)
            rate = recipe.rate(epoch) / (1 + beta)
            numbers = np.random.SeedSequence(seed, spawn_key=(2, epoch)).generate_state(2)
            generator = torch.Generator().manual_seed(int(numbers[0]))
            order = np.random.default_rng(numbers[1]).permutation(learnt)
            for batch in np.array_split(order, n_batches):
                _, logits = network.forward(network.shown(pictures, batch, generator), trains=True)
                loss = torch_loss(logits, given[batch], prior, beta, sieving)
                network.step(optimiser, loss, rate)
            if epoch in kept_after:
                states.put(epoch, _checkpoint(network, pictures, rate))
            write_state(states.path, key, network.tensors, optimiser, epoch + 1)
        return Training(tuple(states.get(epoch) for epoch in kept_after))

    def _start(self, n_classes: int, seed: int) -> tuple[Network, Any]:
        network = Network.random(self.depth, self.width, n_classes, seed)
        return network, network.optimiser(self.recipe.momentum, self.recipe.weight_decay)


def _checkpoint(network: Network, pictures: Pictures, rate: float) -> Checkpoint:
    features, logits = network.look(pictures)
    ones = np.ones((len(features), 1), np.float32)
    return Checkpoint(rate, np.concatenate([features, ones], axis=1), logits)


class _States:
    """The checkpoints of one training, in memory or in a folder."""

    def __init__(self, folder: Path | None, key: str) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self.path = None if folder is None else folder / f"{key}.npz"
        self._folder, self._key = folder, key
        self._known: dict[int, Checkpoint] = {}

    def put(self, epoch: int, checkpoint: Checkpoint) -> None:
        """Keep it."""
        self._known[epoch] = checkpoint
        if self._folder is not None:
            with replacing(self._place(self._folder, epoch)) as (file,):
                np.savez(
                    file,
                    rate=np.array(checkpoint.learning_rate),
                    inputs=checkpoint.inputs,
                    logits=checkpoint.logits,
                )

    def has(self, epoch: int) -> bool:
        """Whether it can be read."""
        if epoch not in self._known and self._folder is not None:
            try:
                place = self._place(self._folder, epoch)
                with place.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                    rate, inputs, logits = float(kept["rate"]), kept["inputs"], kept["logits"]
                self._known[epoch] = Checkpoint(rate, inputs, logits)
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                return False
        return epoch in self._known

    def get(self, epoch: int) -> Checkpoint:
        """One that is there."""
        return self._known[epoch]

    def _place(self, folder: Path, epoch: int) -> Path:
        return folder / f"{self._key}-{epoch + 1}.npz"
