"""The measures against literal counts, scikit-learn and hypothesis."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from simifeat import metrics
from simifeat.errors import InputError

ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60
)


def columns(rows):
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@given(rows=ROWS)
def test_detection_scores_are_the_paper_s_sums(rows):
    flags, labels, clean = columns(rows)
    got = metrics.detection_scores(flags, labels, clean)
    hit = sum(1 for v, y, t in rows if v and y != t)
    flagged = sum(1 for v, _, _ in rows if v)
    corrupted = sum(1 for _, y, t in rows if y != t)
    precision = hit / flagged if flagged else 0.0
    recall = hit / corrupted if corrupted else 0.0
    f1 = 2 / (1 / precision + 1 / recall) if hit else 0.0
    assert (got.n_examples, got.n_flagged, got.n_corrupted, got.n_hit) == (
        len(rows),
        flagged,
        corrupted,
        hit,
    )
    assert (got.precision, got.recall) == (precision, recall)
    assert got.f1 == pytest.approx(f1, abs=1e-12)


@given(rows=ROWS)
def test_scores_agree_with_sklearn_and_per_class_with_the_subset(rows):
    flags, labels, clean = columns(rows)
    got = metrics.detection_scores(flags, labels, clean)
    wrong = labels != clean
    expected = sk.precision_recall_fscore_support(
        wrong, flags, average="binary", pos_label=True, zero_division=0
    )[:3]
    assert (got.precision, got.recall, got.f1) == pytest.approx(expected)
    assert list(got.per_class) == sorted(set(labels.tolist()))
    for value, scores in got.per_class.items():
        of = labels == value
        alone = metrics.detection_scores(flags[of], labels[of], clean[of])
        assert scores == dataclasses.replace(alone, per_class={})
    assert got.per_class == metrics.per_class_scores(flags, labels, clean)


@given(rows=ROWS, seed=st.integers(0, 999))
def test_order_and_names_of_examples_and_classes_do_not_matter(rows, seed):
    flags, labels, clean = columns(rows)
    got = metrics.detection_scores(flags, labels, clean)
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    names = np.array(["w", "q", "z", "a"])
    again = metrics.detection_scores(
        flags[shuffled], pd.Series(names[labels[shuffled]]), names[clean[shuffled]].tolist()
    )
    assert dataclasses.replace(got, per_class={}) == dataclasses.replace(again, per_class={})
    assert {names[value]: scores for value, scores in got.per_class.items()} == again.per_class


def test_the_paper_s_remark_flagging_nothing_scores_zero():
    clean = np.zeros(10, dtype=int)
    labels = np.array([1, 1] + [0] * 8)
    got = metrics.detection_scores(np.zeros(10, dtype=bool), labels, clean)
    assert (got.precision, got.recall, got.f1) == (0.0, 0.0, 0.0)
    on_clean = metrics.DetectionScores(n_examples=10, n_flagged=10, n_corrupted=8, n_hit=8)
    assert on_clean.f1 == pytest.approx(0.889, abs=1e-3)


def test_nothing_corrupted_is_defined():
    got = metrics.detection_scores([True, False], ["a", "b"], ["a", "b"])
    assert (got.precision, got.recall, got.f1, got.n_corrupted) == (0.0, 0.0, 0.0, 0)
    assert metrics.average_precision([0.1, 0.2], ["a", "b"], ["a", "b"]) == 0.0


@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(0, 2)),
        min_size=1,
        max_size=60,
    )
)
def test_average_precision_is_sklearn_s_also_under_ties(rows):
    score, labels, clean = columns(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns when nothing is corrupted
        expected = sk.average_precision_score(labels != clean, -score)
    assert metrics.average_precision(score, labels, clean) == pytest.approx(expected)


def test_lower_score_is_more_suspicious():
    labels, clean = [0, 0, 1, 1], [1, 1, 1, 1]
    assert metrics.average_precision([0.1, 0.2, 0.8, 0.9], labels, clean) == 1.0
    assert metrics.average_precision([0.9, 0.8, 0.2, 0.1], labels, clean) < 0.5


def test_infinite_scores_are_ranks_too():
    labels, clean = [0, 1, 1], [1, 1, 1]
    assert metrics.average_precision([-np.inf, 0.0, np.inf], labels, clean) == 1.0


def literal_calibration_error(p, wrong, n_bins):
    total = 0.0
    for b in range(n_bins):
        inside = [
            m for m in range(len(p)) if int(p[m] * n_bins) == b or (b == n_bins - 1 and p[m] == 1.0)
        ]
        if inside:
            stated = sum(p[m] for m in inside) / len(inside)
            true = sum(bool(wrong[m]) for m in inside) / len(inside)
            total += len(inside) / len(p) * abs(stated - true)
    return total


@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60
    ),
    n_bins=st.integers(1, 20),
)
def test_calibration_error_is_the_literal_sum(rows, n_bins):
    p, labels, clean = columns(rows)
    got = metrics.expected_calibration_error(p, labels, clean, n_bins)
    assert got == pytest.approx(literal_calibration_error(p, labels != clean, n_bins), abs=1e-12)
    assert 0 <= got <= 1


def test_a_calibrated_detector_has_no_error_and_a_sure_wrong_one_has_all():
    labels = np.array([0] * 10)
    clean = np.array([1] * 3 + [0] * 7)
    assert metrics.expected_calibration_error(np.full(10, 0.3), labels, clean) < 1e-12
    sure = (labels == clean).astype(float)
    assert metrics.expected_calibration_error(sure, labels, clean) == 1.0


TWO = ["a", "b"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: metrics.detection_scores([True], TWO, TWO),
            "is_corrupted has 1 entries but there are 2 labels; "
            "give one for every example, in the same order",
        ),
        (
            lambda: metrics.detection_scores([5, 7], TWO, TWO),
            "is_corrupted must be one True or False an example, not positions of examples; "
            "got shape (2,) of int64",
        ),
        (
            lambda: metrics.detection_scores([True, False], TWO, ["a"]),
            "there are 2 labels but 1 clean labels; give one of each for every example",
        ),
        (
            lambda: metrics.detection_scores([True, False], TWO, [0, 1]),
            "labels are str but clean_labels are int: no label could ever equal its clean label; "
            "convert both to one type",
        ),
        (
            lambda: metrics.average_precision([0.1, float("nan")], TWO, TWO),
            "score is NaN in row 1; leave that example out or score it",
        ),
        (
            lambda: metrics.average_precision([[0.1, 0.2]], TWO, TWO),
            "score must be one number an example, got shape (1, 2)",
        ),
        (
            lambda: metrics.average_precision(["x", "y"], TWO, TWO),
            "score must be one number an example",
        ),
        (
            lambda: metrics.expected_calibration_error([0.5, 1.5], TWO, TWO),
            "p_corrupted must lie in [0, 1], got 1.5 in row 1; give probabilities, not scores",
        ),
        (
            lambda: metrics.expected_calibration_error([0.5, 0.5], TWO, TWO, n_bins=0),
            "n_bins must be at least 1, got 0",
        ),
    ],
)
def test_errors_say_what_and_what_to_do(call, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        call()
