"""What the neighbours of an example believe of its true class, its own label left out.

    M_n(i) ~ (sum_m W[n, m] Q_m(i))^sharpness

with Q the beliefs that ``propagate`` ends with and W its weights. The own label comes back to an
example over its neighbours, but eight sharpened rounds leave next to nothing of it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs
from simifeat.neighbors.base import Neighbors
from simifeat.propagate import PropagateOptions, as_matrix, neighbor_weights

_BLOCK_ENTRIES = 1 << 22  # entries of the sums over neighbours held at once


def surroundings(
    neighbors: Neighbors, beliefs: Beliefs, n_classes: int, options: PropagateOptions
) -> Beliefs:
    """M [n, s] with as many classes an example as ``beliefs`` has, the most probable first.

    Empty, class -1 everywhere, for an example without neighbours. Time O(n k s).
    """
    n, s = beliefs.classes.shape
    matrix = as_matrix(beliefs.classes, beliefs.probability, n_classes)
    weights = neighbor_weights(neighbors, options.power)
    classes = np.full((n, s), -1, np.int32)
    probability = np.zeros((n, s), np.float32)
    step = max(1, _BLOCK_ENTRIES // min(n_classes, 2 * neighbors.k * s))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        found, value = _largest(weights[rows] @ matrix, s)  # [b, <= s] each
        value **= np.float32(options.sharpness)
        total = value.sum(axis=1, keepdims=True)
        width = value.shape[1]
        probability[rows, :width] = np.divide(value, total, out=value, where=total > 0)
        classes[rows, :width] = np.where(value > 0, found, -1)
    return Beliefs(classes, probability)


def _largest(
    matrix: scipy.sparse.csr_array, most: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Columns and values of the ``most`` largest entries of each row, the largest first."""
    length = np.diff(matrix.indptr)  # [b]
    filled = np.arange(length.max(initial=1)) < length[:, None]  # [b, w]
    columns = np.full(filled.shape, -1, np.int32)
    values = np.zeros(filled.shape, np.float32)
    columns[filled], values[filled] = matrix.indices, matrix.data
    if values.shape[1] > most:
        place = np.argpartition(-values, most - 1, axis=1)[:, :most]
        columns = np.take_along_axis(columns, place, axis=1)
        values = np.take_along_axis(values, place, axis=1)
    order = np.lexsort((columns, -values), axis=1)
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)
