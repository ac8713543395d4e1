"""T in cells: nearer to the truth than one T where noise differs, no worse where it does not."""

import numpy as np
import pytest

import simifeat
from simifeat import InputError
from simifeat.consensus import Triples
from simifeat.local_transition import estimate_local_transition, fit_cell
from simifeat.noise import from_transition
from simifeat.transition import Transition

N_CLASSES, N = 4, 12_000


def flips(rate):
    """Labels go to the next class at ``rate``."""
    return (1 - rate) * np.eye(N_CLASSES) + rate * np.roll(np.eye(N_CLASSES), 1, axis=1)


def two_regions(seed, rates):
    """Every class has two clusters, one in each region; labels flip at the region's rate."""
    rng = np.random.default_rng(seed)
    clean, region = rng.integers(0, N_CLASSES, N), rng.integers(0, 2, N)
    centres = rng.normal(size=(2 * N_CLASSES, 16))
    features = centres[2 * clean + region] + 0.1 * rng.normal(size=(N, 16))
    labels = np.empty(N, int)
    for number, rate in enumerate(rates):
        here = region == number
        labels[here] = from_transition(clean[here], flips(rate), seed=rng)
    return features, labels, clean, region


def diagonal_error(found, clean, region, rates, matrices):
    """Mean over rows of |T[i, i] - truth|, i the row's true class."""
    truth = 1 - np.asarray(rates)[region]
    return (
        np.abs(matrices[clean, clean] - truth).mean()
        if found is None
        else np.abs(found.matrices[found.cell, clean, clean] - truth).mean()
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_that_differs_between_regions(seed):
    rates = (0.05, 0.4)
    features, labels, clean, region = two_regions(seed, rates)
    local = estimate_local_transition(features, labels)
    everywhere = diagonal_error(None, clean, region, rates, local.overall.matrix)
    here = diagonal_error(local, clean, region, rates, None)
    assert everywhere > 0.15
    assert here < 0.05
    for number, rate in enumerate(rates):
        inside = np.bincount(local.cell[region == number], minlength=len(local.sizes))
        assert abs((local.noise_rates * inside).sum() / inside.sum() - rate) < 0.04


def test_noise_that_is_the_same_everywhere():
    features, labels, clean, region = two_regions(2, (0.25, 0.25))
    local = estimate_local_transition(features, labels)
    assert diagonal_error(local, clean, region, (0.25, 0.25), None) < 0.03


def test_cells_that_are_given():
    features, labels, _, region = two_regions(3, (0.05, 0.4))
    sites = np.array(["Bonn", "Oslo"])[region]
    local = estimate_local_transition(features, labels, cells=sites)
    assert local.cells.tolist() == ["Bonn", "Oslo"]
    assert local.sizes.tolist() == np.bincount(region).tolist()
    assert local.cell.tolist() == region.tolist()
    np.testing.assert_allclose(local.noise_rates, [0.05, 0.4], atol=0.02)
    np.testing.assert_allclose(local.matrices.sum(axis=2), 1)
    np.testing.assert_allclose(local.priors.sum(axis=1), 1)


def test_a_cell_with_nothing_in_it_keeps_the_global_estimate():
    overall = Transition(flips(0.3), np.full(4, 0.25), np.full(4, 0.25), "known", 0.0, 0)
    matrix, prior = fit_cell(Triples.count(np.empty((0, 3), int), 4), overall, 10.0)
    assert matrix is overall.matrix
    assert prior is overall.prior


def test_strength_is_the_weight_of_the_global_row():
    """Class 0 alone: 3 labels a triple, of which a third is 1; the other rows stay."""
    overall = Transition(flips(0.1), np.full(4, 0.25), np.full(4, 0.25), "known", 0.0, 0)
    prior = np.array([1.0, 0, 0, 0])
    pure = Transition(flips(0.1), prior, prior @ flips(0.1), "known", 0.0, 0)
    triples = Triples.count(np.tile([0, 0, 1], (50, 1)), 4)
    matrix, _ = fit_cell(triples, pure, 60.0)
    np.testing.assert_allclose(matrix[0], [(100 + 54) / 210, (50 + 6) / 210, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(matrix[1:], overall.matrix[1:])


def test_the_same_seed_gives_the_same_estimate_on_any_number_of_threads():
    features, labels, *_ = two_regions(4, (0.1, 0.3))
    one, two = (
        estimate_local_transition(features[:3000], labels[:3000], n_threads=n) for n in (1, 2)
    )
    assert one.matrices.tobytes() == two.matrices.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0}, "strength is 0; give a number above 0"),
        ({"cell_size": 0}, "cell_size is 0; give a whole number of at least 1"),
        (
            {"cells": [1, 2]},
            "there are 30 rows of features but 2 labels; give one label for every row",
        ),
    ],
)
def test_what_is_refused(options, message):
    features, labels = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    with pytest.raises(InputError) as error:
        estimate_local_transition(features, labels, **options)
    assert str(error.value) == message


def test_too_many_matrices():
    labels = np.arange(4000) % 2000
    with pytest.raises(InputError) as error:
        estimate_local_transition(np.eye(4000, 3), labels, cells=np.arange(4000) // 40)
    assert str(error.value) == (
        "100 cells of 2000 classes take 3.0 GiB; ask for fewer, larger cells"
    )


def test_it_is_a_public_name():
    assert simifeat.estimate_local_transition is estimate_local_transition
