"""CIFAR's pictures from their authors' site, checked against a known SHA-256."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from simifeat.bench.cells import Say
from simifeat.bench.pictures import FILES, has_pictures
from simifeat.errors import InputError
from simifeat.io.atomic import write_bytes

_BLOCK, _TIMEOUT = 1 << 20, 60


@dataclass(frozen=True)
class Archive:
    """A file elsewhere and what it must be."""

    address: str
    sha256: str


ARCHIVES: Mapping[str, Archive] = {
    "cifar10": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    "cifar100": Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
}


def fetch_pictures(
    folder: Path,
    dataset: str,
    say: Say,
    archives: Mapping[str, Archive] = ARCHIVES,
) -> None:
    """Put the training pictures of ``dataset`` into ``folder`` unless they are there."""
    if has_pictures(folder, dataset):
        return
    if dataset not in archives:
        raise InputError(
            f"there is no download of {dataset}; there is one of {', '.join(archives)}"
        )
    archive = archives[dataset]
    folder.mkdir(parents=True, exist_ok=True)
    say(f"fetching {archive.address}")
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            digest = _copy(archive.address, file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise InputError(
                f"cannot fetch {archive.address}: {reason}; unpack the binary version of {dataset} "
                f"into {folder} by hand"
            ) from error
        if digest != archive.sha256:
            raise InputError(
                f"{archive.address} is not the file that simifeat knows (SHA-256 {digest[:12]}..., "
                f"expected {archive.sha256[:12]}...); nothing was kept; try again"
            )
        file.seek(0)
        _unpack(file, folder, FILES[dataset][0])


def _copy(address: str, file: IO[bytes]) -> str:
    """Write what is at ``address`` to ``file``; its SHA-256."""
    digest = hashlib.sha256()
    with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
        while block := answer.read(_BLOCK):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def _unpack(file: IO[bytes], folder: Path, names: tuple[str, ...]) -> None:
    """The named files alone, whatever folder they are in there."""
    with tarfile.open(fileobj=file) as archive:
        for member in archive:
            name = PurePosixPath(member.name).name
            content = archive.extractfile(member) if name in names else None
            if content is not None:
                write_bytes(folder / name, content.read())
