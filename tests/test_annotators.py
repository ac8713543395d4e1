"""Several annotators a row: the equations, and annotators told apart on planted errors."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from oracles import brute_neighbors
from simifeat import InputError, consensus_labels
from simifeat.annotations import hard_annotations, soft_annotations
from simifeat.annotators import estimate, expected_gain
from simifeat.cli import main
from simifeat.neighbors import Neighbors
from simifeat.propagate import neighbor_weights


def planted(n=900, n_classes=3, share=0.4, seed=0, spread=0.8):
    """Features, truth [n], labels [n, 5] with -1 where an annotator was not asked, confusions."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    features = 3 * np.eye(n_classes, 6)[truth] + spread * rng.normal(size=(n, 6))
    even = np.full((n_classes, n_classes), 1 / n_classes)
    confusion = np.array(
        [a * np.eye(n_classes) + (1 - a) * even for a in (0.95, 0.7, 0.4, 0.0)]
        + [0.6 * np.eye(n_classes) + 0.4 * np.roll(np.eye(n_classes), 1, 1)]
    )
    labels = np.full((n, 5), -1)
    for a in range(5):
        for row in np.flatnonzero(rng.random(n) < share):
            labels[row, a] = rng.choice(n_classes, p=confusion[a, truth[row]])
    return features, truth, labels, confusion


def loops(said, weight, n_classes):
    """The equations of annotators.py, one number at a time."""
    n, m = said.n_rows, said.n_annotators
    statements = list(
        zip(said.row.tolist(), said.who.tolist(), said.code.tolist(), said.weight, strict=True)
    )

    def normalized(values):
        return [v / sum(values) for v in values]

    belief = []
    for row in range(n):
        votes = [0.0] * n_classes
        for r, _, c, w in statements:
            votes[c] += w if r == row else 0
        belief.append(normalized(votes) if sum(votes) else [1 / n_classes] * n_classes)
    first = [list(b) for b in belief]
    for row in range(n):
        if weight[row].sum():
            for i in range(n_classes):
                around = sum(weight[row, o] * first[o][i] for o in range(n))
                belief[row][i] = (first[row][i] + around) / 2

    def confusions():
        counts = np.zeros((m, n_classes, n_classes))
        for r, a, c, w in statements:
            for i in range(n_classes):
                counts[a, i, c] += w * belief[r][i]
        right = [sum(counts[a, i, i] for i in range(n_classes)) for a in range(m)]
        d = sum(right) / counts.sum()
        pooled = []
        for i in range(n_classes):
            even = [d if c == i else (1 - d) / (n_classes - 1) for c in range(n_classes)]
            pooled.append(
                normalized([5 * even[c] + counts[:, i, c].sum() for c in range(n_classes)])
            )
        out = []
        for a in range(m):
            own = (20 * d + right[a]) / (20 + counts[a].sum())
            out.append([])
            for i in range(n_classes):
                rest = 1 - pooled[i][i]
                expected = [
                    own if c == i else (1 - own) * pooled[i][c] / rest for c in range(n_classes)
                ]
                out[-1].append(
                    normalized([20 * expected[c] + counts[a, i, c] for c in range(n_classes)])
                )
        return out

    for _ in range(50):
        each = confusions()
        new = []
        for row in range(n):
            logs = []
            for i in range(n_classes):
                if weight[row].sum():
                    around = sum(weight[row, o] * belief[o][i] for o in range(n))
                    logs.append(1.5 * math.log(around + 1e-6))
                else:
                    logs.append(math.log(sum(b[i] for b in belief) / n + 1e-6))
                for r, a, c, w in statements:
                    if r == row:
                        logs[i] += w * math.log(each[a][i][c])
            new.append(normalized([math.exp(v - max(logs)) for v in logs]))
        change = sum(abs(x - y) for a, b in zip(new, belief, strict=True)
                     for x, y in zip(a, b, strict=True)) / n / 2  # fmt: skip
        belief = new
        if change < 1e-4:
            break
    return np.array(belief), np.array(confusions())


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_equals_the_loops(kind):
    features, _, labels, _ = planted(n=30)
    if kind == "hard":
        said = hard_annotations(labels)
    else:
        said = soft_annotations(np.random.default_rng(0).dirichlet(np.full(3, 0.3), 30))
    index, similarity = brute_neighbors(features, 4)
    index[7] = -1
    index[index == 7] = -1
    weights = neighbor_weights(Neighbors(index, similarity, "cosine", "brute", ""), 8.0)
    belief, confusion, _ = estimate(said, weights)
    expected, each = loops(said, weights.toarray(), 3)
    np.testing.assert_allclose(belief, expected, atol=1e-5)
    np.testing.assert_allclose(confusion, each, atol=1e-5)


