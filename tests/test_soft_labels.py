import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import cosine_score, knn_label
from simifeat.soft_labels import soft_labels


@st.composite
def graphs(draw):
    """Labels, an index with gaps and similarities of a small dataset."""
    n = draw(st.integers(3, 14))
    n_classes = draw(st.integers(2, 5))
    k = draw(st.integers(1, n - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    index = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], np.int32)
    similarity = -np.sort(-rng.uniform(-0.2, 1, (n, k)).astype(np.float32), axis=1)
    for row in range(n):  # gaps stand at the end of a row
        n_missing = rng.integers(0, k + 1) if rng.random() < 0.3 else 0
        index[row, k - n_missing :] = -1
        similarity[row, k - n_missing :] = 0
    return labels, n_classes, index, similarity


@given(graphs())
def test_counts_are_the_label_counts_of_the_neighbours(graph):
    labels, n_classes, index, similarity = graph
    table = soft_labels(labels, index, similarity).dense(n_classes)
    expected = [knn_label(labels, index, n, n_classes) for n in range(len(labels))]
    np.testing.assert_array_equal(table, np.array(expected, np.float32))


@given(graphs())
def test_similarity_weights_sum_the_similarities(graph):
    labels, n_classes, index, similarity = graph
    table = soft_labels(labels, index, similarity, weights="similarity").dense(n_classes)
    expected = [
        knn_label(labels, index, n, n_classes, lambda n, a: max(similarity[n, a], 0))
        for n in range(len(labels))
    ]
    np.testing.assert_allclose(table, np.array(expected), atol=1e-5)


@given(graphs())
def test_mass_of_and_norm_agree_with_the_dense_vector(graph):
    labels, n_classes, index, similarity = graph
    soft = soft_labels(labels, index, similarity, weights="similarity")
    table = soft.dense(n_classes)
    np.testing.assert_allclose(soft.of(labels), table[np.arange(len(labels)), labels], atol=1e-5)
    np.testing.assert_allclose(soft.norm(), np.linalg.norm(table, axis=1), atol=1e-5)
    rows, slots = np.nonzero(soft.classes >= 0)
    np.testing.assert_allclose(
        soft.mass[rows, slots], table[rows, soft.classes[rows, slots]], atol=1e-5
    )


def test_center_extra_adds_the_own_label_and_within_k_drops_the_farthest():
    labels = np.array([0, 1, 1, 2], np.int32)
    index = np.array([[1, 3], [0, 2], [1, 0], [2, 1]], np.int32)
    similarity = np.full((4, 2), 0.5, np.float32)
    extra = soft_labels(labels, index, similarity, center="extra").dense(3)
    within = soft_labels(labels, index, similarity, center="within_k").dense(3)
    np.testing.assert_array_equal(extra[0], [1, 1, 1])
    np.testing.assert_array_equal(within[0], [1, 1, 0])


def test_extrapolated_center_continues_the_two_nearest_distances():
    labels = np.array([0, 1, 1], np.int32)
    index = np.array([[1, 2], [0, 2], [1, 0]], np.int32)
    similarity = np.array([[0.8, 0.7], [0.8, 0.6], [0.6, 0.1]], np.float32)
    soft = soft_labels(
        labels,
        index,
        similarity,
        weights="similarity",
        center="extra",
        center_weight="extrapolate",
    )
    # distances .2 and .3 continue to .1: similarity .9
    np.testing.assert_allclose(soft.dense(3)[0], [0.9, 1.5, 0], atol=1e-6)


def test_rows_picks_the_center_of_each_row():
    labels = np.array([0, 1, 2, 1], np.int32)
    index = np.array([[1], [3]], np.int32)  # of rows 2 and 1
    soft = soft_labels(
        labels, index, np.ones((2, 1), np.float32), rows=np.array([2, 1]), center="extra"
    )
    np.testing.assert_array_equal(soft.dense(3), [[0, 1, 1], [0, 2, 0]])


@pytest.mark.parametrize(("j", "expected"), [(0, 0.83), (1, 0.55)])
def test_the_papers_example_scores(j, expected):
    assert cosine_score([0.6, 0.4, 0.0], j) == pytest.approx(expected, abs=0.005)
