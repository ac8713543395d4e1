"""Exact search: approximate values of every pair, each pair once, then exact keys of candidates.

Points are cut into tiles. In round r every tile meets the tile r places on, in a circle, so after
half a circle every pair of tiles has met once, and all tiles have seen equally many others. The
values of a meeting serve the rows of both tiles. Bars rise between rounds.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simifeat.neighbors.parallel import Progress, run
from simifeat.neighbors.points import Points
from simifeat.neighbors.product import Product
from simifeat.neighbors.select import first_bar
from simifeat.neighbors.shortlist import Shortlist

_TILE = 1024
"""Most points of a tile."""

_STRIP = 512
"""Rows of a tile multiplied at once: 2 MiB of values stay in a core's cache."""


def search_exact(
    points: Points,
    product: Product,
    k: int,
    n_threads: int,
    progress: Progress | None = None,
    tile: int = _TILE,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k nearest of every point: index and key, [n, k] each, k < n."""
    n = points.n
    n_tiles = -(-n // tile)
    edges = np.linspace(0, n, n_tiles + 1).astype(np.int64)
    tiles = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    lists = [
        Shortlist(points, np.arange(t.start, t.stop), product.error[t], product.per_key, k)
        for t in tiles
    ]
    right = [product.prepare(t) for t in tiles]
    n_meetings = n_tiles * (n_tiles + 1) // 2
    met = 0

    def told(done: int, _: int) -> None:
        if progress is not None:
            progress((met + done) * n // n_meetings, n)

    def meet(pair: tuple[int, int]) -> int:
        a, b = pair
        _meet(product, tiles[a], tiles[b], right[b], lists[a], lists[b])
        return 1

    def raise_bar(a: int) -> int:
        lists[a].raise_bar()
        return 1

    last = n_tiles // 2
    begin = 0
    for end in _stages(last):
        pairs = [
            (a, (a + r) % n_tiles)
            for r in range(begin, end + 1)
            for a in range(n_tiles if 2 * r < n_tiles else n_tiles // 2)
        ]
        run(meet, pairs, n_threads, told, n_meetings)
        met += len(pairs)
        if end < last:
            run(raise_bar, range(n_tiles), n_threads, None, n_tiles)
        begin = end + 1

    index = np.empty((n, k), np.int32)
    key = np.empty((n, k), np.float32)

    def finish(a: int) -> int:
        index[tiles[a]], key[tiles[a]] = lists[a].finish()
        return 1

    run(finish, range(n_tiles), n_threads, None, n_tiles)
    return index, key


def _stages(last: int) -> list[int]:
    """Rounds 0, 1, 2, 4, 8 ... and the last: bars rise as often as what was seen doubles."""
    ends, end = [0], 1
    while end < last:
        ends.append(end)
        end *= 2
    return [*ends, last] if last else ends


def _meet(
    product: Product, rows: slice, columns: slice, right: object, mine: Shortlist, theirs: Shortlist
) -> None:
    """Candidates of the tile ``rows`` among ``columns``, and the other way round."""
    width = columns.stop - columns.start
    buffer = np.empty((min(_STRIP, rows.stop - rows.start), width), np.float32)
    mask, other = np.empty((2, *buffer.shape), bool)
    for start in range(rows.start, rows.stop, _STRIP):
        stop = min(start + _STRIP, rows.stop)
        size, top = stop - start, start - rows.start
        values = buffer[:size]  # [strip, width]
        product.multiply(slice(start, stop), right, values)
        if mine is theirs:
            values[np.arange(size), np.arange(top, top + size)] = -np.inf  # never one's own
            bar = first_bar(values, mine.k, mine.slack[top : top + size])
        else:
            bar = mine.bar[top : top + size]
        np.greater_equal(values, bar[:, None], out=mask[:size])
        if mine is not theirs:
            np.greater_equal(values, theirs.bar, out=other[:size])
            np.logical_or(mask[:size], other[:size], out=mask[:size])
        at = np.flatnonzero(mask[:size])
        worth = values.ravel()[at]
        row, column = np.divmod(at, width)
        for_me = worth >= bar[row]
        mine.add(
            (row[for_me] + top).astype(np.uint16),
            (column[for_me] + columns.start).astype(np.int32),
            worth[for_me],
        )
        if mine is not theirs:
            for_them = worth >= theirs.bar[column]
            theirs.add(
                column[for_them].astype(np.uint16),
                (row[for_them] + start).astype(np.int32),
                worth[for_them],
            )
