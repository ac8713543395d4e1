"""Values of many pairs at once, and how far they may be from the order of exact keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.base import Metric

_UNIT = 2.0**-24
"""Unit roundoff of float32."""

Rows = slice | NDArray[np.int64]


@dataclass(frozen=True)
class Products:
    """Float32 products of some rows; within a row they are in the order of ``Points.key``.

    Cosine: the product is the key. Euclidean, with rows a, b taken from the mean:
    -|a - b|^2 / 2 = a.b - |b|^2 / 2 - |a|^2 / 2, where the last term is the row's own constant.
    """

    shifted: NDArray[np.float32]  # [l, d]
    half: NDArray[np.float32] | None  # [l] |b|^2 / 2
    error: NDArray[np.float32]  # [l] largest error of a value in the row, the key's own included

    @classmethod
    def of(cls, rows: NDArray[np.float32], metric: Metric) -> Products:
        """Prepare ``rows`` [l, d]."""
        bound = 2.0 * (rows.shape[1] + 16) * _UNIT  # of two sums of d products, in any order
        if metric == "cosine":
            return cls(rows, None, np.full(len(rows), bound * 1.001, np.float32))
        shifted = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        square = np.einsum("nd,nd->n", shifted, shifted, dtype=np.float64)  # [l]
        reach = np.sqrt(square) + np.sqrt(square.max(initial=0))  # [l] no pair is farther apart
        return cls(
            shifted, (square / 2).astype(np.float32), (bound * reach**2 * 1.001).astype(np.float32)
        )

    def values(self, rows: Rows, columns: Rows) -> NDArray[np.float32]:
        """Values of every pair of ``rows`` and ``columns``."""
        product = self.shifted[rows] @ self.shifted[columns].T
        if self.half is not None:
            product -= self.half[columns]
        return product


def kth_largest(values: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """The k-th largest value of every row [m], k of at most the row's length."""
    place = values.shape[1] - k
    return np.partition(values, place, axis=1)[:, place]
