"""Algorithm 1 whole, against a literal run of it, and what must hold whatever the data."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import simifeat
from oracles import brute_neighbors, cosine_score, knn_label, rank_flags, vote_winners
from simifeat import InputError, NotIdentifiable, detect
from simifeat.transition import Transition


def blobs(seed=0, n=240, n_classes=3, rate=0.2, spread=0.15):
    """Features, corrupted labels and clean ones of classes that lie apart."""
    rng = np.random.default_rng(seed)
    clean = rng.permutation(np.arange(n) % n_classes)
    features = np.eye(n_classes)[clean] + spread * rng.normal(size=(n, n_classes))
    return features, simifeat.noise.symmetric(clean, rate, seed=seed), clean


def known(rate, n_classes=3):
    matrix = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1 - rate)
    prior = np.full(n_classes, 1 / n_classes)
    return Transition(matrix, prior, prior @ matrix, "known", 0.0, 0)


def test_vote_is_algorithm_1():
    features, labels, _ = blobs(spread=0.6)
    k = 7
    index, _ = brute_neighbors(features, k)
    verdicts = detect(features, labels, method="vote", k=k)
    for n in range(len(labels)):
        winners = vote_winners(knn_label(labels, index, n, 3))
        if labels[n] not in winners:
            assert verdicts.is_corrupted[n]
        elif len(winners) == 1:
            assert not verdicts.is_corrupted[n]


def test_rank_is_algorithm_1():
    features, labels, _ = blobs(spread=0.6)
    k = 7
    transition = known(0.25)
    verdicts = detect(features, labels, method="rank", k=k, transition=transition)
    index, _ = brute_neighbors(features, k)
    scores = [cosine_score(knn_label(labels, index, n, 3), labels[n]) for n in range(len(labels))]
    np.testing.assert_allclose(verdicts.score, scores, atol=1e-6)
    expected = rank_flags(scores, labels, transition.posterior)
    for j in range(3):  # the order within a tie is random, what stands below and above is not
        members = np.flatnonzero(labels == j)
        assert verdicts.is_corrupted[members].sum() == sum(expected[n] for n in members)
        flagged = members[verdicts.is_corrupted[members]]
        kept = members[~verdicts.is_corrupted[members]]
        assert max(np.array(scores)[flagged]) <= min(np.array(scores)[kept])


@pytest.mark.parametrize("method", ["vote", "rank", "propagate"])
@pytest.mark.parametrize("transition", ["ml", "hoc"])
def test_finds_the_corrupted_labels_and_the_right_ones(method, transition):
    features, labels, clean = blobs(n=600)
    verdicts = detect(features, labels, method=method, transition=transition)
    scores = simifeat.metrics.detection_scores(verdicts.is_corrupted, labels, clean)
    assert scores.f1 > 0.93
    found = verdicts.is_corrupted & (labels != clean)
    np.testing.assert_array_equal(verdicts.suggested[found], clean[found])
    kept = ~verdicts.is_corrupted
    np.testing.assert_array_equal(verdicts.suggested[kept], labels[kept])
    assert abs(verdicts.transition.noise_rate - (labels != clean).mean()) < 0.04
    assert simifeat.metrics.average_precision(-verdicts.p_corrupted, labels, clean) > 0.97


@pytest.mark.parametrize("method", ["vote", "rank", "propagate"])
def test_labels_of_any_type_come_back(method):
    features, labels, _ = blobs(n=150)
    numbers = detect(features, labels, method=method)
    for names in (np.array(["no", "maybe", "yes"]), np.array([-5, 100, 2**40])):
        named = detect(features, names[labels], method=method)
        assert set(named.suggested.tolist()) <= set(names.tolist())
        np.testing.assert_array_equal(named.labels, names[labels])
    ordered = np.array(["a", "b", "c"])  # the same order of classes: the same answer
    named = detect(features, ordered[labels], method=method)
    np.testing.assert_array_equal(named.is_corrupted, numbers.is_corrupted)
    np.testing.assert_array_equal(named.suggested, ordered[numbers.suggested])


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(3)), st.integers(0, 100))
def test_the_order_of_classes_and_of_examples_does_not_matter(classes, seed):
    features, labels, _ = blobs(seed % 5, n=150)
    plain = detect(features, labels)
    renamed = detect(features, np.array(classes)[labels])
    np.testing.assert_allclose(renamed.p_corrupted, plain.p_corrupted, atol=1e-3)
    order = np.random.default_rng(seed).permutation(len(labels))
    shuffled = detect(features[order], labels[order])
    np.testing.assert_allclose(shuffled.p_corrupted, plain.p_corrupted[order], atol=1e-3)


@pytest.mark.parametrize("method", ["vote", "rank", "propagate"])
@pytest.mark.parametrize("n_epochs", [1, 5])
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(method, n_epochs, tmp_path):
    features, labels, _ = blobs(n=400, spread=0.6)
    files = []
    for n_threads in (1, 2, 2):
        verdicts = detect(
            features, labels, method=method, n_epochs=n_epochs, seed=3, n_threads=n_threads
        )
        path = tmp_path / f"{len(files)}.parquet"
        verdicts.save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


SEVERAL = """
import sys, numpy as np, simifeat
rng = np.random.default_rng(0)
clean = rng.integers(0, 12, 6000)
features = np.eye(12, 48)[clean] + 0.3 * rng.normal(size=(6000, 48))
labels = simifeat.noise.symmetric(clean, 0.3, seed=1)
n_threads = int(sys.argv[1])
for number, choices in enumerate((
    {}, {"method": "rank", "n_epochs": 3}, {"preset": "official", "n_epochs": 2},
    {"method": "vote", "engine": "approximate", "transition": "hoc"},
)):
    found = simifeat.detect(features, labels, seed=5, n_threads=n_threads, **choices)
    found.save(f"{number}.parquet")
