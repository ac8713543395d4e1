"""Estimators from label triples: the likelihood and HOC's objective as loops, planted T."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simifeat.consensus import Triples
from simifeat.errors import InputError, NotIdentifiable
from simifeat.hoc import HocOptions, Moments, _Logits, fit_hoc
from simifeat.sparse_sums import SparseSummer
from simifeat.support import Model, Support
from simifeat.transition import (
    Transition,
    estimate_from_neighbors,
    estimate_from_triples,
    estimate_transition,
)
from simifeat.triple_sums import DenseSummer

PLANTED = np.array([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.25, 0.05, 0.7]])
PRIOR = np.array([0.2, 0.5, 0.3])


def planted_triples(n=60_000, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.choice(3, n, p=PRIOR)
    edges = PLANTED.cumsum(axis=1)[clean]
    views = [(rng.random((n, 1)) > edges[:, :-1]).sum(axis=1) for _ in range(3)]
    return Triples.count(np.stack(views, axis=1), 3)


@st.composite
def models(draw):
    """Triples, and a model on some support."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(2, 5))
    triples = Triples.count(rng.integers(0, k, (draw(st.integers(1, 40)), 3)), k)
    pairs = rng.integers(0, k, (2, draw(st.integers(0, 4))))
    support = Support.of_pairs(pairs[0], pairs[1], k)
    matrix, prior = rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k))
    return triples, support, support.of_dense(matrix, prior, rng.dirichlet(np.ones(k)))


@settings(deadline=None)
@given(models())
def test_the_expectation_step_triple_by_triple(case):
    triples, support, model = case
    k, matrix = support.n_classes, support.dense(model)
    likelihood, by_class, flips = 0.0, np.zeros(k), np.zeros((k, k))
    for (a, b, c), count in zip(triples.labels, triples.counts, strict=True):
        terms = [model.prior[i] * matrix[i, a] * matrix[i, b] * matrix[i, c] for i in range(k)]
        likelihood += count * np.log(sum(terms))
        for i in range(k):
            share = count * terms[i] / sum(terms)
            by_class[i] += share
            for label in (a, b, c):
                flips[i, label] += share
    for summer in (DenseSummer, SparseSummer):
        found = summer(triples, support)(model)
        np.testing.assert_allclose(found.likelihood, likelihood)
        np.testing.assert_allclose(found.by_class, by_class, atol=1e-9)
        np.testing.assert_allclose(
            found.on_support, flips[support.rows, support.columns], atol=1e-9
        )
        off = flips.copy()
        off[support.rows, support.columns] = 0
        np.testing.assert_allclose(found.off_support, off.sum(axis=0), atol=1e-9)


def hoc_objective(triples, matrix, prior):
    """The three norms with the K^3 array."""
    k = len(prior)
    observed = np.zeros((k, k, k))
    for (a, b, c), count in zip(triples.labels, triples.counts, strict=True):
        observed[a, b, c] = count / triples.n_triples
    third = np.einsum("i,ia,ib,ic->abc", prior, matrix, matrix, matrix)
    second = np.einsum("i,ia,ib->ab", prior, matrix, matrix)
    return (
        ((triples.first_order() - prior @ matrix) ** 2).sum()
        + ((triples.second_order() - second) ** 2).sum()
        + ((_symmetric(observed) - third) ** 2).sum()
        + (observed**2).sum()
        - (_symmetric(observed) ** 2).sum()
    )


