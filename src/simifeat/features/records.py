"""From the records of a source to its features: what every kind of source calls."""

from __future__ import annotations

from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.registry import DEFAULTS, open_extractor
from simifeat.io.records import Records
from simifeat.io.source import Features, Progress, Request, Skipped


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
            seed=request.seed,
            progress=progress,
        )
    )
    notes: tuple[str, ...] = ()
    if request.extractor is None:
        notes = (f"features by {DEFAULTS[records.kind]}; --extractor chooses another",)
    return Features(
        matrix=next(found.epochs) if request.n_epochs == 1 else found.epochs,
        metric="cosine",
        notes=notes,
        skipped=(*skipped, *found.skipped),
        kept=None if len(found.kept) == len(records) else found.kept,
    )
