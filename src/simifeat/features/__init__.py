"""Extractors: pictures, texts and tables as features."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa
    from numpy.typing import NDArray

    from simifeat.io.source import Features, Progress, Request

__all__ = ["column_features"]


def column_features(
    column: pa.ChunkedArray,
    name: str,
    request: Request,
    progress: Progress | None = None,
    labels: NDArray[Any] | None = None,
) -> Features:
    """Features of a column of texts, of paths of pictures or of their bytes.

    Paths are below the folder of ``request.path``. ``labels``, one a row, are for extractors that
    warm up on them.
    """
    from simifeat.features.records import record_features
    from simifeat.features.registry import kind_read_by
    from simifeat.io.cells import Cells, kind_of_column

    kind = kind_of_column(column, name, request.path)
    if request.extractor is not None:
        kind = kind_read_by(request.extractor, kind)
    records = Cells(column, kind, request.path.parent)
    return record_features(records, request, progress, labels=labels)
