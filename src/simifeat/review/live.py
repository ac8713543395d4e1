"""What others decide, told to every open page at once (server-sent events)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from simifeat.review.answers import Entry

_MOST_WAITING = 256
_MOST_ROWS = 200
_BEAT_SECONDS = 5.0
_END = ""


class Broadcast:
    """Hands entries from the threads that add them to the pages that listen."""

    def __init__(self) -> None:
        self._listeners: dict[asyncio.Queue[str], asyncio.AbstractEventLoop] = {}
        self._is_over = False

    def tell(self, entries: list[Entry]) -> None:
        """Say what is new; from any thread. No entries: somebody came."""
        rows = sorted({entry.row for entry in entries})
        message = json.dumps(
            {
                "rows": rows if len(rows) <= _MOST_ROWS else None,
                "by": sorted({entry.reviewer for entry in entries}),
            }
        )
        self._send(message)

    def close(self) -> None:
        """Let every page go: the server stops."""
        self._is_over = True
        self._send(_END)

    def _send(self, message: str) -> None:
        for queue, loop in list(self._listeners.items()):
            loop.call_soon_threadsafe(_put, queue, message)

    async def events(self, catch_up: Callable[[], int]) -> AsyncIterator[str]:
        """Events for one page until it goes away.

        ``catch_up`` is called now and then, to hear of other processes.
        """
        queue: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._listeners[queue] = asyncio.get_running_loop()
        try:
            yield "retry: 1000\n\n"
            while not self._is_over:
                try:
                    message = await asyncio.wait_for(queue.get(), _BEAT_SECONDS)
                    if message == _END:
                        break
                    yield f"data: {message}\n\n"
                except TimeoutError:
                    await asyncio.to_thread(catch_up)
                    yield ": here\n\n"
        finally:
            del self._listeners[queue]


def _put(queue: asyncio.Queue[str], message: str) -> None:
    if queue.full():  # a page that sleeps; what it missed it will fetch with the newest
        queue.get_nowait()
    queue.put_nowait(message)
