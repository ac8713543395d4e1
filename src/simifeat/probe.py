"""An option that trains: a linear probe on the features, out of fold, joined with the beliefs.

    P_n = softmax(A' x_n + b)      A, b fitted on the other folds with the beliefs Q as targets
    E_n(i) ~ P_n(i) T[i, label_n]
    Q'_n(i) ~ sqrt(Q_n(i) E_n(i))

Nobody is judged by a probe that was trained on it. The fit is softmax regression with a quadratic
penalty, by L-BFGS; the folds are drawn from the seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from simifeat.beliefs import Beliefs

Array = NDArray[np.float32]

N_FOLDS = 5
_PENALTY = 1e-4  # of the squared weights, features having mean variance 1
_N_STEPS = 50
_BLOCK_ENTRIES = 1 << 22  # logits held at once


def joined_with_probe(
    beliefs: Beliefs,
    features: Array,
    labels: NDArray[np.int32],
    matrix: NDArray[np.float64],
    seed: np.random.SeedSequence,
) -> Beliefs:
    """Q' of Q ``beliefs`` and ``features`` [n, d], given label codes [n] and T ``matrix`` [K, K].

    Only the classes that Q holds a row are looked at. Time O(n d K) for each of some hundred steps.
    """
    log_p = probe_log_probabilities(beliefs, features, len(matrix), seed)  # [n, s]
    filled = beliefs.classes >= 0
    slots = np.maximum(beliefs.classes, 0)
    emission = matrix.astype(np.float32)[slots, labels[:, None]]  # [n, s]
    log_q = np.log(np.maximum(beliefs.probability, np.float32(1e-30)))
    logits = (log_q + log_p + np.log(np.maximum(emission, np.float32(1e-30)))) / 2
    logits = np.where(filled & (beliefs.probability > 0), logits, -np.inf)
    logits -= np.maximum(logits.max(axis=1, keepdims=True), np.float32(-1e30))
    share = np.exp(logits)
    total = share.sum(axis=1, keepdims=True)
    probability = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
    # what Q left to classes without a slot stays with them
    held = np.minimum(beliefs.probability.sum(axis=1, keepdims=True), 1)
    probability = (probability * held).astype(np.float32)
    order = np.lexsort((beliefs.classes, -probability), axis=1)
    return Beliefs(
        np.take_along_axis(beliefs.classes, order, axis=1),
        np.take_along_axis(probability, order, axis=1),
    )


def probe_log_probabilities(
    beliefs: Beliefs, features: Array, n_classes: int, seed: np.random.SeedSequence
) -> Array:
    """log P_n of the classes in the slots of ``beliefs``, [n, s]; each row out of its fold."""
    n = len(features)
    centred = features - features.mean(axis=0, dtype=np.float64).astype(np.float32)
    scale = np.sqrt(np.einsum("nd,nd->", centred, centred, dtype=np.float64) / centred.size)
    centred /= np.float32(max(scale, 1e-30))
    n_folds = min(N_FOLDS, n)
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    out = np.zeros(beliefs.classes.shape, np.float32)
    slots = np.maximum(beliefs.classes, 0)
    with threadpool_limits(limits=1, user_api="blas"):  # the same sums on any number of cores
        for each in range(n_folds):
            others, rows = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
            weights, bias = fit_softmax(
                centred[others], beliefs.classes[others], beliefs.probability[others], n_classes
            )
            for start in range(0, len(rows), _step(n_classes)):
                part = rows[start : start + _step(n_classes)]
                logits = centred[part] @ weights + bias  # [b, K]
                logits -= logits.max(axis=1, keepdims=True)
                logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
                out[part] = np.take_along_axis(logits, slots[part], axis=1)
    return out


def fit_softmax(
    x: Array, classes: NDArray[np.int32], target: Array, n_classes: int
) -> tuple[Array, Array]:
    """A [d, K] and b [K] least in the mean cross entropy with soft targets, and the penalty.

    ``target`` [n, s] are the shares of the ``classes`` [n, s] (-1: none) of every row of ``x``.
    """
    n, d = x.shape

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = flat[: d * n_classes].reshape(d, n_classes), flat[d * n_classes :]
        narrow = weights.astype(np.float32)
        slope, slope_b, total = np.zeros_like(weights), np.zeros(n_classes), 0.0
        for start in range(0, n, _step(n_classes)):
            part = slice(start, start + _step(n_classes))
            logits = x[part] @ narrow + bias.astype(np.float32)  # [b, K]
            logits -= logits.max(axis=1, keepdims=True)
            wanted = np.zeros_like(logits)
            row, slot = np.nonzero(classes[part] >= 0)
            wanted[row, classes[part][row, slot]] = target[part][row, slot]
            weight = wanted.sum(axis=1, keepdims=True)  # [b, 1]
            total -= float((wanted * logits).sum(dtype=np.float64))
            np.exp(logits, out=logits)
            norm = logits.sum(axis=1, keepdims=True)
            total += float((weight * np.log(norm)).sum(dtype=np.float64))
            logits *= weight / norm
            logits -= wanted
            slope += x[part].T @ logits
            slope_b += logits.sum(axis=0, dtype=np.float64)
        value = total / n + _PENALTY / 2 * float((weights**2).sum())
        return value, np.concatenate([(slope / n + _PENALTY * weights).ravel(), slope_b / n])

    found = minimize(
        loss,
        np.zeros(d * n_classes + n_classes),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _N_STEPS},
    ).x.astype(np.float32)
    return found[: d * n_classes].reshape(d, n_classes), found[d * n_classes :]


def _step(n_classes: int) -> int:
    return max(1, _BLOCK_ENTRIES // n_classes)
