"""The approximate engine: what it says of its recall is true, and when "auto" takes it."""

import numpy as np
import pytest

from simifeat.neighbors import find, find_neighbors
from simifeat.neighbors.approximate import cell_groups, search_approximate
from simifeat.neighbors.points import make_points


def clusters(n=6000, d=16, n_clusters=60, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, d))
    return (centres[rng.integers(0, n_clusters, n)] + 0.4 * rng.normal(size=(n, d))).astype("f4")


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_recall_it_reports_is_the_recall_it_has(metric):
    features = clusters()
    found = search_approximate(make_points(features, metric), 10, 2, seed=1, cell_size=100)
    assert found.n_cells == 60
    true = find_neighbors(features, 10, metric, "exact").index
    hits = [len(set(a) & set(b)) for a, b in zip(found.index.tolist(), true.tolist(), strict=True)]
    assert found.recall == pytest.approx(np.mean(hits) / 10, abs=0.015)
    assert 0.94 < found.recall < 1


def test_features_without_clusters_say_a_low_recall():
    noise = np.random.default_rng(2).normal(size=(6000, 64)).astype(np.float32)
    found = search_approximate(make_points(noise, "cosine"), 10, 2, seed=0, cell_size=15)
    assert found.overlap == 96  # the most there are
    assert found.recall < 0.9


def test_auto_leaves_exact_search_where_rows_are_many(monkeypatch):
    monkeypatch.setattr(find, "APPROXIMATE_FROM", 6000)
    few, many = find_neighbors(clusters(5999), 5), find_neighbors(clusters(6000), 5)
    assert few.engine in ("exact", "fast")
    assert few.recall == 1.0
    assert many.engine == "approximate"
    assert many.reason.startswith("search in the ")
    assert f"(6000 rows are many); recall {many.recall:.3f}, measured on a sample" in many.reason


def test_the_seed_draws_the_cells_and_nothing_else_does():
    features = clusters(5000)
    one, same, other = (
        find_neighbors(features, 5, engine="approximate", seed=s).index for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_cells_are_searched_in_groups_of_enough_rows_and_none_is_left_out():
    sizes = np.array([3, 0, 5, 4, 0, 9, 1])
    assert cell_groups(sizes, 7) == [(0, 2), (3, 5), (6,)]
    assert cell_groups(np.zeros(3, int), 7) == []
