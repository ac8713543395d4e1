"""A folder of copied files that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from simifeat.errors import OutputError


@dataclass(frozen=True)
class Draft:
    """A folder that is being filled."""

    place: Path

    def copy(self, source: Path, name: str) -> None:
        """Copy the file ``source`` to ``name`` below the folder."""
        target = self.place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


@contextmanager
def copied_folder(target: Path) -> Iterator[Draft]:
    """A draft beside ``target`` that takes its place when the block ends well."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"cannot write {target}: it is there already; name a new folder")
    draft = target.absolute().with_name(f".simifeat-{secrets.token_hex(6)}.tmp")
    try:
        draft.mkdir()
        yield Draft(draft)
        os.replace(draft, target)
    except OSError as error:
        raise OutputError(
            f"cannot write {target}: {error.strerror or error}; choose another place"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def free_name(folder: str, inside: str, prefix: str, taken: set[str]) -> str:
    """``folder/inside``, with ``prefix`` and then a number before its last part if taken."""
    path = PurePosixPath(folder, inside)
    names = iter([path.name, f"{prefix}_{path.name}"])
    number = 1
    while True:
        name = next(names, f"{prefix}_{number}_{path.name}")
        whole = (path.parent / name).as_posix()
        if whole not in taken:
            taken.add(whole)
            return whole
        number += 1