def test_annotators_are_told_apart_and_the_consensus_beats_the_majority():
    features, truth, labels, confusion = planted()
    found = consensus_labels(features, labels)
    seen = (labels >= 0).any(axis=1)
    votes = np.stack([(labels == c).sum(axis=1) for c in range(3)], axis=1)
    majority = (votes.argmax(axis=1) == truth)[seen].mean()
    right = (found.labels == truth).mean()
    assert majority < 0.75
    assert right > 0.97
    assert abs(found.p_label.mean() - right) < 0.02
    prior = np.bincount(truth) / len(truth)
    expected = np.einsum("i,mii->m", prior, confusion)
    np.testing.assert_allclose(found.quality, expected, atol=0.06)
    said = found.annotations
    wrong = said.classes[said.code] != truth[said.row]
    assert ((found.p_wrong > 0.5) == wrong).mean() > 0.97
    (cyclic,) = [row for row in found.annotator_table() if row["annotator"] == 4]
    true, mistaken, _ = cyclic["most_mistaken"]
    assert mistaken == (true + 1) % 3


def test_one_annotator_a_row_is_enough_to_tell_them_apart():
    features, truth, labels, _ = planted(n=1500, share=1.0)
    alone = np.full_like(labels, -1)
    rows = np.arange(len(labels))
    who = np.random.default_rng(1).integers(0, 5, len(labels))
    alone[rows, who] = labels[rows, who]
    found = consensus_labels(features, alone)
    assert (found.labels == truth).mean() > 0.95
    assert np.argsort(-found.quality)[0] == 0
    assert np.argsort(found.quality)[0] == 3


def test_another_label_helps_most_where_it_is_said_to():
    features, truth, labels, confusion = planted(share=0.3, spread=1.6, seed=3)
    found = consensus_labels(features, labels)
    rng = np.random.default_rng(4)
    more = np.array([rng.choice(3, p=confusion[0, c]) for c in truth])  # by a good annotator
    right = []
    for rows in (found.ask_again(100), rng.permutation(len(truth))[:100]):
        asked = np.full((len(truth), 1), -1)
        asked[rows, 0] = more[rows]
        labelled = consensus_labels(features, np.concatenate([labels, asked], axis=1))
        right.append((labelled.labels == truth).mean())
    gained, at_random = np.array(right) - (found.labels == truth).mean()
    assert gained > 2 * max(at_random, 0)
    assert gained > 0.02
    again = found.ask_again(5)
    assert (np.diff(found.gain[again]) <= 0).all()
    belief = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    for row, gain in zip(belief, expected_gain(belief, confusion[0]), strict=True):
        after = sum(max(row[i] * confusion[0, i, c] for i in range(3)) for c in range(3))
        assert gain == pytest.approx(max(after - row.max(), 0), abs=1e-12)


def test_soft_labels_and_rows_that_nobody_labelled():
    features, truth, _, _ = planted(n=400)
    rng = np.random.default_rng(0)
    soft = 0.6 * np.eye(3)[np.where(rng.random(400) < 0.2, (truth + 1) % 3, truth)] + 0.4 / 3
    soft[:40] = 0
    frame = pd.DataFrame(soft, columns=["cat", "dog", "owl"])
    found = consensus_labels(features, soft=frame)
    names = np.array(["cat", "dog", "owl"])
    assert (found.labels == names[truth]).mean() > 0.97
    assert (found.labels == names[truth])[:40].mean() > 0.9
    assert (found.n_annotations[:40] == 0).all()


