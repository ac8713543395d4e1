"""Local T: noise that is not the same everywhere in the dataset.

The rows are cut into cells, and the latent class model of label triples is fitted to the triples of
each cell. Few rows tell little, so the global T is the prior of every cell: with N_i labels of the
cell borne by class i,

    T_cell[i] = (labels counted + strength * T_global[i]) / (N_i + strength)

is the fixed point of EM. A class that a cell hardly holds keeps its global row there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.consensus import Triples, label_triples
from simifeat.dataset import Dataset, Labels, check_lengths
from simifeat.errors import InputError
from simifeat.neighbors import Metric, find_neighbors
from simifeat.neighbors.cells import SAMPLE_PER_CELL, fit_cells, n_cells_for
from simifeat.neighbors.points import make_points
from simifeat.transition import Estimator, Transition, estimate_from_neighbors
from simifeat.triple_sums import TripleSummer

Array = NDArray[np.float64]

CELL_SIZE = 1000
"""Rows a cell on average, where the cells are made from the features."""

_MAX_BYTES = 1 << 30  # of all matrices together
_MAX_STEPS = 200
_TOLERANCE = 1e-4  # EM stops when no entry of T or p moves further


@dataclass(frozen=True, eq=False)
class LocalTransition:
    """T and p of every cell, and of all rows together."""

    overall: Transition
    cells: NDArray[Any]  # [c]
    """The cells as they were given, or their numbers."""
    cell: NDArray[np.int32]  # [n]
    """The cell of every row, as a place in ``cells``."""
    sizes: NDArray[np.int64]  # [c]
    """Rows of each cell."""
    matrices: Array  # [c, K, K]
    priors: Array  # [c, K]

    @property
    def noise_rates(self) -> Array:
        """P(label is corrupted) in each cell, [c]."""
        right = np.einsum("ci,cii->c", self.priors, self.matrices)
        return np.clip(1 - right, 0.0, 1.0)


def estimate_local_transition(
    features: ArrayLike,
    labels: ArrayLike,
    method: Estimator = "ml",
    *,
    cells: ArrayLike | None = None,
    cell_size: int = CELL_SIZE,
    strength: float = 100.0,
    metric: Metric = "cosine",
    seed: int = 0,
    n_threads: int | None = None,
) -> LocalTransition:
    """Estimate T and p in every cell of ``features`` [n, d] with given ``labels`` [n].

    ``cells`` [n] names the cell of every row (an annotator, a batch, a site); by default the
    features are cut into cells of about ``cell_size`` rows around centroids. ``method`` estimates
    the global T, which in a cell is worth ``strength`` labels a class.

    Issues ``NotIdentifiable`` where already the global T must not be trusted.
    """
    if not strength > 0:
        raise InputError(f"strength is {strength!r}; give a number above 0")
    data = Dataset.from_arrays(features, labels)
    codes, k = data.labels.codes, data.labels.n_classes
    if cells is None:
        home = _cells_of(data.features, metric, cell_size, seed)
        names = np.arange(int(home.max()) + 1)
    else:
        given = Labels.encode(cells)
        check_lengths(len(codes), len(given.codes))
        home, names = given.codes, given.classes
    if len(names) * k * k * 8 > _MAX_BYTES:
        raise InputError(
            f"{len(names)} cells of {k} classes take {len(names) * k * k * 8 / 2**30:.1f} GiB; "
            "ask for fewer, larger cells"
        )
    index = find_neighbors(data.features, 2, metric, n_threads=n_threads, seed=seed).index
    overall = estimate_from_neighbors(codes, index, k, method, classes=data.labels.classes)
    overall.warn()
    matrices, priors = np.empty((len(names), k, k)), np.empty((len(names), k))
    for c in range(len(names)):
        found = label_triples(codes, index, np.flatnonzero(home == c))
        matrices[c], priors[c] = fit_cell(Triples.count(found, k), overall, strength)
    sizes = np.bincount(home, minlength=len(names))
    return LocalTransition(overall, names, home, sizes, matrices, priors)


def fit_cell(triples: Triples, overall: Transition, strength: float) -> tuple[Array, Array]:
    """T [K, K] and p [K] of the triples of a cell, drawn towards those of all rows, by EM.

    p is drawn by no more than one example a class.
    """
    matrix, prior = overall.matrix, overall.prior
    if not triples.n_triples:
        return matrix, prior
    k, sums = overall.n_classes, TripleSummer(triples)
    for _ in range(_MAX_STEPS):
        seen = sums(matrix, prior, normalized=True)
        rows = seen.by_label.T + strength * overall.matrix
        rows /= rows.sum(axis=1, keepdims=True)
        share = seen.by_class + k * overall.prior
        share /= share.sum()
        moved = max(np.abs(rows - matrix).max(), np.abs(share - prior).max())
        matrix, prior = rows, share
        if moved < _TOLERANCE:
            break
    return matrix, prior


def _cells_of(
    features: NDArray[np.float32], metric: Metric, cell_size: int, seed: int
) -> NDArray[np.int32]:
    """The nearest centroid of every row [n], of those that have any row."""
    if cell_size < 1:
        raise InputError(f"cell_size is {cell_size!r}; give a whole number of at least 1")
    rows, rng = make_points(features, metric).rows, np.random.default_rng(seed)
    n_cells = n_cells_for(len(rows), cell_size)
    size = min(len(rows), SAMPLE_PER_CELL * n_cells)
    sample = np.sort(rng.choice(len(rows), size, replace=False))
    home = fit_cells(rows[sample], n_cells, rng).nearest(rows, 1)[:, 0]
    return np.unique(home, return_inverse=True)[1].astype(np.int32)
