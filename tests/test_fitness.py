from __future__ import annotations

import numpy as np
import pytest

from simifeat.errors import InputError, NotIdentifiable
from simifeat.fitness import assess
from simifeat.neighbors import find_neighbors
from simifeat.theory import clusterability_curve, vote_lower_bound


def clusters(n=1200, k=4, spread=0.3, rate=0.3, seed=0):
    """Features around the corners of a simplex, clean labels, and labels corrupted evenly."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, k, n)
    x = np.eye(k, 8)[clean] + spread * rng.standard_normal((n, 8))
    flips = rng.random(n) < rate
    return x, clean, np.where(flips, (clean + rng.integers(1, k, n)) % k, clean)


@pytest.mark.parametrize("spread", [0.1, 0.25, 0.35])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_clusterability_is_estimated_without_clean_labels(spread, rate):
    x, clean, labels = clusters(spread=spread, rate=rate)
    found = assess(x, labels)
    true = clusterability_curve(find_neighbors(x, 50), clean)
    assert found.ks.tolist() == list(range(1, 51))
    for k in (1, 5, 10):
        assert found.clusterability[k - 1] == pytest.approx(true[k - 1], abs=0.12)
    assert found.noise_rate == pytest.approx(rate, abs=0.06)
    assert found.agreement == pytest.approx(
        (labels == labels[find_neighbors(x, 1).index[:, 0]]).mean()
    )


def test_the_k_recommended_has_the_highest_bound():
    x, _, labels = clusters()
    found = assess(x, labels)
    bounds = [
        float(vote_lower_bound(k, found.noise_rate, 1 - share, n_classes=4))
        for k, share in zip(found.ks, found.clusterability, strict=True)
    ]
    np.testing.assert_allclose(found.bounds, bounds)
    assert found.k == int(np.argmax(bounds)) + 1


def test_more_noise_asks_for_more_neighbours():
    chosen = [assess(*clusters(spread=0.15, rate=rate)[::2]).k for rate in (0.05, 0.5)]
    assert chosen[0] < chosen[1]


def test_grades_fall_with_the_features():
    grades = [assess(*clusters(spread=s, rate=0.2)[::2]).grade for s in (0.1, 0.5, 0.9)]
    assert grades[0] == "good"


def test_features_that_say_nothing():
    rng = np.random.default_rng(0)
    with pytest.warns(NotIdentifiable):
        found = assess(rng.random((300, 5)), rng.integers(0, 3, 300))
    assert found.grade == "unknown"
    assert found.reasons


def test_a_graph_in_place_of_features():
    x, _, labels = clusters(n=300)
    from_graph = assess(None, labels, neighbors=find_neighbors(x, 50))
    np.testing.assert_array_equal(from_graph.clusterability, assess(x, labels).clusterability)


def test_fewer_rows_than_neighbours():
    x, _, labels = clusters(n=30, k=2, rate=0.1)
    assert assess(x, labels).ks.tolist() == list(range(1, 30))


def test_no_features_at_all():
    with pytest.raises(InputError) as caught:
        assess(None, ["a", "b"])
    assert str(caught.value) == ("there are no features; give them, or a graph as neighbors=")
