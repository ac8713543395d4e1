"""Blocks of rows over threads. A block writes its own rows, so threads cannot change a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from threadpoolctl import threadpool_limits

Progress = Callable[[int, int], None]
Block = TypeVar("Block")


def usable_threads(n_threads: int | None) -> int:
    """``n_threads``, or the cores this process may use."""
    if n_threads is not None:
        return max(1, n_threads)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def run(
    work: Callable[[Block], int],
    blocks: Sequence[Block],
    n_threads: int,
    progress: Progress | None,
    total: int,
) -> None:
    """Call ``work`` on every block; it returns how many rows it finished.

    BLAS is held to one thread meanwhile: the blocks already fill the cores. Only a few blocks
    are under way at once, so an error or an interrupt stops the search at the next block.
    """
    done = 0

    def report(rows: Iterable[int]) -> None:
        nonlocal done
        for count in rows:
            done += count
            if progress is not None:
                progress(done, total)

    with threadpool_limits(limits=1, user_api="blas"):
        if n_threads == 1:
            report(work(block) for block in blocks)
            return
        with ThreadPoolExecutor(n_threads, thread_name_prefix="simifeat-neighbors") as pool:
            waiting: set[Future[int]] = set()
            for block in blocks:
                if len(waiting) >= 2 * n_threads:
                    finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    report(future.result() for future in finished)
                waiting.add(pool.submit(work, block))
            report(future.result() for future in waiting)
