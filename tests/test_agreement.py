import numpy as np
from hypothesis import given

from simifeat.agreement import agreement_by_rank, unanimous_share
from test_soft_labels import graphs


@given(graphs())
def test_shares_are_counted_neighbour_by_neighbour(graph):
    labels, _, index, _ = graph
    k = index.shape[1]
    for r in range(k):
        there = [n for n in range(len(labels)) if index[n, r] >= 0]
        equal = [n for n in there if labels[index[n, r]] == labels[n]]
        expected = len(equal) / len(there) if there else 0
        assert np.isclose(agreement_by_rank(labels, index)[r], expected)
        unanimous = [
            n
            for n in range(len(labels))
            if all(index[n, a] >= 0 and labels[index[n, a]] == labels[n] for a in range(r + 1))
        ]
        assert np.isclose(unanimous_share(labels, index)[r], len(unanimous) / len(labels))


def test_blocks_do_not_change_the_shares(monkeypatch):
    rng = np.random.default_rng(0)
    labels, index = rng.integers(0, 3, 50), rng.integers(-1, 50, (50, 4)).astype(np.int32)
    whole = agreement_by_rank(labels, index), unanimous_share(labels, index)
    monkeypatch.setattr("simifeat.agreement._BLOCK", 7)
    np.testing.assert_array_equal(whole[0], agreement_by_rank(labels, index))
    np.testing.assert_array_equal(whole[1], unanimous_share(labels, index))
