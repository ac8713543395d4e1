"""Rows that no class fits are found, and hardly any others."""

import math

import numpy as np
import pytest

from simifeat import InputError, Verdicts, detect
from simifeat.beliefs import Beliefs
from simifeat.neighbors import Neighbors, find_neighbors
from simifeat.outliers import CUT, find_outliers


def blobs(n=1500, d=8, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 3, n)
    features = 4 * np.eye(3, d)[clean] + rng.normal(size=(n, d))
    labels = np.where(rng.random(n) < noise, rng.integers(0, 3, n), clean)
    return features, labels, rng


def loops(neighbors, beliefs, n_classes):
    """The equations of outliers.py, one number at a time."""
    n = neighbors.n_examples
    reach, mixed, believed = [], [], []
    for row in range(n):
        near = [m for m in neighbors.index[row, :10] if m >= 0]
        gaps = []
        for place in range(len(near)):
            s = float(neighbors.similarity[row, place])
            gaps.append(1 / s - 1 if neighbors.metric == "euclidean" else 1 - s)
        reach.append(math.log(max(sum(gaps) / max(len(gaps), 1), 1e-9)))
        total = [0.0] * n_classes
        for m in near:
            for c, p in zip(beliefs.classes[m], beliefs.probability[m], strict=True):
                if c >= 0:
                    total[c] += float(p)
        shares = [t / sum(total) for t in total if t > 0]
        mixed.append(-sum(p * math.log(p) for p in shares) / math.log(n_classes))
        believed.append(beliefs.classes[row, beliefs.probability[row].argmax()])
    beyond = []
    for row in range(n):
        near = [m for m in neighbors.index[row, :10] if m >= 0]
        beyond.append(reach[row] - sum(reach[m] for m in near) / max(len(near), 1))
    score = []
    for row in range(n):
        if neighbors.index[row, 0] < 0:
            score.append(0.0)
            continue
        same = [reach[m] for m in range(n) if believed[m] == believed[row]]
        far = math.inf
        for value, group in (
            (reach[row], same if len(same) >= 20 else reach),
            (beyond[row], beyond),
        ):
            middle, upper = np.quantile(group, [0.5, 0.8413])
            far = min(far, (value - middle) / (upper - middle))
        score.append(max(far, 0) / 2.5 + mixed[row])
    return score


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_equals_the_loops(metric):
    features, labels, rng = blobs(n=200)
    graph = find_neighbors(features, 12, metric)
    graph.index[5, 4:], graph.similarity[5, 4:] = -1, 0
    graph.index[9], graph.similarity[9] = -1, 0
    classes = np.tile(np.arange(3, dtype=np.int32), (200, 1))
    probability = rng.dirichlet(np.ones(3), 200).astype(np.float32)
    probability[:, 2] = np.where(labels == 2, probability[:, 2], 0)
    classes[probability == 0] = -1
    classes[:190][classes[:190] == 1] = 0  # a class that few are believed to be of
    beliefs = Beliefs(classes, probability)
    found = find_outliers(graph, beliefs, 3)
    np.testing.assert_allclose(found.score, loops(graph, beliefs, 3), rtol=1e-5, atol=1e-6)
    assert found.score[9] == 0
    np.testing.assert_array_equal(found.is_outlier, found.score > np.float32(CUT))


@pytest.mark.parametrize("method", ["propagate", "vote"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_planted_outliers_are_found_apart_from_wrong_labels(method, noise):
    features, labels, rng = blobs(noise=noise)
    strange = rng.uniform(-10, 10, size=(30, 8))
    verdicts = detect(
        np.concatenate([features, strange]),
        np.concatenate([labels, rng.integers(0, 3, 30)]),
        method=method,
        metric="euclidean",
    )
    planted = np.arange(1530) >= 1500
    assert verdicts.is_outlier[planted].mean() > 0.9
    # votes of ten neighbours are mixed by noise alone more often than propagated beliefs
    assert verdicts.is_outlier[~planted].mean() < (0.003 if method == "propagate" else 0.02)
    wrong = verdicts.is_corrupted & ~planted
    assert wrong.sum() >= noise * 0.5 * 1500
    assert verdicts.is_outlier[wrong].sum() <= 0.05 * wrong.sum() + 3
    order = np.argsort(-verdicts.outlier_score)[:25]
    assert planted[order].all()


@pytest.mark.parametrize("d", [3, 8, 40])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_hardly_any_in_clean_features(d, noise):
    features, labels, _ = blobs(n=3000, d=d, noise=noise, seed=d)
    assert detect(features, labels, metric="euclidean").is_outlier.mean() <= 0.005


def test_columns_on_request_survive_a_file(tmp_path):
    features, labels, _ = blobs(n=300)
    verdicts = detect(features, labels)
    assert "is_outlier" not in verdicts.columns()
    path = tmp_path / "out.parquet"
    verdicts.with_outliers().save(path)
    loaded = Verdicts.load(path)
    np.testing.assert_array_equal(loaded.is_outlier, verdicts.is_outlier)
    np.testing.assert_array_equal(loaded.outlier_score, verdicts.outlier_score)
    verdicts.save(path)
    with pytest.raises(InputError) as caught:
        _ = Verdicts.load(path).is_outlier
    assert str(caught.value) == (
        "outliers can be told after detect alone, not after loading a file; "
        "save verdicts.with_outliers() when the verdicts are made"
    )


def test_copies_and_lone_rows_are_no_outliers():
    features = np.repeat(np.eye(3), 40, axis=0)
    index, similarity = find_neighbors(features, 5).index, np.ones((120, 5), np.float32)
    graph = Neighbors(index, similarity, "cosine", "brute", "")
    beliefs = Beliefs(np.repeat(np.arange(3), 40)[:, None].astype(np.int32), np.ones((120, 1), "f"))
    assert not find_outliers(graph, beliefs, 3).is_outlier.any()
