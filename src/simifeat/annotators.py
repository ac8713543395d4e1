"""One label out of several: annotators judged together with what the neighbours are believed to be.

    M_n(i)    = sum_m W[n, m] Q_m(i)                              what the neighbourhood believes
    Q_n(i)    ~ M_n(i)^sharpness prod_a C_a[i, label_na]          over the annotators a of n
    C_a[i, l] ~ 20 G_a[i, l] + sum_n Q_n(i) [label_na = l]        how annotator a labels class i
    C[i, l]   ~ 5 U[i, l] + sum_a sum_n Q_n(i) [label_na = l]     how all of them do together

G_a is what is expected of a before its labels are counted class by class: right with a's own share
of right labels d_a = (20 d + sum_n Q_n(label_na)) / (20 + number of a's labels), else wrong as all
are, C[i, l]. U is right with the share d of all labels that are right, else wrong evenly.
That is expectation maximisation after Dawid and Skene (1979) with the neighbourhood in the place of
the prior: one more witness, who has seen the features. With one annotator a row it still tells
annotators apart, which labels alone cannot. W is that of ``propagate``. Soft labels are statements
of a part of the weight each: C[i, l] is taken to the power of it. Nothing is random.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from simifeat.annotations import Annotations, hard_annotations, soft_annotations
from simifeat.consensus_verdicts import ConsensusVerdicts
from simifeat.dataset import check_ids, feature_matrix, hash_array
from simifeat.errors import InputError
from simifeat.neighbors import Graph, Metric, as_neighbors, find_neighbors
from simifeat.neighbors.find import Engine
from simifeat.propagate import neighbor_weights
from simifeat.version import __version__

Floats = NDArray[np.float64]

_POWER = 8.0  # weight of a neighbour: its similarity to this power
_SHARPNESS = 1.5  # above 1: neighbourhoods tend to be of one class
_STRENGTH = 20.0  # labels of a class that the expectation of an annotator weighs
_STRENGTH_OF_EVEN = 5.0  # labels of a class that even mistakes weigh in what all of them do
_N_ROUNDS = 50
_STILL = 1e-4  # mean change of a row's belief below which it is over
_FLOOR = 1e-6  # what a neighbourhood believes of a class it has never seen
_N_TOP = 8  # classes looked at for what another annotator would bring
_BLOCK_ENTRIES = 1 << 22


def consensus_labels(
    features: ArrayLike | None,
    annotations: Any = None,
    *,
    soft: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    annotators: Any = None,
    neighbors: Graph | None = None,
    k: int = 30,
    metric: Metric = "cosine",
    engine: Engine = "auto",
    ids: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ConsensusVerdicts:
    """The label of every row, how good every annotator is, and who should be asked again.

    ``annotations`` [n, m] has one column an annotator, missing where nothing was said; or ``soft``
    [n, K] has probabilities or counts of votes, of the ``classes`` [K]. Rows that nobody labelled
    are labelled by their neighbours. Memory O(n K + m K^2).
    """
    if (annotations is None) == (soft is None):
        raise InputError("give either annotations [n, m] or soft= labels [n, K]")
    if soft is None:
        said = hard_annotations(annotations, annotators)
    else:
        said = soft_annotations(soft, classes)
    names = check_ids(ids, said.n_rows)
    if neighbors is not None:
        graph = as_neighbors(neighbors, said.n_rows, k)
    else:
        if features is None:
            raise InputError("there are no features; give them, or a graph as neighbors=")
        matrix = feature_matrix(features)
        if len(matrix) != said.n_rows:
            raise InputError(
                f"there are {len(matrix)} rows of features but {said.n_rows} of annotations; "
                "give both for every row"
            )
        graph = find_neighbors(
            matrix, k, metric, engine, n_threads=n_threads, seed=seed,
            progress=None if progress is None else lambda a, b: progress("neighbours", a, b),
        )  # fmt: skip
    belief, confusion, pooled = estimate(said, neighbor_weights(graph, _POWER))
    digest = hashlib.sha256()
    for part in (graph.index, said.row[:, None], said.who[:, None], said.code[:, None]):
        hash_array(digest, part)
    return ConsensusVerdicts(
        ids=names,
        classes=said.classes,
        annotators=said.annotators,
        belief=belief.astype(np.float32),
        confusion=confusion,
        annotations=said,
        gain=expected_gain(belief, pooled).astype(np.float32),
        metadata={
            "version": __version__,
            "k": k,
            "metric": graph.metric,
            "engine": graph.engine,
            "seed": seed,
            "fingerprint": digest.hexdigest(),
        },
    )


def estimate(said: Annotations, weights: scipy.sparse.csr_array) -> tuple[Floats, Floats, Floats]:
    """Q [n, K], C of each annotator [m, K, K] and of all together [K, K]."""
    votes = said.votes()  # [n, K]
    total = votes.sum(axis=1, keepdims=True)
    belief = np.divide(votes, total, out=np.full_like(votes, 1 / said.n_classes), where=total > 0)
    asked = np.asarray(weights.sum(axis=1)).ravel() > 0  # [n]
    belief = np.where(asked[:, None], (belief + weights @ belief) / 2, belief)
    for _ in range(_N_ROUNDS):
        confusion = _confusions(said, belief)[0]
        around = np.log(np.asarray(weights @ belief) + _FLOOR)  # [n, K]
        prior = np.log(belief.mean(axis=0) + _FLOOR)
        logs = np.where(asked[:, None], _SHARPNESS * around, prior)
        np.add.at(
            logs,
            said.row,
            np.log(np.maximum(confusion, 1e-300))[said.who, :, said.code] * said.weight[:, None],
        )
        logs -= logs.max(axis=1, keepdims=True)
        new = np.exp(logs)
        new /= new.sum(axis=1, keepdims=True)
        change = float(np.abs(new - belief).sum(axis=1).mean()) / 2
        belief = new
        if change < _STILL:
            break
    return belief, *_confusions(said, belief)


def expected_gain(belief: Floats, confusion: Floats) -> Floats:
    """By how much one more label by an average annotator should raise the chance to be right, [n].

    sum_l max_i Q_n(i) C[i, l] - max_i Q_n(i), over the most probable classes i.
    """
    n, n_classes = belief.shape
    n_top = min(_N_TOP, n_classes)
    gain = np.empty(n)
    step = max(1, _BLOCK_ENTRIES // (n_top * n_classes))
    for start in range(0, n, step):
        part = belief[start : start + step]
        top = np.argpartition(-part, n_top - 1, axis=1)[:, :n_top]  # [b, s]
        joint = np.take_along_axis(part, top, axis=1)[:, :, None] * confusion[top]  # [b, s, K]
        gain[start : start + step] = joint.max(axis=1).sum(axis=1) - part.max(axis=1)
    return np.maximum(gain, 0)


def _confusions(said: Annotations, belief: Floats) -> tuple[Floats, Floats]:
    """C of each annotator and of all together, rows summing to 1."""
    counts = np.zeros((said.n_annotators, said.n_classes, said.n_classes))
    # [m, l, i] is filled a statement a time, then turned
    np.add.at(counts, (said.who, said.code), belief[said.row] * said.weight[:, None])
    counts = counts.transpose(0, 2, 1)
    given, right = counts.sum(axis=(1, 2)), np.einsum("mii->m", counts)  # [m]
    share = right.sum() / given.sum()  # d
    diagonal = np.eye(said.n_classes)
    evenly = share * diagonal + (1 - share) * (1 - diagonal) / (said.n_classes - 1)
    pooled = counts.sum(axis=0) + _STRENGTH_OF_EVEN * evenly  # [K, K]
    pooled /= pooled.sum(axis=1, keepdims=True)
    mistakes = pooled * (1 - diagonal)
    mistakes /= np.maximum(mistakes.sum(axis=1, keepdims=True), 1e-300)
    own = ((_STRENGTH * share + right) / (_STRENGTH + given))[:, None, None]  # d_a
    each = counts + _STRENGTH * (own * diagonal + (1 - own) * mistakes)
    return each / each.sum(axis=2, keepdims=True), pooled
