"""WebDataset shards as a source: one tar, a folder of them, or a pattern that names several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simifeat.errors import OutputError
from simifeat.io.atomic import replacing
from simifeat.io.folder_source import FolderSource
from simifeat.io.names import guess_label, is_label
from simifeat.io.patterns import matching
from simifeat.io.source import Edit, Features, Progress, Request
from simifeat.io.tar_file import IMAGE, KEY, TarRows

ENDINGS = (".tar", ".tar.gz", ".tgz")
_CLASS, _TEXT = "cls", "txt"


def is_tar(path: Path) -> bool:
    """Whether the name of a file ends like that of a shard."""
    return path.name.lower().endswith(ENDINGS)


def tars_in(folder: Path) -> list[Path]:
    """The shards directly in a folder."""
    return sorted(file for file in folder.iterdir() if is_tar(file) and file.is_file())


def open_tars(request: Request) -> TarSource:
    """Samples with a picture or a text, and a label in .cls, .json or .txt."""
    path = request.path
    shards = tars_in(path) if path.is_dir() else [path] if path.is_file() else matching(str(path))
    rows, notes = TarRows(path, shards), []
    names = rows.schema.names
    if request.labels is None:
        request = replace(request, labels=_guessed_label(rows))
        notes.append(f"labels: {request.labels!r} of each sample")
    if request.id is None:
        request = replace(request, id=KEY)
    if request.features is None and request.extractor is None:
        record = IMAGE if IMAGE in names else _TEXT if _TEXT in names else None
        request = replace(request, features=record)
    label = request.labels if request.labels in names else None
    return TarSource(TarRows(path, shards, label), request, tuple(notes))


class TarSource(FolderSource):
    """Labelled samples of tar shards."""

    rows: TarRows

    def load_features(self, progress: Progress | None = None) -> Features:
        """Extract them; samples without a label, and what is damaged, are named."""
        found = super().load_features(progress)
        return replace(found, skipped=(*self.rows.skipped, *found.skipped))

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Write an edited copy: a tar of a tar, a folder of several."""
        if not self.path.is_file():
            return super().write_edited(target, edit)
        if not is_tar(target) or target.suffix.lower() != self.path.suffix.lower():
            raise OutputError(
                f"cannot write {target}: a copy of {self.path} ends in {self.path.suffix}, too"
            )
        columns = self._edited(edit)
        with replacing(target) as (file,):
            self.rows.write(columns, edit.keep, file)
        return (target,)


def _guessed_label(rows: TarRows) -> str:
    """.cls, else what labels are usually called, else the text beside a picture."""
    names = rows.schema.names
    if _CLASS in names:
        return _CLASS
    if IMAGE in names and _TEXT in names and not any(map(is_label, names)):
        return _TEXT
    return guess_label(names, rows.path, "member or field")
