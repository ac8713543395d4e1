"""Records: the pictures or texts of a source, one after the other, read when they are needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

Kind = Literal["image", "text"]
Content = bytes | str
_READ_AHEAD = 64  # records may carry their content


class Unreadable(Exception):
    """A record that cannot be used; the text says why, in a few words."""


@dataclass(frozen=True)
class Record:
    """One record; ``read`` is called in another thread and may raise ``Unreadable``."""

    name: str
    """What people call it: a path or an id."""
    read: Callable[[], Content]


class Records(Protocol):
    """What an extractor reads, in the order of the labels."""

    @property
    def kind(self) -> Kind:
        """What the records are."""

    def __len__(self) -> int:
        """How many there are."""

    def __iter__(self) -> Iterator[Record]:
        """From the first to the last, holding few at a time."""


def content_hash(records: Records, pool: ThreadPoolExecutor) -> str:
    """A digest of every record's content in order; unreadable ones count by their reason."""
    digest = hashlib.blake2b(f"{records.kind} {len(records)}".encode(), digest_size=16)
    remaining = iter(records)
    while ahead := list(islice(remaining, _READ_AHEAD)):
        for part in pool.map(_digest, ahead):
            digest.update(part)
    return digest.hexdigest()


def _digest(record: Record) -> bytes:
    try:
        content = record.read()
    except Unreadable as error:
        return hashlib.blake2b(str(error).encode(), digest_size=16, person=b"unreadable").digest()
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()
