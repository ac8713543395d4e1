"""From verdicts to the two files of a report: a page for people, the same facts for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simifeat.evidence import nearest_of
from simifeat.examples import Examples, open_examples
from simifeat.io.atomic import replacing
from simifeat.io.exact_json import dumps
from simifeat.io.open import may_be_there
from simifeat.nearest_file import Nearest
from simifeat.report.gallery import Card, make_cards, suspicious_rows
from simifeat.report.page import render
from simifeat.report.summary import summarise
from simifeat.verdicts import Verdicts

_N_NEIGHBORS = 5


def write_report(
    verdicts: Verdicts,
    path: Path,
    features: NDArray[Any] | None = None,
    n_shown: int = 24,
) -> tuple[Path, Path]:
    """Write the page to ``path`` and its facts beside it as JSON; both paths.

    Pictures and texts are read from the source that the verdicts name. Neighbours are those the
    verdicts know; where they know none, ``features`` [n, d] tell.
    """
    beside = path.with_suffix(".json")
    cards = _cards(verdicts, features, n_shown)
    summary = summarise(verdicts)
    with replacing(path, beside) as (page, facts):
        page.write(render(summary, cards).encode())
        facts.write(dumps(summary.to_dict()).encode())
    return path, beside


def _cards(verdicts: Verdicts, features: NDArray[Any] | None, n_shown: int) -> list[Card]:
    rows = suspicious_rows(verdicts, n_shown)
    if not len(rows):
        return []
    nearest = _nearest(verdicts, rows, features)
    seen = np.zeros(verdicts.n_examples, bool)
    seen[rows] = True
    seen[[other for near in nearest for other, _ in near]] = True
    with TemporaryDirectory(prefix="simifeat-report-") as spool:
        return make_cards(verdicts, rows, _examples(verdicts, Path(spool), seen), nearest)


def _nearest(
    verdicts: Verdicts, rows: NDArray[np.int64], features: NDArray[Any] | None
) -> list[Sequence[tuple[int, float]]]:
    """Row and similarity of the neighbours of each of ``rows`` [m]; empty if nothing is known."""
    known = verdicts.neighbors
    if known is None and features is not None:
        metric = verdicts.metadata.get("metric", "cosine")
        found = nearest_of(features, rows, min(_N_NEIGHBORS, len(features) - 1), metric)
        order = np.argsort(rows)
        known = Nearest(rows[order], found.index[order], found.similarity[order])
    if known is None:
        return []
    near = known if isinstance(known, Nearest) else Nearest.of(known, rows, _N_NEIGHBORS)
    return [near.to(row)[:_N_NEIGHBORS] for row in rows.tolist()]


def _examples(verdicts: Verdicts, spool: Path, seen: NDArray[np.bool_]) -> Examples | None:
    """What the verdicts were about, if it is still where it was."""
    source = verdicts.metadata.get("source")
    if not source or not may_be_there(source["path"]):
        return None
    return open_examples(source, pa.array(verdicts.ids), spool, seen)
