"""Rows that no class fits, apart from rows whose label is wrong: far from all, or between classes.

    r_n = log of the mean distance from n to its nearest neighbours
    far_n = min(z of r_n among the rows believed to be of n's class,
                z of r_n - mean of r_m over the neighbours m, among all rows), at least 0
    mixed_n = entropy of the mean belief of the neighbours / log K
    score_n = far_n / 2.5 + mixed_n,  an outlier above 1.4

z counts from the median in steps of its distance to the 84th percentile, a standard deviation where
values are normal, so that a few outliers do not hide themselves. A row is far only if it is so for
its class and for its neighbours: the edge of a class is thin, but so is what surrounds it. The
scale and the cut were chosen on CIFAR-10 without some of its classes, see benchmarks/outliers.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs
from simifeat.errors import InputError
from simifeat.neighbors.base import Neighbors

if TYPE_CHECKING:
    from simifeat.verdicts import Verdicts

N_NEAREST = 10
"""Neighbours whose distances and beliefs are looked at."""
CUT = 1.4
_FAR = 2.5  # so far out counts like a neighbourhood of all classes alike
_FEW = 20  # rows of a class from which its distances have a median worth the name
_SMALLEST = 1e-9  # distance that copies are taken to have
_BLOCK = 1 << 15  # rows whose neighbours' beliefs are added up at once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outliers:
    """``score`` [n]: higher = no class fits; 0 where a row has no neighbours to compare with."""

    score: NDArray[np.float32]

    @property
    def is_outlier(self) -> NDArray[np.bool_]:
        """Beyond the cut, [n]."""
        return self.score > np.float32(CUT)


def find_outliers(neighbors: Neighbors, beliefs: Beliefs, n_classes: int) -> Outliers:
    """Score every row by its ``neighbors`` and the ``beliefs`` about the ``n_classes`` classes."""
    near = neighbors.first(N_NEAREST)
    seen = near.index >= 0  # [n, k]
    count = seen.sum(axis=1)  # [n]
    reach = _log_distance(near, seen, count)  # [n], r
    around = np.where(seen, reach[near.index], 0).sum(axis=1) / np.maximum(count, 1)  # [n]
    best = np.where(beliefs.classes >= 0, beliefs.probability, -1).argmax(axis=1)  # [n]
    believed = beliefs.classes[np.arange(len(best)), best]  # [n]
    far = np.minimum(
        _steps(reach, believed), _steps(reach - around, np.zeros(len(reach), np.int32))
    )
    mixed = _entropy_around(near, seen, beliefs, n_classes) / np.log(n_classes)
    score = np.maximum(far, 0) / _FAR + mixed
    return Outliers(np.where(count > 0, score, 0).astype(np.float32))


def outliers_of(verdicts: Verdicts) -> Outliers:
    """The outliers among the rows that ``verdicts`` are about."""
    if verdicts.beliefs is None or not isinstance(verdicts.neighbors, Neighbors):
        raise InputError(
            "outliers can be told after detect alone, not after loading a file; "
            "save verdicts.with_outliers() when the verdicts are made"
        )
    return find_outliers(verdicts.neighbors, verdicts.beliefs, len(verdicts.classes))


def _log_distance(near: Neighbors, seen: NDArray[np.bool_], count: NDArray[np.int64]) -> Floats:
    similarity = near.similarity.astype(np.float64)
    if near.metric == "euclidean":
        distance = 1 / np.maximum(similarity, 1e-30) - 1
    else:
        distance = 1 - similarity
    mean = np.where(seen, np.maximum(distance, 0), 0).sum(axis=1) / np.maximum(count, 1)
    return np.log(np.maximum(mean, _SMALLEST))


def _steps(values: Floats, groups: NDArray[np.int32]) -> Floats:
    """z of ``values`` [n] in their group [n]; small groups are measured by all rows."""
    out = _measured(values)
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order])) + 1
    for rows in np.split(order, bounds):
        if len(rows) >= _FEW:
            out[rows] = _measured(values[rows])
    return out


def _measured(values: Floats) -> Floats:
    middle, upper = np.quantile(values, [0.5, 0.8413])
    return (values - middle) / max(upper - middle, _SMALLEST)


def _entropy_around(
    near: Neighbors, seen: NDArray[np.bool_], beliefs: Beliefs, n_classes: int
) -> Floats:
    """Entropy of the mean belief of each row's neighbours, [n]."""
    n, k = near.index.shape
    s = beliefs.classes.shape[1]
    held = scipy.sparse.csr_array(
        (
            beliefs.probability.ravel().astype(np.float64),
            np.maximum(beliefs.classes, 0).ravel(),
            np.arange(0, n * s + 1, s),
        ),
        shape=(n, n_classes),
    )
    out = np.zeros(n)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        weight = seen[part].astype(np.float64)  # [b, k]
        asked = scipy.sparse.csr_array(
            (weight.ravel(), np.maximum(near.index[part], 0).ravel(),
             np.arange(0, weight.size + 1, k)),
            shape=(len(weight), n),
        )  # fmt: skip
        said = asked @ held  # [b, K], sums of beliefs
        row = np.repeat(np.arange(len(weight)), np.diff(said.indptr))
        total = np.bincount(row, weights=said.data, minlength=len(weight))  # [b]
        share = said.data / np.maximum(total[row], 1e-300)
        term = np.where(share > 0, -share * np.log(np.maximum(share, 1e-300)), 0)
        out[part] = np.bincount(row, weights=term, minlength=len(weight))
    return out
