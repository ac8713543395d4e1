"""Names of classes that Hugging Face's datasets library keeps beside columns of codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError
from simifeat.io.names import CLEAN_LABEL

ClassNames = Mapping[str, tuple[str, ...]]
"""Column -> what its codes 0, 1, ... stand for."""

_NO_LABEL = -1  # what the library writes where a label is missing


def class_names(info: bytes) -> ClassNames:
    """The ``ClassLabel`` columns in JSON such as dataset_info.json; none where it is no such."""
    try:
        read = json.loads(info)
        features = read.get("info", read).get("features", {})
        found = {
            name: tuple(map(str, feature["names"]))
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, AttributeError, KeyError, TypeError):
        return {}
    return {name: names for name, names in found.items() if len(set(names)) == len(names)}


def with_clean_label(info: dict[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    """``info`` with the clean labels among ``columns`` described as the labels are."""
    inner = info.get("info", info)
    features = inner.get("features") if isinstance(inner, dict) else None
    label = next((name for name in columns if name != CLEAN_LABEL), None)
    if CLEAN_LABEL in columns and isinstance(features, dict) and label in features:
        features[CLEAN_LABEL] = features[label]
    return info


def named(values: NDArray[Any], names: tuple[str, ...], column: str, path: Path) -> NDArray[Any]:
    """Codes [n] as names; a code below 0 is a missing label."""
    found = np.empty(len(values), object)
    for n, code in enumerate(values.tolist()):
        if code is None or code == _NO_LABEL:
            continue
        if not isinstance(code, int) or not 0 <= code < len(names):
            raise InputError(
                f"column {column!r} of {path} holds {code!r} in row {n}, but its classes are "
                f"numbered from 0 to {len(names) - 1}; save the dataset again"
            )
        found[n] = names[code]
    return found
