"""T and the noise rate with foreign neighbours taken out: loops, planted truth, what must hold."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simifeat.beliefs import Beliefs
from simifeat.errors import NotIdentifiable
from simifeat.mend import mend
from simifeat.neighbors import find_neighbors
from simifeat.neighbors.base import Neighbors
from simifeat.noise import from_transition
from simifeat.own_labels import OwnLabels
from simifeat.propagate import PropagateOptions
from simifeat.surroundings import surroundings
from simifeat.transition import Transition, estimate_from_neighbors, estimate_transition

PLANTED = np.array([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.25, 0.05, 0.7]])


def corners(n=3000, k=3, spread=0.3, seed=0):
    """Features around the corners of a simplex, and their classes."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, k, n)
    return np.eye(k, 8)[clean] + spread * rng.standard_normal((n, 8)), clean


@st.composite
def believers(draw):
    """A graph with gaps, beliefs about its examples, their labels and K."""
    n, k, width, s = (draw(st.integers(*b)) for b in ((2, 12), (2, 4), (1, 4), (1, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    s = min(s, k)
    index = np.array([[j if j != i else -1 for j in rng.integers(0, n, width)] for i in range(n)])
    index = np.where(rng.random(index.shape) < 0.2, -1, index)
    index = np.take_along_axis(index, np.argsort(index < 0, axis=1, kind="stable"), axis=1)
    similarity = np.where(index < 0, 0, np.sort(rng.random(index.shape))[:, ::-1])
    classes = np.array([rng.permutation(k)[:s] for _ in range(n)])
    mass = rng.random((n, s)) + 0.01
    mass /= mass.sum(axis=1, keepdims=True)
    graph = Neighbors(index.astype(np.int32), similarity.astype(np.float32), "cosine", "", "")
    beliefs = Beliefs(classes.astype(np.int32), mass.astype(np.float32))
    return graph, beliefs, rng.integers(0, k, n).astype(np.int32), k


@settings(deadline=None)
@given(believers())
def test_surroundings_are_the_weighted_mean_of_neighbours_beliefs(case):
    graph, beliefs, _, k = case
    options = PropagateOptions(power=2.0, sharpness=1.5)
    found = surroundings(graph, beliefs, k, options)
    n, width = graph.index.shape
    for i in range(n):
        mean = np.zeros(k)
        for a in range(n):
            for place in range(width):
                weight = float(graph.similarity[a, place]) ** 2
                for one, other in ((a, graph.index[a, place]), (graph.index[a, place], a)):
                    if one == i and graph.index[a, place] >= 0:
                        for c, q in zip(
                            beliefs.classes[other], beliefs.probability[other], strict=True
                        ):
                            mean[c] += weight * q
        sharp = mean**1.5
        kept = np.sort(sharp)[::-1][: beliefs.classes.shape[1]]
        expected = kept / kept.sum() if kept.sum() else kept
        np.testing.assert_allclose(found.probability[i], expected, atol=2e-6)
        for c, value in zip(found.classes[i], found.probability[i], strict=True):
            assert (c == -1) == (value == 0)
            if c >= 0:
                np.testing.assert_allclose(value, sharp[c] / kept.sum(), atol=2e-6)


@settings(deadline=None)
@given(believers())
def test_a_step_of_em_is_the_equations_number_by_number(case):
    _, around, labels, k = case
    frequency = np.bincount(labels, minlength=k) / len(labels)
    own = OwnLabels(labels, around, (0.7, frequency), 2.0)
    start = np.random.default_rng(0).dirichlet(np.ones(k), k)
    fit = own.fit(own.of_dense(start), max_steps=1, tolerance=0.0)
    counts = np.zeros((k, k))
    for n, label in enumerate(labels):
        terms = [
            float(m) * start[c, label]
            for c, m in zip(around.classes[n], around.probability[n], strict=True)
        ]
        for c, term in zip(around.classes[n], terms, strict=True):
            counts[c, label] += term / sum(terms)
    expected = counts + 2.0 * (0.7 * np.eye(k) + 0.3 * frequency)
    np.testing.assert_allclose(own.dense(fit), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(fit.by_class, counts.sum(axis=1))


@settings(deadline=None)
@given(believers())
def test_confusion_is_counted_example_by_example(case):
    _, around, labels, k = case
    own = OwnLabels(labels, around, (0.7, np.full(k, 1 / k)), 2.0)
    belief = np.random.default_rng(0).random(around.classes.shape)
    expected = np.zeros((k, k))
    for n in range(len(labels)):
        for i, q in zip(around.classes[n], belief[n], strict=True):
            for j, m in zip(around.classes[n], around.probability[n], strict=True):
                expected[i, j] += q * m
    np.testing.assert_allclose(own.confusion(belief, around.classes).toarray(), expected)


@pytest.mark.parametrize("spread", [0.1, 0.35, 0.5])
def test_a_planted_t_is_recovered_whatever_the_impurity(spread):
    features, clean = corners(6000, spread=spread)
    labels = from_transition(clean, PLANTED, seed=1)
    found = estimate_transition(features, labels)
    true = float((labels != clean).mean())
    assert found.method == "beliefs"
    assert found.noise_rate == pytest.approx(true, abs=0.02)
    np.testing.assert_allclose(found.matrix, PLANTED, atol=0.05)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1)
    np.testing.assert_allclose(found.prior.sum(), 1)


def test_impurity_that_triples_call_noise_is_taken_out():
    features, clean = corners(6000, spread=0.5)
    labels = from_transition(clean, PLANTED, seed=1)
    graph = find_neighbors(features, 30)
    assert (clean[graph.index[:, 0]] != clean).mean() > 0.12
    true = float((labels != clean).mean())
    biased = estimate_transition(None, labels, "ml", neighbors=graph).noise_rate - true
    mended = estimate_transition(None, labels, neighbors=graph).noise_rate - true
    assert biased > 0.04
    assert abs(mended) < 0.4 * biased


def test_noise_that_grows_towards_other_classes_is_read_higher_than_the_plain_fit(monkeypatch):
    """People's noise: who lies between two classes is called the other one."""
    features, clean = corners(6000, k=2, spread=0.35)
    margin = features[:, 0] - features[:, 1]
    wrong = np.random.default_rng(3).random(len(clean)) < 0.35 * np.exp(-2 * np.abs(margin))
    labels = np.where(wrong, 1 - clean, clean)
    graph = find_neighbors(features, 30)
    found = estimate_transition(None, labels, neighbors=graph)
    monkeypatch.setattr("simifeat.mend._HIDDEN", 0.0)
    without = estimate_transition(None, labels, neighbors=graph).noise_rate
    assert without + 0.01 < wrong.mean()
    assert without + 0.01 < found.noise_rate
    assert found.intervals.noise_rate[0] <= wrong.mean() <= found.intervals.noise_rate[1]


def test_no_noise_is_no_noise():
    features, clean = corners(1500, spread=0.1)
    found = estimate_transition(features, clean)
    assert found.noise_rate < 0.01
    assert found.intervals.noise_rate[0] == pytest.approx(0, abs=0.005)


def test_what_cannot_be_identified_has_no_interval():
    rng = np.random.default_rng(0)
    with pytest.warns(NotIdentifiable, match="agree no more than chance"):
        found = estimate_transition(rng.random((300, 5)), rng.integers(0, 3, 300))
    assert found.intervals is None
    assert found.noise_rate == 0
    assert not found.identifiable


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 2**32 - 1))
def test_the_order_of_classes_and_rows_does_not_matter(order, seed):
    features, clean = corners(900, spread=0.35)
    labels = from_transition(clean, PLANTED, seed=2)
    first = estimate_transition(features, labels)
    order = np.array(order)
    renamed = estimate_transition(features, order[labels])
    np.testing.assert_allclose(renamed.matrix[np.ix_(order, order)], first.matrix, atol=1e-3)
    np.testing.assert_allclose(renamed.prior[order], first.prior, atol=1e-3)
    rows = np.random.default_rng(seed).permutation(len(labels))
    shuffled = estimate_transition(features[rows], labels[rows])
    np.testing.assert_allclose(shuffled.matrix, first.matrix, atol=1e-3)
    assert shuffled.noise_rate == pytest.approx(first.noise_rate, abs=1e-3)


def test_threads_and_repeats_change_no_byte():
    features, clean = corners(1200)
    labels = from_transition(clean, PLANTED, seed=2)
    results = [estimate_transition(features, labels, n_threads=threads) for threads in (1, 2, 2)]
    for other in results[1:]:
        assert other.matrix.tobytes() == results[0].matrix.tobytes()
        assert other.intervals.to_dict() == results[0].intervals.to_dict()


def test_rows_without_neighbours_are_left_out():
    features, clean = corners(1200)
    labels = from_transition(clean, PLANTED, seed=2).astype(np.int32)
    graph = find_neighbors(features, 10)
    alone = np.arange(1200) >= 1150
    index = np.where(alone[:, None] | (graph.index >= 1150), -1, graph.index)
    order = np.argsort(index < 0, axis=1, kind="stable")
    cut = Neighbors(
        np.take_along_axis(index, order, axis=1),
        np.where(
            np.take_along_axis(index, order, axis=1) < 0,
            np.float32(0),
            np.take_along_axis(graph.similarity, order, axis=1),
        ),
        "cosine",
        "",
        "",
    )
    start = estimate_from_neighbors(labels, cut.index, 3)
    found = mend(labels, cut, start)
    changed = labels.copy()
    changed[alone] = 0
    np.testing.assert_allclose(mend(changed, cut, start).matrix, found.matrix, atol=1e-12)


def test_a_start_that_doubts_no_label_stays():
    labels = np.array([0, 1, 0, 1], np.int32)
    graph = find_neighbors(np.eye(4, dtype=np.float32), 2)
    start = Transition(np.eye(2), np.full(2, 0.5), np.full(2, 0.5), "ml", 0.0, 4)
    found = mend(labels, graph, start)
    assert found.method == "beliefs"
    np.testing.assert_array_equal(found.matrix, np.eye(2))


def test_a_class_without_examples_breaks_nothing():
    features, clean = corners(900)
    labels = from_transition(clean, PLANTED, seed=2).astype(np.int32)
    graph = find_neighbors(features, 10)
    start = estimate_from_neighbors(labels, graph.index, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mend(labels, graph, start)
    assert np.isfinite(found.matrix).all()
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1)
