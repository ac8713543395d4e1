"""Work in threads whose results come back in order, so that threads cannot change a result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """``work`` of every item, in the order of ``items``; only a few items are held at once."""
    if n_threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="simifeat") as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, item))
        while waiting:
            yield waiting.popleft().result()
