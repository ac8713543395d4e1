import numpy as np
from hypothesis import given

from oracles import knn_label, vote_winners
from simifeat.soft_labels import soft_labels
from simifeat.vote import vote_flags, vote_margin, vote_winner
from test_soft_labels import graphs


@given(graphs())
def test_the_winner_is_one_of_the_classes_with_most_votes(graph):
    labels, n_classes, index, similarity = graph
    winner = vote_winner(soft_labels(labels, index, similarity), np.random.default_rng(0))
    for n in range(len(labels)):
        counts = knn_label(labels, index, n, n_classes)
        if sum(counts):
            assert winner[n] in vote_winners(counts)
        else:
            assert winner[n] == -1


@given(graphs())
def test_flags_are_disagreement_and_margins_have_their_sign(graph):
    labels, n_classes, index, similarity = graph
    soft = soft_labels(labels, index, similarity)
    winner = vote_winner(soft, np.random.default_rng(1))
    flags, margin = vote_flags(winner, labels), vote_margin(soft, labels)
    for n in range(len(labels)):
        counts = knn_label(labels, index, n, n_classes)
        assert flags[n] == (sum(counts) > 0 and winner[n] != labels[n])
        if margin[n] > 0:
            assert not flags[n]
        if margin[n] < 0:
            assert flags[n]


def test_ties_fall_equally_and_by_the_seed():
    n = 30_000
    labels = np.zeros(n, np.int32)
    labels[[0, 1, 2]] = [0, 1, 2]
    index = np.tile(np.array([0, 1, 2], np.int32), (n, 1))
    soft = soft_labels(labels, index, np.ones((n, 3), np.float32))
    winner = vote_winner(soft, np.random.default_rng(7))
    shares = np.bincount(winner) / n
    np.testing.assert_allclose(shares, [1 / 3] * 3, atol=0.015)
    np.testing.assert_array_equal(winner, vote_winner(soft, np.random.default_rng(7)))
    assert (winner != vote_winner(soft, np.random.default_rng(8))).any()
