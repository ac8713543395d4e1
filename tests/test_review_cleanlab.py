"""Frames of label issues of cleanlab, as its own functions return them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from simifeat.cli import main
from simifeat.review.answers import Answer
from simifeat.review.opening import open_review

WORDS = np.array(["ash", "birch", "cedar"])


@pytest.fixture
def frame(tmp_path):
    """A table and the frame about it, in which classes are numbers; every fifth is an issue."""
    given = np.arange(30) % 3
    found = np.arange(30) % 5 == 0
    issues = pd.DataFrame(
        {
            "is_label_issue": found,
            "label_quality": np.where(found, 0.1, 0.9),
            "given_label": given,
            "predicted_label": np.where(found, (given + 1) % 3, given),
        }
    )
    data = pd.DataFrame(
        {"text": [f"a text about row {i}" for i in range(30)], "label": WORDS[given]}
    )
    data.to_csv(tmp_path / "data.csv", index=False)
    return issues, data


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_frame_is_reviewed_and_applied(frame, tmp_path, ending):
    issues, data = frame
    path, source = tmp_path / f"issues.{ending}", str(tmp_path / "data.csv")
    if ending == "csv":
        issues.to_csv(path)
    elif ending == "parquet":
        issues.to_parquet(path)
    else:
        issues.to_json(path, orient="records", lines=True)
    with open_review(path, moved_to=source) as views:
        sheet = views.desk.sheet
        assert sheet.flagged.tolist() == list(range(0, 30, 5))
        assert sheet.p_corrupted[0] == pytest.approx(0.9)
        assert views.row(5)["text"] == "a text about row 5"
        assert [sheet.classes[c] for c in sheet.suggested[[0, 5]]] == [WORDS[1], WORDS[0]]
        views.desk.decide(
            [Answer(0, "relabel", int(sheet.suggested[0])), Answer(5, "drop")][:1], "Ana"
        )
        views.desk.decide([Answer(5, "drop")], "Ana")
    copy = tmp_path / "clean.csv"
    assert main(["clean", str(path), "--source", source, "-o", str(copy)]) == 0
    data.loc[0, "label"] = WORDS[1]
    expected = data.drop(index=5).reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv(copy), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="given_label"), "lacks the column given_label; save what"),
        (
            lambda f: f.drop(columns="label_quality"),
            "lacks the column label_quality or label_score",
        ),
        (lambda f: f.assign(given_label=0), "the given labels of the frame are not those of"),
        (lambda f: f.iloc[:20], "has 30 rows, but the frame 20"),
        (lambda f: f.assign(label_quality=np.nan), "has an empty or infinite label_quality"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_in_one_line(frame, tmp_path, capsys, change, message):
    path = tmp_path / "issues.csv"
    change(frame[0]).to_csv(path)
    target = tmp_path / "c.csv"
    arguments = ["clean", str(path), "--source", str(tmp_path / "data.csv"), "-o", str(target)]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not target.exists()
