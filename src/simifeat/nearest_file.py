"""The nearest neighbours of flagged examples, kept beside the verdicts as the reason for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.io.atomic import replacing
from simifeat.io.reading import reading
from simifeat.neighbors import Neighbors

N_KEPT = 10


@dataclass(frozen=True, eq=False)
class Nearest:
    """Neighbours of the m rows that have some kept."""

    rows: NDArray[np.int64]  # [m], rising
    index: NDArray[np.int32]  # [m, k], -1 where there is none
    similarity: NDArray[np.float32]  # [m, k]

    @classmethod
    def none(cls) -> Nearest:
        """Where nothing was kept."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 0), np.int32), np.zeros((0, 0), np.float32))

    @classmethod
    def of(cls, neighbors: Neighbors, rows: NDArray[np.int64], k: int = N_KEPT) -> Nearest:
        """The first k neighbours of ``rows``."""
        rows = np.sort(rows)
        return cls(rows, neighbors.index[rows, :k], neighbors.similarity[rows, :k])

    def to(self, row: int) -> Sequence[tuple[int, float]]:
        """Row and similarity of each neighbour of ``row``, the nearest first."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return []
        pairs = zip(self.index[place].tolist(), self.similarity[place].tolist(), strict=True)
        return [(other, similarity) for other, similarity in pairs if other >= 0]


def nearest_path(verdicts: Path) -> Path:
    """Where the neighbours that belong to a verdict file are kept."""
    return verdicts.with_name(f"{verdicts.stem}.nearest.npz")


def save_nearest(nearest: Nearest, verdicts: Path) -> None:
    """Keep ``nearest`` beside the verdict file."""
    with replacing(nearest_path(verdicts)) as (file,):
        np.savez_compressed(
            file, rows=nearest.rows, index=nearest.index, similarity=nearest.similarity
        )


def load_nearest(verdicts: Path) -> Nearest:
    """What ``save_nearest`` kept; nothing if there is no such file."""
    path = nearest_path(verdicts)
    if not path.exists():
        return Nearest.none()
    with reading(path, "an .npz file"), np.load(path) as stored:
        return Nearest(stored["rows"], stored["index"], stored["similarity"])
