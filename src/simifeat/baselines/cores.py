"""CORES: a sieve of confidence-regularised training; see ``simifeat.baselines.confidence_loss``."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from simifeat.baselines.confidence_loss import sieve, sieve_margin
from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.outcome import Examples, outcome
from simifeat.baselines.training import Objective, Trainer, softmax
from simifeat.verdicts import Verdicts


def cores(
    features: Any,
    labels: ArrayLike,
    *,
    seed: int = 0,
    trainer: Trainer | None = None,
    beta: float = 2.0,
    ids: ArrayLike | None = None,
) -> Verdicts:
    """Flag what the sieve holds back after training with the regulariser's weight ``beta``.

    The defaults are its authors': the weight is 0 for a tenth of the epochs and rises to ``beta``
    over the next three tenths, the learning rate is divided by 1 + weight, and after three tenths
    what is sieved out is no longer learnt.
    ``score`` is the threshold less the loss.
    """
    return sieved(features, labels, "cores", beta, seed=seed, trainer=trainer, ids=ids)


def sieved(
    features: Any,
    labels: ArrayLike,
    method: str,
    beta: float,
    *,
    seed: int,
    trainer: Trainer | None,
    ids: ArrayLike | None,
) -> Verdicts:
    """Train with a sieve and flag what it holds back."""
    examples = Examples.of(features, labels, ids)
    codes = examples.labels.codes
    objective = Objective(beta_max=beta, sieve_from=0.3)
    training = (trainer or LinearTrainer()).fit(
        features, codes, examples.labels.n_classes, objective=objective, seed=seed
    )
    return outcome(
        examples,
        method,
        is_corrupted=~sieve(training.logits, codes),
        score=sieve_margin(training.logits, codes),
        probability=softmax(training.logits),
        seed=seed,
        settings={"beta": beta, "trainer": repr(trainer or LinearTrainer())},
    )
