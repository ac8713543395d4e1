"""Rows that are no independent witnesses do not vote for each other.

Frames of one video, slices of one patient and copies of one example tend to be labelled together:
the neighbour that agrees then repeats the label instead of confirming it. More neighbours than
needed are searched, those of the same group dropped, and the next nearest take their places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.errors import InputError
from simifeat.neighbors import Neighbors
from simifeat.neighbors.duplicates import find_groups
from simifeat.rounds import MAX_SEARCHED

Duplicates = Literal["apart", "vote"]

_MOST_ENTRIES = 1 << 27  # of the widened graph: 1 GiB
_FEW_DISTINCT = 5  # times the distinct rows are fewer than all rows
_BLOCK = 1 << 16  # rows compressed at once


@dataclass(frozen=True)
class Kin:
    """Who may not vote for whom: rows with an equal code in any of ``codes``."""

    codes: tuple[NDArray[np.int64], ...] = ()
    """Each [n]."""

    def n_searched(self, wanted: int, n_examples: int) -> int:
        """Neighbours to search so that ``wanted`` are left after the dropping, within bounds.

        That is one more for every other member of the largest group, up to ``MAX_SEARCHED`` or
        1 GiB of graph. Where this does not reach, a row is left with fewer.
        """
        others = sum(int(np.bincount(codes).max()) - 1 for codes in self.codes)
        bound = min(MAX_SEARCHED, _MOST_ENTRIES // n_examples)
        return min(wanted + others, max(wanted, bound))

    def drop(self, neighbors: Neighbors, k: int, first: int = 0) -> Neighbors:
        """The nearest ``k`` that may vote; a row with fewer ends in index -1, similarity 0.

        ``neighbors`` may be those of some rows only, from row ``first`` on.
        """
        index, similarity = neighbors.index.copy(), neighbors.similarity.copy()
        for start in range(0, len(index), _BLOCK):
            near, worth = index[start : start + _BLOCK], similarity[start : start + _BLOCK]
            out = np.zeros(near.shape, bool)
            for codes in self.codes:
                own = codes[first + start : first + start + len(near)]
                out |= codes[near] == own[:, None]
            out |= near < 0
            near[out], worth[out] = -1, 0
            order = np.argsort(out, axis=1, kind="stable")  # the others move up, in their order
            near[:] = np.take_along_axis(near, order, axis=1)
            worth[:] = np.take_along_axis(worth, order, axis=1)
        width = min(k, neighbors.k)
        return replace(neighbors, index=index[:, :width], similarity=similarity[:, :width])

    def counts_left(self, neighbors: Neighbors, k: int) -> dict[str, int]:
        """Rows with kin, and after the dropping rows with fewer than ``k`` voters and with none."""
        with_kin = np.zeros(neighbors.n_examples, bool)
        for codes in self.codes:
            with_kin |= np.bincount(codes)[codes] > 1
        left = (neighbors.index >= 0).sum(axis=1)  # [n]
        return {
            "n_with_kin": int(with_kin.sum()),
            "n_fewer": int((left < k).sum()),
            "n_alone": int((left == 0).sum()),
        }


def make_kin(groups: NDArray[np.int64] | None, copies: NDArray[np.int64] | None) -> Kin:
    """Of groups [n] and of copies [n]; what holds every row alone is left out: it drops nobody."""
    given = [codes for codes in (groups, copies) if codes is not None]
    return Kin(tuple(codes for codes in given if np.bincount(codes).max() > 1))


def copies_of(features: NDArray[np.float32], k: int) -> NDArray[np.int64] | None:
    """Which rows [n] are copies of one example: rows of ``features`` [n, d] equal to the bit."""
    return copies_among(find_groups(features).of, k)


def copies_among(equal: NDArray[np.int64], k: int) -> NDArray[np.int64] | None:
    """``equal`` [n], the number of the distinct row that each row equals, if that makes copies.

    None where equal rows are no copies but a value that many examples share, as in a table of few
    columns with few values: fewer distinct rows than a fifth of all, or than ``k`` can be asked.
    """
    n_distinct = int(equal.max()) + 1
    if n_distinct <= k or n_distinct * _FEW_DISTINCT < len(equal):
        return None
    return equal


def group_codes(groups: ArrayLike, n_examples: int) -> NDArray[np.int64]:
    """``groups`` [n] of any one type as codes [n]; a missing one stands alone."""
    given = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    if given.shape != (n_examples,):
        raise InputError(
            f"groups have the shape {given.shape}, but there are {n_examples} rows; "
            "give one group a row"
        )
    number: dict[Any, int] = {}
    codes = np.empty(n_examples, np.int64)
    for row, value in enumerate(given.tolist()):
        missing = value is None or value != value or value == ""
        codes[row] = number.setdefault((row,) if missing else value, len(number))
    if len(number) == 1:
        raise InputError(
            "all rows are in one group, so nobody may vote for anybody; "
            "give what tells independent rows apart, or no groups"
        )
    return codes
