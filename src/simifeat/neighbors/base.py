"""What every neighbour engine returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Metric = Literal["cosine", "euclidean"]


@dataclass(frozen=True)
class Neighbors:
    """The k nearest neighbours of every example, the example itself excluded by its index.

    ``index`` is int32 [n, k], ``similarity`` float32 [n, k], both in order of falling similarity,
    ties by the lower index. A row with fewer than k neighbours ends in index -1, similarity 0.

    Cosine similarity is the cosine itself, 0 with a zero vector; Euclidean similarity is
    1 / (1 + distance), so that it falls with distance and stays in (0, 1].
    """

    index: NDArray[np.int32]  # [n, k]
    similarity: NDArray[np.float32]  # [n, k]
    metric: str
    engine: str
    reason: str
    """One line: which engine was chosen and why."""
    recall: float | None = 1.0
    """Share of the true neighbours found: 1 for an exact engine, measured on a sample for an
    approximate one, None where nobody measured it."""

    def first(self, k: int) -> Neighbors:
        """The nearest ``k`` of them alone."""
        return replace(self, index=self.index[:, :k], similarity=self.similarity[:, :k])

    @property
    def n_examples(self) -> int:
        """Number of rows."""
        return int(self.index.shape[0])

    @property
    def k(self) -> int:
        """Number of neighbours a row can hold."""
        return int(self.index.shape[1])
