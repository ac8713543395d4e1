"""Several labels a row: missing and extra ones told apart, class by class, on one graph."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import simifeat
from simifeat import InputError, NotIdentifiable, detect, detect_multilabel
from simifeat.cli import main
from simifeat.errors import OutputError
from simifeat.label_sets import label_matrix

NAMES = ["cat", "dog", "owl", "pig"]


def planted(n=1200, missing=0.15, extra=0.05, seed=0):
    """Features that add up what is on a picture, true labels [n, 4], and those with errors."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 4)) < 0.4
    truth[~truth.any(axis=1), 0] = True
    features = truth @ rng.normal(size=(4, 16)) * 3 + rng.normal(size=(n, 16)) * 0.5
    lost = truth & (rng.random(truth.shape) < missing)
    added = ~truth & (rng.random(truth.shape) < extra)
    return features, truth, (truth & ~lost) | added, lost, added


def test_planted_errors_are_found_and_told_apart():
    features, truth, labels, lost, added = planted()
    found = detect_multilabel(features, labels, classes=NAMES, metric="euclidean")
    for verdict, planted_errors in ((found.missing, lost), (found.extra, added)):
        hit = (verdict & planted_errors).sum()
        assert hit / verdict.sum() > 0.9
        assert hit / planted_errors.sum() > 0.9
    assert (found.suggested == truth).mean() > 0.99
    np.testing.assert_allclose(found.missing_rate, lost.sum(0) / truth.sum(0), atol=0.03)
    np.testing.assert_allclose(found.extra_rate, added.sum(0) / (~truth).sum(0), atol=0.03)
    row, j = found.most_suspicious(1)[0]
    assert (lost | added)[row, j]
    text = found.summary()
    assert f"{found.missing.sum()} missing, {found.extra.sum()} too many." in text


def test_each_class_is_judged_as_two_classes_on_the_same_neighbours():
    features, _, labels, _, _ = planted(n=300)
    found = detect_multilabel(features, labels, method="vote", k=7)
    graph = simifeat.neighbors.find_neighbors(features, 7)
    np.testing.assert_array_equal(found.neighbors.index, graph.index)
    for j in range(4):
        alone = detect(None, labels[:, j].astype(int), neighbors=graph, method="vote", k=7)
        np.testing.assert_array_equal(found.is_corrupted[:, j], alone.is_corrupted)
        np.testing.assert_array_equal(found.p_corrupted[:, j], alone.p_corrupted)


def test_lists_matrices_and_frames_say_the_same():
    features, _, labels, _, _ = planted(n=200)
    lists = [[NAMES[j] for j in np.flatnonzero(row)] for row in labels]
    found = [
        detect_multilabel(features, lists),
        detect_multilabel(features, pd.DataFrame(labels.astype(int), columns=NAMES)),
        detect_multilabel(features, scipy.sparse.csr_array(labels.astype(float)), classes=NAMES),
    ]
    for each in found:
        assert each.classes.tolist() == NAMES
        np.testing.assert_array_equal(each.p_corrupted, found[0].p_corrupted)
        assert each.names(each.labels) == lists


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=12))
def test_sets_come_back_from_the_matrix(rows):
    if not any(rows):
        return
    matrix, names = label_matrix(rows)
    assert [{names[j] for j in np.flatnonzero(row)} for row in matrix] == rows
    assert list(names) == sorted(set().union(*rows))


def test_a_column_of_one_value_is_not_judged():
    features, _, labels, _, _ = planted(n=200)
    labels[:, 2] = False
    found = detect_multilabel(features, labels)
    assert found.transitions[2] is None
    assert not found.is_corrupted[:, 2].any()
    assert np.isnan(found.missing_rate[2])
    assert found.class_table()[2]["missing_rate"] is None


def test_groups_do_not_vote_for_their_own():
    features, _, labels, _, _ = planted(n=200)
    groups = np.arange(200) // 4
    found = detect_multilabel(features, labels, groups=groups)
    near = found.neighbors.index
    assert (groups[near] != groups[:, None])[near >= 0].all()


def test_one_warning_for_all_classes_that_cannot_be_told():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = detect_multilabel(rng.normal(size=(120, 3)), rng.random((120, 3)) < 0.5)
    told = [w for w in caught if issubclass(w.category, NotIdentifiable)]
    unknown = [t for t in found.transitions if not t.identifiable]
    assert len(told) == bool(unknown) == 1
    assert str(told[0].message).startswith(f"the noise of {len(unknown)} of 3 classes cannot be")


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_files(form, tmp_path):
    features, _, labels, _, _ = planted(n=200)
    found = detect_multilabel(features, labels, classes=NAMES)
    path = tmp_path / f"out.{form}"
    found.save(path)
    if form == "parquet":
        rows = pq.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["suggested"] for row in rows] == found.names(found.suggested)
    assert [row["missing"] for row in rows] == found.names(found.missing)
    assert [row["is_corrupted"] for row in rows] == found.any_corrupted.tolist()
    about = json.loads((tmp_path / f"out.{form}.json").read_text())
    assert [row["class"] for row in about["classes"]] == NAMES
    assert found.to_pandas().extra.tolist() == found.names(found.extra)
    with pytest.raises(OutputError, match="give a file that ends in .parquet or .jsonl"):
        found.save(tmp_path / "out.csv")


