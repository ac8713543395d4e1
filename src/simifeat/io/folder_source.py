"""Tables that are kept as folders of files: a copy of one is a folder, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.io.atomic import replacing
from simifeat.io.folders import copied_folder
from simifeat.io.source import Edit
from simifeat.io.table_file import TableFile
from simifeat.io.tables import TableSource


class FolderFile(TableFile, Protocol):
    """Rows in the files of a folder that can be copied."""

    def write_folder(
        self, columns: Mapping[str, pa.ChunkedArray], keep: NDArray[np.bool_], place: Path
    ) -> None:
        """Copy the rows to ``keep`` [n], with ``columns`` [n] in place of, or beside, the old."""


class FolderSource(TableSource):
    """Labelled examples in the files of a folder."""

    rows: FolderFile

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Write an edited copy as a new folder, and of a feature file beside it."""
        columns, features = self._edited(edit), self._kept_features(edit)
        with copied_folder(target) as draft:
            self.rows.write_folder(columns, edit.keep, draft.place)
        if features is None:
            return (target,)
        beside = target.with_name(f"{target.name}.features.npy")
        with replacing(beside) as (array,):
            np.save(array, features, allow_pickle=False)
        return (target, beside)
