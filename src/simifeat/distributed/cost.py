"""What a run will cost, from the size of its input alone.

The memory model is an upper bound that ``benchmarks/scale.py`` checks; ``docs/scale.md`` says how
it and the time model were fitted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from simifeat.errors import InputError
from simifeat.neighbors.approximate import ROWS_TOGETHER
from simifeat.neighbors.cells import CELL_SIZE, SAMPLE_PER_CELL, n_cells_for
from simifeat.neighbors.recall import MOST_CELLS, SAMPLE

GB = 10**9
_BASE = 350 * 10**6
"""Python, numpy, scipy and pyarrow, with what the allocator holds back."""
_PART = 1 << 26
"""Features that a part of the rows holds at most, in bytes."""
_COPIES = 5
"""Times a part is in memory while it is worked on: as read, prepared, sorted, in float64 blocks."""
_BLOCKS = 120 * 10**6
"""Blocks of products and their tables, a thread."""
_ROW = 160
"""Bytes a row for labels, ids, verdicts and what they are written through."""
_EDGE = 72
"""Bytes a neighbour of a row while beliefs are propagated."""
_CLASS_PAIR = 40
"""Bytes a pair of classes: T, its copies and its file."""

_OVERLAP = 24
"""Cells searched for a row, before the features say how many."""
_SHARE = 0.5
"""Of the speed of plain products that a whole stage reaches."""
_ROW_SECONDS = 2e-5
_EDGE_SECONDS = 2e-6
_JUDGE_SECONDS = 2e-6


@dataclass(frozen=True)
class Size:
    """What the cost of a run depends on."""

    n: int
    d: int
    k: int
    """Neighbours searched for a row."""
    n_classes: int

    @property
    def n_cells(self) -> int:
        """Cells of the search."""
        return n_cells_for(self.n)


@dataclass(frozen=True)
class Budget:
    """How much is worked on at once, so that memory holds; none of it changes a result."""

    n_threads: int
    part_bytes: int
    """Features of a part of the rows."""
    search_bytes: int
    """Rows of the cells that are searched together."""

    @classmethod
    def fit(cls, size: Size, memory: int | None, n_threads: int) -> Budget:
        """The largest within ``memory`` bytes; an error says how much the least takes."""
        wide = cls(n_threads, _PART, _widest_search(size))
        if memory is None:
            return wide
        least = cls(1, 1 << 20, _narrowest_search(size))
        if least.memory(size) > memory:
            raise InputError(
                f"{size.n:,} rows of {size.d} dimensions and {size.n_classes:,} classes take "
                f"{least.memory(size) / GB:.1f} GB at least, and {memory / GB:.1f} GB are allowed; "
                "give more with --memory"
            )
        while n_threads > 1 and cls(n_threads, _PART, least.search_bytes).memory(size) > memory:
            n_threads -= 1
        part = _PART
        while part > 1 << 20 and cls(n_threads, part, least.search_bytes).memory(size) > memory:
            part //= 2
        fixed = cls(n_threads, part, 0)
        room = (memory - fixed._apart(size)) // n_threads - _BLOCKS
        search = max(least.search_bytes, min(wide.search_bytes, room // 2))
        return cls(n_threads, part, search)

    def memory(self, size: Size) -> int:
        """The most a run keeps in memory at any time, in bytes."""
        part = _COPIES * self.part_bytes + 8 * SAMPLE * size.d
        search = 2 * self.search_bytes  # as loaded, and as one array
        stages = self._apart(size) + self.n_threads * (max(part, search) + _BLOCKS)
        cells = 12 * min(size.n, SAMPLE_PER_CELL * size.n_cells) * size.d  # survey, one thread
        judging = size.n * size.k * _EDGE + _CLASS_PAIR * size.n_classes**2
        return max(stages, self._apart(size) + cells, self._apart(size) + judging)

    def _apart(self, size: Size) -> int:
        """Memory that no thread has of its own."""
        return _BASE + _ROW * size.n + 4 * size.n_cells * size.d


def disk(size: Size) -> int:
    """Bytes in the work folder at its fullest: the rows by cell, and neighbours twice."""
    return size.n * (4 * size.d + 8 + 2 * 8 * size.k + 24)


def products(size: Size, overlap: int = _OVERLAP) -> int:
    """Numbers multiplied in the stages that grow fastest: cells of rows, audit and search."""
    assign = size.n * size.n_cells * size.d
    survey = 6 * SAMPLE_PER_CELL * size.n_cells * size.n_cells * size.d
    audit = size.n * SAMPLE * size.d
    search = size.n * min(overlap, size.n_cells) * CELL_SIZE * size.d
    return assign + survey + audit + search


def seconds(size: Size, rate: float, n_threads: int) -> float:
    """Time of a run where ``rate`` products a second are made by all threads together."""
    rows = size.n * (_ROW_SECONDS + _EDGE_SECONDS * size.k) / n_threads
    return products(size) / (_SHARE * rate) + rows + size.n * size.k * _JUDGE_SECONDS


def products_per_second(d: int) -> float:
    """Numbers that one thread multiplies a second here, in products as the search makes them."""
    rng = np.random.default_rng(0)
    left, right = (rng.random((1024, d), dtype=np.float32) for _ in range(2))
    times = []
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(5):
            begun = time.perf_counter()
            left @ right.T
            times.append(time.perf_counter() - begun)
    return 1024 * 1024 * d / min(times)


def _widest_search(size: Size) -> int:
    """All that the usual number of rows can need when each is searched in the most cells."""
    return 4 * size.d * min(size.n, ROWS_TOGETHER * MOST_CELLS // 4)


def _narrowest_search(size: Size) -> int:
    """What the rows of one cell can need."""
    return 4 * size.d * min(size.n, 2 * CELL_SIZE * min(MOST_CELLS, size.n_cells))
