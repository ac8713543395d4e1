"""Values that order pairs of points as their keys do, from a matrix product, with an error bound.

With rows a, b taken from the mean m, and one number h of every point,

    value(a, b) = (a - m).(b - m) + h_a + h_b
    cosine:     h_a = m.a - |m|^2 / 2   value = a.b = key
    Euclidean:  h_a = -|a - m|^2 / 2    value = -|a - b|^2 / 2 = key / 2

Both are symmetric, so half of all pairs need no product. Rows taken from their mean are short, and
the rounding error of a product grows with the length of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.points import Points

Rows = slice | NDArray[np.int64]

UNIT = 2.0**-24
"""Unit roundoff of float32."""

_BLOCK = 4096


class Product(Protocol):
    """Approximate values of pairs of points."""

    @property
    def error(self) -> NDArray[np.float32]:
        """[n] A value in this row is at most this far from the value that its key stands for."""

    @property
    def per_key(self) -> float:
        """Value of a key of 1."""

    def prepare(self, rows: Rows) -> Any:
        """The points ``rows`` as right-hand side of ``multiply``."""

    def multiply(self, rows: Rows, right: Any, out: NDArray[np.float32]) -> None:
        """Values of the points ``rows`` against a prepared right-hand side."""


@dataclass(frozen=True)
class Float32Product:
    """A product of numpy; works everywhere."""

    left: NDArray[np.float32]  # [n, d] cosine; [n, d + 2] Euclidean: a - m, h_a, 1
    error: NDArray[np.float32]  # [n]
    per_key: float

    @classmethod
    def of(cls, points: Points) -> Float32Product:
        """Cosine needs no shift here: unit rows are short enough."""
        bound = 2.0 * (points.d + 16) * UNIT  # of two sums of d products, in any order
        if points.metric == "cosine":
            return cls(points.rows, np.full(points.n, 1.001 * bound, np.float32), 1.0)
        mean = mean_of(points)
        left = np.ones((points.n, points.d + 2), np.float32)
        length = np.empty(points.n)  # [n]
        for start in range(0, points.n, _BLOCK):
            part = slice(start, start + _BLOCK)
            rows, h = centred(points, mean, part)
            left[part, :-2], left[part, -2] = rows, h
            length[part] = np.sqrt(-2.0 * h)
        reach = length + length.max()  # [n] no pair is farther apart
        return cls(left, (bound * reach**2).astype(np.float32), 0.5)

    def prepare(self, rows: Rows) -> NDArray[np.float32]:
        """The rows, with h_b and 1 changing places."""
        if self.per_key == 1.0:
            return self.left[rows]
        right = self.left[rows].copy()
        right[:, -2:] = right[:, [-1, -2]]
        return right

    def multiply(self, rows: Rows, right: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """One call of BLAS."""
        np.matmul(self.left[rows], right.T, out=out)


def mean_of(points: Points) -> NDArray[np.float32]:
    """Mean row [d]; any other vector near it would do as well."""
    return points.rows.mean(axis=0, dtype=np.float64).astype(np.float32)


def centred(
    points: Points, mean: NDArray[np.float32], part: slice
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rows of ``part`` less the mean [b, d], and their h [b]."""
    rows = points.rows[part] - mean
    if points.metric == "cosine":
        wide = mean.astype(np.float64)
        return rows, points.rows[part] @ wide - 0.5 * float(wide @ wide)
    wide = rows.astype(np.float64)
    return rows, -0.5 * np.einsum("nd,nd->n", wide, wide)
