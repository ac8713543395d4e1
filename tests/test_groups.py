"""Rows of one group, and copies of one example, have no voice about each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import brute_neighbors
from simifeat import InputError, Verdicts, detect
from simifeat.cli import main
from simifeat.groups import Kin, copies_of, group_codes, make_kin
from simifeat.neighbors import find_neighbors
from simifeat.transition import Transition

KNOWN = Transition(np.eye(3) * 0.7 + 0.1, np.full(3, 1 / 3), np.full(3, 1 / 3), "known", 0.0, 0)


def points(seed, n=90):
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 3, n)
    features = np.eye(3)[clean] + rng.normal(scale=0.4, size=(n, 3))
    labels = np.where(rng.random(n) < 0.3, rng.integers(0, 3, n), clean)
    labels[:3] = range(3)
    return features.astype(np.float32), labels, rng


def same_arrays(left, right):
    for name, values in left.columns().items():
        np.testing.assert_array_equal(values, right.columns()[name], err_msg=name)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 40), st.integers(1, 12))
def test_who_is_left_are_the_nearest_of_other_groups(seed, n_groups, k):
    features, _, rng = points(seed)
    groups = rng.integers(0, n_groups, len(features))
    kin = make_kin(group_codes(groups, len(features)), None)
    graph = find_neighbors(features, kin.n_searched(k, len(features)))
    left = kin.drop(graph, k)
    everybody, _ = brute_neighbors(features, len(features) - 1)
    for n in range(len(features)):
        expected = [m for m in everybody[n] if groups[m] != groups[n]][:k]
        found = [m for m in left.index[n] if m >= 0]
        assert found == expected
        assert (left.similarity[n, len(found) :] == 0).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["vote", "propagate"]))
def test_labels_of_a_group_say_nothing_about_its_members(seed, method):
    features, labels, rng = points(seed)
    groups = rng.integers(0, 30, len(labels))
    row = int(rng.integers(len(labels)))
    mates = np.flatnonzero((groups == groups[row]) & (np.arange(len(labels)) != row))
    changed = labels.copy()
    changed[mates] = rng.integers(0, 3, len(mates))
    changed[:3] = labels[:3]  # three classes stay
    seen = []
    for given_labels in (labels, changed):
        verdicts = detect(
            features,
            given_labels,
            method=method,
            k=5,
            groups=groups,
            transition=KNOWN,
        )
        near = verdicts.neighbors.index[row]
        seen.append((given_labels[near[near >= 0]].tolist(), verdicts.score[row]))
    assert seen[0][0] == seen[1][0]
    if method == "vote":  # propagate also hears what a third row heard
        assert seen[0][1] == seen[1][1]


@pytest.mark.parametrize("method", ["vote", "rank", "propagate"])
@pytest.mark.parametrize("n_epochs", [1, 3])
def test_groups_of_one_change_nothing(method, n_epochs, tmp_path):
    features, labels, _ = points(1)
    alone = np.array([f"patient {n}" for n in range(len(labels))])
    files = []
    for groups in (None, alone, [None] * len(labels)):
        path = tmp_path / f"{len(files)}.parquet"
        detect(features, labels, method=method, n_epochs=n_epochs, groups=groups).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_a_copied_label_is_no_witness():
    rng = np.random.default_rng(0)
    clean = rng.permutation(np.arange(240) % 3)
    features = np.eye(3)[clean] + rng.normal(scale=0.15, size=(240, 3))
    wrong = np.array([int(np.flatnonzero(clean == j)[0]) for j in range(3)])
    labels = clean.copy()
    labels[wrong] = (clean[wrong] + 1) % 3
    rows = np.concatenate([np.arange(240), np.repeat(wrong, 12)])
    is_wrong = np.isin(rows, wrong)
    verdicts = detect(features[rows], labels[rows], method="vote", k=10)
    assert verdicts.is_corrupted[is_wrong].all()
    assert verdicts.metadata["kept_apart"] == {"n_with_kin": 39, "n_fewer": 0, "n_alone": 0}
    misled = detect(features[rows], labels[rows], method="vote", k=10, duplicates="vote")
    assert not misled.is_corrupted[is_wrong].any()
    assert "kept_apart" not in misled.metadata


def test_values_that_many_rows_share_are_no_copies():
    few_values = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0)
    assert copies_of(few_values, 3) is None
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 3)).astype(np.float32)
    pairs = np.concatenate([rows, rows])
    np.testing.assert_array_equal(copies_of(pairs, 30), np.tile(np.arange(100), 2))
    assert copies_of(pairs, 100) is None
    assert make_kin(None, copies_of(rows, 30)).codes == ()


def test_a_group_wider_than_the_search_leaves_its_members_fewer_voters():
    assert Kin((np.zeros(10_000, np.int64),)).n_searched(30, 10_000) == 512
    assert Kin((np.zeros(4_000_000, np.int64),)).n_searched(30, 4_000_000) == 33
    features, labels, _ = points(2)
    groups, graph = np.where(np.arange(90) < 80, 7, 8), find_neighbors(features, 5)
    verdicts = detect(None, labels, neighbors=graph, groups=groups, k=5, transition=KNOWN)
    assert verdicts.metadata["kept_apart"]["n_alone"] > 0


def test_missing_groups_stand_alone():
    nan = float("nan")
    np.testing.assert_array_equal(
        group_codes(np.array(["a", None, "a", "", nan, nan], object), 6), [0, 1, 0, 2, 3, 4]
    )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "groups have the shape (2,), but there are 3 rows; give one group a row"),
        (
            ["a"] * 3,
            "all rows are in one group, so nobody may vote for anybody; "
            "give what tells independent rows apart, or no groups",
        ),
    ],
)
def test_groups_that_cannot_be_used(groups, message):
    with pytest.raises(InputError) as caught:
        detect(np.eye(3), [0, 1, 1], groups=groups)
    assert str(caught.value) == message


@pytest.mark.parametrize("form", ["csv", "npz", "txt"])
def test_groups_from_files(form, tmp_path):
    features, labels, rng = points(3)
    groups = [f"p{g}" for g in rng.integers(0, 20, len(labels))]
    if form == "npz":
        path, option = tmp_path / "data.npz", "patient"
        np.savez(path, features=features, label=labels, patient=np.array(groups))
    else:
        path, option = tmp_path / "data.csv", "patient"
        rows = zip(features.tolist(), labels.tolist(), groups, strict=True)
        head = "x0,x1,x2,label,patient" if form == "csv" else "x0,x1,x2,label"
        tails = [[label, group][: 1 + (form == "csv")] for _, label, group in rows]
        lines = [
            ",".join(map(str, [*f, *tail]))
            for f, tail in zip(features.tolist(), tails, strict=True)
        ]
        path.write_text("\n".join([head, *lines]))
    if form == "txt":
        option = str(tmp_path / "groups.txt")
        (tmp_path / "groups.txt").write_text("\n".join(groups))
    out = tmp_path / "out.parquet"
    how = ["--labels", "label", "--groups", option, "--metric", "cosine"]
    main(["detect", str(path), *how, "-o", str(out)])
    direct = detect(features, labels, groups=groups)
    np.testing.assert_array_equal(Verdicts.load(out).p_corrupted, direct.p_corrupted)
    plain = detect(features, labels)
    assert (plain.p_corrupted != direct.p_corrupted).any()


def test_a_group_column_of_numbers_is_no_feature(tmp_path):
    features, labels, rng = points(3)
    groups = rng.integers(0, 20, len(labels))
    lines = ["x0,x1,x2,label,x3"]
    for row, label, group in zip(features.tolist(), labels, groups, strict=True):
        lines.append(",".join(map(str, [*row, label, group])))
    (tmp_path / "data.csv").write_text("\n".join(lines))
    out = tmp_path / "out.parquet"
    how = ["--groups", "x3", "--metric", "cosine"]
    main(["detect", str(tmp_path / "data.csv"), *how, "-o", str(out)])
    direct = detect(features, labels, groups=groups)
    np.testing.assert_array_equal(Verdicts.load(out).p_corrupted, direct.p_corrupted)
