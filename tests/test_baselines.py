import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import duals
import simifeat
from simifeat import baselines
from simifeat.baselines.cores import cores
from simifeat.baselines.registry import DETECTORS, detector
from simifeat.baselines.tracin import highest_of_class, self_influence
from simifeat.baselines.training import Checkpoint, Training, out_of_sample
from simifeat.errors import InputError
from simifeat.metrics import average_precision

TRAINED = ("ce_sieve", "cores", "confident_learning", "tracin", "deep_knn")
QUICK = baselines.LinearTrainer(baselines.Recipe(n_epochs=20, batch_size=32))


@pytest.fixture(scope="module")
def blobs():
    """Three overlapping classes, a fifth of the labels corrupted: features, labels, truth."""
    rng = np.random.default_rng(3)
    clean = rng.integers(0, 3, 600)
    features = rng.normal(0, 1, (600, 8)) + 3 * np.eye(8)[clean]
    labels = np.where(rng.random(600) < 0.2, (clean + rng.integers(1, 3, 600)) % 3, clean)
    return features.astype(np.float32), labels, clean


@pytest.mark.parametrize("name", TRAINED)
def test_every_baseline_has_the_call_and_the_result_of_detect(name, blobs):
    features, labels, clean = blobs
    names = np.array(["cat", "dog", "owl"])[labels]
    ids = np.arange(600) + 7
    found = detector(name).load()(features, names, seed=1, trainer=QUICK, ids=ids)
    assert isinstance(found, simifeat.Verdicts)
    assert found.is_corrupted.dtype == bool
    assert list(found.labels) == list(names)
    np.testing.assert_array_equal(found.ids, ids)
    kept = ~found.is_corrupted
    np.testing.assert_array_equal(found.suggested[kept], names[kept])
    if name != "deep_knn":  # the vote may flag where it knows no better label
        assert (found.suggested[~kept] != names[~kept]).all()
    assert ((found.p_corrupted >= 0) & (found.p_corrupted <= 1)).all()
    np.testing.assert_allclose(found.transition.matrix.sum(axis=1), 1)
    # higher is cleaner, and on so easy a set every one of them ranks well
    assert average_precision(found.score, labels, clean) > 0.85
    assert found.metadata["seed"] == 1


@pytest.mark.parametrize("name", TRAINED)
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(name, blobs):
    features, labels, _ = blobs
    run = detector(name).load()
    with threadpool_limits(1):
        one = run(features, labels, seed=4, trainer=QUICK)
    with threadpool_limits(2):
        two = run(features, labels, seed=4, trainer=QUICK)
    for column in ("is_corrupted", "score", "p_corrupted", "suggested"):
        assert getattr(one, column).tobytes() == getattr(two, column).tobytes()
    if name != "confident_learning":
        other = run(features, labels, seed=5, trainer=QUICK)
        assert other.score.tobytes() != one.score.tobytes()


@pytest.mark.parametrize("name", TRAINED)
def test_bad_input_is_refused_in_one_line(name, blobs):
    features, labels, _ = blobs
    with pytest.raises(InputError, match="600 rows of features but 599 labels"):
        detector(name).load()(features, labels[:-1], trainer=QUICK)
    with pytest.raises(InputError, match="detection needs at least 2 classes"):
        detector(name).load()(features, np.zeros(600, int), trainer=QUICK)


def test_confident_learning_is_cleanlabs_result(blobs):
    cleanlab_filter = pytest.importorskip("cleanlab.filter")
    features, labels, _ = blobs
    probabilities = out_of_sample(QUICK, features, labels.astype(np.int32), 3, 5, seed=2)
    for how in ("prune_by_noise_rate", "both", "predicted_neq_given"):
        expected = cleanlab_filter.find_label_issues(
            labels, probabilities.astype(np.float64), filter_by=how, n_jobs=1
        )
        found = baselines.confident_learning(features, labels, seed=2, trainer=QUICK, filter_by=how)
        np.testing.assert_array_equal(found.is_corrupted, expected)
        assert 0 < expected.sum() < 300
    np.testing.assert_array_equal(found.score, probabilities[np.arange(600), labels])


def test_deep_knn_is_the_vote_on_logits(blobs):
    features, labels, _ = blobs
    logits = QUICK.fit(features, labels.astype(np.int32), 3, seed=2).logits
    expected = simifeat.detect(logits, labels, method="vote", k=10, seed=2)
    found = baselines.deep_knn(features, labels, seed=2, trainer=QUICK)
    np.testing.assert_array_equal(found.is_corrupted, expected.is_corrupted)
    np.testing.assert_array_equal(found.score, expected.score)


def test_self_influence_is_that_of_gradients_by_automatic_differentiation():
    rng = np.random.default_rng(0)
    n, d, n_classes = 5, 3, 4
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    inputs = np.hstack([rng.normal(size=(n, d)), np.ones((n, 1))])  # a bias as a constant input
    checkpoints, expected = [], np.zeros(n)
    for rate in (0.1, 0.1, 0.01):
        weights = rng.normal(size=(d + 1, n_classes))
        logits = inputs @ weights
        checkpoints.append(Checkpoint(rate, inputs.astype(np.float32), logits.astype(np.float32)))
        for i in range(n):

            def loss(flat, i=i):
                rows = [flat[a * n_classes : (a + 1) * n_classes] for a in range(d + 1)]
                z = [
                    sum((rows[a][j] * float(inputs[i, a]) for a in range(d + 1)), duals.Dual(0.0))
                    for j in range(n_classes)
                ]
                return -duals.softmax(z)[codes[i]].log()

            expected[i] += rate * np.square(duals.gradient(loss, weights.ravel())).sum()
    np.testing.assert_allclose(
        self_influence(Training(tuple(checkpoints)), codes), expected, rtol=1e-5
    )


def test_tracin_flags_as_many_of_each_class_as_confident_learning(blobs):
    features, labels, _ = blobs
    by_threshold = baselines.confident_learning(features, labels, seed=2, trainer=QUICK)
    found = baselines.tracin(features, labels, seed=2, trainer=QUICK)
    for j in range(3):
        members = labels == j
        assert found.is_corrupted[members].sum() == by_threshold.is_corrupted[members].sum()
        flagged = found.score[members & found.is_corrupted]
        assert flagged.max() <= found.score[members & ~found.is_corrupted].min()


def test_the_highest_of_a_class_are_flagged_the_earlier_of_equals():
    values = np.array([3, 9, 3, 1, 9, 2], np.float32)
    codes = np.array([0, 1, 0, 0, 1, 1], np.int32)
    flags = highest_of_class(values, codes, np.array([1, 2]))
    np.testing.assert_array_equal(flags, [True, True, False, False, True, False])


def test_cores_without_a_regulariser_is_the_ce_sieve(blobs):
    features, labels, _ = blobs
    plain = baselines.ce_sieve(features, labels, trainer=QUICK)
    np.testing.assert_array_equal(
        cores(features, labels, trainer=QUICK, beta=0.0).score, plain.score
    )
    assert (cores(features, labels, trainer=QUICK).score != plain.score).any()


def test_every_registered_detector_can_be_called_and_unknown_ones_are_named():
    for name, entry in DETECTORS.items():
        assert callable(detector(name).load()), name
        assert entry.title
    with pytest.raises(InputError, match="there is no detector 'nope'; choose one of ce_sieve"):
        detector("nope")
    with pytest.raises(InputError, match="the detector no_such:thing cannot be loaded: No module"):
        detector("no_such:thing").load()
