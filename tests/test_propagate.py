"""Propagated beliefs against literal loops, and what must hold whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import brute_neighbors
from simifeat.neighbors.base import Neighbors
from simifeat.propagate import PropagateOptions, propagate


def graph_of(features, k):
    index, similarity = brute_neighbors(features, k)
    return Neighbors(index, similarity, "cosine", "brute", "")


def loops(labels, index, similarity, matrix, prior, power, sharpness, n_rounds):
    """The equations of propagate.py, one number at a time; every class kept."""
    n, n_classes = len(labels), len(prior)
    weight = np.zeros((n, n))
    for i in range(n):
        for place, j in enumerate(index[i]):
            if j >= 0:
                w = max(float(similarity[i, place]), 0.0) ** power
                weight[i, j] += w
                weight[j, i] += w

    def normalized(values):
        return [v / sum(values) for v in values]

    beliefs = [normalized([prior[c] * matrix[c, y] for c in range(n_classes)]) for y in labels]
    for _ in range(n_rounds):
        new = []
        for i in range(n):
            total = weight[i].sum()
            if total == 0:
                new.append(normalized([prior[c] * matrix[c, labels[i]] for c in range(n_classes)]))
                continue
            seen = [
                sum(weight[i, j] * beliefs[j][c] for j in range(n)) / total
                for c in range(n_classes)
            ]
            new.append(
                normalized([seen[c] ** sharpness * matrix[c, labels[i]] for c in range(n_classes)])
            )
        beliefs = new
    return np.array(beliefs)


def noisy_blobs(seed, n=40, n_classes=4, d=5):
    rng = np.random.default_rng(seed)
    clean = rng.integers(n_classes, size=n)
    features = rng.normal(size=(n_classes, d))[clean] + 0.5 * rng.normal(size=(n, d))
    labels = np.where(rng.random(n) < 0.3, rng.integers(n_classes, size=n), clean)
    matrix = rng.dirichlet(np.ones(n_classes), n_classes) * 0.4 + 0.6 * np.eye(n_classes)
    return features, labels.astype(np.int32), matrix, rng.dirichlet(5 * np.ones(n_classes))


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_loops(seed):
    features, labels, matrix, prior = noisy_blobs(seed)
    graph = graph_of(features, 5)
    if seed == 3:  # rows may lack neighbours, altogether or in part
        graph.index[:, 3] = -1
        lonely = 7
        graph.index[graph.index == lonely] = -1
        graph.index[lonely] = -1
    expected = loops(labels, graph.index, graph.similarity, matrix, prior, 3.0, 1.5, 4)
    options = PropagateOptions(power=3.0, sharpness=1.5, n_rounds=4)
    beliefs = propagate(labels, graph, matrix, prior, options).beliefs
    found = np.zeros_like(expected)
    rows = np.arange(len(labels))[:, None]
    np.add.at(found, (rows, np.maximum(beliefs.classes, 0)), beliefs.probability)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    own = expected[np.arange(len(labels)), labels]
    np.testing.assert_allclose(beliefs.of(labels), own, atol=2e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_beliefs_are_distributions(seed, n_top):
    features, labels, matrix, prior = noisy_blobs(seed)
    beliefs = propagate(
        labels, graph_of(features, 4), matrix, prior, PropagateOptions(n_top=n_top, n_rounds=3)
    ).beliefs
    assert beliefs.classes.shape == (len(labels), min(n_top, 4))
    assert (np.diff(beliefs.probability, axis=1) <= 0).all()
    assert (beliefs.probability.sum(axis=1) <= 1 + 1e-5).all()


def test_the_given_label_keeps_a_slot():
    features, labels, matrix, prior = noisy_blobs(1)
    graph = graph_of(features, 30)  # so wide that every class is seen
    beliefs = propagate(labels, graph, matrix, prior, PropagateOptions(n_top=2)).beliefs
    assert (beliefs.of(labels) > 0).all()