def test_missing_in_every_spelling_and_labels_as_given():
    features, _, labels, _ = planted(n=120)
    names = np.array(["cat", "dog", "owl"], object)
    words = np.where(labels >= 0, names[labels], None)
    empty = words.copy()
    empty[labels < 0] = ""
    numbers = np.where(labels >= 0, labels.astype(float), np.nan)
    found = [
        consensus_labels(features, table)
        for table in (labels, words, empty, numbers, pd.DataFrame(words))
    ]
    for each in found:
        np.testing.assert_array_equal(each.belief, found[0].belief)
    assert set(found[1].labels) == set(names)
    assert found[3].labels.dtype.kind == "i"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either annotations [n, m] or soft= labels [n, K]"),
        ({"annotations": [1, 2, 3]}, "annotations have the shape (3,); give a table [n, m], one "
         "column an annotator, missing where nothing was said"),
        ({"annotations": [[-1, -1]] * 3}, "all annotations are missing; give at least one label"),
        ({"annotations": [[1, -1]] * 3}, "all annotations are '1' (1 class); give at least 2 "
         "classes"),
        ({"annotations": [[0.5, 1]] * 3}, "annotations hold 0.5, which is no class; give soft "
         "labels [n, K] as soft="),
        ({"annotations": [["a", 1]] * 3}, None),
        ({"annotations": np.array([["a", 1]] * 3, object)}, "annotations mix types ('<' not"),
        ({"annotations": [[0, 1]] * 2}, "there are 3 rows of features but 2 of annotations; give "
         "both for every row"),
        ({"annotations": [[0, 1]] * 3, "annotators": ["me"]}, "there are 1 annotators' names for 2 "
         "columns"),
        ({"soft": [[0.5, -1]] * 3}, "soft labels hold -1 in row 0, column 1; give probabilities or "
         "counts, 0 where nothing was said"),
        ({"soft": [[0, 0]] * 3}, "all soft labels are 0; give at least one"),
        ({"soft": [0, 1, 1]}, "soft labels have the shape (3,); give a table [n, K]"),
        ({"soft": [["a", "b"]] * 3}, "soft labels do not form a table of numbers ("),
        ({"soft": [[0, 1]] * 3, "classes": ["a"]}, "there are 1 classes for 2 columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_used(arguments, message):
    if message is None:  # numpy makes text of both
        consensus_labels(np.eye(3), **arguments)
        return
    with pytest.raises(InputError) as caught:
        consensus_labels(np.eye(3), **arguments)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_the_command(form, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    features, _, labels, _ = planted(n=150)
    names = np.array(["cat", "dog", "owl"], object)
    if form == "csv":
        frame = pd.DataFrame(features, columns=[f"x{j}" for j in range(6)])
        for a in range(5):
            frame[f"who{a}"] = np.where(labels[:, a] >= 0, names[labels[:, a]], "")
        frame.to_csv("data.csv", index=False)
        option = ",".join(f"who{a}" for a in range(5))
    else:
        np.savez("data.npz", features=features, said=labels)
        option = "said"
    arguments = ["consensus", f"data.{form}", "--annotations", option]
    assert main([*arguments, "-o", "out.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    words = np.where(labels >= 0, names[labels], None) if form == "csv" else labels
    direct = consensus_labels(features, words)
    assert pd.read_csv("out.csv").label.tolist() == direct.labels.tolist()
    assert [row["quality"] for row in told["annotators"]] == pytest.approx(direct.quality, abs=1e-6)
    about = json.loads((tmp_path / "out.csv.json").read_text())
    assert np.array(about["confusion"]).shape == (5, 3, 3)
    assert main(arguments) == 0
    assert "One more label helps most for: " in capsys.readouterr().out
    assert main([*arguments[:-1], "nobody"]) == 2
    kind = "column" if form == "csv" else "array"
    assert f"error: data.{form} has no {kind} 'nobody'" in capsys.readouterr().err
