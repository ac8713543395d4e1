"""What the trained baselines share: how a classifier is trained on the given labels.

A detector asks a ``Trainer`` for logits and never sees what it trains: a linear layer on fixed
features (``simifeat.baselines.linear``) or a ResNet on pictures (``simifeat.baselines.resnet``).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError

Floats = NDArray[np.float32]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Recipe:
    """How long and how fast; the defaults are the paper's for every trained baseline."""

    n_epochs: int = 100
    batch_size: int = 128
    learning_rate: float = 0.1
    decay_at: float = 0.5
    """Share of the epochs after which the learning rate falls to a tenth."""
    momentum: float = 0.9
    weight_decay: float = 5e-4
    checkpoints: tuple[float, ...] = (0.4, 0.5, 0.6, 1.0)
    """Shares of the epochs after which the state is kept: epochs 40, 50, 60 and 100 of 100."""

    def __post_init__(self) -> None:
        if self.n_epochs < 1 or self.batch_size < 1:
            raise InputError(
                f"a recipe needs at least 1 epoch and batches of at least 1, got {self.n_epochs} "
                f"epochs and batches of {self.batch_size}"
            )

    def rate(self, epoch: int) -> float:
        """Learning rate in ``epoch``, counted from 0."""
        late = epoch >= round(self.decay_at * self.n_epochs)
        return self.learning_rate / 10 if late else self.learning_rate

    def keeps(self, epoch: int) -> bool:
        """Whether the state after ``epoch`` is a checkpoint; the last one always is."""
        after = {max(1, round(share * self.n_epochs)) for share in self.checkpoints}
        return epoch + 1 in after | {self.n_epochs}


@dataclass(frozen=True)
class Objective:
    """The loss: cross-entropy, or CORES's; see ``simifeat.baselines.cores``."""

    beta_max: float = 0.0
    """Weight of the confidence regulariser once it has risen; 0 is plain cross-entropy."""
    warm_up: float = 0.1
    """Share of the epochs with weight 0."""
    ramp: float = 0.3
    """Share of the epochs, after those, over which the weight rises in a straight line."""
    sieve_from: float | None = None
    """Share of the epochs after which examples sieved out are no longer learnt; None: never."""

    def beta(self, epoch: int, n_epochs: int) -> float:
        """Weight of the regulariser in ``epoch``, counted from 0."""
        risen = (epoch / n_epochs - self.warm_up) / self.ramp
        return self.beta_max * min(1.0, max(0.0, risen))

    def sieves(self, epoch: int, n_epochs: int) -> bool:
        """Whether only examples the sieve lets through are learnt in ``epoch``."""
        return self.sieve_from is not None and epoch >= self.sieve_from * n_epochs


CROSS_ENTROPY = Objective()


@dataclass(frozen=True)
class Checkpoint:
    """A classifier part of the way: what its last layer sees and says of every example."""

    learning_rate: float
    inputs: Floats  # [n, d] of the last layer, a constant 1 for its bias included
    logits: Floats  # [n, K]


@dataclass(frozen=True)
class Training:
    """The checkpoints of one training, the end of it last."""

    checkpoints: tuple[Checkpoint, ...]

    @property
    def logits(self) -> Floats:
        """What the trained classifier says, [n, K]."""
        return self.checkpoints[-1].logits


class Trainer(Protocol):
    """Trains a classifier on given labels."""

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
        """Train on ``rows`` (default all) of ``inputs`` [n, ...] and look at all n examples."""


class Remembering:
    """A trainer that keeps what it trained, so that detectors with a common training share it."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._known: dict[str, Training] = {}

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
        """Train, unless just this was trained before."""
        key = training_key(inputs, codes, rows, (n_classes, objective, last_only, seed))
        if key not in self._known:
            self._known[key] = self._trainer.fit(
                inputs,
                codes,
                n_classes,
                objective=objective,
                rows=rows,
                last_only=last_only,
                seed=seed,
            )
        return self._known[key]


def training_key(
    inputs: Any, codes: Codes, rows: NDArray[np.int64] | None, settings: object
) -> str:
    """What tells a training from others, 32 digits."""
    digest = hashlib.sha256(np.ascontiguousarray(inputs).data)
    digest.update(codes.data)
    digest.update(b"all" if rows is None else np.ascontiguousarray(rows).data)
    digest.update(repr(settings).encode())
    return digest.hexdigest()[:32]


def label_frequency(codes: Codes, n_classes: int) -> Floats:
    """Share of each class among the given labels, [K]."""
    return (np.bincount(codes, minlength=n_classes) / len(codes)).astype(np.float32)


def softmax(logits: Floats) -> Floats:
    """Probabilities [n, K]."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def out_of_sample(
    trainer: Trainer, inputs: Any, codes: Codes, n_classes: int, n_folds: int, seed: int
) -> Floats:
    """Probabilities [n, K] of classifiers that did not see the example: ``n_folds`` trainings.

    Every class is dealt out evenly over the folds.
    """
    n = len(codes)
    if not 2 <= n_folds <= n:
        raise InputError(f"n_folds is {n_folds}; give 2 to the number of examples, {n}")
    shuffled = np.lexsort((np.random.default_rng(seed).random(n), codes))
    fold = np.empty(n, np.int64)
    fold[shuffled] = np.arange(n) % n_folds
    probabilities = np.empty((n, n_classes), np.float32)
    for number in range(n_folds):
        held_out = fold == number
        training = trainer.fit(
            inputs,
            codes,
            n_classes,
            rows=np.flatnonzero(~held_out),
            last_only=True,
            seed=seed,
        )
        probabilities[held_out] = softmax(training.logits[held_out])
    return probabilities
