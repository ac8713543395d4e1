"""Features extracted on a Ray cluster: Ray Data hands out batches, each worker holds one model."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from threading import Event
from typing import Any

import numpy as np

from simifeat.distributed.on_ray import connect
from simifeat.errors import require
from simifeat.features.base import AtHand, Extractor
from simifeat.features.extract import Batch, Randomness, Stopped, extract_batch
from simifeat.features.registry import open_extractor
from simifeat.io.records import Kind, Records

_FAILED = ("row", "name", "reason")


@dataclass(frozen=True)
class OnRayData:
    """Stands in for ``simifeat.features.extract.extract_batches``; the same batches come of it.

    Every node must see the files of the records.
    """

    address: str

    def __call__(
        self,
        spec: str,
        at_hand: AtHand,
        records: Records,
        extractor: Extractor,
        random: Randomness | None = None,
        *,
        start: int = 0,
        n_threads: int | None = None,
        stop: Event | None = None,
    ) -> Iterator[Batch]:
        """Batches of features in the order of the rows, from row ``start`` on."""
        ray = connect(self.address)
        data = require("ray.data", "ray")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        starts = list(range(start, len(records), extractor.batch_size))
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        workers = gpus or max(1, int(resources.get("CPU", 1)) - 1)  # one core is left for reading
        shared = _Shared(records, spec, records.kind, replace(at_hand, progress=None))
        found = data.from_items(starts, override_num_blocks=max(1, len(starts))).map_batches(
            _Worker,
            fn_constructor_args=(shared, extractor.batch_size, random),
            batch_size=1,
            compute=data.ActorPoolStrategy(min_size=1, max_size=workers),
            num_gpus=1 if gpus else None,
            zero_copy_batch=True,
        )
        for row in found.iter_rows():
            if stop is not None and stop.is_set():
                raise Stopped
            yield _unpacked(row)


@dataclass(frozen=True)
class _Shared:
    """What every worker makes its model from."""

    records: Records
    spec: str
    kind: Kind
    at_hand: AtHand


class _Worker:
    """One model; batches of records become features."""

    def __init__(self, given: _Shared, batch_size: int, random: Randomness | None) -> None:
        self._records = given.records
        self._extractor = open_extractor(given.spec, given.kind, given.at_hand)
        self._batch_size = batch_size
        self._random = random

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        start = int(batch["item"][0])
        records = list(islice(iter(self._records), start, start + self._batch_size))
        return _packed(extract_batch(records, start, self._extractor, self._random))


def _packed(batch: Batch) -> dict[str, Any]:
    """A batch as one row of a table."""
    failed = (
        dict(zip(_FAILED, zip(*batch.failed, strict=True), strict=True)) if batch.failed else {}
    )
    columns = {f"failed_{name}": [list(failed.get(name, ()))] for name in _FAILED}
    return {
        "start": [batch.start],
        "shape": [list(batch.features.shape)],
        "features": [np.ascontiguousarray(batch.features).tobytes()],
        **columns,
    }


def _unpacked(row: dict[str, Any]) -> Batch:
    features = np.frombuffer(row["features"], np.float32).reshape(row["shape"])
    failed = zip(*(list(row[f"failed_{name}"]) for name in _FAILED), strict=True)
    return Batch(
        int(row["start"]),
        features,
        tuple((int(number), str(name), str(reason)) for number, name, reason in failed),
    )
