"""One contract for every engine, judged by looking at all pairs in double precision."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import brute_neighbors
from simifeat.errors import InputError, MissingExtra
from simifeat.neighbors import as_neighbors, find_neighbors

METRICS = ["cosine", "euclidean"]


def searched(engine):
    """``find`` of one engine; "precomputed" gets the graph of another and hands it on."""
    if engine == "fast":
        pytest.importorskip("numkong")

    def find(features, k, metric="cosine", **options):
        if engine != "precomputed":
            return find_neighbors(features, k, metric, engine, **options)
        graph = find_neighbors(features, k, metric, "exact", **options)
        pair = (graph.index, graph.similarity)
        return as_neighbors(pair, len(features), k, values="similarity", metric=metric)

    return find


@pytest.fixture(params=["exact", "fast", "approximate", "precomputed"])
def find(request):
    return searched(request.param)


def pair_similarity(features, index, metric):
    """Similarity of the pairs that ``index`` names, in double precision."""
    x = np.asarray(features, np.float64)
    near = x[index]  # [n, k, d]
    if metric == "euclidean":
        return 1 / (1 + np.sqrt(((x[:, None] - near) ** 2).sum(axis=2)))
    length = np.sqrt((x**2).sum(axis=1))
    product = length[:, None] * length[index]
    dot = (x[:, None] * near).sum(axis=2)
    return np.divide(dot, product, out=np.zeros_like(dot), where=product > 0)


def check(found, features, k, metric, tolerance=2e-6):
    """Right shape, right order, nobody's own, and as near as the nearest there are."""
    n = len(features)
    k = min(k, n - 1)
    assert found.index.shape == found.similarity.shape == (n, k)
    assert found.index.dtype == np.int32
    assert found.similarity.dtype == np.float32
    assert ((found.index >= 0) & (found.index < n)).all()
    assert (found.index != np.arange(n)[:, None]).all()
    assert all(len(set(row)) == k for row in found.index.tolist())
    true = brute_neighbors(features, k, metric)[1]
    np.testing.assert_allclose(found.similarity, true, rtol=0, atol=tolerance)
    claimed = pair_similarity(features, found.index, metric)
    np.testing.assert_allclose(found.similarity, claimed, rtol=0, atol=tolerance)
    step = np.diff(found.similarity, axis=1)
    assert (step <= 0).all()
    assert (np.diff(found.index, axis=1)[step == 0] > 0).all()


