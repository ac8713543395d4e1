"""Can T be told from these triples at all? What to lean on where it can, what to say where not.

The yardstick is the agreement of neighbours' labels beyond chance: with A the share of equal pairs
within the triples and F = sum_j f_j^2 the share that independent labels would show,
kappa = (A - F) / (1 - F). If labels were replaced at a rate e by draws from f, whatever the class,
kappa = (1 - e)^2: the one-parameter model that small samples are shrunk to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.consensus import N_VIEWS, Triples

Array = NDArray[np.float64]

MIN_PER_CLASS = 10
"""Examples a class needs before its row of T means anything."""
_MIN_SIGMAS = 3.0  # agreement must exceed chance by so many standard errors
_MIN_KAPPA = 0.01  # with less, even many rows say nothing: labels keep (1 - e) < 0.1 of the truth
_MIN_SINGULAR = 0.05  # below it some mixture of classes leaves (almost) no trace in the labels
_MOST_CLASSES = 1000  # of more, those that keep the fewest labels: mixtures hide among them
_N_NAMED = 5


@dataclass(frozen=True)
class Agreement:
    """How much neighbours' labels agree beyond chance."""

    kappa: float
    sigmas: float
    """Excess over chance in standard errors."""
    frequency: Array  # [K], P(label = j) over all labels of the triples

    @classmethod
    def measure(cls, triples: Triples) -> Agreement:
        """Pool the three pairs of every triple.

        Among strangers, 1[a = b] - f_a - f_b + F has the variance F - 2 sum_j f_j^3 + F^2 and is
        uncorrelated between pairs, even those that share a label. No more than three of the 3n
        pairs are the same two examples on average, so they count as n.
        """
        k, n = triples.n_classes, triples.n_triples
        frequency = np.zeros(k)
        for view in range(N_VIEWS):
            frequency += np.bincount(triples.labels[:, view], weights=triples.counts, minlength=k)
        frequency = frequency / (N_VIEWS * n) if n else np.full(k, 1 / k)
        own, first, second = triples.labels.T
        equal = (own == first).astype(int) + (own == second) + (first == second)  # [d]
        share = float((equal * triples.counts).sum()) / (N_VIEWS * n) if n else 0.0
        chance = float((frequency**2).sum())
        if chance >= 1.0 or not n:
            return cls(0.0, 0.0, frequency)
        variance = chance - 2 * float((frequency**3).sum()) + chance**2
        error = np.sqrt(variance / n)
        return cls((share - chance) / (1 - chance), float((share - chance) / error), frequency)

    @property
    def is_chance(self) -> bool:
        """Neighbours' labels agree no better than those of strangers."""
        return self.sigmas < _MIN_SIGMAS or self.kappa < _MIN_KAPPA

    @property
    def kept(self) -> float:
        """1 - e, the share of labels that T = (1 - e) I + e 1 f' leaves alone; 1 if chance."""
        return 1.0 if self.is_chance else min(1.0, float(np.sqrt(self.kappa)))


def find_reasons(
    matrix: Array,
    triples: Triples,
    agreement: Agreement,
    classes: Sequence[Any] | NDArray[Any] | None = None,
) -> tuple[str, ...]:
    """Why T [K, K] cannot be told from the triples; empty where it can."""
    names = np.arange(triples.n_classes) if classes is None else classes
    if agreement.is_chance:
        return (
            f"neighbours' labels agree no more than chance (kappa {agreement.kappa:.3f}, "
            f"{agreement.sigmas:.1f} standard errors, {triples.n_triples} triples): the features "
            "have no clusters that follow the labels, or the rows are too few; T is set to the "
            "identity",
        )
    reasons = []
    own = np.bincount(triples.labels[:, 0], weights=triples.counts, minlength=triples.n_classes)
    rare = np.flatnonzero(own < MIN_PER_CLASS)
    if len(rare):
        reasons.append(
            f"{_these(rare, names)} {_verb(rare, 'has', 'have')} fewer than {MIN_PER_CLASS} "
            "examples; add examples or merge classes"
        )
    weak = np.sort(np.argsort(np.diagonal(matrix), kind="stable")[:_MOST_CLASSES])
    left, singular, _ = np.linalg.svd(matrix[np.ix_(weak, weak)])
    if singular[-1] < _MIN_SINGULAR:
        alike = weak[np.abs(left[:, -1]) > 0.5 * np.abs(left[:, -1]).max()]
        reasons.append(
            f"{_these(alike, names)} cannot be told apart by their labels (smallest singular value "
            f"of T {singular[-1]:.3f}); the features may mix them, or their labels are mostly noise"
        )
    swamped = np.flatnonzero(matrix.argmax(axis=1) != np.arange(len(matrix)))
    if len(swamped):
        reasons.append(
            f"{_these(swamped, names)} {_verb(swamped, 'bears', 'bear')} another label more often "
            "than the right one, so true classes and labels may be mixed up"
        )
    return tuple(reasons)


def _these(which: NDArray[np.integer], names: Sequence[Any] | NDArray[Any]) -> str:
    shown = ", ".join(repr(_plain(names[i])) for i in which[:_N_NAMED])
    if len(which) > _N_NAMED:
        return f"classes {shown} and {len(which) - _N_NAMED} more"
    return f"class {shown}" if len(which) == 1 else f"classes {shown}"


def _verb(which: NDArray[np.integer], one: str, many: str) -> str:
    return one if len(which) == 1 else many


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
