"""The labels of a cell: people's, read from the folder, or corrupted here with the cell's seed.

``symm60``, ``asym30``, ``inst40`` and the like, a kind and a rate in per cent, are drawn anew for
every seed. Any other name is that of an array in the folder, the same for every seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat import noise
from simifeat.bench.data import FeatureFile, label_sets
from simifeat.errors import InputError

PAPER_NOISE = ("human", "symm60", "asym30", "inst40")
_SYNTHETIC = re.compile(r"(symm|asym|inst)(\d\d)")


@dataclass(frozen=True)
class NoisyLabels:
    """The labels of one dataset under every noise."""

    folder: Path
    reference: FeatureFile
    """Its dataset is the one; its features decide instance-dependent noise, for all extractors."""

    def clean(self, rows: NDArray[np.int64] | None) -> NDArray[Any]:
        """The true labels [n], or those of ``rows``."""
        return _of_rows(label_sets(self.folder, self.reference.dataset)["clean"], rows)

    def draw(self, name: str, seed: int, rows: NDArray[np.int64] | None) -> NDArray[Any]:
        """The labels [n] under noise ``name``, or those of ``rows``: the same whichever rows."""
        sets = label_sets(self.folder, self.reference.dataset)
        self.check(name, sets)
        synthetic = _SYNTHETIC.fullmatch(name)
        if synthetic is None:
            return _of_rows(sets[name], rows)
        kind, rate = synthetic[1], int(synthetic[2]) / 100
        clean = sets["clean"]
        draw: Callable[[], NDArray[Any]] = {
            "symm": lambda: noise.symmetric(clean, rate, seed=seed),
            "asym": lambda: noise.asymmetric(clean, rate, seed=seed),
            "inst": lambda: noise.instance_dependent(self._unit_rows(), clean, rate, seed=seed),
        }[kind]
        return _of_rows(draw(), rows)

    def check(self, name: str, sets: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Refuse a noise that is neither drawn nor there."""
        dataset = self.reference.dataset
        there = set(label_sets(self.folder, dataset) if sets is None else sets) - {"clean"}
        if _SYNTHETIC.fullmatch(name) is None and name not in there:
            raise InputError(
                f"there are no labels {dataset}_{name} in {self.folder}; there are "
                f"{', '.join(sorted(there)) or 'none'}, and symm60, asym30, inst40 with any rate "
                "are drawn"
            )

    def _unit_rows(self) -> NDArray[np.float32]:
        """Features of length 1, so that no row's noise goes to one class for its length alone."""
        features = self.reference.load()
        length = np.linalg.norm(features, axis=1, keepdims=True)
        return np.divide(features, length, out=np.zeros_like(features), where=length > 0)


def _of_rows(labels: NDArray[Any], rows: NDArray[np.int64] | None) -> NDArray[Any]:
    return labels if rows is None else labels[rows]
