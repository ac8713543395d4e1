"""A run with rows added says what a run on all rows says."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simifeat
from simifeat import InputError, Run, detect
from simifeat.cli import main
from simifeat.neighbors import find_neighbors
from simifeat.neighbors.grow import grow


def blobs(n=300, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 3, n)
    features = 3 * np.eye(3, 6)[clean] + 0.6 * rng.normal(size=(n, 6))
    if ties:  # few values, many equal distances and copies
        features = np.round(features)
    labels = np.array(["cat", "dog", "owl"])[simifeat.noise.symmetric(clean, 0.2, seed=seed)]
    return features.astype(np.float32), labels


def same(left, right):
    for name, values in left.columns().items():
        np.testing.assert_array_equal(values, right.columns()[name], err_msg=name)
    np.testing.assert_array_equal(left.neighbors.index, right.neighbors.index)
    np.testing.assert_array_equal(left.transition.matrix, right.transition.matrix)
    assert left.metadata["fingerprint"] == right.metadata["fingerprint"]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 60),
    st.sampled_from(["cosine", "euclidean"]),
    st.booleans(),
)
def test_neighbours_grow_to_those_of_a_full_search(seed, k, n_new, metric, ties):
    features, _ = blobs(n=100, seed=seed, ties=ties)
    n_old = 100 - n_new
    before = find_neighbors(features[:n_old], k, metric)
    found, touched = grow(before, features, metric)
    full = find_neighbors(features, k, metric)
    np.testing.assert_array_equal(found.index, full.index)
    np.testing.assert_array_equal(found.similarity, full.similarity)
    changed = (full.index[:n_old] != before.index).any(axis=1)
    np.testing.assert_array_equal(touched, np.flatnonzero(changed))


@pytest.mark.parametrize("method", ["vote", "rank", "propagate"])
@pytest.mark.parametrize("ties", [False, True])
def test_verdicts_are_those_of_a_full_run(method, ties):
    features, labels = blobs(ties=ties)
    run = Run.start(features[:250], labels[:250], method=method, k=8)
    same(run.verdicts, detect(features[:250], labels[:250], method=method, k=8))
    run = run.extend(features[250:299], labels[250:299])
    assert run.touched is None or len(run.touched) < 250
    run = simifeat.extend(run, features[299:], labels[299:])
    same(run.verdicts, detect(features, labels, method=method, k=8))


def test_rounds_groups_and_ids_go_along():
    features, labels = blobs()
    groups = np.arange(300) // 3
    ids = np.array([f"r{n}" for n in range(300)], object)
    how = {"method": "rank", "n_epochs": 3, "seed": 5}
    run = Run.start(features[:250], labels[:250], groups=groups[:250], ids=ids[:250], **how)
    run = run.extend(features[250:], labels[250:], groups=groups[250:], ids=ids[250:])
    assert run.touched is not None
    same(run.verdicts, detect(features, labels, groups=groups, ids=ids, **how))


def test_a_new_class_and_a_wider_search():
    features, labels = blobs()
    first = labels[:240].copy()
    first[first == "owl"] = "cat"
    run = Run.start(features[:240], first, k=5, method="vote")
    copies = np.repeat(features[:1], 20, axis=0)  # so many that more neighbours must be searched
    run = run.extend(copies, ["owl"] * 20)
    assert run.touched is None
    together = np.concatenate([features[:240], copies]), np.concatenate([first, ["owl"] * 20])
    same(run.verdicts, detect(*together, k=5, method="vote"))


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_a_run_survives_a_file(kind, tmp_path):
    features, labels = blobs()
    if kind == "numbers":
        labels = np.unique(labels, return_inverse=True)[1]
    run = Run.start(features[:250], labels[:250], method="vote", seed=3)
    run.save(tmp_path / "run.npz")
    loaded = Run.load(tmp_path / "run.npz")
    same(loaded.verdicts, run.verdicts)
    assert loaded.labels.dtype == run.labels.dtype
    grown = loaded.extend(features[250:], labels[250:])
    assert grown.touched is not None
    same(grown.verdicts, detect(features, labels, method="vote", seed=3))
    with np.load(tmp_path / "run.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored)


def test_what_cannot_be_added(tmp_path):
    features, labels = blobs(n=60)
    run = Run.start(features, labels, method="vote")
    for arguments, more, message in (
        ((features[:, :2], labels), {}, "the rows to add have 2 features, but those of the run "
         "have 6; give the same features"),
        ((features, labels[:5]), {}, "there are 60 rows of features but 5 labels; give one label "
         "for every row"),
        ((features, np.arange(60) % 3), {}, "labels of the rows to add are of another type (int64) "
         "than those of the run (object); convert them"),
        ((features, labels), {"groups": labels}, "the run was made with no groups; give the rows "
         "to add the same"),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            run.extend(*arguments, **more)
        assert str(caught.value) == message
    with pytest.raises(InputError, match="takes no neighbors= of yours"):
        Run.start(features, labels, neighbors=run.graph)
    np.savez(tmp_path / "other.npz", x=features)
    with pytest.raises(InputError, match="other.npz holds no run; give a file that Run.save wrote"):
        Run.load(tmp_path / "other.npz")
    with pytest.raises(InputError, match="a run is kept in an .npz file, not in run.parquet"):
        run.save("run.parquet")
    with pytest.raises(InputError, match="does not exist; check the path"):
        Run.load(tmp_path / "none.npz")


def test_the_command_begins_and_grows_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    features, labels = blobs()
    for name, part in (("a", slice(0, 250)), ("b", slice(250, 300))):
        np.savez(f"{name}.npz", features=features[part], labels=labels[part].astype(str))
    assert main(["add", "run.npz", "a.npz", "--method", "vote", "-k", "7"]) == 0
    capsys.readouterr()
    assert main(["add", "run.npz", "b.npz", "-o", "out.parquet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    full = detect(features, labels.astype(str), method="vote", k=7)
    assert told["n_examples"] == 300
    assert told["n_corrupted"] == full.n_corrupted
    assert told["n_corrupted_added"] == full.is_corrupted[250:].sum()
    loaded = simifeat.Verdicts.load("out.parquet")
    np.testing.assert_array_equal(loaded.is_corrupted, full.is_corrupted)
    assert main(["add", "run.npz", "b.npz", "-k", "3"]) == 2
    error = "error: run.npz was begun with choices of its own; leave out --k\n"
    assert capsys.readouterr().err.endswith(error)
    frame = pd.DataFrame(features, columns=["age", "height", "a", "b", "c", "d"])
    frame.assign(label=labels).to_csv("table.csv", index=False)
    assert main(["add", "other.npz", "table.csv"]) == 2
    assert "columns of table.csv are scaled by the rows that are there" in capsys.readouterr().err
    assert not (tmp_path / "other.npz").exists()


def test_rows_that_are_many_are_searched_like_all():
    features, labels = blobs()
    run = Run.start(features[:200], labels[:200], method="vote").extend(
        features[200:], labels[200:]
    )
    assert run.touched is None
    same(run.verdicts, detect(features, labels, method="vote"))
