"""The total order of neighbours, key falling and ties by the lower number, as one whole number.

A pair's code holds the key in its upper and the row's number in its lower 32 bits, so that sorting
codes sorts neighbours, and the best of two sets are the smallest codes of both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NONE = np.int64(np.iinfo(np.int64).max)
"""Code of no neighbour; larger than all others."""


def encode(key: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of neighbours ``ids`` with their ``key``; -0.0 counts as 0.0."""
    bits = (key + np.float32(0)).view(np.int32)
    rising = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))  # whole numbers in the order of the keys
    return (~rising).astype(np.int64) << 32 | ids


def decode(code: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Numbers and keys again; -1 and 0 where there is none."""
    rising = ~(code >> 32).astype(np.int32)
    key = (rising ^ ((rising >> 31) & np.int32(0x7FFFFFFF))).view(np.float32)
    none = code == NONE
    index = (code & 0xFFFFFFFF).astype(np.int32)
    return np.where(none, np.int32(-1), index), np.where(none, np.float32(0), key)


def best_codes(
    row: NDArray[np.int64], code: NDArray[np.int64], n_rows: int, k: int
) -> NDArray[np.int64]:
    """The ``k`` smallest codes of every row [n_rows, k]; ``row`` must be non-decreasing."""
    count = np.bincount(row, minlength=n_rows)
    table = np.full((n_rows, max(k, int(count.max(initial=1)))), NONE)
    table[row, np.arange(len(row)) - (np.cumsum(count) - count)[row]] = code
    table.sort(axis=1)
    return table[:, :k]


def kth_largest(values: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """The k-th largest value of every row [m], k of at most the row's length."""
    place = values.shape[1] - k
    return np.partition(values, place, axis=1)[:, place]
