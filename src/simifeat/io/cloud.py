"""Paths such as ``s3://bucket/data.csv``: fetched once, through fsspec, to a temporary folder."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from simifeat.errors import InputError, require
from simifeat.io.patterns import expanded, is_pattern
from simifeat.io.source import Progress

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: C:// is a drive
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hf": "huggingface_hub",
}
_AT_ONCE = 16  # files fetched beside each other


def is_url(path: object) -> bool:
    """Whether ``path`` names files elsewhere, as in ``s3://bucket/key``."""
    return isinstance(path, str) and _URL.match(path) is not None


def fetched(url: str, progress: Progress | None = None) -> Path:
    """A local copy of what ``url`` names, in a folder that goes when the process ends."""
    place = Path(tempfile.mkdtemp(prefix="simifeat-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return fetch(url, place, progress)


def fetch(url: str, place: Path, progress: Progress | None = None) -> Path:
    """Fetch a file, everything below a folder, or what a pattern names, into ``place``.

    The file or folder of it. Names that would lead out of ``place`` are refused.
    """
    system, path = _opened(url)
    try:
        names = _named(system, url, path)
        if names == [path]:
            target = place / os.path.basename(path.partition("?")[0])
            places = _inside([target], place, url)
        else:
            is_folder = not is_pattern(path)
            top = path.rstrip("/") if is_folder else os.path.commonpath(map(os.path.dirname, names))
            target = place / (os.path.basename(top) or "files")
            places = _inside([target / name[len(top) :].lstrip("/") for name in names], target, url)
        _fetch_all(system, names, places, progress)
    except FileNotFoundError:
        raise InputError(f"{url} does not exist; check the path") from None
    except PermissionError as error:
        raise InputError(f"cannot read {url}: no permission; check the credentials") from error
    except InputError:
        raise
    except Exception as error:  # each file system has errors of its own
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"cannot fetch {url} ({detail}); check the path and try again") from error
    return target


def _opened(url: str) -> tuple[Any, str]:
    core: Any = require("fsspec.core", extra="cloud")
    scheme = url.partition("://")[0].lower()
    try:
        system, path = core.url_to_fs(url)
    except ImportError as error:
        package = _PACKAGES.get(scheme)
        hint = (
            f"install it with: pip install {package}" if package else " ".join(str(error).split())
        )
        raise InputError(f"{url}: a package for {scheme}:// is missing; {hint}") from error
    except ValueError as error:
        raise InputError(
            f"{url}: there is no way to read {scheme}:// ({error}); copy the files to a disk"
        ) from error
    return system, path


def _named(system: Any, url: str, path: str) -> list[str]:
    if url.startswith(("http://", "https://")):  # a server knows neither folders nor patterns
        return [path]
    if is_pattern(path):
        names: list[str] = []
        for each in expanded(path):
            names += sorted(system.glob(each)) if any(c in each for c in "*?[") else [each]
        if not names:
            raise InputError(f"{url} names no file; check the path")
        return names
    if system.isfile(path):
        return [path]
    names = sorted(system.find(path))
    if not names:
        raise FileNotFoundError(url)
    return names


def _inside(targets: Sequence[Path], place: Path, url: str) -> list[Path]:
    """``targets``, all of them below ``place``."""
    top = os.path.realpath(place)
    places = [Path(os.path.realpath(target)) for target in targets]
    odd = next((each for each in places if not each.is_relative_to(top) or each == Path(top)), None)
    if odd is not None:
        raise InputError(f"{url} holds a name that leads elsewhere ({odd.name}); rename it")
    return places


def _fetch_all(
    system: Any, names: Sequence[str], places: Sequence[Path], progress: Progress | None
) -> None:
    for folder in {place.parent for place in places}:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="simifeat-fetch") as pool:
        waiting = [
            pool.submit(system.get_file, name, os.fspath(place))
            for name, place in zip(names, places, strict=True)
        ]
        try:
            for done, each in enumerate(waiting, 1):
                each.result()
                if progress is not None:
                    progress("fetching files", done, len(names))
        finally:
            pool.shutdown(cancel_futures=True)
