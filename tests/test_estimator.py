import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import simifeat
from simifeat import SimiFeat


@parametrize_with_checks([SimiFeat(), SimiFeat(method="vote", k=3), SimiFeat(method="rank", k=3)])
@pytest.mark.filterwarnings("ignore::simifeat.NotIdentifiable")  # the suite's toy data hold nothing
def test_passes_the_suite_of_scikit_learn(estimator, check):
    check(estimator)


def blobs(n=300):
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 3, n)
    features = np.eye(3)[clean] + rng.normal(scale=0.1, size=(n, 3))
    return features, simifeat.noise.symmetric(clean, 0.2, seed=1), clean


def test_fit_holds_the_verdicts_of_detect():
    features, labels, _ = blobs()
    fitted = SimiFeat(method="rank", k=7, seed=3).fit(features, labels)
    direct = simifeat.detect(features, labels, method="rank", k=7, seed=3)
    np.testing.assert_array_equal(fitted.is_corrupted_, direct.is_corrupted)
    np.testing.assert_array_equal(fitted.score_, direct.score)
    np.testing.assert_array_equal(fitted.p_corrupted_, direct.p_corrupted)
    np.testing.assert_array_equal(fitted.suggested_, direct.suggested)
    np.testing.assert_array_equal(fitted.classes_, [0, 1, 2])
    assert fitted.transition_.noise_rate == direct.transition.noise_rate


def test_ends_a_pipeline_and_clones():
    features, labels, clean = blobs()
    pipeline = clone(make_pipeline(StandardScaler(), SimiFeat(method="vote")))
    flags = pipeline.fit_predict(features, labels)
    np.testing.assert_array_equal(flags, labels != clean)


def test_knows_every_parameter_of_the_estimator_in_detect():
    features, labels, _ = blobs()
    chosen = {"preset": "paper", "n_epochs": 3, "weights": "similarity", "center": "extra"}
    fitted = SimiFeat(**chosen).fit(features, labels)
    stored = fitted.verdicts_.metadata["settings"]
    assert {name: stored[name] for name in ("n_epochs", "weights", "center")} == {
        "n_epochs": 3,
        "weights": "similarity",
        "center": "extra",
    }
