"""Results of the rounds added up, and the majority over them (Algorithm 1, line 20)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs


class Tally:
    """Running sums over rounds, one entry an example.

    An example is corrupted if more than half of the rounds that judged it flagged it: an even
    split leaves a label alone.
    """

    def __init__(self, n_examples: int) -> None:
        self.n_rounds = 0
        self._judged = np.zeros(n_examples, np.int32)
        self._flagged = np.zeros(n_examples, np.int32)
        self._score = np.zeros(n_examples, np.float64)
        self._n_beliefs = 0
        self._beliefs: Beliefs | None = None

    def add(
        self,
        rows: NDArray[np.int64] | None,
        flags: NDArray[np.bool_],
        score: NDArray[np.float32],
    ) -> None:
        """Count one round: ``flags`` and ``score`` [m] of the examples ``rows`` [m], None = all."""
        where: Any = slice(None) if rows is None else rows
        self.n_rounds += 1
        self._judged[where] += 1
        self._flagged[where] += flags
        self._score[where] += score

    def add_beliefs(self, beliefs: Beliefs) -> None:
        """Count what an epoch says of every example's true class."""
        self._n_beliefs += 1
        self._beliefs = beliefs if self._beliefs is None else self._beliefs.plus(beliefs)

    @property
    def beliefs(self) -> Beliefs:
        """Mean of the beliefs of all epochs."""
        if self._beliefs is None:
            raise RuntimeError("no epoch was judged yet")
        share = np.float32(1 / self._n_beliefs)
        return Beliefs(self._beliefs.classes, self._beliefs.probability * share)

    @property
    def is_corrupted(self) -> NDArray[np.bool_]:
        """Flagged in more than half of the rounds that judged it, [n]."""
        return 2 * self._flagged > self._judged

    @property
    def flag_rate(self) -> NDArray[np.float32]:
        """Share of the rounds that flagged it, [n]; 0 if none judged it."""
        return (self._flagged / np.maximum(self._judged, 1)).astype(np.float32)

    @property
    def score(self) -> NDArray[np.float32]:
        """Mean score, [n]; 1, the cleanest, where no round judged."""
        mean = self._score / np.maximum(self._judged, 1)
        return np.where(self._judged > 0, mean, 1.0).astype(np.float32)