def _symmetric(cube):
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return sum(cube.transpose(order) for order in orders) / 6


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_hocs_objective_and_gradient(k, seed):
    rng = np.random.default_rng(seed)
    triples = Triples.count(rng.integers(0, k, (50, 3)), k)
    logits = _Logits(rng.standard_normal((k, k)), rng.standard_normal(k))

    def softmax(x):
        power = np.exp(x)
        return power / power.sum(axis=-1, keepdims=True)

    def objective(matrix, prior):
        return hoc_objective(triples, softmax(matrix), softmax(prior))

    loss, gradient = Moments(triples).loss(logits)
    np.testing.assert_allclose(loss, objective(*logits), rtol=1e-9, atol=1e-12)
    step = 1e-5
    for part in range(2):
        for place in np.ndindex(logits[part].shape):
            shifted = [np.array(x) for x in logits], [np.array(x) for x in logits]
            shifted[0][part][place] += step
            shifted[1][part][place] -= step
            slope = (objective(*shifted[0]) - objective(*shifted[1])) / (2 * step)
            np.testing.assert_allclose(gradient[part][place], slope, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("method", ["ml", "hoc"])
def test_a_planted_t_is_recovered(method):
    found = estimate_from_triples(planted_triples(), method)
    assert found.identifiable
    np.testing.assert_allclose(found.matrix, PLANTED, atol=0.03)
    np.testing.assert_allclose(found.prior, PRIOR, atol=0.02)
    assert found.noise_rate == pytest.approx(1 - PRIOR @ np.diagonal(PLANTED), abs=0.01)


def test_hoc_keeps_the_best_it_came_by():
    triples = planted_triples(5000)
    fit = fit_hoc(triples, HocOptions(n_steps=50), None, np.random.default_rng(0))
    more = fit_hoc(triples, HocOptions(n_steps=200), None, np.random.default_rng(0))
    assert more.loss <= fit.loss


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(3)))
def test_renaming_classes_renames_the_estimate(order):
    triples = planted_triples(3000)
    order = np.array(order)
    renamed = Triples.count(np.repeat(order[triples.labels], triples.counts, axis=0), 3)
    first, second = (estimate_from_triples(t, "ml") for t in (triples, renamed))
    np.testing.assert_allclose(second.matrix[np.ix_(order, order)], first.matrix, atol=1e-3)


def test_labels_that_agree_no_more_than_strangers():
    rng = np.random.default_rng(0)
    found = estimate_from_triples(Triples.count(rng.integers(0, 3, (500, 3)), 3))
    assert not found.identifiable
    assert found.reasons[0].startswith("neighbours' labels agree no more than chance (kappa ")
    np.testing.assert_array_equal(found.matrix, np.eye(3))
    with pytest.warns(NotIdentifiable, match="the noise transition cannot be identified: "):
        found.warn()


def test_rare_classes_are_named():
    labels = np.repeat([0, 1, 2], [100, 100, 4])
    triples = np.stack([labels] * 3, axis=1)
    found = estimate_from_triples(Triples.count(triples, 3), classes=np.array(["a", "b", "c"]))
    assert found.reasons[0] == (
        "class 'c' has fewer than 10 examples; add examples or merge classes"
    )


def test_a_transition_comes_back_from_json():
    found = estimate_from_triples(planted_triples(3000), classes=np.array(["x", "y", "z"]))
    back = Transition.from_dict(json.loads(json.dumps(found.to_dict())))
    np.testing.assert_array_equal(back.matrix, found.matrix)
    assert back.classes.tolist() == ["x", "y", "z"]
    stored = found.to_dict()
    del stored["prior"]
    with pytest.raises(InputError) as caught:
        Transition.from_dict(stored)
    assert str(caught.value) == "a stored transition lacks the entry 'prior'"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "em"}, "unknown estimator 'em'; choose one of 'beliefs', 'ml', 'hoc'"),
        (
            {"method": "hoc", "n_step": 3},
            "the transition estimator 'hoc' has no option 'n_step'; did you mean 'n_steps'?",
        ),
        ({"max_passes": -1}, "max_passes is -1; give a number of at least 0"),
    ],
)
def test_bad_options(options, text):
    features = np.random.default_rng(0).random((20, 3))
    with pytest.raises(InputError) as caught:
        estimate_transition(features, np.arange(20) % 2, **options)
    assert str(caught.value) == text


def test_a_warm_start_leads_to_the_same_place():
    index = np.array([[(i + 3) % 999, (i + 6) % 999] for i in range(999)])
    labels = np.where(np.random.default_rng(0).random(999) < 0.2, 0, np.arange(999) % 3)
    cold = estimate_from_neighbors(labels, index, 3)
    warm = estimate_from_neighbors(labels, index, 3, warm_start=cold)
    np.testing.assert_allclose(warm.matrix, cold.matrix, atol=0.01)


def test_a_model_is_a_distribution():
    support = Support.of_pairs(np.array([0]), np.array([1]), 4)
    model = support.of_dense(np.full((4, 4), 0.25), np.full(4, 0.25), np.full(4, 0.25))
    assert isinstance(model, Model)
    np.testing.assert_allclose(support.dense(model), 0.25)
