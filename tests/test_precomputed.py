"""Neighbour graphs that others searched: every form that they come in, and what is refused."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

from simifeat import InputError, detect
from simifeat.neighbors import as_neighbors, find_neighbors

N, K = 60, 5
FEATURES = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)


def same(found, metric="cosine", atol=2e-6):
    own = find_neighbors(FEATURES, K, metric, "exact")
    np.testing.assert_array_equal(found.index, own.index)
    np.testing.assert_allclose(found.similarity, own.similarity, atol=atol)
    assert (found.engine, found.recall, found.metric) == ("precomputed", None, metric)


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_scikit_learn_s_graph(form):
    graph = form(kneighbors_graph(FEATURES, K, mode="distance", metric="cosine"))
    found = as_neighbors(graph, N)
    same(found)
    assert found.reason == "neighbours given as a sparse matrix (distance), nothing searched"


def test_euclidean_graphs_plain_and_squared():
    graph = kneighbors_graph(FEATURES, K, mode="distance")
    same(as_neighbors(graph, N, metric="euclidean"), "euclidean")
    graph.data **= 2
    found = as_neighbors(graph, N, values="squared_distance", metric="euclidean")
    same(found, "euclidean", 1e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("first", ["index", "distance"])
@pytest.mark.parametrize("with_self", [True, False])
def test_pairs_of_arrays_in_either_order_with_oneself_or_without(dtype, first, with_self):
    own = find_neighbors(FEATURES, K)
    index, distance = own.index.astype(dtype), 1 - own.similarity
    if with_self:
        index = np.concatenate([np.arange(N, dtype=dtype)[:, None], index], axis=1)
        distance = np.concatenate([np.zeros((N, 1), np.float32), distance], axis=1)
    pair = (index, distance) if first == "index" else (distance, index)
    same(as_neighbors(pair, N))


def test_similarities_stay_as_they_are_and_k_cuts():
    own = find_neighbors(FEATURES, K)
    found = as_neighbors((own.index, own.similarity), N, 3, values="similarity")
    np.testing.assert_array_equal(found.similarity, own.similarity[:, :3])
    assert as_neighbors(own, N, 2).index.shape == (N, 2)
    assert as_neighbors(own, N).index is not None


def test_missing_repeated_and_unsorted_neighbours():
    index = np.array([[2, 1, -1], [0, 0, 2], [2, 1, 0]])
    distance = np.array([[0.5, 0.1, np.nan], [0.3, 0.2, 0.2], [0.0, 0.4, 0.4]])
    found = as_neighbors((index, distance), 3)
    assert found.index.tolist() == [[1, 2], [0, 2], [0, 1]]
    np.testing.assert_allclose(found.similarity, [[0.9, 0.5], [0.8, 0.8], [0.6, 0.6]], atol=1e-6)


def test_what_was_given_is_not_changed():
    own = find_neighbors(FEATURES, K)
    index, distance = own.index[:, ::-1].copy(), 1 - own.similarity[:, ::-1]
    before = index.copy(), distance.copy()
    same(as_neighbors((index, distance), N))
    np.testing.assert_array_equal(index, before[0])
    np.testing.assert_array_equal(distance, before[1])


def test_rows_without_a_neighbour_are_left_alone():
    graph = scipy.sparse.lil_matrix((6, 6))
    graph[0, [1, 4]] = graph[1, [0, 4]] = graph[2, [3, 5]] = graph[3, [2, 5]] = 0.5
    with pytest.warns(match="cannot be identified"):
        found = detect(None, [0, 0, 1, 1, 0, 0], neighbors=graph.tocsr(), method="vote", k=1)
    assert found.is_corrupted.tolist() == [False] * 6
    assert found.score[[4, 5]].tolist() == [1, 1]  # nobody was asked: the cleanest


PAIR = (np.array([[1], [0]]), np.array([[0.1], [0.1]]))


@pytest.mark.parametrize(
    ("graph", "n", "options", "message"),
    [
        (
            PAIR,
            3,
            {},
            "the neighbour graph has 2 rows but there are 3 examples; "
            "give one row an example, in the same order",
        ),
        (
            (np.array([[1], [5]]), PAIR[1]),
            2,
            {},
            "neighbour graph: row 1 names neighbour 5, but rows are numbered 0 to 1 (-1: none); "
            "was the graph made from these features?",
        ),
        (
            (PAIR[0], np.array([[0.1], [np.nan]])),
            2,
            {},
            "neighbour graph: row 1 holds nan, not a finite number; search again without such rows",
        ),
        (
            (PAIR[0], np.array([[0.1], [-0.5]])),
            2,
            {},
            "neighbour graph: row 1 holds -0.5, not a distance; "
            "if these are similarities, say values='similarity'",
        ),
        (
            (PAIR[0], np.array([[0.1], [7.0]])),
            2,
            {},
            "neighbour graph: row 1 holds 7.0, not a cosine distance (0 to 2); "
            "for another distance say metric='euclidean'",
        ),
        (
            scipy.sparse.csr_matrix((2, 3)),
            2,
            {},
            "a sparse neighbour graph must be [n, n], got shape (2, 3)",
        ),
        (
            "graph.npz",
            2,
            {},
            "neighbors must be a Neighbors, a scipy sparse matrix or a pair of arrays "
            "(index, distance), got str",
        ),
        (
            (PAIR[1], PAIR[1]),
            2,
            {},
            "neighbour graph: the index must be integers and the distance real numbers, "
            "got dtypes float64 and float64",
        ),
        (
            (PAIR[0], np.zeros((2, 2))),
            2,
            {},
            "neighbour graph: index and distance must both be [n_examples, k], "
            "got shapes (2, 1) and (2, 2)",
        ),
        (PAIR, 2, {"k": 0}, "k must be a whole number of at least 1, got 0"),
        (
            PAIR,
            2,
            {"values": "cosine"},
            "values must be 'distance', 'squared_distance' or 'similarity', got 'cosine'",
        ),
        (PAIR, 2, {"metric": "l1"}, "metric must be 'cosine' or 'euclidean', got 'l1'"),
    ],
)
def test_what_is_refused(graph, n, options, message):
    with pytest.raises(InputError) as error:
        as_neighbors(graph, n, **options)
    assert str(error.value) == message
