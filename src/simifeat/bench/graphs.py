"""Neighbour graphs kept on disk, so that methods and kinds of noise on the same features share one.

A graph is two arrays in one file, written whole; its name holds the fingerprint of the features.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.bench.cells import Say
from simifeat.bench.data import fingerprint
from simifeat.io.atomic import write_bytes
from simifeat.neighbors import Metric, Neighbors, find_neighbors


def shared_graph(
    features: NDArray[np.float32], k: int, folder: Path, name: str, say: Say
) -> tuple[Path, str]:
    """Where the graph of ``features`` is kept, searched if it is not there, and their print."""
    mark = fingerprint(features)
    path = folder / f"graph-{name}-{k}-{mark}.npz"
    if not path.exists():
        say(f"searching {k} neighbours of {len(features):,} examples of {name}")
        found = find_neighbors(features, k)
        file = io.BytesIO()
        np.savez(file, index=found.index, similarity=found.similarity, metric=found.metric)
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, file.getvalue())
    return path, mark


def load_graph(path: Path) -> Neighbors:
    """The graph kept at ``path``."""
    with np.load(path, allow_pickle=False) as stored:
        metric: Metric = "euclidean" if str(stored["metric"]) == "euclidean" else "cosine"
        return Neighbors(
            stored["index"], stored["similarity"], metric, "stored", f"searched before: {path.name}"
        )
