"""The paper's equations as literal loops; slow, plain, and the judge of everything fast."""

import math

import numpy as np


def knn_label(labels, index, n, n_classes, weight=lambda n, place: 1.0):
    """y^_n: weighted count of the labels of the neighbours of n."""
    counts = [0.0] * n_classes
    for place, neighbor in enumerate(index[n]):
        if neighbor >= 0:
            counts[labels[neighbor]] += weight(n, place)
    return counts


def vote_winners(counts):
    """All classes i that maximise y^_n[i]."""
    return {i for i, count in enumerate(counts) if count == max(counts)}


def cosine_score(counts, j):
    """Score(y^_n, j) = y^_n . e_j / (||y^_n|| ||e_j||)."""
    one_hot = [1.0 if i == j else 0.0 for i in range(len(counts))]
    dot = sum(a * b for a, b in zip(counts, one_hot, strict=True))
    length = math.sqrt(sum(a * a for a in counts))
    return dot / length if length else 0.0


def rank_flags(scores, labels, posterior):
    """v_n = 1(Loc(n, I) <= floor((1 - P(Y=j | label=j)) N_j)) with I the argsort within N_j.

    Among equal scores the earlier row goes first; compare on distinct scores.
    """
    flags = [0] * len(labels)
    for j, p in enumerate(posterior):
        members = [n for n in range(len(labels)) if labels[n] == j]
        members.sort(key=lambda n: scores[n])
        threshold = math.floor((1 - p) * len(members))
        for loc, n in enumerate(members, start=1):
            if loc <= threshold:
                flags[n] = 1
    return flags


def brute_neighbors(features, k, metric="cosine"):
    """Index and similarity [n, k] by looking at every pair, self excluded, ties by index."""
    x = np.asarray(features, np.float64)
    index, similarity = [], []
    for n in range(len(x)):
        pairs = []
        for m in range(len(x)):
            if m == n:
                continue
            if metric == "cosine":
                length = np.linalg.norm(x[n]) * np.linalg.norm(x[m])
                s = float(x[n] @ x[m] / length) if length else 0.0
            else:
                s = 1 / (1 + float(np.linalg.norm(x[n] - x[m])))
            pairs.append((-s, m))
        pairs.sort()
        index.append([m for _, m in pairs[:k]])
        similarity.append([-s for s, _ in pairs[:k]])
    return np.array(index, np.int32), np.array(similarity, np.float32)
