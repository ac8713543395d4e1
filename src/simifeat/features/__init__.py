"""Extractors: pictures, texts and tables as features."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from simifeat.io.source import Features, Progress, Request
    from simifeat.io.table_file import TableFile

__all__ = ["column_features"]


def column_features(
    file: TableFile,
    name: str,
    n: int,
    request: Request,
    progress: Progress | None = None,
    labels: NDArray[Any] | None = None,
) -> Features:
    """Features of the column ``name`` of ``n`` texts, paths of pictures or their bytes.

    Paths are below the folder of the table. ``labels``, one a row, are for extractors that warm up
    on them.
    """
    from simifeat.features.records import record_features
    from simifeat.features.registry import kind_read_by
    from simifeat.io.cells import Column, kind_of_contents

    kind = kind_of_contents(file, name)
    if request.extractor is not None:
        kind = kind_read_by(request.extractor, kind)
    folder = file.path if file.path.is_dir() else file.path.parent
    records = Column(file, name, kind, folder, n)
    return record_features(records, request, progress, labels=labels)
