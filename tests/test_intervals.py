"""Intervals: what is left out together, what comes back from a file, what they hold."""

import json

import numpy as np
import pytest

from simifeat.beliefs import Beliefs
from simifeat.errors import InputError
from simifeat.intervals import Intervals, jackknife, make_intervals, neighborhood_groups
from simifeat.neighbors import find_neighbors
from simifeat.noise import from_transition
from simifeat.own_labels import OwnLabels
from simifeat.transition import Transition, estimate_transition
from test_mend import PLANTED, corners


def test_neighbours_are_left_out_together():
    features, _ = corners(2000)
    index = find_neighbors(features, 10).index
    group = neighborhood_groups(index)
    assert set(group.tolist()) == set(range(20))
    shared = (group[index[:, 0]] == group).mean()
    assert shared > 0.3  # 1 in 20 among strangers
    assert np.bincount(group).max() < 4 * 2000 / 20


def test_the_jackknife_tells_the_error_of_a_share():
    """All is certain: T[0, 0] is a share of independent rows, its error known."""
    rng = np.random.default_rng(0)
    n = 8000
    labels = (rng.random(n) < 0.3).astype(np.int32)
    around = Beliefs(np.zeros((n, 1), np.int32), np.ones((n, 1), np.float32))
    own = OwnLabels(labels, around, (1.0, np.full(2, 0.5)), 0.0)
    fit = own.fit(own.of_dense(np.full((2, 2), 0.5)), 5, 0.0)
    spread = jackknife(own, fit, rng.integers(0, 20, n))
    assert spread.noise_rate == pytest.approx(np.sqrt(0.3 * 0.7 / n), rel=0.4)
    np.testing.assert_allclose(spread.values, spread.noise_rate, rtol=1e-6)


def test_bounds_are_shares_and_hold_the_estimate():
    features, clean = corners(1500, spread=0.4)
    labels = from_transition(clean, PLANTED, seed=1)
    found = estimate_transition(features, labels)
    sure = found.intervals
    assert sure.level == 0.9
    assert sure.class_rates.shape == (3, 2)
    assert len(sure.flips) == 6
    assert set(zip(sure.true.tolist(), sure.label.tolist(), strict=True)) == {
        (i, j) for i in range(3) for j in range(3) if i != j
    }
    rates = 1 - np.diagonal(found.matrix)
    flips = found.matrix[sure.true, sure.label]
    for bounds, value in (
        (np.array([sure.noise_rate]), np.array([found.noise_rate])),
        (sure.class_rates, rates),
        (sure.flips, flips),
    ):
        assert ((bounds >= 0) & (bounds <= 1)).all()
        assert ((bounds[:, 0] <= value) & (value <= bounds[:, 1])).all()
    joint = (found.prior[:, None] * found.matrix)[sure.true, sure.label]
    assert (np.diff(joint) <= 0).all()


def test_more_rows_are_surer():
    widths = []
    for n in (600, 5400):
        features, clean = corners(n, spread=0.2)
        sure = estimate_transition(features, from_transition(clean, PLANTED, seed=1)).intervals
        widths.append(sure.noise_rate[1] - sure.noise_rate[0])
        assert widths[-1] > 1.2 * 1.85 * np.sqrt(0.3 * 0.7 / n)
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.slow
def test_intervals_hold_the_truth_nine_times_in_ten():
    held, flips = [], []
    for seed in range(60):
        features, clean = corners(800, spread=0.4, seed=seed)
        labels = from_transition(clean, PLANTED, seed=seed)
        sure = estimate_transition(features, labels).intervals
        rate = 1 - np.diagonal(PLANTED).mean()
        held.append(sure.noise_rate[0] <= rate <= sure.noise_rate[1])
        truth = PLANTED[sure.true, sure.label]
        flips.append(((sure.flips[:, 0] <= truth) & (truth <= sure.flips[:, 1])).mean())
    assert np.mean(held) >= 0.82  # .9 but for 2 standard errors
    assert np.mean(flips) >= 0.86


def test_a_transition_with_intervals_comes_back_from_json():
    features, clean = corners(600)
    names = np.array(["a", "b", "c"])[from_transition(clean, PLANTED, seed=1)]
    found = estimate_transition(features, names)
    back = Transition.from_dict(json.loads(json.dumps(found.to_dict())))
    assert back.intervals.to_dict() == found.intervals.to_dict()
    assert back.to_dict() == found.to_dict()


def test_files_of_versions_without_intervals_still_load():
    features, clean = corners(600)
    stored = estimate_transition(features, from_transition(clean, PLANTED, seed=1), "ml").to_dict()
    assert stored.pop("intervals") is None
    assert Transition.from_dict(stored).intervals is None


def test_stored_intervals_that_make_no_sense():
    with pytest.raises(InputError) as caught:
        Intervals.from_dict({"level": 0.9, "noise_rate": [0.1, 0.2], "true": [], "label": []})
    assert str(caught.value) == "stored intervals cannot be read: 'class_rates'"


def test_what_cannot_show_widens_every_interval():
    labels = np.array([0, 0, 1, 1], np.int32)
    around = Beliefs(labels[:, None].copy(), np.ones((4, 1), np.float32))
    own = OwnLabels(labels, around, (1.0, np.full(2, 0.5)), 0.0)
    matrix, prior = np.array([[0.8, 0.2], [0.3, 0.7]]), np.full(2, 0.5)
    fit = own.fit(own.of_dense(matrix), 1, 0.0)
    spread = jackknife(own, fit, np.arange(4))._replace(noise_rate=0.0)
    spread = spread._replace(values=np.zeros(len(own.rows)))
    sure = make_intervals(matrix, prior, own, spread, (0.05, np.array([0.1, 0.02])))
    assert sure.noise_rate == pytest.approx((0.2, 0.3))
    np.testing.assert_allclose(sure.class_rates, [[0.1, 0.3], [0.28, 0.32]])
    np.testing.assert_allclose(sure.flips, [[0.28, 0.32], [0.1, 0.3]])
