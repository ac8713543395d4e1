"""Neighbour graphs kept on disk, so that methods and kinds of noise on the same features share one.

A graph is two arrays in one file, written whole; its name holds the fingerprint of the features.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simifeat.bench.cells import Say
from simifeat.bench.data import FeatureFile, fingerprint
from simifeat.io.atomic import write_bytes
from simifeat.neighbors import Metric, Neighbors, find_neighbors
from simifeat.rounds import n_searched


@dataclass(frozen=True)
class Stored:
    """Where a graph is, and the fingerprint of the features it is of."""

    path: Path
    features: str


def graph_of(file: FeatureFile, rows: NDArray[np.int64] | None, folder: Path, say: Say) -> Stored:
    """The graph of the features of ``file``, wide enough for every method; searched if missing."""
    features = file.load(rows)
    n = len(features)
    k = max(n_searched(10, 0.5, n), min(30, n - 1))  # vote and rank by half of all, propagate
    mark = fingerprint(features)
    path = folder / f"graph-{file.dataset}-{file.extractor}-{k}-{mark}.npz"
    if not path.exists():
        say(f"searching {k} neighbours of {n:,} examples of {file.dataset}, {file.extractor}")
        found = find_neighbors(features, k)
        content = io.BytesIO()
        np.savez(content, index=found.index, similarity=found.similarity, metric=found.metric)
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
    return Stored(path, mark)


def load_graph(path: Path) -> Neighbors:
    """The graph kept at ``path``."""
    with np.load(path, allow_pickle=False) as stored:
        metric: Metric = "euclidean" if str(stored["metric"]) == "euclidean" else "cosine"
        return Neighbors(
            stored["index"], stored["similarity"], metric, "stored", f"searched before: {path.name}"
        )
