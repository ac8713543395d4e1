"""WebDataset shards: tar files whose members belong to one sample if they share a name.

A shard is read from its beginning to its end and never unpacked; links and devices are passed over.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from simifeat.errors import InputError
from simifeat.io.images import LARGEST
from simifeat.io.source import Skipped

_BROKEN = (tarfile.TarError, EOFError, zlib.error)


@dataclass
class Sample:
    """Members of one key."""

    key: str
    """The path of its members up to the first dot of the name."""
    parts: dict[str, bytes] = field(default_factory=dict)
    """Ending, without the first dot -> content, as far as it was asked for."""
    names: dict[str, str] = field(default_factory=dict)
    """Ending -> the member's whole name."""


def samples(
    shard: Path, wanted: Callable[[str], bool], lost: list[Skipped] | None = None
) -> Iterator[Sample]:
    """The samples of a shard, with the content of members whose ending is ``wanted``.

    What comes behind damage is ``lost``, together with the sample it is in.
    """
    sample: Sample | None = None
    try:
        with tarfile.open(shard) as tar:
            seen: list[tarfile.TarInfo] = vars(tar)["members"]  # grows with the shard otherwise
            while (member := tar.next()) is not None:
                seen.clear()
                if not member.isreg():
                    continue
                key, ending = split_name(member.name)
                if not ending:
                    continue
                if sample is None or sample.key != key or ending in sample.names:
                    if sample is not None:
                        yield sample
                    sample = Sample(key)
                sample.names[ending] = member.name
                if wanted(ending) and member.size <= LARGEST:
                    content = tar.extractfile(member)
                    sample.parts[ending] = b"" if content is None else content.read()
        if sample is not None:
            yield sample
    except _BROKEN as error:
        _lose(shard, sample, str(error), lost)
    except OSError as error:
        if error.errno is not None:
            raise InputError(f"cannot read {shard}: {error.strerror or error}") from error
        _lose(shard, sample, str(error), lost)


def split_name(name: str) -> tuple[str, str]:
    """Key and ending of a member; no ending for what is no part of a sample."""
    path = PurePosixPath(name)
    head, _, ending = path.name.partition(".")
    if not head or head.startswith("__"):
        return name, ""
    return (path.parent / head).as_posix(), ending.lower()


def _lose(shard: Path, sample: Sample | None, why: str, lost: list[Skipped] | None) -> None:
    if lost is not None:
        behind = f"from {sample.key} on" if sample is not None else "all of it"
        lost.append(Skipped(shard.name, f"damaged or cut short, lost {behind}: {why}"))
