"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from simifeat.errors import OutputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


def check_target(path: Path) -> None:
    """Refuse a target that cannot become a file, before any work is done for it."""
    parent = path.parent
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory; give a file name")
    if path.exists() and not path.is_file():
        raise OutputError(f"cannot write {path}: it is not a regular file; give a file name")
    if not parent.exists():
        raise OutputError(f"cannot write {path}: there is no directory {parent}; make it first")
    if not parent.is_dir():
        raise OutputError(f"cannot write {path}: {parent} is not a directory; choose another place")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _explained(path, OSError(errno.EACCES, ""))


@contextmanager
def replacing(*targets: Path) -> Iterator[tuple[BinaryIO, ...]]:
    """Open one new file for each target; all take their places when the block ends well.

    The new files stand beside their targets until they are complete and on disk. Whatever goes
    wrong before that removes them and leaves the targets as they were.
    """
    for target in targets:
        check_target(target)
    final = [Path(os.path.realpath(target)) for target in targets]  # through links, not over them
    drafts = [place.with_name(f".simifeat-{secrets.token_hex(6)}.tmp") for place in final]
    try:
        with ExitStack() as stack:
            files = tuple(stack.enter_context(_create(draft)) for draft in drafts)
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for draft, place in zip(drafts, final, strict=True):
            os.replace(draft, place)
    except OSError as error:
        raise _explained(targets[0], error) from error
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink()
    for parent in {place.parent for place in final}:
        _sync_directory(parent)


def write_bytes(target: Path, content: bytes) -> None:
    """Write ``content`` as a whole file."""
    with replacing(target) as (file,):
        file.write(content)


def _create(path: Path) -> BinaryIO:
    # The mode of a plain new file; tempfile would make it private to its owner.
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    return os.fdopen(number, "wb")


def _explained(target: Path, error: OSError) -> OutputError:
    if isinstance(error, OutputError):
        return error
    if error.errno in FULL:
        why = "the disk or the quota is full; free some space or choose another place"
    elif error.errno in _REFUSED:
        why = f"no permission to write in {target.parent}; choose another place"
    else:
        why = f"{error.strerror or error}; choose another place"
    return OutputError(f"cannot write {target}: {why}")


def _sync_directory(path: Path) -> None:
    with suppress(OSError):  # not every file system can; the file itself is on disk already
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
