"""The expectation step of the latent class model, over the support of T alone.

A triple (a, b, c) can come from any class, but all classes whose flips to a, b and c are in the
background share one term: (sum of p_i w_i^3 over them) g_a g_b g_c. Only the classes with an entry
of the support in column a, b or c are looked at one by one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.consensus import N_VIEWS, Triples
from simifeat.support import Model, Support
from simifeat.triple_sums import Expected

Array = NDArray[np.float64]

_BLOCK_TERMS = 1 << 20  # terms (triple, class) looked at in one go
_TINY = 1e-300


@dataclass(frozen=True)
class _Block:
    labels: NDArray[np.int32]  # [b, 3]
    counts: Array  # [b]
    triple: NDArray[np.int32]  # [m], of each term
    cls: NDArray[np.int32]  # [m]
    slots: NDArray[np.int32]  # [3, m], where T[class, label] stands in the support, or s


class SparseSummer:
    """Observed distinct triples with the classes to look at; sums run over them in fixed order.

    Time and memory O(m) for m terms (triple, class).
    """

    def __init__(self, triples: Triples, support: Support) -> None:
        merged = triples.unordered()
        self._support = support
        per_label = np.bincount(support.columns, minlength=support.n_classes)  # [K]
        ends = np.cumsum(per_label[merged.labels].sum(axis=1))  # [d], terms at most
        cuts = np.searchsorted(ends, np.arange(_BLOCK_TERMS, ends[-1], _BLOCK_TERMS))
        bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]]))
        by_column = np.argsort(support.columns, kind="stable")
        classes = support.rows[by_column].astype(np.int32)
        starts = np.cumsum(per_label) - per_label
        self._blocks = [
            _block(merged.labels[i:j], merged.counts[i:j], support, classes, starts, per_label)
            for i, j in itertools.pairwise(bounds)
        ]

    def __call__(self, model: Model) -> Expected:
        """Expected counts of the latent classes and their labels."""
        s, k = len(model.values), self._support.n_classes
        g, p, w = model.background, model.prior, self._support.spread(model)
        alone = p * w**3  # [K]
        values = np.append(model.values, 0.0)
        total_alone, seen_alone = float(alone.sum()), 0.0
        on_support, by_class, off_support = np.zeros(s + 1), np.zeros(k), np.zeros(k)
        missed, likelihood = np.zeros(k), 0.0
        for block in self._blocks:
            triple, cls, n = block.triple, block.cls, len(block.counts)
            ggg = g[block.labels].prod(axis=1)  # [b]
            term = p[cls]  # [m], becomes p_i T[i, a] T[i, b] T[i, c]
            for view in range(N_VIEWS):
                slot = block.slots[view]
                term = term * np.where(
                    slot < s, values[slot], w[cls] * g[block.labels[triple, view]]
                )
            common = total_alone - np.bincount(triple, weights=alone[cls], minlength=n)
            common = np.maximum(common, 0.0) * ggg  # [b], all other classes together
            probability = np.bincount(triple, weights=term, minlength=n) + common
            probability = np.maximum(probability, _TINY)
            likelihood += float((block.counts * np.log(probability)).sum())
            weight = block.counts / probability  # [b]
            term *= weight[triple]
            by_class += np.bincount(cls, weights=term, minlength=k)
            seen_alone += float((weight * ggg).sum())
            missed += np.bincount(cls, weights=(weight * ggg)[triple], minlength=k)
            for view in range(N_VIEWS):
                slot, label = block.slots[view], block.labels[:, view]
                on_support += np.bincount(slot, weights=term, minlength=s + 1)
                off = slot == s
                off_support += np.bincount(label, weights=weight * common, minlength=k)
                off_support += np.bincount(label[triple[off]], weights=term[off], minlength=k)
        by_class += alone * np.maximum(seen_alone - missed, 0.0)
        return Expected(on_support[:s], by_class, off_support, likelihood)

    @property
    def n_terms(self) -> int:
        """Terms (triple, class), m."""
        return sum(len(block.cls) for block in self._blocks)


def _block(
    labels: NDArray[np.int32],
    counts: NDArray[np.int64],
    support: Support,
    classes: NDArray[np.int32],
    starts: NDArray[np.int64],
    per_label: NDArray[np.int64],
) -> _Block:
    """Terms of some triples; ``classes`` are the rows of the support column by column."""
    k = support.n_classes
    length = per_label[labels]  # [b, 3]
    flat = length.ravel()
    triple = np.repeat(np.arange(len(labels)), length.sum(axis=1))
    within = np.arange(flat.sum()) - np.repeat(np.cumsum(flat) - flat, flat)
    found = classes[np.repeat(starts[labels].ravel(), flat) + within]
    keys = np.sort(triple * k + found)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    triple, cls = keys // k, keys % k
    places = support.rows * k + support.columns  # [s], sorted
    slots = np.empty((N_VIEWS, len(keys)), dtype=np.int32)
    for view in range(N_VIEWS):
        wanted = cls * k + labels[triple, view]
        place = np.searchsorted(places, wanted)
        there = places[np.minimum(place, len(places) - 1)] == wanted
        slots[view] = np.where(there, place, len(places))
    return _Block(
        labels, counts.astype(np.float64), triple.astype(np.int32), cls.astype(np.int32), slots
    )
