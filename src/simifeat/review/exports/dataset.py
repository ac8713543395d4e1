"""The dataset itself, cleaned, in the format it came in."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from simifeat.io.open import kind_of
from simifeat.review.exports.base import Format, Material
from simifeat.review.finished import source_behind


def _write(material: Material, file: BinaryIO) -> None:
    assert material.origin is not None  # or there would be a reason why not
    source = source_behind(material.origin)
    edit = material.finished.edit(source.labels, material.origin)
    with tempfile.TemporaryDirectory(prefix="simifeat-cleaned-") as folder:
        written = source.write_edited(Path(folder) / f"cleaned{_ending(material)}", edit)
        with written[0].open("rb") as whole:
            shutil.copyfileobj(whole, file)


def _why_not(material: Material) -> str | None:
    if material.origin is None:
        return "The verdicts do not say which files were judged."
    if not Path(material.origin["path"]).is_file():
        return "A folder is copied by: simifeat clean OUT -o FOLDER"
    if (material.origin.get("features") or "").endswith((".npy", ".npz")):
        return "Features in a file of their own are cut along by: simifeat clean OUT -o CLEANED"
    return None


def _ending(material: Material) -> str:
    if material.origin is None:
        return ""
    path = Path(material.origin["path"])
    if not path.is_file():
        return ""
    return ".npz" if kind_of(path) in (".npy", ".npz") else path.suffix


FORMAT = Format(
    "Cleaned dataset",
    "A copy in the format of the source, with new labels and without dropped rows.",
    _ending,
    _write,
    _why_not,
)
