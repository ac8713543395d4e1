"""Equal rows are searched once; their copies are put back afterwards.

With that, exact duplicates cost no engine anything, and ties between them are broken by the lower
index in one place, also at the k-th neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.points import Points
from simifeat.neighbors.select import put_best

_BLOCK = 4096


@dataclass(frozen=True)
class Groups:
    """Rows equal to the bit. Groups are numbered in the order of their first member."""

    of: NDArray[np.int64]  # [n] group of a row
    members: NDArray[np.int64]  # [n] rows, group after group, rising inside a group
    start: NDArray[np.int64]  # [n_groups + 1] where a group's members begin

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.start) - 1

    @property
    def first(self) -> NDArray[np.int64]:
        """Lowest member of every group."""
        return self.members[self.start[:-1]]


def find_groups(rows: NDArray[np.float32]) -> Groups:
    """Group equal rows by a 64-bit sum, checked row by row where two sums agree."""
    n = len(rows)
    sums = row_sums(rows)[:, 0]
    order = np.argsort(sums, kind="stable")  # equal rows side by side, rising
    near = np.flatnonzero(sums[order[1:]] == sums[order[:-1]])  # [pairs] same sum as the next
    starts_group = np.ones(n, dtype=bool)  # in the sorted order
    for begin in range(0, len(near), _BLOCK):
        at = near[begin : begin + _BLOCK]
        same = (rows[order[at]] == rows[order[at + 1]]).all(axis=1)
        if not same.all():  # two different rows with one sum: sort by the rows themselves
            return _groups(np.unique(rows + np.float32(0), axis=0, return_inverse=True)[1].ravel())
        starts_group[at + 1] = False
    of = np.empty(n, dtype=np.int64)
    of[order] = np.cumsum(starts_group) - 1
    return _groups(of)


def row_sums(rows: NDArray[np.float32], n_sums: int = 1) -> NDArray[np.uint64]:
    """Random sums [n, n_sums] of the bits of every row [n, d]: equal rows have equal sums.

    Two different rows share a sum with a chance of about 2^-64, and both of two with 2^-128.
    """
    shape = (rows.shape[1], n_sums)
    factors = np.random.default_rng(0).integers(0, 2**63, shape, dtype=np.uint64) * 2 + 1
    sums = np.empty((len(rows), n_sums), dtype=np.uint64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK] + np.float32(0)  # -0.0 becomes 0.0
        sums[start : start + _BLOCK] = block.view(np.uint32) @ factors
    return sums


def equal_rows(sums: NDArray[np.uint64]) -> NDArray[np.int64]:
    """``Groups.of`` [n] of rows told apart by two sums [n, 2] of each."""
    order = np.lexsort((sums[:, 1], sums[:, 0]))
    starts_group = np.ones(len(sums), dtype=bool)
    starts_group[1:] = (sums[order[1:]] != sums[order[:-1]]).any(axis=1)
    of = np.empty(len(sums), dtype=np.int64)
    of[order] = np.cumsum(starts_group) - 1
    return _groups(of).of


def _groups(key: NDArray[Any]) -> Groups:
    """Groups of equal ``key``, renumbered by first member."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    of = rank[inverse.ravel()]
    start = np.concatenate([[0], np.cumsum(np.bincount(of))])
    return Groups(of, np.argsort(of, kind="stable"), start)


def distinct(points: Points, groups: Groups) -> Points:
    """One point a group."""
    return points if groups.n == points.n else replace(points, rows=points.rows[groups.first])


def spread(
    index: NDArray[np.int32],
    key: NDArray[np.float32],
    points: Points,
    groups: Groups,
    k: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Neighbours of the groups [n_groups, k'] turned into neighbours of the rows [n, k].

    At most the k + 1 lowest members of a group can be among anybody's k nearest, as they tie.
    """
    out_index = np.full((points.n, k), -1, dtype=np.int32)  # [n, k]
    out_key = np.zeros((points.n, k), dtype=np.float32)  # [n, k]
    size = np.minimum(np.diff(groups.start), k + 1)  # [n_groups]
    own = points.key(groups.first, groups.first)  # [n_groups]
    wide = index.shape[1] + 1
    step = max(1, 2**21 // (wide * int(size.max())))  # bounds the candidates at once
    for begin in range(0, points.n, step):
        row = np.arange(begin, min(begin + step, points.n))
        group = groups.of[row]
        near = np.concatenate([group[:, None], index[group]], axis=1)  # [rows, k' + 1]
        value = np.concatenate([own[group][:, None], key[group]], axis=1)  # [rows, k' + 1]
        count = np.where(near >= 0, size[near], 0).ravel()
        ends = np.cumsum(count)
        slot = np.repeat(np.arange(count.size), count)  # [candidates]
        offset = np.arange(ends[-1]) - (ends - count)[slot]
        member = groups.members[groups.start[near.ravel()[slot]] + offset]
        owner, worth = row[slot // wide], value.ravel()[slot]
        keep = member != owner
        put_best(out_index, out_key, owner[keep], member[keep], worth[keep], k)
    return out_index, out_key
