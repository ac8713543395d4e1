"""The linear probe: fitted right, never on the rows it judges, and of use."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import simifeat
from simifeat import InputError, detect
from simifeat.beliefs import Beliefs
from simifeat.cli import main
from simifeat.probe import _PENALTY, fit_softmax, joined_with_probe, probe_log_probabilities


def blobs(n=600, spread=1.3, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 4, n)
    features = np.eye(4, 30)[clean] * 2.5 + spread * rng.normal(size=(n, 30))
    return features.astype(np.float32), clean, simifeat.noise.symmetric(clean, 0.3, seed=seed)


def test_the_fit_is_that_of_scikit_learn():
    features, clean, _ = blobs(spread=2.0)
    features -= features.mean(axis=0)
    hard = clean[:, None].astype(np.int32)
    weights, bias = fit_softmax(features, hard, np.ones((600, 1), np.float32), 4)
    model = LogisticRegression(C=1 / (_PENALTY * 600), max_iter=2000, tol=1e-8)
    expected = model.fit(features, clean).decision_function(features)
    found = features @ weights + bias
    found -= found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected - expected.mean(axis=1, keepdims=True), atol=0.15)


def test_soft_targets_are_parts_of_rows():
    features, _, _ = blobs(n=80)
    rng = np.random.default_rng(0)
    soft = rng.dirichlet(np.ones(4), 80).astype(np.float32)
    classes = np.tile(np.arange(4, dtype=np.int32), (80, 1))
    soft[:, 3] *= classes[:, 3] >= 0
    together = fit_softmax(features, classes, soft, 4)
    rows = np.repeat(np.arange(80), 4)
    apart = fit_softmax(
        features[rows], classes.reshape(-1, 1), 4 * soft.reshape(-1, 1).astype(np.float32), 4
    )
    np.testing.assert_allclose(together[0], apart[0], atol=0.02)


def test_no_row_is_judged_by_a_probe_that_saw_it():
    features, clean, _ = blobs(n=100)
    codes = clean[:, None].astype(np.int32)
    seed = np.random.SeedSequence(3)
    one = np.ones((100, 1), np.float32)
    all_classes = np.tile(np.arange(4, dtype=np.int32), (100, 1))

    def said(targets):
        table = np.where(all_classes == targets, np.float32(1), np.float32(0))
        return probe_log_probabilities(Beliefs(all_classes, table), features, 4, seed)

    before = said(codes)
    changed = codes.copy()
    changed[7] = (changed[7] + 1) % 4
    after = said(changed)
    np.testing.assert_array_equal(after[7], before[7])
    assert (after != before).any()
    assert np.exp(before).sum(axis=1) == pytest.approx(one[:, 0], abs=1e-5)


def test_the_join_is_the_equation():
    features, _, noisy = blobs(n=60)
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.ones(4), 60).astype(np.float32)
    beliefs = Beliefs(np.tile(np.arange(4, dtype=np.int32), (60, 1)), probability)
    matrix = rng.dirichlet(np.ones(4), 4)
    seed = np.random.SeedSequence(0)
    log_p = probe_log_probabilities(beliefs, features, 4, seed)
    found = joined_with_probe(beliefs, features, noisy.astype(np.int32), matrix, seed)
    for n in range(60):
        parts = [
            np.sqrt(probability[n, i] * np.exp(log_p[n, i]) * matrix[i, noisy[n]]) for i in range(4)
        ]
        for c, p in zip(found.classes[n], found.probability[n], strict=True):
            assert p == pytest.approx(parts[c] / sum(parts), rel=1e-3, abs=1e-6)
    assert (np.diff(found.probability, axis=1) <= 0).all()


def test_it_helps_where_neighbours_alone_are_weak():
    features, clean, noisy = blobs(n=900, spread=1.0)
    wrong = noisy != clean
    right = []
    for probe in (False, True):
        found = detect(features, noisy, metric="euclidean", probe=probe)
        assert found.metadata["settings"]["probe"] == probe
        right.append((found.is_corrupted == wrong).mean())
    assert right[1] > right[0] - 0.005
    again = detect(features, noisy, metric="euclidean", probe=True, n_threads=1)
    np.testing.assert_array_equal(again.p_corrupted, found.p_corrupted)


def test_the_option_on_the_command_line(tmp_path):
    features, _, noisy = blobs(n=300, spread=0.3)
    np.savez(tmp_path / "data.npz", features=features, labels=noisy)
    out = tmp_path / "out.parquet"
    assert main(["detect", str(tmp_path / "data.npz"), "--probe", "-o", str(out)]) == 0
    direct = detect(features, noisy, probe=True)
    np.testing.assert_array_equal(simifeat.Verdicts.load(out).p_corrupted, direct.p_corrupted)


def test_what_a_probe_needs():
    features, _, noisy = blobs(n=60)
    graph = simifeat.neighbors.find_neighbors(features, 30)
    for arguments in ({"features": None, "neighbors": graph}, {"features": [features, features]}):
        with pytest.raises(InputError) as caught:
            detect(labels=noisy, probe=True, **arguments)
        assert str(caught.value) == (
            "probe=True trains on one array of features [n, d]; give that, and no epochs or graph "
            "alone"
        )
    with pytest.raises(InputError, match="probe=True joins beliefs of propagate; vote has none"):
        detect(features, noisy, method="vote", probe=True)
