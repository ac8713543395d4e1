"""How far labels agree in neighbourhoods: one neighbour at a time, and the first k all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 16  # rows looked at at once


def agreement_by_rank(codes: NDArray[np.integer], index: NDArray[np.int32]) -> NDArray[np.float64]:
    """Share [k] of examples whose r-th neighbour has their label, of those that have one.

    ``codes`` [n] are labels, ``index`` [n, k] neighbours, -1 for none.
    """
    equal = np.zeros(index.shape[1], np.int64)
    there = np.zeros(index.shape[1], np.int64)
    for start in range(0, len(index), _BLOCK):
        block = index[start : start + _BLOCK]  # [b, k]
        same = codes[block] == codes[start : start + len(block), None]
        equal += (same & (block >= 0)).sum(axis=0)
        there += (block >= 0).sum(axis=0)
    return equal / np.maximum(there, 1)


def unanimous_share(codes: NDArray[np.integer], index: NDArray[np.int32]) -> NDArray[np.float64]:
    """Share [k] of examples whose first r neighbours all have their label, r = 1..k.

    With true labels this is 1 - delta_r of Definition 1. Never rises with r; an example with fewer
    than r neighbours does not count as unanimous.
    """
    k = index.shape[1]
    reached = np.zeros(k + 1, np.int64)  # how many examples agree with exactly r in a row
    for start in range(0, len(index), _BLOCK):
        block = index[start : start + _BLOCK]  # [b, k]
        same = (codes[block] == codes[start : start + len(block), None]) & (block >= 0)
        run = np.where(same.all(axis=1), k, same.argmin(axis=1))  # [b]
        reached += np.bincount(run, minlength=k + 1)
    at_least = np.cumsum(reached[::-1])[::-1]  # [k + 1]
    return at_least[1:] / max(len(index), 1)