"""


def test_the_same_parquet_whatever_the_libraries_do_with_threads(tmp_path):
    """One thread in all libraries, then two: processes, as the libraries read it at their start."""
    files = []
    for threads in ("1", "2"):
        (tmp_path / threads).mkdir()
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NK_NUM_THREADS")
        subprocess.run(
            [sys.executable, "-c", SEVERAL, threads],
            cwd=tmp_path / threads,
            env={**os.environ, **dict.fromkeys(names, threads)},
            check=True,
        )
        files.append([path.read_bytes() for path in sorted((tmp_path / threads).glob("*.parquet"))])
    assert len(files[0]) == 4
    assert files[0] == files[1]


def test_another_seed_draws_other_rounds():
    features, labels, _ = blobs(spread=0.6)
    runs = [detect(features, labels, method="rank", n_epochs=5, seed=s) for s in (0, 1)]
    assert (runs[0].flag_rate != runs[1].flag_rate).any()
    assert runs[0].metadata["n_rounds"] == 5


def test_rounds_of_sub_samples_judge_everybody_every_time():
    features, labels, clean = blobs(n=600)
    verdicts = detect(features, labels, method="vote", n_epochs=7)
    assert set(np.unique(np.round(verdicts.flag_rate * 7, 3))) <= set(range(8))
    np.testing.assert_array_equal(verdicts.is_corrupted, verdicts.flag_rate > 0.5)
    assert simifeat.metrics.detection_scores(verdicts.is_corrupted, labels, clean).f1 > 0.9


def test_balanced_rounds_cover_every_row():
    features, labels, clean = blobs(n=300)
    verdicts = detect(
        features, labels, method="vote", sampling="balanced", batch_size=6, n_batches=20, n_epochs=2
    )
    assert verdicts.metadata["n_rounds"] >= 3
    assert simifeat.metrics.detection_scores(verdicts.is_corrupted, labels, clean).f1 > 0.85


@pytest.mark.parametrize("form", ["array", "list", "generator"])
def test_epochs_of_features_are_rounds(form):
    features, labels, clean = blobs(n=300)
    rng = np.random.default_rng(0)
    epochs = np.stack([features + 0.1 * rng.normal(size=features.shape) for _ in range(3)])
    given = {"array": epochs, "list": list(epochs), "generator": (each for each in epochs)}[form]
    verdicts = detect(given, labels, method="vote", n_epochs=21)
    assert verdicts.metadata["n_rounds"] == 3
    single = [detect(each, labels, method="vote").is_corrupted for each in epochs]
    mean = np.mean(single, axis=0)
    sure = (mean == 0) | (mean == 1)  # a tie may fall otherwise
    np.testing.assert_allclose(verdicts.flag_rate[sure], mean[sure], atol=0.34)
    assert simifeat.metrics.detection_scores(verdicts.is_corrupted, labels, clean).f1 > 0.9


def test_a_graph_that_is_already_there_gives_the_same_answer():
    features, labels, _ = blobs(n=300)
    whole = detect(features, labels, views="neighbors")
    graph = simifeat.neighbors.find_neighbors(features, 30)
    brought = detect(None, labels, neighbors=graph)
    np.testing.assert_array_equal(brought.p_corrupted, whole.p_corrupted)
    pair = detect(None, labels, neighbors=(graph.index, 1 - graph.similarity))
    np.testing.assert_allclose(pair.p_corrupted, whole.p_corrupted, atol=1e-4)
    rows = np.repeat(np.arange(300), 30)
    sparse = scipy.sparse.csr_array(
        (1 - graph.similarity.ravel(), (rows, graph.index.ravel())), shape=(300, 300)
    )
    stored = detect(None, labels, neighbors=sparse)
    np.testing.assert_allclose(stored.p_corrupted, whole.p_corrupted, atol=1e-4)
    assert brought.metadata["engine"] == graph.engine


def test_features_without_clusters_are_said_to_tell_nothing():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    with pytest.warns(NotIdentifiable, match="neighbours' labels agree no more than chance"):
        verdicts = detect(features, labels, method="rank")
    assert not verdicts.transition.identifiable
    assert not verdicts.is_corrupted.any()
    assert "not identifiable" in verdicts.summary()


def test_the_smallest_dataset_has_an_answer():
    with pytest.warns(NotIdentifiable):
        verdicts = detect([[0.0], [1.0], [1.1]], ["a", "b", "b"], metric="euclidean")
    assert verdicts.n_examples == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": None}, "there are no features; give them, or a graph as neighbors="),
        ({"features": iter([])}, "features came in 0 epochs; give at least one"),
        ({"mehtod": "vote"}, "detect has no setting 'mehtod'; did you mean 'method'?"),
        (
            {"labels": ["a"] * 3},
            "all 3 labels are 'a' (1 class); detection needs at least 2 classes",
        ),
        ({"transition": "mll"}, "transition is 'mll'; choose one of ml, hoc"),
    ],
)
def test_what_cannot_be_judged(arguments, message):
    with pytest.raises(InputError) as caught:
        detect(**{"features": np.eye(3), "labels": [0, 1, 1], **arguments})
    assert str(caught.value) == message


def test_progress_is_told_by_stage():
    features, labels, _ = blobs(n=150)
    seen = []
    detect(features, labels, method="vote", n_epochs=3, progress=lambda *told: seen.append(told))
    assert ("neighbours", 150, 150) in seen
    assert seen[-1] == ("judging", 3, 3)


def test_the_metadata_say_what_made_the_verdicts():
    features, labels, _ = blobs(n=150)
    stored = detect(features, labels, method="vote", seed=5).metadata
    assert stored["version"] == simifeat.__version__
    assert stored["seed"] == 5
    assert stored["settings"]["method"] == "vote"
    assert stored["recall"] == 1.0
    again = detect(features + 1e-3, labels, method="vote", seed=5).metadata
    assert again["fingerprint"] != stored["fingerprint"]
