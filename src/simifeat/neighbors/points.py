"""Features as every engine sees them: finite, scaled for the metric, no row twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.neighbors.base import Metric

_BLOCK = 4096
"""Rows handled at once where a pass over all features needs a temporary copy."""

_SPAN = 4096
"""Dimensions summed in one call; below numpy's buffer size, see ``Points.key``."""


@dataclass(frozen=True)
class Points:
    """The rows to search: unit vectors for cosine, features times a power of two for Euclidean."""

    rows: NDArray[np.float32]  # [n, d]
    metric: Metric
    scale: float
    """Features times ``scale`` are ``rows`` (Euclidean); keeps squares inside float32."""

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.rows.shape[1])

    def key(self, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.float32]:
        """What the pairs (i[p], j[p]) are ordered by: the cosine, or minus the squared distance.

        A matrix product may round a pair differently in a block of another shape. Here every pair
        is summed alone and in one order, so the value depends on the two rows and on nothing
        else: not on blocks, threads, the order of the pair or the other pairs in the call.
        """
        total = np.zeros(len(i), dtype=np.float32)  # [p]
        for start in range(0, self.d, _SPAN):
            span = self.rows[:, start : start + _SPAN] if self.d > _SPAN else self.rows
            a, b = span.take(i, axis=0), span.take(j, axis=0)  # [p, span]
            if self.metric == "euclidean":
                a -= b
                b = a
            total += np.einsum("pd,pd->p", a, b)
        if self.metric == "euclidean":
            return np.negative(total, out=total)
        return np.clip(total, -1.0, 1.0, out=total)

    def similarity(self, key: NDArray[np.float32]) -> NDArray[np.float32]:
        """Similarity that belongs to a key: the cosine itself, or 1 / (1 + distance)."""
        if self.metric == "cosine":
            return key
        distance = np.sqrt(-key.astype(np.float64)) / self.scale
        return (1.0 / (1.0 + distance)).astype(np.float32)


def make_points(features: Any, metric: Metric) -> Points:
    """Check ``features`` [n, d] and scale them for ``metric``; a zero vector stays zero."""
    array = np.asarray(features)
    if array.ndim != 2:
        raise InputError(f"features must be [n_examples, n_dimensions], got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InputError(f"features must be real numbers, got dtype {array.dtype}")
    n, d = array.shape
    if n < 2 or d < 1:
        raise InputError(f"neighbours need at least 2 examples and 1 dimension, got {n} x {d}")
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf and is named below
        rows = np.ascontiguousarray(array, dtype=np.float32)  # [n, d]
    largest = largest_of(rows)
    scale = scale_for(metric, largest)
    return Points(
        prepared(rows, metric, scale, not np.may_share_memory(rows, array)), metric, scale
    )


def scale_for(metric: Metric, largest: float) -> float:
    """``Points.scale`` of features whose largest magnitude is ``largest``."""
    if metric == "cosine" or largest == 0 or 2.0**-20 < largest < 2.0**20:
        return 1.0
    return float(np.ldexp(1.0, -int(np.frexp(largest)[1])))


def prepared(
    rows: NDArray[np.float32], metric: Metric, scale: float, owned: bool = False
) -> NDArray[np.float32]:
    """Rows as ``Points`` keeps them; each depends on itself and ``scale`` alone."""
    if metric == "cosine":
        return _unit(rows, owned)
    return rows if scale == 1.0 else _times(rows, scale)


def largest_of(rows: NDArray[np.float32]) -> float:
    """Largest magnitude; the first row that is not finite is an error."""
    largest = 0.0
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        top = float(max(block.max(), -block.min()))
        if not np.isfinite(top):
            bad = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            raise InputError(
                f"features: row {bad} has NaN, infinity or a number beyond float32; "
                "drop or impute such rows first"
            )
        largest = max(largest, top)
    return largest


def _times(rows: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    """``rows`` times a power of two, through float64 as the factor alone may leave float32."""
    out = np.empty_like(rows)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        out[start : start + _BLOCK] = block * scale
    return out


def _unit(rows: NDArray[np.float32], owned: bool) -> NDArray[np.float32]:
    """Rows divided by their lengths in float64; equal rows stay equal to the bit."""
    out = rows if owned else np.empty_like(rows)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        length = np.sqrt(np.einsum("nd,nd->n", block, block))  # [rows]
        length[length == 0] = 1.0
        out[start : start + _BLOCK] = block / length[:, None]
    return out
