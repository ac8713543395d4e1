"""The user's cache: models that were built or fetched, features that were extracted.

All of it can be made again, so any of it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from simifeat.errors import OutputError
from simifeat.io.atomic import write_bytes

_VARIABLE = "SIMIFEAT_CACHE"


def cache_directory(part: str) -> Path:
    """The folder for ``part``, made if it is missing; ``$SIMIFEAT_CACHE`` moves all of them."""
    place = _root() / part
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the cache folder {place}: {error.strerror or error}; name a folder that "
            f"can be written to in the environment variable {_VARIABLE}"
        ) from error
    return place


def _root() -> Path:
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "simifeat"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "simifeat"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else home / ".cache") / "simifeat"


def cached_bytes(name: str, make: Callable[[], bytes]) -> bytes:
    """The model file ``name`` from the cache; made, and kept with its checksum, where it is not.

    A cache that cannot be written to costs time, nothing else.
    """
    try:
        place = cache_directory("models") / name
        kept = place.read_bytes()
        if place.with_name(f"{name}.sha256").read_text() == hashlib.sha256(kept).hexdigest():
            return kept
    except (OSError, UnicodeDecodeError):  # not there yet, or damaged
        pass
    content = make()
    with suppress(OSError):
        place = cache_directory("models") / name
        write_bytes(place, content)
        write_bytes(place.with_name(f"{name}.sha256"), hashlib.sha256(content).hexdigest().encode())
    return content
