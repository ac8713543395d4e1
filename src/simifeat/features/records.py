"""From the records of a source to its features: what every kind of source calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from simifeat.augment import ImageAugment, TextAugment
from simifeat.features.base import AtHand, Augment
from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.extract import extract_batches
from simifeat.features.options import Options
from simifeat.features.registry import DEFAULTS, open_extractor, without_options
from simifeat.io.records import Kind, Records
from simifeat.io.source import Features, Progress, Request, Skipped

_AUGMENT_OPTIONS: Mapping[Kind, tuple[str, ...]] = {
    "image": ("padding", "flip", "jitter"),
    "text": ("dropout",),
}


def record_features(
    records: Records,
    request: Request,
    progress: Progress | None = None,
    skipped: tuple[Skipped, ...] = (),
    labels: NDArray[Any] | None = None,
) -> Features:
    """Features of ``records`` with the extractor, the epochs and the seed of ``request``.

    ``skipped`` are those that the source could tell beforehand are none. ``labels``, one a record,
    are for extractors that warm up on them.
    """
    spec = request.extractor or DEFAULTS[records.kind]
    spec, changes = without_options(spec, _AUGMENT_OPTIONS[records.kind])
    augment = chosen_augment(records.kind, spec, changes)
    at_hand = AtHand(records, labels, request.seed, progress)
    extractor = open_extractor(spec, records.kind, at_hand)
    spread = request.spread
    found = extract_epochs(
        Plan(
            records,
            extractor,
            n_epochs=request.n_epochs,
            augment=augment if request.n_epochs > 1 else None,
            seed=request.seed,
            progress=progress,
            batches=extract_batches if spread is None else partial(spread, spec, at_hand),
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


def chosen_augment(kind: Kind, name: str, options: Mapping[str, str]) -> Augment:
    """RandPreProcess of the epochs after the first, with what was asked for in the options."""
    chosen = Options(name, options)
    if kind == "text":
        return TextAugment(chosen.share("dropout", TextAugment.dropout))
    return ImageAugment(
        padding=chosen.share("padding", ImageAugment.padding),
        flip=chosen.choice("flip", ("0", "1"), "1") == "1",
        jitter=chosen.share("jitter", ImageAugment.jitter),
    )
