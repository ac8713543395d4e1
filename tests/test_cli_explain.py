"""Evidence and outliers on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from simifeat import Verdicts
from simifeat.cli import main


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    clean = np.arange(300) % 3
    features = 3 * np.eye(3)[clean] + rng.normal(scale=0.3, size=(300, 3))
    features[0] = 60 * rng.normal(size=3)
    labels = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), clean)
    frame = pd.DataFrame(features, columns=["x0", "x1", "x2"])
    frame["label"] = np.array(["cat", "dog", "owl"])[labels]
    frame["id"] = [f"p{n}" for n in range(300)]
    frame.to_csv("data.csv", index=False)
    options = ["--metric", "euclidean", "--evidence", "--outliers", "-o", "out.parquet"]
    assert main(["detect", "data.csv", *options]) == 0
    return Verdicts.load("out.parquet")


def test_columns_on_request(judged, capsys):
    capsys.readouterr()
    assert main(["detect", "data.csv", "--metric", "euclidean", "--outliers"]) == 0
    assert list(judged.extra)[-8:] == [
        "is_outlier", "outlier_score", "runner_up", "p_runner_up", "threshold",
        "neighbor_ids", "neighbor_labels", "neighbor_similarities",
    ]  # fmt: skip
    assert judged.is_outlier[0]
    assert f"{judged.is_outlier.sum()} rows look like no class:\n  p0: " in capsys.readouterr().out


def test_explains_rows_by_id_or_the_most_suspicious(judged, capsys):
    capsys.readouterr()
    worst = int(judged.most_suspicious(1)[0])
    assert main(["explain", "out.parquet", "-n", "1"]) == 0
    text = capsys.readouterr().out
    assert text == f"{judged.explain(worst)}\n"
    assert main(["explain", "out.parquet", f"p{worst}"]) == 0
    assert capsys.readouterr().out == text
    assert main(["explain", "out.parquet", f"p{worst}", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["id"] == f"p{worst}"
    assert facts["runner_up"] == judged.suggested[worst]
    assert sum(w["weight"] for w in facts["witnesses"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.parquet", "p999"], "out.parquet has no row with the id 'p999'"),
        (["no.parquet"], "no.parquet does not exist; check the path"),
        (["data.csv"], "data.csv.json is missing: it holds what belongs to the verdicts in "
         "data.csv; keep the two files together"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(judged, arguments, message, capsys):
    capsys.readouterr()
    assert main(["explain", *arguments]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_staged_run_keeps_no_evidence(judged, capsys):
    capsys.readouterr()
    assert main(["detect", "data.csv", "--memory", "1GB", "--outliers"]) == 2
    assert "--evidence, --outliers and --probe need all rows in memory" in capsys.readouterr().err
