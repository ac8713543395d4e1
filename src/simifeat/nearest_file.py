"""The nearest neighbours of flagged examples, kept beside the verdicts as the reason for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.atomic import replacing
from simifeat.io.reading import reading
from simifeat.neighbors import Neighbors
from simifeat.verdicts import Verdicts

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


def save_nearest(path: Path, verdicts: Verdicts) -> None:
    """Keep the neighbours of the rows flagged in ``verdicts``, which are saved at ``path``."""
    if not isinstance(verdicts.neighbors, Neighbors):
        raise InputError("the neighbours are known after detect alone, not after loading a file")
    nearest = Nearest.of(verdicts.neighbors, np.flatnonzero(verdicts.is_corrupted))
    with replacing(nearest_path(path)) as (file,):
        np.savez_compressed(
            file,
            rows=nearest.rows,
            index=nearest.index,
            similarity=nearest.similarity,
            fingerprint=np.array(verdicts.metadata["fingerprint"]),
        )


def load_nearest(path: Path, metadata: Mapping[str, Any]) -> Nearest:
    """What was kept for the verdicts at ``path``; nothing if it belongs to other verdicts."""
    beside = nearest_path(path)
    if not beside.exists():
        return Nearest.none()
    with reading(beside, "an .npz file"), np.load(beside) as stored:
        if str(stored["fingerprint"]) != metadata.get("fingerprint"):
            return Nearest.none()
        return Nearest(stored["rows"], stored["index"], stored["similarity"])
