"""Every detector by name: one line each. ``docs/adding-a-detector.md`` is the recipe for one more.

A detector is a function ``(features, labels, *, seed, **options) -> Verdicts``.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import simifeat
from simifeat.errors import InputError
from simifeat.verdicts import Verdicts


@dataclass(frozen=True)
class Detector:
    """Where a detector is and how a comparison calls it."""

    title: str
    """Its name in tables."""
    place: str
    """``module:function``, imported when it is first called."""
    options: Mapping[str, Any] = field(default_factory=dict)
    takes: Literal["", "trainer", "neighbors"] = ""
    """What it can share with others on the same features: a trainer, or the neighbour graph."""

    def load(self) -> Callable[..., Verdicts]:
        """The function itself."""
        module, _, name = self.place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError(f"the detector {self.place} cannot be loaded: {error}") from error


DETECTORS: dict[str, Detector] = {
    "ce_sieve": Detector("CE Sieve", "simifeat.baselines.ce_sieve:ce_sieve", takes="trainer"),
    "cores": Detector("CORES", "simifeat.baselines.cores:cores", takes="trainer"),
    "confident_learning": Detector(
        "CL", "simifeat.baselines.confident_learning:confident_learning", takes="trainer"
    ),
    "tracin": Detector("TracIn", "simifeat.baselines.tracin:tracin", takes="trainer"),
    "deep_knn": Detector("Deep k-NN", "simifeat.baselines.deep_knn:deep_knn", takes="trainer"),
    "vote": Detector(
        "SimiFeat-V",
        "simifeat.detect:detect",
        {"preset": "paper", "method": "vote"},
        takes="neighbors",
    ),
    "rank": Detector(
        "SimiFeat-R",
        "simifeat.detect:detect",
        {"preset": "paper", "method": "rank"},
        takes="neighbors",
    ),
    "propagate": Detector("propagate", "simifeat.detect:detect", {"method": "propagate"}),
}


def code_mark(entry: Detector) -> str:
    """Fingerprint of the source a detector's verdicts come from: the numeric core and its own."""
    own = importlib.util.find_spec(entry.place.partition(":")[0])
    files = {Path(own.origin)} if own is not None and own.origin is not None else set()
    for folder in ("", "neighbors", "baselines"):
        files.update((Path(simifeat.__file__).parent / folder).glob("*.py"))
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def detector(name: str) -> Detector:
    """The registered detector ``name``, or the function of your own at ``module:function``."""
    if name in DETECTORS:
        return DETECTORS[name]
    if ":" in name:
        return Detector(name.partition(":")[2], name)
    raise InputError(
        f"there is no detector {name!r}; choose one of {', '.join(DETECTORS)}, or give "
        "module:function of your own"
    )
