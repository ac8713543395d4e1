"""Label consensus: the labels of an example and of its two nearest neighbours, counted.

A triple (label, label of the nearest neighbour, label of the second nearest) is all that the
transition estimators see. There are n of them whatever the number of classes, so everything is
kept as the distinct triples with their counts; a K x K x K array never exists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError

N_VIEWS = 3
"""Labels in a triple: the example's own and two neighbours'; HOC's third order needs all three."""
_MAX_CLASSES = 2_000_000  # K ** 3 must stay below 2 ** 63


def label_triples(
    labels: NDArray[np.integer],
    index: NDArray[np.integer],
    rows: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """Labels [m, 3] of examples and their two nearest neighbours.

    ``labels`` [n] are codes, ``index`` [n, k] the neighbours in order of falling similarity, of
    which the first two columns are used. ``rows`` restricts to some examples, repeats allowed.
    Examples with fewer than two neighbours (index -1) are dropped, so m may be below n.
    """
    labels = np.asarray(labels)
    index = np.asarray(index)
    if labels.ndim != 1 or index.ndim != 2 or index.shape[0] != labels.shape[0]:
        raise InputError(
            f"labels {labels.shape} and neighbour index {index.shape} do not match; "
            "give labels [n] and an index [n, k] over the same examples"
        )
    if index.shape[1] < N_VIEWS - 1:
        raise InputError(
            f"label triples need two neighbours an example, the index has {index.shape[1]}; "
            "search with k of at least 2"
        )
    rows = np.arange(len(labels)) if rows is None else np.asarray(rows)
    pair = index[rows, : N_VIEWS - 1]  # [m, 2]
    full = (pair >= 0).all(axis=1)  # [m]
    triples = np.empty((int(full.sum()), N_VIEWS), dtype=np.int64)
    triples[:, 0] = labels[rows[full]]
    triples[:, 1:] = labels[pair[full]]
    return triples


def sampled_triples(
    labels: NDArray[np.integer],
    index: NDArray[np.integer],
    sample_size: int,
    n_samples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Label triples [m, 3] of ``n_samples`` random samples of the examples, one after the other.

    Within a sample the two nearest neighbours are those that are in the sample too. They are
    looked up in ``index`` [n, k]; an example of whose k neighbours fewer than two were drawn is
    dropped, which says nothing about its label.
    """
    n = len(labels)
    found = []
    for _ in range(n_samples):
        rows = np.sort(rng.choice(n, min(sample_size, n), replace=False))
        drawn = np.zeros(n + 1, bool)  # one more, for index -1
        drawn[rows] = True
        absent = ~drawn[index[rows]]  # [m, k]
        nearest = np.argsort(absent, axis=1, kind="stable")[:, : N_VIEWS - 1]
        near = np.take_along_axis(index[rows], nearest, axis=1)  # [m, 2]
        near = np.where(np.take_along_axis(absent, nearest, axis=1), -1, near)
        inside = np.full((n, N_VIEWS - 1), -1, dtype=index.dtype)
        inside[rows] = near
        found.append(label_triples(labels, inside, rows))
    return np.concatenate(found)


@dataclass(frozen=True)
class Triples:
    """Distinct label triples in lexicographic order with how often each was seen.

    Additive: the triples of two disjoint parts of a dataset merge with ``+`` into those of the
    whole, whatever the split.
    """

    labels: NDArray[np.int32]  # [d, 3]
    counts: NDArray[np.int64]  # [d]
    n_classes: int

    @classmethod
    def count(cls, triples: NDArray[np.integer], n_classes: int) -> Triples:
        """Count label triples [m, 3] with codes in 0..n_classes-1."""
        triples = np.asarray(triples, dtype=np.int64)
        if triples.ndim != 2 or triples.shape[1] != N_VIEWS:
            raise InputError(f"label triples must have shape [m, 3], got {triples.shape}")
        if not 0 < n_classes <= _MAX_CLASSES:
            raise InputError(f"n_classes must be in 1..{_MAX_CLASSES}, got {n_classes}")
        if triples.size and (triples.min() < 0 or triples.max() >= n_classes):
            raise InputError(
                f"label codes must lie in 0..{n_classes - 1}, found "
                f"{triples.min()}..{triples.max()}; encode the labels first"
            )
        ones = np.ones(len(triples), dtype=np.int64)
        return cls._from_keys(_keys(triples, n_classes), ones, n_classes)

    @classmethod
    def _from_keys(
        cls, keys: NDArray[np.int64], counts: NDArray[np.int64], n_classes: int
    ) -> Triples:
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        start = np.flatnonzero(np.diff(keys, prepend=-1))  # [d], first of each run of equal keys
        distinct = keys[start]
        summed = np.add.reduceat(counts, start) if len(start) else counts
        labels = np.empty((len(distinct), N_VIEWS), dtype=np.int32)
        labels[:, 2] = distinct % n_classes
        labels[:, 1] = distinct // n_classes % n_classes
        labels[:, 0] = distinct // n_classes**2
        return cls(labels, summed, n_classes)

    def __add__(self, other: Triples) -> Triples:
        """Merge the counts of two parts of a dataset."""
        if self.n_classes != other.n_classes:
            raise InputError(
                f"triples over {self.n_classes} and {other.n_classes} classes cannot be merged; "
                "encode both parts with the same classes"
            )
        keys = np.concatenate([_keys(t.labels, t.n_classes) for t in (self, other)])
        counts = np.concatenate([self.counts, other.counts])
        return self._from_keys(keys, counts, self.n_classes)

    @property
    def n_triples(self) -> int:
        """Number of triples, repeats included."""
        return int(self.counts.sum())

    def unordered(self) -> Triples:
        """The same triples with the three labels of each sorted: up to six times fewer.

        Enough for every model in which the three labels are exchangeable.
        """
        keys = _keys(np.sort(self.labels, axis=1), self.n_classes)
        return self._from_keys(keys, self.counts, self.n_classes)

    def first_order(self) -> NDArray[np.float64]:
        """Observed P(label = j) [K] over the examples of the triples (HOC's first consensus)."""
        counts = np.bincount(self.labels[:, 0], weights=self.counts, minlength=self.n_classes)
        return counts / max(self.n_triples, 1)

    def second_order(self) -> NDArray[np.float64]:
        """Observed P(label = a, label of the nearest neighbour = b) [K, K] (second consensus)."""
        k = self.n_classes
        pair = self.labels[:, 0].astype(np.int64) * k + self.labels[:, 1]
        counts = np.bincount(pair, weights=self.counts, minlength=k * k)
        return counts.reshape(k, k) / max(self.n_triples, 1)

    def third_order(self) -> NDArray[np.float64]:
        """Observed share [d] of each distinct triple (third consensus, its zeros left out)."""
        return self.counts / max(self.n_triples, 1)


def _keys(triples: NDArray[np.integer], n_classes: int) -> NDArray[np.int64]:
    """One integer a triple, in lexicographic order of the triples."""
    wide = triples.astype(np.int64, copy=False)
    return (wide[:, 0] * n_classes + wide[:, 1]) * n_classes + wide[:, 2]
