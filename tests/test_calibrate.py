"""Calibration against literal loops, and on data whose labels were planted."""

import numpy as np
import pytest

import simifeat
from simifeat import InputError, detect
from simifeat.calibrate import Calibration, Evidence, calibrate, calibrated


def planted(seed, n=6000, k=4, pull=0.0, rate=0.3):
    """Logits, true classes drawn from them, and labels from T and the pull."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.normal(size=(n, k))
    pi = np.exp(logits)
    pi /= pi.sum(axis=1, keepdims=True)
    clean = (pi.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    matrix = np.full((k, k), rate / (k - 1))
    np.fill_diagonal(matrix, 1 - rate)
    rows = matrix[clean] * (pi + 1e-4) ** pull
    rows /= rows.sum(axis=1, keepdims=True)
    labels = np.minimum((rows.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    return logits.astype(np.float32), clean, labels.astype(np.int32), matrix


def evidence_of(logits):
    n, k = logits.shape
    return Evidence(np.tile(np.arange(k, dtype=np.int32), (n, 1)), logits)


def test_beliefs_equal_the_loops():
    logits, _, labels, matrix = planted(0, n=30)
    s, b = 0.7, 0.3
    beliefs = calibrated(evidence_of(logits), labels, Calibration(matrix, s, b))
    for n, z in enumerate(logits.astype(float)):
        pi = [np.exp(s * value) for value in z]
        pi = [value / sum(pi) for value in pi]
        joint = []
        for i in range(4):
            tilted = [matrix[i, j] * (pi[j] + 1e-4) ** b for j in range(4)]
            joint.append(pi[i] * tilted[labels[n]] / sum(tilted))
        for slot, c in enumerate(beliefs.classes[n]):
            assert beliefs.probability[n, slot] == pytest.approx(joint[c] / sum(joint), abs=1e-5)


@pytest.mark.parametrize(("pull", "blunt"), [(0.0, 1.0), (0.0, 1.25), (0.2, 1.0), (0.3, 1.0)])
def test_what_was_planted_is_found(pull, blunt):
    """Not with a pull and evidence too blunt at once: docs/propagate.md says why."""
    logits, clean, labels, _ = planted(1, n=20_000, pull=pull)
    evidence = evidence_of(logits / blunt)
    found = calibrate(evidence, labels, 0.4 * np.full((4, 4), 0.25) + 0.6 * np.eye(4))
    assert found.sharpness == pytest.approx(blunt, abs=0.01)
    assert found.pull == pytest.approx(pull, abs=0.051)
    p = 1 - calibrated(evidence, labels, found).of(labels)
    wrong = labels != clean
    assert abs(p.mean() - wrong.mean()) < 0.03
    tenth = np.minimum((10 * p).astype(int), 9)
    gaps = [abs(p[tenth == t].sum() - wrong[tenth == t].sum()) for t in range(10)]
    assert sum(gaps) / len(p) < 0.03


def test_a_known_matrix_stays():
    logits, _, labels, matrix = planted(2, n=500)
    assert calibrate(evidence_of(logits), labels, matrix, known=True).matrix is matrix


def test_the_order_of_classes_does_not_matter():
    logits, _, labels, matrix = planted(3, n=800)
    turn = np.array([2, 0, 3, 1], np.int32)
    there = Evidence(np.tile(turn, (800, 1)), logits)
    plain = calibrate(evidence_of(logits), labels, matrix)
    turned = calibrate(there, turn[labels], matrix)
    assert (plain.sharpness, plain.pull) == (turned.sharpness, turned.pull)
    np.testing.assert_allclose(turned.matrix[np.ix_(turn, turn)], plain.matrix, atol=1e-5)


def noisy(n=3000, seed=0, spread=0.35):
    rng = np.random.default_rng(seed)
    clean = np.arange(n) % 3
    features = np.eye(3)[clean] + spread * rng.normal(size=(n, 3))
    return features, simifeat.noise.symmetric(clean, 0.3, seed=7), clean


def test_a_budget_is_told_what_it_brings():
    features, labels, clean = noisy()
    verdicts = detect(features, labels, budget=400)
    found = (labels != clean)[verdicts.most_suspicious(400)].sum()
    assert abs(verdicts.expected_yield(400) - found) <= 0.05 * found
    sentence = f"Review the 400 most suspicious: about {verdicts.expected_yield(400):.0f} are"
    assert sentence in verdicts.summary()
    with pytest.raises(InputError) as caught:
        detect(features, labels, budget=0)
    assert str(caught.value) == "budget is 0; give a whole number of at least 1"


def test_suggestions_have_a_probability_and_the_noise_rate_an_interval():
    features, labels, clean = noisy(seed=1)
    verdicts = detect(features, labels)
    right = verdicts.suggested == clean
    assert abs(verdicts.p_suggested.mean() - right.mean()) < 0.03
    rate = (labels != clean).mean()
    assert abs(verdicts.p_corrupted.mean() - rate) < 0.02
    assert abs(verdicts.transition.noise_rate - rate) < 0.02
    low, high = verdicts.transition.intervals.noise_rate
    assert low < rate < high


def test_clean_labels_of_classes_that_lie_apart_stay():
    features, _, clean = noisy(spread=0.2)
    assert detect(features, clean).is_corrupted.mean() < 0.005


def test_too_few_labels_for_T_leave_everything_as_it_was():
    logits, _, labels, matrix = planted(2, n=159)
    found = calibrate(evidence_of(logits), labels, matrix)
    assert (found.sharpness, found.pull) == (1.0, 0.0)
    assert found.matrix is matrix
    logits, _, labels, matrix = planted(2, n=160)
    assert calibrate(evidence_of(logits), labels, matrix).matrix is not matrix
