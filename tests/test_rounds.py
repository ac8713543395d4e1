import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simifeat.rounds import (
    MAX_SEARCHED,
    Round,
    n_searched,
    nearest_voters,
    rounds_of_batches,
    rounds_of_voters,
)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_nearest_voters_are_the_first_k_that_vote(seed, k):
    rng = np.random.default_rng(seed)
    n = 12
    index = np.array([rng.permutation(np.delete(np.arange(n), i))[:8] for i in range(n)], np.int32)
    index[0, 5:] = -1
    similarity = -np.sort(-rng.random((n, 8)).astype(np.float32), axis=1)
    voters = rng.random(n) < 0.5
    judged = rng.permutation(n)[:7]
    got, weight = nearest_voters(index, similarity, k, Round(judged, voters))
    for place, row in enumerate(judged):
        wanted = [
            (m, s) for m, s in zip(index[row], similarity[row], strict=True) if m >= 0 and voters[m]
        ][:k]
        wanted += [(-1, 0)] * (k - len(wanted))
        assert got[place].tolist() == [m for m, _ in wanted]
        assert weight[place].tolist() == [s for _, s in wanted]


def test_searching_more_leaves_nearly_no_row_short_of_voters():
    rng = np.random.default_rng(0)
    s = n_searched(10, 0.8, 10**6)
    short = (rng.random((200_000, s)) < 0.8).sum(axis=1) < 10
    assert short.mean() < 1e-4
    assert s <= 25


def test_searched_is_bounded_by_the_cap_and_by_the_examples():
    assert n_searched(10, 0.01, 10**6) == MAX_SEARCHED
    assert n_searched(10, 0.5, 8) == 7
    assert n_searched(10, 1.0, 10**6) == 10
    assert n_searched(600, 0.5, 10**6) == 600


def test_voter_rounds_draw_the_share_and_differ():
    rounds = list(rounds_of_voters(10_000, 3, 0.8, np.random.default_rng(0)))
    assert [abs(r.voters.mean() - 0.8) < 0.02 for r in rounds] == [True] * 3
    assert (rounds[0].voters != rounds[1].voters).any()


def test_batch_rounds_are_balanced_and_go_on_until_everybody_was_in():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], [900, 300, 20])).astype(np.int32)
    rounds = list(rounds_of_batches(labels, 3, 2, batch_size=10, n_batches=30, rng=rng))
    assert len(rounds) == 9  # 900 rows, 100 a round
    seen = np.zeros(len(labels), bool)
    for each in rounds:
        np.testing.assert_array_equal(np.bincount(labels[each.judged]), [100, 100, 20])
        np.testing.assert_array_equal(np.flatnonzero(each.voters), each.judged)
        seen[each.judged] = True
    assert seen.all()


def test_batch_rounds_end_with_fewer_places_than_classes():
    labels = np.arange(5, dtype=np.int32).repeat(2)
    rng = np.random.default_rng(0)
    rounds = list(rounds_of_batches(labels, 5, 1, batch_size=3, n_batches=1, rng=rng))
    assert np.unique(np.concatenate([r.judged for r in rounds])).tolist() == list(range(10))


def test_batch_rounds_keep_the_number_asked_for():
    labels = np.array([0, 1] * 10, np.int32)
    rng = np.random.default_rng(0)
    assert len(list(rounds_of_batches(labels, 2, 7, 4, 100, rng))) == 7