@pytest.mark.parametrize("metric", METRICS)
def test_nearest_of_ordinary_features(find, metric):
    features = np.random.default_rng(0).normal(size=(300, 24)).astype(np.float32)
    check(find(features, 7, metric), features, 7, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_nearest_of_features_far_from_the_origin(find, metric):
    features = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float32) + 30
    check(find(features, 5, metric), features, 5, metric, 1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_zero_vectors(find, metric):
    features = np.random.default_rng(2).normal(size=(60, 5)).astype(np.float32)
    features[[3, 17, 18, 59]] = 0
    check(find(features, 6, metric), features, 6, metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [2, 3, 8])
def test_fewer_rows_than_neighbours(find, metric, n):
    features = np.random.default_rng(3).normal(size=(n, 4)).astype(np.float32)
    check(find(features, 10, metric), features, 10, metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("value", [0.0, 1.5, -2e20])
def test_constant_features_tie_and_the_lower_index_leads(find, metric, value):
    found = find(np.full((9, 3), value, np.float32), 3, metric)
    assert found.index.tolist() == [[j for j in range(9) if j != i][:3] for i in range(9)]
    same = 0.0 if metric == "cosine" and value == 0 else 1.0
    np.testing.assert_allclose(found.similarity, same, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_one_dimension(find, metric):
    features = np.random.default_rng(4).integers(-5, 6, (80, 1)).astype(np.float32)
    check(find(features, 12, metric), features, 12, metric)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64", "bool"])
@pytest.mark.parametrize("metric", METRICS)
def test_number_types(find, dtype, metric):
    features = np.random.default_rng(5).integers(0, 100, (70, 6)).astype(dtype)
    check(find(features, 4, metric), features, 4, metric)


def test_rows_on_disk_and_views_are_read_as_they_are(find, tmp_path):
    features = np.random.default_rng(6).normal(size=(90, 10)).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    expected = find(features, 5)
    for same in (
        np.load(tmp_path / "features.npy", mmap_mode="r"),
        np.asfortranarray(features),
        np.repeat(features, 2, axis=0)[::2],
        features.tolist(),
    ):
        found = find(same, 5)
        assert found.index.tobytes() == expected.index.tobytes()
        assert found.similarity.tobytes() == expected.similarity.tobytes()
    before = features.copy()
    find(features, 5, "euclidean")
    assert (features == before).all()


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
def test_magnitude_does_not_matter_to_the_cosine(find, size):
    features = np.random.default_rng(7).normal(size=(80, 9))
    check(find((features * size).astype(np.float32), 5), features, 5, "cosine")


@pytest.mark.parametrize("size", [1e-18, 1e-9, 1e9, 1e18, 1e30])
def test_magnitude_does_not_change_the_euclidean_order(find, size):
    features = np.random.default_rng(8).normal(size=(80, 9))
    if size > 1e9:  # 1 / (1 + distance) underflows between ties: look at the order where it can
        features = features[:40]
    found = find((features * size).astype(np.float32), 5, "euclidean")
    if size < 1e-6:  # every similarity rounds to 1: ties by index
        assert (np.diff(found.index, axis=1)[np.diff(found.similarity, axis=1) == 0] > 0).all()
    near = np.sort(pair_similarity(features, found.index, "euclidean"), axis=1)[:, ::-1]
    np.testing.assert_allclose(near, brute_neighbors(features, 5, "euclidean")[1], atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_ties_go_to_the_lower_index(find, metric):
    """On a grid of whole numbers distances tie exactly, far beyond the k-th place."""
    features = np.random.default_rng(9).integers(-2, 3, (250, 3)).astype(np.float32)
    if metric == "cosine":  # unit vectors with exact products
        features = np.sign(features) * (np.arange(3) == np.abs(features).argmax(axis=1)[:, None])
    found = find(features, 15, metric)
    index, similarity = brute_neighbors(features, 15, metric)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_allclose(found.similarity, similarity, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_thousands_of_equal_rows(find, metric):
    """Five directions, one of them 3,000 times: the lowest twins, oneself left out."""
    rng = np.random.default_rng(10)
    kinds = rng.permutation(np.repeat(np.arange(5), [3000, 300, 30, 3, 1]))
    features = np.eye(5, dtype=np.float32)[kinds]
    found = find(features, 6, metric)
    other = 0.0 if metric == "cosine" else 1 / (1 + np.sqrt(2))
    for row, kind in enumerate(kinds):
        twins = np.flatnonzero(kinds == kind)
        twins = twins[twins != row][:6]
        rest = np.flatnonzero(kinds != kind)[: 6 - len(twins)]
        if found.engine == "approximate":  # equals share a cell, other directions need not
            assert found.index[row, : len(twins)].tolist() == twins.tolist()
        else:
            assert found.index[row].tolist() == [*twins, *rest]
        np.testing.assert_allclose(found.similarity[row], [1.0] * len(twins) + [other] * len(rest))


@pytest.mark.parametrize("metric", METRICS)
def test_any_number_of_threads_gives_the_same_bytes(find, metric):
    features = np.random.default_rng(11).normal(size=(5000, 12)).astype(np.float32)
    features[100:140] = features[7]
    one, two = (find(features, 9, metric, n_threads=threads) for threads in (1, 2))
    assert one.index.tobytes() == two.index.tobytes()
    assert one.similarity.tobytes() == two.similarity.tobytes()


@settings(max_examples=15, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("engine", ["exact", "fast", "approximate"])
@pytest.mark.parametrize("metric", METRICS)
def test_shuffled_rows_have_the_same_neighbours(engine, metric, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, d, k = (data.draw(st.integers(*limits)) for limits in ((2, 60), (1, 6), (1, 8)))
    features = rng.normal(size=(n, d)).astype(np.float32)
    order = rng.permutation(n)
    plain = searched(engine)(features, k, metric)
    mixed = searched(engine)(features[order], k, metric)
    if d > 1:  # in one dimension all cosines tie
        np.testing.assert_array_equal(mixed.similarity, plain.similarity[order])


def test_progress_counts_up_to_all_rows(find):
    if find.__closure__[0].cell_contents == "precomputed":
        pytest.skip("nothing is searched")
    told = []
    find(np.random.default_rng(12).normal(size=(500, 4)), 3, progress=lambda *a: told.append(a))
    assert told[-1] == (500, 500)
    assert told == sorted(told)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", ["cloud", "knots"])
def test_fast_is_exact_to_the_byte(metric, shape):
    """Also where rows lie closer than a bfloat16 can tell apart."""
    rng = np.random.default_rng(13)
    features = rng.normal(size=(6000, 20)).astype(np.float32)
    if shape == "knots":
        features = features[rng.integers(0, 12, 6000)] + 1e-4 * features
    exact, fast = (searched(engine)(features, 10, metric) for engine in ("exact", "fast"))
    assert (exact.engine, fast.engine) == ("exact", "fast")
    assert exact.recall == fast.recall == 1.0
    assert exact.index.tobytes() == fast.index.tobytes()
    assert exact.similarity.tobytes() == fast.similarity.tobytes()


@pytest.mark.parametrize("engine", ["exact", "fast"])
@pytest.mark.parametrize("k", [5, 200])
def test_memory_grows_with_n_times_k(engine, k):
    """20,000 rows: a matrix of all pairs would be 1.5 GiB even in single precision."""
    find = searched(engine)
    features = np.random.default_rng(14).normal(size=(20_000, 8)).astype(np.float32)
    find(features[:100], 3)
    tracemalloc.start()
    try:
        find(features, k, n_threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * 2**20 + 20_000 * k * 60


def test_auto_says_what_and_why(monkeypatch):
    features = np.random.default_rng(15).normal(size=(4200, 3))
    small = find_neighbors(features[:50], 2)
    assert small.engine == "exact"
    assert small.reason == "exact search in numpy: fewer than 4,096 distinct rows"
    monkeypatch.setitem(sys.modules, "numkong", None)
    alone = find_neighbors(features, 2)
    assert alone.engine == "exact"
    assert alone.reason == (
        "exact search in numpy: numkong is not installed (pip install 'simifeat[fast]')"
    )


def test_fast_without_its_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numkong", None)
    with pytest.raises(MissingExtra) as error:
        find_neighbors(np.eye(3), 1, engine="fast")
    assert str(error.value) == (
        "numkong is not installed; install it with: pip install 'simifeat[fast]'"
    )


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (np.eye(3), {"k": 0}, "k must be a whole number of at least 1, got 0"),
        (np.eye(3), {"k": True}, "k must be a whole number of at least 1, got True"),
        (np.eye(3), {"k": 2.5}, "k must be a whole number of at least 1, got 2.5"),
        (
            np.eye(3),
            {"k": 1, "metric": "manhattan"},
            "metric must be 'cosine' or 'euclidean', got 'manhattan'",
        ),
        (
            np.eye(3),
            {"k": 1, "engine": "hnsw"},
            "engine must be 'auto', 'exact', 'fast' or 'approximate', got 'hnsw'",
        ),
        (
            np.ones(3),
            {"k": 1},
            "features must be [n_examples, n_dimensions], got shape (3,)",
        ),
        (np.array([["a"], ["b"]]), {"k": 1}, "features must be real numbers, got dtype <U1"),
        (
            np.ones((1, 3)),
            {"k": 1},
            "neighbours need at least 2 examples and 1 dimension, got 1 x 3",
        ),
        (
            np.array([[1.0], [2.0], [np.nan]]),
            {"k": 1},
            "features: row 2 has NaN, infinity or a number beyond float32; "
            "drop or impute such rows first",
        ),
        (
            np.array([[1.0], [1e200]]),
            {"k": 1},
            "features: row 1 has NaN, infinity or a number beyond float32; "
            "drop or impute such rows first",
        ),
    ],
)
def test_what_is_refused(features, options, message):
    with pytest.raises(InputError) as error:
        find_neighbors(features, **options)
    assert str(error.value) == message
