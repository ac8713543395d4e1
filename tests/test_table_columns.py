from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from simifeat.augment import noisy_epoch
from simifeat.cli import main
from simifeat.errors import InputError
from simifeat.io import open_source

FORMATS = [".csv", ".parquet", ".jsonl"]


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def table(n=24, **more):
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.integers(20, 60, n).astype(float),
        "colour": rng.choice(["red", "green", "blue"], n),
        "member": rng.random(n) < 0.5,
        "note": [f"text number {row}" for row in range(n)],
        "label": rng.choice(["yes", "no"], n),
    }
    return pd.DataFrame(columns | more)


@pytest.mark.parametrize("ending", FORMATS)
def test_numbers_are_standardised_and_categories_encoded(tmp_path, ending):
    frame = table()
    if ending == ".parquet":
        frame["colour"] = frame["colour"].astype("category")
    found = open_source(write(frame, tmp_path / f"data{ending}")).load_features()
    numbers = np.stack([frame["age"], frame["member"].astype(float)], axis=1)
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    literal = [
        [*row, *(float(colour == value) for value in ("blue", "green", "red"))]
        for row, colour in zip(numbers, frame["colour"], strict=True)
    ]
    np.testing.assert_allclose(found.matrix, literal, rtol=1e-5, atol=1e-6)
    assert found.matrix.dtype == np.float32
    assert found.metric == "euclidean"
    assert "left out: 'note'" in found.notes[0]
    assert "of categories ('colour'" in found.notes[0]
    assert len(found.notes) == 2


@pytest.mark.parametrize("ending", FORMATS)
def test_missing_cells_are_filled_and_said(tmp_path, ending):
    frame = table()
    frame.loc[[3, 4], "age"] = np.nan
    frame["colour"] = frame["colour"].astype(object)
    frame.loc[5, "colour"] = None
    found = open_source(
        write(frame, tmp_path / f"data{ending}"), features="age,colour"
    ).load_features()
    age = frame["age"].fillna(frame["age"].mean()).to_numpy()
    np.testing.assert_allclose(found.matrix[:, 0], (age - age.mean()) / age.std(), rtol=1e-5)
    assert found.matrix.shape == (24, 1 + 3 + 1)
    np.testing.assert_array_equal(np.flatnonzero(found.matrix[:, -1]), [5])
    np.testing.assert_array_equal(found.matrix[:, 1:].sum(axis=1), np.ones(24))
    assert found.notes[-1] == (
        "missing cells: 'age' (2), 'colour' (1); a number is taken as the mean of its column, a "
        "category as one of its own"
    )


def test_texts_are_no_categories(tmp_path):
    frame = table(n=40, many=[f"v{row % 30}" for row in range(40)], one=["same"] * 40)
    notes = open_source(write(frame, tmp_path / "data.csv")).load_features().notes
    assert notes[0] == (
        "features: 2 columns of numbers ('age', 'member') and 1 column of categories ('colour'); "
        "left out: 'note', 'many', 'one'"
    )


def test_more_than_fifty_values_are_text(tmp_path):
    for n_values, is_category in ((50, True), (51, False)):
        frame = table(n=300, code=[f"v{row % n_values}" for row in range(300)])
        notes = open_source(write(frame, tmp_path / "data.csv")).load_features().notes
        assert ("'code'" in notes[0].partition("left out")[0]) is is_category


def test_categories_alone_are_features(tmp_path):
    frame = table(size=["small", "large"] * 12)[["colour", "size", "label"]]
    found = open_source(write(frame, tmp_path / "data.csv")).load_features()
    assert found.matrix.shape == (24, 5)
    assert found.notes[0] == "features: 2 columns of categories ('colour', 'size')"


def test_infinite_and_empty_columns_are_refused(tmp_path):
    frame = table()
    frame.loc[7, "age"] = np.inf
    path = write(frame, tmp_path / "data.parquet")
    with pytest.raises(InputError) as caught:
        open_source(path).load_features()
    assert str(caught.value) == (
        f"column 'age' of {path} is infinite in row 7; give a number, or leave the cell empty"
    )
    path = write(table(age=np.full(24, np.nan)), tmp_path / "data.parquet")
    with pytest.raises(InputError) as caught:
        open_source(path).load_features()
    assert str(caught.value) == (
        f"column 'age' of {path} is empty; choose other columns with --features"
    )


def test_raw_embeddings_are_taken_as_they_are(tmp_path):
    rows = np.random.default_rng(0).normal(size=(24, 5)).astype(np.float32)
    frame = table()[["age", "label"]].assign(vector=list(rows))
    found = open_source(write(frame, tmp_path / "data.parquet")).load_features()
    np.testing.assert_array_equal(found.matrix, rows)
    assert found.metric is None  # cosine, unless something else is asked for


def test_epochs_of_a_table_differ_by_noise(tmp_path):
    path = write(table(), tmp_path / "data.csv")
    plain = open_source(path).load_features().matrix
    found = open_source(path, n_epochs=3, seed=4).load_features()
    epochs = list(found.matrix)
    np.testing.assert_array_equal(epochs[0], plain)
    for number in (1, 2):
        np.testing.assert_array_equal(epochs[number], noisy_epoch(plain, 4, number))
    assert found.notes[-1].startswith("each epoch after the first adds a little noise")


@pytest.mark.parametrize(("width", "metric"), [(1, "euclidean"), (3, "euclidean"), (4, "cosine")])
def test_few_dimensions_are_compared_by_distance(tmp_path, capsys, width, metric):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.normal(size=(40, width)))
    np.save(tmp_path / "y.npy", np.arange(40) % 2)
    arguments = [str(tmp_path / "x.npy"), "--labels", str(tmp_path / "y.npy"), "-k", "3"]
    assert main(["detect", *arguments, "-o", str(tmp_path / "out.csv"), "--method", "vote"]) == 0
    said = "too few for angles: Euclidean metric" in capsys.readouterr().err
    assert said == (metric == "euclidean")
    (facts,) = tmp_path.glob("out*.json")
    assert f'"metric": "{metric}"' in facts.read_text()


def test_a_table_of_both_kinds_finds_corrupted_labels(tmp_path, capsys):
    """The category alone tells the classes apart; 10 % of the labels are corrupted."""
    rng = np.random.default_rng(0)
    n = 400
    clean = np.arange(n) % 2
    given = np.where(rng.random(n) < 0.1, 1 - clean, clean)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": np.where(clean == 1, "a", "b"),
            "label": given,
            "clean_label": clean,
        }
    )
    path = write(frame, tmp_path / "data.csv")
    out = tmp_path / "out.csv"
    assert main(["detect", str(path), "--labels", "label", "-o", str(out), "--epochs", "3"]) == 0
    found = pd.read_csv(out)["is_corrupted"].to_numpy()
    assert (found == (given != clean)).mean() > 0.99
