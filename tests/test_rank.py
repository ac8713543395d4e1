import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import cosine_score as oracle_score
from oracles import knn_label
from oracles import rank_flags as oracle_flags
from simifeat.rank import corruption_rates, cosine_score, rank_flags
from simifeat.soft_labels import soft_labels
from test_soft_labels import graphs


@given(graphs())
def test_scores_are_the_cosine_with_the_one_hot_label(graph):
    labels, n_classes, index, similarity = graph
    scores = cosine_score(soft_labels(labels, index, similarity), labels)
    for n in range(len(labels)):
        counts = knn_label(labels, index, n, n_classes)
        assert scores[n] == pytest.approx(oracle_score(counts, labels[n]), abs=1e-6)


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 60))
def test_flags_are_the_lowest_scores_of_each_class(seed, n_classes, n):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    scores = rng.permutation(n).astype(np.float32) / n  # distinct
    posterior = rng.integers(0, 65, n_classes) / 64  # exact in binary: floor is unambiguous
    flags = rank_flags(scores, labels, 1 - posterior, rng)
    np.testing.assert_array_equal(flags, np.array(oracle_flags(scores, labels, posterior), bool))


def test_floor_holds_for_rates_that_are_not_exact_in_binary():
    scores = np.arange(10, dtype=np.float32)
    labels = np.zeros(10, np.int32)
    rng = np.random.default_rng(0)
    assert rank_flags(scores, labels, np.array([1 - 0.7]), rng).sum() == 3
    assert rank_flags(scores, labels, np.array([0.39]), rng).sum() == 3


def test_ties_at_the_cut_are_drawn_not_taken_in_order():
    n = 10_000
    labels = np.zeros(n, np.int32)
    flags = rank_flags(np.ones(n, np.float32), labels, np.array([0.3]), np.random.default_rng(0))
    assert flags.sum() == 3000
    assert flags[: n // 2].sum() == pytest.approx(1500, abs=150)


def test_percentile_flags_the_whole_tie():
    scores = np.array([0.1, 0.5, 0.5, 0.5, 0.9, 0.9], np.float32)
    labels = np.zeros(6, np.int32)
    rng = np.random.default_rng(0)
    flags = rank_flags(scores, labels, np.array([0.4]), rng, cut="percentile")
    np.testing.assert_array_equal(flags, [True, True, True, True, False, False])


def test_rates_are_one_less_the_posterior_and_stay_probabilities():
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(corruption_rates(np.array([1.0, 0.25]), rng=rng), [0, 0.75])
    jittered = corruption_rates(np.full(1000, 0.5), jitter=0.05, rng=rng)
    assert 0.45 <= jittered.min() < 0.46
    assert 0.54 < jittered.max() <= 0.55
    clipped = corruption_rates(np.array([1.0, 0.0, 0.5]), clip=True, rng=rng)
    np.testing.assert_allclose(clipped, [0.05, 0.95, 0.5])
