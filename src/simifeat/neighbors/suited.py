"""Which product suits some points on this machine, and the k-th largest of its values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.fast import BFloat16Product, why_not
from simifeat.neighbors.points import Points
from simifeat.neighbors.product import Float32Product, Product


def suited(points: Points) -> Product:
    """The fastest product there is; which one it is does not change what is found."""
    if why_not() is None:
        return BFloat16Product.of(points)
    return Float32Product.of(points)


def kth_largest(values: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """The k-th largest value of every row [m], k of at most the row's length."""
    place = values.shape[1] - k
    return np.partition(values, place, axis=1)[:, place]
