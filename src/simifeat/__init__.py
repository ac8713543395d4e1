"""simifeat finds the wrong labels in a classification dataset without training a model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from simifeat.detect import detect
from simifeat.errors import InputError, NotIdentifiable, SimifeatError
from simifeat.transition import Transition, estimate_transition
from simifeat.verdicts import Verdicts
from simifeat.version import __version__

if TYPE_CHECKING:
    from simifeat import metrics, neighbors, noise, theory
    from simifeat.adding import Run, extend
    from simifeat.annotators import consensus_labels
    from simifeat.estimator import SimiFeat
    from simifeat.local_transition import estimate_local_transition
    from simifeat.multilabel import detect_multilabel

__all__ = [
    "InputError",
    "NotIdentifiable",
    "Run",
    "SimiFeat",
    "SimifeatError",
    "Transition",
    "Verdicts",
    "__version__",
    "consensus_labels",
    "detect",
    "detect_multilabel",
    "estimate_local_transition",
    "estimate_transition",
    "extend",
    "metrics",
    "neighbors",
    "noise",
    "theory",
]

_MODULES = ("metrics", "neighbors", "noise", "theory")
_ELSEWHERE = {
    "Run": "adding",
    "extend": "adding",
    "SimiFeat": "estimator",
    "consensus_labels": "annotators",
    "detect_multilabel": "multilabel",
    "estimate_local_transition": "local_transition",
}


def __getattr__(name: str) -> Any:
    """Load on first use what is not needed to detect: scikit-learn alone takes a second."""
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(f"simifeat.{_ELSEWHERE[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"simifeat.{name}")
    raise AttributeError(f"module 'simifeat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
