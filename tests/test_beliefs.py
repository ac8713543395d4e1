import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simifeat.beliefs import Beliefs, beliefs_of_votes
from simifeat.soft_labels import soft_labels
from simifeat.transition import Transition


def some_transition(n_classes, rng):
    matrix = rng.dirichlet(np.ones(n_classes), n_classes) + np.eye(n_classes)
    matrix /= matrix.sum(axis=1, keepdims=True)
    prior = rng.dirichlet(np.ones(n_classes) * 3)
    return Transition(matrix, prior, prior @ matrix, "known", 0.0, 0)


def literal_belief(own, neighbors, labels, t):
    """Q_n(i) ~ M_n(i) T[i, own], M_n the mean of P(Y=i | label of a) over the neighbours a."""
    n_classes = len(t.prior)
    mean = [0.0] * n_classes
    for a in neighbors:
        joint = [t.prior[i] * t.matrix[i, labels[a]] for i in range(n_classes)]
        for i in range(n_classes):
            mean[i] += joint[i] / sum(joint) / len(neighbors)
    mass = [mean[i] * t.matrix[i, own] for i in range(n_classes)]
    return np.array(mass) / sum(mass)


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 5))
def test_beliefs_are_bayes_rule_on_the_neighbours(seed, n_classes, k):
    rng = np.random.default_rng(seed)
    n = 8
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    index = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], np.int32)
    transition = some_transition(n_classes, rng)
    soft = soft_labels(labels, index, np.ones((n, k), np.float32))
    beliefs = beliefs_of_votes(soft, labels, transition)
    for row in range(n):
        expected = literal_belief(labels[row], index[row], labels, transition)
        held = beliefs.classes[row] >= 0
        assert set(beliefs.classes[row, held]) == {labels[row], *labels[index[row]]}
        np.testing.assert_allclose(
            beliefs.probability[row, held], expected[beliefs.classes[row, held]], atol=1e-5
        )
    np.testing.assert_allclose(
        beliefs.of(labels),
        [literal_belief(labels[i], index[i], labels, transition)[labels[i]] for i in range(n)],
        atol=1e-5,
    )


def test_without_votes_the_class_alone_decides():
    rng = np.random.default_rng(0)
    transition = some_transition(3, rng)
    labels = np.array([2, 0], np.int32)
    soft = soft_labels(labels, np.full((2, 2), -1, np.int32), np.zeros((2, 2), np.float32))
    beliefs = beliefs_of_votes(soft, labels, transition)
    np.testing.assert_allclose(beliefs.of(labels), transition.posterior[labels], rtol=1e-6)
    np.testing.assert_array_equal(beliefs.best_other(labels), [-1, -1])


def test_blocks_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 40).astype(np.int32)
    index = rng.integers(0, 40, (40, 5)).astype(np.int32)
    soft = soft_labels(labels, index, np.ones((40, 5), np.float32))
    transition = some_transition(4, rng)
    whole = beliefs_of_votes(soft, labels, transition)
    monkeypatch.setattr("simifeat.beliefs._BLOCK_ENTRIES", 1)
    rowwise = beliefs_of_votes(soft, labels, transition)
    np.testing.assert_array_equal(whole.probability, rowwise.probability)


def test_best_other_is_the_most_probable_class_but_the_given_one():
    beliefs = Beliefs(
        np.array([[0, 2, 1], [3, 1, -1], [4, -1, -1]], np.int32),
        np.array([[0.5, 0.25, 0.25], [0.9, 0.1, 0], [1, 0, 0]], np.float32),
    )
    np.testing.assert_array_equal(beliefs.best_other(np.array([0, 1, 4], np.int32)), [1, 3, -1])


@given(st.integers(0, 2**32))
def test_a_sum_of_beliefs_holds_the_sums_of_its_largest_classes(seed):
    rng = np.random.default_rng(seed)

    def draw(width):
        classes = np.array([rng.permutation(6)[:width] for _ in range(5)], np.int32)
        mass = rng.random((5, width)).astype(np.float32)
        empty = rng.random((5, width)) < 0.2
        return Beliefs(np.where(empty, -1, classes), np.where(empty, 0, mass).astype(np.float32))

    first, second = draw(3), draw(4)
    total = first.plus(second)
    assert total.classes.shape == (5, 4)
    for row in range(5):
        sums = {}
        for part in (first, second):
            for c, p in zip(part.classes[row], part.probability[row], strict=True):
                if c >= 0:
                    sums[c] = sums.get(c, 0.0) + p
        held = total.classes[row] >= 0
        got = dict(zip(total.classes[row, held], total.probability[row, held], strict=True))
        assert len(got) == min(4, len(sums)) == held.sum()
        for c, p in got.items():
            np.testing.assert_allclose(p, sums[c], rtol=1e-5)
        if len(sums) > 4:
            left_out = max(p for c, p in sums.items() if c not in got)
            assert left_out <= min(got.values()) + 1e-6
