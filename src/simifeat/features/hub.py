"""Files on the model hub: fetched once into the user's cache, verified, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import Any

from simifeat.errors import InputError, OutputError
from simifeat.features.cache import cache_directory
from simifeat.features.lock import locked
from simifeat.io.atomic import FULL
from simifeat.io.source import Progress
from simifeat.version import __version__

_HUB = "https://huggingface.co"
_ENDPOINT, _OFFLINE = "HF_ENDPOINT", "HF_HUB_OFFLINE"  # as the hub's own client calls them
_TIMEOUT = 30  # seconds without a byte
_BLOCK = 1 << 20


@dataclass(frozen=True)
class HubFile:
    """One file at one revision; its checksum is part of this program."""

    repository: str
    revision: str
    path: str
    n_bytes: int
    sha256: str

    @property
    def address(self) -> str:
        """Where it is; ``$HF_ENDPOINT`` names a mirror."""
        hub = os.environ.get(_ENDPOINT, "").rstrip("/") or _HUB
        return f"{hub}/{self.repository}/resolve/{self.revision}/{self.path}"

    @property
    def place(self) -> Path:
        """Where it is kept; a file that was fetched elsewhere may be put there."""
        folder = f"{self.repository.replace('/', '--')}-{self.revision[:12]}"
        return cache_directory("hub") / folder / self.path.replace("/", "--")


def fetch(file: HubFile, name: str, instead: str, progress: Progress | None = None) -> Path:
    """The file, from the cache or from the hub, being the one that is pinned.

    What was cut off is gone on with, in this run or a later one. ``instead`` names what can be
    used where there is no hub.
    """
    place = file.place
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f"{place.name}.part")
    with locked(place.with_name(f"{place.name}.lock"), Event()):
        if _size(place) == file.n_bytes and digest_of(place) == file.sha256:
            return place
        try:
            if os.environ.get(_OFFLINE, "0").lower() not in ("", "0", "false", "no"):
                raise OSError(f"{_OFFLINE} is set")
            while _size(draft) != file.n_bytes:
                if not _go_on(file, draft, name, progress):
                    raise OSError("the connection was cut")
        except (OSError, HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            if isinstance(error, OSError) and error.errno in FULL:
                raise OutputError(
                    f"cannot keep {name} in {place.parent}: {os.strerror(error.errno or 0)}; free "
                    "some space, or name another folder in the environment variable SIMIFEAT_CACHE"
                ) from error
            raise InputError(
                f"cannot fetch {name} ({_megabytes(file.n_bytes)} MB) from {file.address}: "
                f"{_reason(error)}; without the hub use {instead}, or your own network as "
                f"onnx:PATH, or put the file at {place}"
            ) from error
        found = digest_of(draft)
        if found != file.sha256:
            draft.unlink()
            raise InputError(
                f"{file.address} is not the file that simifeat knows (SHA-256 {found[:12]}…, "
                f"expected {file.sha256[:12]}…); it was not kept; try again, or use {instead}"
            )
        os.replace(draft, place)
    return place


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _go_on(file: HubFile, draft: Path, name: str, progress: Progress | None) -> bool:
    """Ask for the rest of the draft; whether anything came. A cut after something is no error."""
    done = _size(draft)
    if done > file.n_bytes:
        draft.unlink()
        done = 0
    request = urllib.request.Request(
        file.address, headers={"User-Agent": f"simifeat/{__version__}", "Range": f"bytes={done}-"}
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        goes_on = answer.status == 206 and _starts_at(answer, done)
        if not goes_on:
            done = 0  # the whole file comes
        first = done
        with draft.open("ab" if goes_on else "wb") as out:
            with suppress(HTTPException, TimeoutError, ConnectionError):
                while done < file.n_bytes and (block := answer.read1(_BLOCK)):
                    done += out.write(block[: file.n_bytes - done])
                    if progress is not None:
                        progress(
                            f"fetching {name} (MB)", _megabytes(done), _megabytes(file.n_bytes)
                        )
            out.flush()
            os.fsync(out.fileno())
    return done > first


def _starts_at(answer: Any, done: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {done}-")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise
        return 0


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(getattr(error.reason, "strerror", None) or error.reason)
    return str(getattr(error, "strerror", None) or error)


def _megabytes(n_bytes: int) -> int:
    return round(n_bytes / 1e6)
