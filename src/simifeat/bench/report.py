"""What a finished table leaves behind: JSON, Markdown, LaTeX and plots in one folder."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simifeat.bench.grid import Grid
from simifeat.io.atomic import write_bytes
from simifeat.version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "cleanlab", "torch")


def write_table(
    folder: Path, name: str, grids: Sequence[Grid], record: Mapping[str, Any]
) -> list[Path]:
    """Write ``name``.json, .md and .tex to ``folder``; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "table": name,
        "command": " ".join(["simifeat", *sys.argv[1:]]),
        "version": __version__,
        "versions": _versions(),
        "machine": _machine(),
        **record,
    }
    texts = {
        "json": json.dumps(content, indent=1) + "\n",
        "md": "\n".join(grid.markdown() for grid in grids),
        "tex": "\n".join(grid.latex() for grid in grids),
    }
    paths = []
    for ending, text in texts.items():
        paths.append(folder / f"{name}.{ending}")
        write_bytes(paths[-1], text.encode())
    return paths


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