@pytest.mark.parametrize("form", ["jsonl", "csv text", "csv columns", "npz"])
def test_the_command(form, tmp_path, capsys):
    features, _, labels, _, _ = planted(n=200)
    features = features.astype(np.float32)
    lists = [[NAMES[j] for j in np.flatnonzero(row)] for row in labels]
    path, option = tmp_path / f"data.{form.split()[0]}", "tags"
    if form == "jsonl":
        rows = zip(features.tolist(), lists, strict=True)
        path.write_text("\n".join(json.dumps({"x": f, "tags": t}) for f, t in rows))
    elif form == "npz":
        np.savez(path, features=features, tags=labels)
    else:
        frame = pd.DataFrame(features, columns=[f"x{j}" for j in range(16)])
        if form == "csv text":
            frame["tags"] = ["|".join(t) for t in lists]
        else:
            frame[NAMES] = labels.astype(int)
            option = ",".join(NAMES)
        frame.to_csv(path, index=False)
    out = tmp_path / "out.jsonl"
    assert main(["multilabel", str(path), "--labels", option, "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    direct = detect_multilabel(features, labels, classes=None if form == "npz" else NAMES)
    assert told["n_missing"] == direct.missing.sum()
    assert [row["class"] for row in told["classes"]] == direct.classes.tolist()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["suggested"] for row in rows] == direct.names(direct.suggested)
    assert main(["multilabel", str(path), "--labels", option]) == 0
    assert "Most suspicious:" in capsys.readouterr().out


FEATURES = np.eye(3)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [1, 2], [0, 1]], "labels hold 2 in row 1, column 1; a matrix of labels holds 0 "
         "and 1 alone"),
        ([[0, 1], [1, np.nan], [0, 1]], "labels hold nan in row 1, column 1; a matrix of labels "
         "holds 0 and 1 alone"),
        ([0, 1, 1], "labels have the shape (3,); give a matrix [n, K] of 0 and 1, or a list of "
         "labels for every row"),
        ([[], [], []], "labels have the shape (3, 0); there is nothing to check"),
        ([["a"], ["b", 1], ["a"]], "lists of labels mix types ('<' not supported between instances "
         "of"),
        ([[1, 0], [1, 0], [1, 0]], "none of the 2 columns of labels holds both 0 and 1; there is "
         "nothing to compare"),
        ([[1, 0], [0, 1]], "there are 3 rows of features but 2 labels; give one label for every "
         "row"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_used(labels, message):
    with pytest.raises(InputError) as caught:
        detect_multilabel(FEATURES, labels)
    assert str(caught.value).startswith(message)


def test_further_bad_input():
    for classes, message in (
        (["a"], "there are 1 classes for 2 columns of labels"),
        (["a", "a"], "the class 'a' is named twice; give every column a name of its own"),
    ):
        with pytest.raises(InputError, match=message):
            detect_multilabel(FEATURES, [[0, 1], [1, 0], [1, 1]], classes=classes)
    with pytest.raises(InputError, match="row 1 has the label 'c', which is not among the classes"):
        detect_multilabel(FEATURES, [["a"], ["c"], ["a", "b"]], classes=["a", "b"])
    with pytest.raises(InputError, match="several labels a row to detect_multilabel"):
        detect(FEATURES, [[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.csv", "--labels", "x0"], "column 'x0' of data.csv holds numbers (double), no lists "
         "of labels; for one label a row use simifeat detect"),
        (["data.csv", "--labels", "x0,t"], "column 't' of data.csv holds no numbers (string); of "
         "several columns of labels each holds 0 and 1"),
        (["data.csv", "--labels", "x0,x1"], "labels hold 0.5 in row 0, column 0; a matrix of "
         "labels holds 0 and 1 alone"),
        (["data.csv", "--labels", "u"], "row 1 of column 'u' in data.csv is no JSON list"),
        (["no.csv", "--labels", "u"], "no.csv does not exist; check the path"),
        (["data.npy", "--labels", "u"], "data.npy cannot hold several labels a row; give a .csv"),
        (["data.npz"], "data.npz holds arrays; say which is the matrix of labels with --labels"),
        (["data.csv", "--labels", "t", "-o", "out.csv"], "cannot write out.csv: give a file that "
         "ends in .parquet or .jsonl"),
    ],
)  # fmt: skip
def test_bad_input_of_the_command_is_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x0": [0.5, 1], "x1": [1, 0], "t": ["a", "b"], "u": ["a|b", "[a"]}).to_csv(
        "data.csv", index=False
    )
    np.save("data.npy", np.eye(2))
    np.savez("data.npz", x=np.eye(2))
    assert main(["multilabel", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: " + message), error
    assert not list(tmp_path.glob("out*"))
