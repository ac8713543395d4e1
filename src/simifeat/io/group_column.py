"""Groups of rows: a column or array of the source, or a file of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.arrays import Archive, flat
from simifeat.io.names import require_name
from simifeat.io.other_files import is_file_name, labels_of_file
from simifeat.io.reading import reading
from simifeat.io.source import Source
from simifeat.io.tables import TableSource


def read_groups(source: Source, groups: str) -> NDArray[Any]:
    """Groups [n] of a source; an empty cell is None: a row that stands alone."""
    place = source.path
    if isinstance(source, TableSource):
        names = source.rows.schema.names
        if not is_file_name(groups, names):
            cells = list(source.rows.contents(require_name(groups, names, place)))
            column = np.empty(len(cells), object)
            column[:] = [None if cell == "" else cell for cell in cells]
            return column
    elif place.suffix.lower() == ".npz":
        archive = Archive(place)
        if not is_file_name(groups, list(archive.shapes)):
            name = require_name(groups, list(archive.shapes), place, "array")
            with reading(place, ".npz"):
                return flat(archive[name])
    elif not is_file_name(groups, ()):
        raise InputError(f"{place} has no column {groups!r}; give a file with --groups FILE")
    return labels_of_file(groups)
