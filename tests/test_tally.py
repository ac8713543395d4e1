import numpy as np

from simifeat.beliefs import Beliefs
from simifeat.tally import Tally


def test_more_than_half_of_the_rounds_that_judged_decide():
    tally = Tally(4)
    tally.add(None, np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 1], np.float32))
    tally.add(None, np.array([1, 0, 0, 0], bool), np.array([0, 0, 1, 1], np.float32))
    tally.add(np.array([0, 2]), np.array([0, 1], bool), np.array([0.5, 0.25], np.float32))
    np.testing.assert_array_equal(tally.is_corrupted, [True, False, False, False])  # 2/3 1/2 1/3 0
    np.testing.assert_allclose(tally.flag_rate, [2 / 3, 1 / 2, 1 / 3, 0])
    np.testing.assert_allclose(tally.score, [0.5, 0, 0.75, 1])
    assert tally.n_rounds == 3


def test_what_no_round_judged_counts_as_clean():
    tally = Tally(2)
    tally.add(np.array([1]), np.array([True]), np.array([0.2], np.float32))
    np.testing.assert_array_equal(tally.is_corrupted, [False, True])
    np.testing.assert_allclose(tally.score, [1, 0.2])


def test_beliefs_are_the_mean_over_epochs():
    tally = Tally(1)
    tally.add_beliefs(Beliefs(np.array([[0, 1]], np.int32), np.array([[0.8, 0.2]], np.float32)))
    tally.add_beliefs(Beliefs(np.array([[2, 1]], np.int32), np.array([[0.5, 0.5]], np.float32)))
    mean = tally.beliefs
    np.testing.assert_array_equal(mean.classes, [[0, 1]])
    np.testing.assert_allclose(mean.probability, [[0.4, 0.35]])
