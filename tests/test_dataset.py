import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simifeat.dataset import Dataset, Labels, check_ids, feature_matrix, hash_array, hash_labels
from simifeat.errors import InputError


@example(["\0", "a\0", ""])  # numpy's own texts lose these
@given(
    st.one_of(
        st.lists(st.text(), min_size=1),
        st.lists(st.integers(-(2**40), 2**40), min_size=1),
        st.lists(st.booleans(), min_size=1),
    )
)
def test_labels_come_back_as_given(labels):
    encoded = Labels.encode(labels)
    assert encoded.given.tolist() == labels
    assert encoded.classes.tolist() == sorted(set(labels))
    assert encoded.codes.dtype == np.int32


def test_labels_of_pandas_come_back():
    series = pd.Series(["b", "a", "b"], dtype="category")
    assert Labels.encode(series).given.tolist() == ["b", "a", "b"]
    assert Labels.encode(pd.Series([7, 3, 7])).classes.tolist() == [3, 7]
    assert Labels.encode(pd.Series([1, 2], dtype="Int64")).classes.tolist() == [1, 2]


def test_whole_floats_are_classes():
    assert Labels.encode([1.0, 3.0, 1.0]).classes.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "labels are empty: 0 rows; there is nothing to check"),
        (
            [[1, 2]],
            r"labels have the shape \(1, 2\); give a flat list \[n\], "
            "or several labels a row to detect_multilabel",
        ),
        (
            ["a", None, "b", None],
            r"2 of 4 labels are missing \(NaN or empty\), the first in row 1; "
            "drop those rows or label them",
        ),
        (
            [1.0, np.nan],
            r"1 of 2 labels are missing \(NaN or empty\), the first in row 1; "
            "drop those rows or label them",
        ),
        (
            np.array(["a", 1], object),
            "labels mix values of the types int, str; convert them all to one type, such as str",
        ),
        (
            [0.5, 1.0],
            "Unknown label type: labels are continuous numbers, such as 0.5; "
            "simifeat needs classes",
        ),
        (
            np.array(["2020-01-01"], "M8[D]"),
            r"Unknown label type: datetime64\[D\]; give strings, integers or booleans",
        ),
    ],
)
def test_labels_that_cannot_be_used(labels, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        Labels.encode(labels)


def test_a_missing_value_of_pandas_is_missing():
    with pytest.raises(InputError, match="^1 of 2 labels are missing"):
        Labels.encode(pd.Series(["a", None], dtype="string"))


def test_one_class_is_not_enough():
    with pytest.raises(
        InputError,
        match=r"^all 3 labels are 'x' \(1 class\); detection needs at least 2 classes$",
    ):
        Dataset.from_arrays(np.eye(3), ["x"] * 3)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.empty((0, 3)), "features are empty: 0 rows; there is nothing to check"),
        (np.empty((3, 0)), r"features have 0 feature\(s\) \(shape=\(3, 0\)\); a minimum of 1"),
        (np.zeros(3), r"features have the shape \(3,\); give a table \[n, d\]"),
        (np.zeros((2, 2, 2)), r"features have the shape \(2, 2, 2\); give a table \[n, d\]$"),
        ([[1, 2], [3]], "features do not form a table"),
        (np.array([["a", "b"]]), "features have the type <U1; give numbers$"),
        (np.array([["a", 1]], object), "features are not numbers"),
        (np.ones((2, 2), complex), "features are complex numbers; give real ones"),
    ],
)
def test_features_that_cannot_be_used(features, message):
    with pytest.raises(InputError, match=f"^{message}"):
        feature_matrix(features)


def test_values_that_are_not_finite_are_counted_and_placed():
    features = np.zeros((5, 4))
    features[2, 1] = features[4, 0] = np.nan
    features[4, 3] = np.inf
    with pytest.raises(
        InputError,
        match="^features hold 3 values that are NaN or infinite in 2 of 5 rows, the first in "
        "row 2; drop or fill those rows$",
    ):
        feature_matrix(features)
    with pytest.raises(InputError, match=r"too large for float32 \(infinity\) in 1 of 1 rows"):
        feature_matrix([[1e300]])


def test_float32_is_not_copied():
    features = np.ones((3, 2), np.float32)
    assert feature_matrix(features) is features
    assert feature_matrix(np.ones((3, 2), np.float16)).dtype == np.float32


def test_rows_belong_together():
    with pytest.raises(
        InputError,
        match="^there are 3 rows of features but 2 labels; give one label for every row$",
    ):
        Dataset.from_arrays(np.eye(3), [0, 1])
    with pytest.raises(
        InputError,
        match=r"^ids have the shape \(2,\), but there are 3 rows; give one id a row$",
    ):
        check_ids([1, 2], 3)
    assert check_ids(None, 3).tolist() == [0, 1, 2]


def test_the_hash_knows_shape_content_and_classes():
    def digest(feed, *parts):
        made = hashlib.sha256()
        for part in parts:
            feed(made, part)
        return made.hexdigest()

    rows = np.arange(6, dtype=np.float32)
    assert digest(hash_array, rows.reshape(2, 3)) != digest(hash_array, rows.reshape(3, 2))
    assert digest(hash_array, rows.reshape(2, 3)) == digest(hash_array, rows.reshape(2, 3).copy())
    assert digest(hash_labels, Labels.encode(["a", "b"])) != digest(
        hash_labels, Labels.encode(["a", "c"])
    )
