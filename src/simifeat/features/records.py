"""From the records of a source to its features: what every kind of source calls."""

from __future__ import annotations

from collections.abc import Mapping

from simifeat.augment import ImageAugment, TextAugment
from simifeat.features.base import Augment
from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.registry import DEFAULTS, open_extractor
from simifeat.io.records import Kind, Records
from simifeat.io.source import Features, Progress, Request, Skipped

_AUGMENTS: Mapping[Kind, Augment] = {"image": ImageAugment(), "text": TextAugment()}


def record_features(
    records: Records,
    request: Request,
    progress: Progress | None = None,
    skipped: tuple[Skipped, ...] = (),
) -> Features:
    """Features of ``records`` with the extractor, the epochs and the seed of ``request``.

    ``skipped`` are those that the source could tell beforehand are none.
    """
    extractor = open_extractor(request.extractor, records.kind)
    found = extract_epochs(
        Plan(
            records,
            extractor,
            n_epochs=request.n_epochs,
            augment=_AUGMENTS[records.kind] if request.n_epochs > 1 else None,
            seed=request.seed,
            progress=progress,
        )
    )
    notes = extractor.notes
    if request.extractor is None:
        notes = (f"features by {DEFAULTS[records.kind]}; --extractor chooses another", *notes)
    return Features(
        matrix=next(found.epochs) if request.n_epochs == 1 else found.epochs,
        metric="cosine",
        notes=notes,
        skipped=(*skipped, *found.skipped),
        kept=None if len(found.kept) == len(records) else found.kept,
    )
