"""Label triples against a loop over the rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simifeat.consensus import Triples, label_triples, sampled_triples
from simifeat.errors import InputError


@st.composite
def labelled(draw):
    n, k, width = draw(st.integers(2, 30)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, k, n), rng.integers(-1, n, (n, width)), k


@settings(deadline=None)
@given(labelled())
def test_triples_are_counted_row_by_row(case):
    labels, index, k = case
    expected = Counter(
        (int(labels[i]), int(labels[row[0]]), int(labels[row[1]]))
        for i, row in enumerate(index)
        if row[0] >= 0 and row[1] >= 0
    )
    found = Triples.count(label_triples(labels, index), k)
    seen = {tuple(t): int(c) for t, c in zip(found.labels.tolist(), found.counts, strict=True)}
    assert seen == dict(expected)
    assert found.labels.tolist() == sorted(found.labels.tolist())
    assert found.n_triples == sum(expected.values())
    first, second = np.zeros(k), np.zeros((k, k))
    for (a, b, _), count in expected.items():
        first[a] += count / found.n_triples
        second[a, b] += count / found.n_triples
    np.testing.assert_allclose(found.first_order(), first)
    np.testing.assert_allclose(found.second_order(), second)
    merged = Counter()
    for triple, count in expected.items():
        merged[tuple(sorted(triple))] += count
    short = found.unordered()
    seen = {tuple(t): int(c) for t, c in zip(short.labels.tolist(), short.counts, strict=True)}
    assert seen == dict(merged)


@settings(deadline=None)
@given(labelled(), st.integers(0, 30))
def test_parts_add_up_to_the_whole(case, cut):
    labels, index, k = case
    rows = np.arange(len(labels))
    whole = Triples.count(label_triples(labels, index), k)
    parts = [Triples.count(label_triples(labels, index, r), k) for r in (rows[:cut], rows[cut:])]
    both = parts[0] + parts[1]
    np.testing.assert_array_equal(both.labels, whole.labels)
    np.testing.assert_array_equal(both.counts, whole.counts)


def test_sampled_triples_have_their_neighbours_inside_the_sample():
    rng = np.random.default_rng(0)
    labels = np.arange(50)  # a label names its row
    index = np.array([[(i + s) % 50 for s in range(1, 20)] for i in range(50)])
    found = sampled_triples(labels, index, 20, 1, rng)
    drawn = set(np.random.default_rng(0).choice(50, 20, replace=False).tolist())
    assert set(found.ravel().tolist()) <= drawn
    for own, first, second in found:
        inside = [j for j in index[own] if j in drawn]
        assert [first, second] == inside[:2]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: label_triples(np.zeros(3, int), np.zeros((3, 1), int)),
            "label triples need two neighbours an example, the index has 1; "
            "search with k of at least 2",
        ),
        (
            lambda: Triples.count(np.array([[0, 1, 5]]), 3),
            "label codes must lie in 0..2, found 0..5; encode the labels first",
        ),
        (
            lambda: Triples.count(np.zeros((2, 2), int), 3),
            "label triples must have shape [m, 3], got (2, 2)",
        ),
    ],
)
def test_bad_input(call, text):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == text
