"""Are these features good enough to judge labels by, and how many neighbours should count?

The yardstick is clusterability, 1 - delta_k of Definition 1: the share of examples whose k nearest
neighbours all have their true class. True classes are not known here; the labels that ``detect``
suggests stand in for them. ``docs/fitness.md`` says how close that comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.dataset import Dataset, Labels
from simifeat.detect import Progress, detect
from simifeat.errors import InputError
from simifeat.neighbors import Graph, Metric, Neighbors, as_neighbors, find_neighbors
from simifeat.neighbors.find import Engine
from simifeat.theory import clusterability_curve, recommend_k

Grade = Literal["good", "usable", "poor", "unknown"]

_K_MAX = 50
GOOD, USABLE = 0.75, 0.4  # separation; docs/fitness.md says what was seen at these


@dataclass(frozen=True)
class Fitness:
    """What the features are worth, as estimated from given labels alone."""

    n_examples: int
    n_classes: int
    agreement: float
    """Share of examples whose nearest neighbour bears the same given label."""
    chance: float
    """The same share if labels and features had nothing to do with each other."""
    noise_rate: float
    """Mean P(corrupted)."""
    ks: NDArray[np.int64]
    clusterability: NDArray[np.float64]
    """Estimated 1 - delta_k for each of ``ks``."""
    bounds: NDArray[np.float64] | None
    """Proposition 1: lower bound of P(the vote is right) for each of ``ks``, where there is one."""
    reasons: tuple[str, ...]
    """Why nothing can be said; empty where something can."""

    @property
    def k(self) -> int | None:
        """The k with the highest bound; the smallest of equals."""
        return None if self.bounds is None else int(self.ks[self.bounds.argmax()])

    @property
    def excess(self) -> float:
        """Agreement of the nearest neighbour's label beyond chance: 0 none, 1 all."""
        return (self.agreement - self.chance) / (1 - self.chance)

    @property
    def error(self) -> float:
        """Standard error of ``excess``; two mutual neighbours count as one pair."""
        share = min(max(self.agreement, 1 / self.n_examples), 1 - 1 / self.n_examples)
        return float(np.sqrt(2 * share * (1 - share) / self.n_examples)) / (1 - self.chance)

    @property
    def separation(self) -> float:
        """Share of nearest neighbours of the same true class, beyond chance: 0 none, 1 all."""
        return (float(self.clusterability[0]) - self.chance) / (1 - self.chance)

    @property
    def grade(self) -> Grade:
        """The separation in a word."""
        if self.reasons:
            return "unknown"
        if self.separation >= GOOD:
            return "good"
        return "usable" if self.separation >= USABLE else "poor"


def assess(
    features: ArrayLike | None,
    labels: ArrayLike,
    *,
    metric: Metric = "cosine",
    engine: Engine = "auto",
    neighbors: Neighbors | Graph | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Fitness:
    """Assess ``features`` [n, d] by given ``labels`` [n].

    With ``neighbors``, a graph that is already there, features may be None.
    """
    encoded = Labels.encode(labels)
    if neighbors is not None:
        graph = as_neighbors(neighbors, len(encoded.codes), _K_MAX)
    elif features is None:
        raise InputError("there are no features; give them, or a graph as neighbors=")
    else:
        graph = find_neighbors(
            Dataset.from_arrays(features, encoded).features,
            _K_MAX,
            metric,
            engine,
            n_threads=n_threads,
            seed=seed,
            progress=None if progress is None else lambda done, n: progress("neighbours", done, n),
        )
    found = detect(None, labels, neighbors=graph, seed=seed, n_threads=n_threads, progress=progress)
    nearest = graph.index[:, 0]  # [n]
    same = (encoded.codes == encoded.codes[nearest]) & (nearest >= 0)
    curve = clusterability_curve(graph, found.suggested)
    noise_rate = float(found.p_corrupted.mean())
    bounds = None
    if noise_rate < 1 - 1 / encoded.n_classes:
        bounds = recommend_k(curve, noise_rate, n_classes=encoded.n_classes).bounds
    return Fitness(
        n_examples=len(encoded.codes),
        n_classes=encoded.n_classes,
        agreement=float(same.mean()),
        chance=float((found.transition.label_frequency**2).sum()),
        noise_rate=noise_rate,
        ks=np.arange(1, graph.k + 1),
        clusterability=curve,
        bounds=bounds,
        reasons=found.transition.reasons,
    )
