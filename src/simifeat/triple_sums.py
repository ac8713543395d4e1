"""The one sum that both transition estimators spend their time in.

With the latent model P(a, b, c) = sum_i p_i T[i, a] T[i, b] T[i, c], both need, over the observed
distinct triples, the terms q_i = p_i T[i, a] T[i, b] T[i, c] added up by class i and by label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simifeat.consensus import N_VIEWS, Triples
from simifeat.support import Model, Support

_BLOCK_ELEMENTS = 1 << 17  # a block of terms [b, K] stays in a core's cache: 1 MB of float64

Array = NDArray[np.float64]


class TripleSums(NamedTuple):
    """Sums over the observed triples, each weighted as the caller asked."""

    by_label: Array  # [K, K]: [a, i] = weight of class i over the occurrences of label a
    by_class: Array  # [K]: weight of class i over the triples
    total: float
    """Sum of count * log P(triple), or of count * P(triple)."""


class Expected(NamedTuple):
    """What an expectation step hands on: counts of latent classes and of the labels they bear."""

    on_support: Array  # [s], labels on each entry of the support
    by_class: Array  # [K], triples of each class
    off_support: Array  # [K], labels a that the background explains
    likelihood: float
    """Log likelihood of the model the step was made with."""


@dataclass(frozen=True)
class _Block:
    labels: NDArray[np.int32]  # [b, 3]
    counts: Array  # [b]
    present: NDArray[np.int64]  # [u], the labels that occur in the block
    occurs: scipy.sparse.csr_matrix  # [u, b], the labels u of each triple b

    def weighted(self, weight: Array) -> scipy.sparse.csr_matrix:
        """``occurs`` with every occurrence worth the ``weight`` [b] of its triple."""
        o = self.occurs
        return scipy.sparse.csr_matrix((weight[o.indices], o.indices, o.indptr), shape=o.shape)


class TripleSummer:
    """Observed distinct triples cut into blocks; sums run over them in fixed order.

    Triples are merged whatever their order, because the three labels of a triple are exchangeable
    under the model. A model in which the example and its neighbours differ (neighbours of another
    class, say) would keep them ordered and give each position its own emission matrix here.

    Time O(d K) and working memory O(K^2 + 3 d) for d distinct triples. No matrix product of BLAS
    is involved, so results do not depend on the number of threads.
    """

    def __init__(self, triples: Triples) -> None:
        merged = triples.unordered()
        self.n_classes = merged.n_classes
        self.n_triples = merged.n_triples
        size = max(16, _BLOCK_ELEMENTS // merged.n_classes)
        self._blocks = [
            _block(merged.labels[start : start + size], merged.counts[start : start + size])
            for start in range(0, len(merged.counts), size)
        ]
        self._size = min(size, len(merged.counts))

    def __call__(self, matrix: Array, prior: Array, *, normalized: bool) -> TripleSums:
        """Sum q_i / sum_i q_i (``normalized``: expected counts) or q_i itself over all triples.

        ``matrix`` is T [K, K], ``prior`` p [K].
        """
        k = self.n_classes
        emission = np.ascontiguousarray(matrix.T)  # [label, class]
        first = emission * prior
        by_label, total = np.zeros((k, k)), 0.0
        terms, factor = np.empty((2, self._size, k))
        for block in self._blocks:
            b = len(block.counts)
            q, other = terms[:b], factor[:b]  # [b, K]
            np.take(first, block.labels[:, 0], axis=0, out=q, mode="clip")
            for view in range(1, N_VIEWS):
                np.take(emission, block.labels[:, view], axis=0, out=other, mode="clip")
                q *= other
            probability = q.sum(axis=1)  # [b]
            if normalized:
                weight = block.counts / np.maximum(probability, np.finfo(float).tiny)
                total += float((block.counts * np.log(np.maximum(probability, 1e-300))).sum())
            else:
                weight = block.counts
                total += float((block.counts * probability).sum())
            by_label[block.present] += block.weighted(weight) @ q
        by_class = by_label.sum(axis=0) / N_VIEWS  # every triple has three labels
        return TripleSums(by_label, by_class, total)


class DenseSummer:
    """The expectation step over all K classes of every triple; for few classes."""

    def __init__(self, triples: Triples, support: Support) -> None:
        self._sums = TripleSummer(triples)
        self._support = support

    def __call__(self, model: Model) -> Expected:
        """Expected counts of the latent classes and their labels."""
        support = self._support
        sums = self._sums(support.dense(model), model.prior, normalized=True)
        on_support = sums.by_label[support.columns, support.rows]
        off_support = sums.by_label.sum(axis=1) - support.by_column(on_support)
        return Expected(on_support, sums.by_class, np.maximum(off_support, 0.0), sums.total)


def _block(labels: NDArray[np.int32], counts: NDArray[np.int64]) -> _Block:
    present, position = np.unique(labels, return_inverse=True)
    triple = np.repeat(np.arange(len(labels)), N_VIEWS)
    by_label = np.argsort(position.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(position.ravel(), minlength=len(present)))
    occurs = scipy.sparse.csr_matrix(  # a label that stands twice in a triple has two entries
        (np.ones(labels.size), triple[by_label], np.append(0, ends)),
        shape=(len(present), len(labels)),
    )
    return _Block(labels, counts.astype(np.float64), present.astype(np.int64), occurs)
