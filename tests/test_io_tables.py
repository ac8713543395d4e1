"""Tables in every format: the same rows in, the same labels, ids and features out."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simifeat.errors import InputError, OutputError
from simifeat.io import Edit, open_source

FORMATS = [".csv", ".tsv", ".parquet", ".jsonl"]
N = 6


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        rows = frame.to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def numbers(**columns) -> pd.DataFrame:
    x = np.arange(2.0 * N).reshape(N, 2) / 8
    return pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], **columns})


def embeddings(**columns) -> pd.DataFrame:
    x = np.arange(3.0 * N).reshape(N, 3) / 8
    return pd.DataFrame({"vector": x.tolist(), **columns})


def refused(action, kind=InputError) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What is read


@pytest.mark.parametrize("ending", FORMATS)
def test_numbered_columns_are_one_vector(tmp_path, ending):
    path = write(numbers(label=list("abcabc")), tmp_path / f"data{ending}")
    source = open_source(path)
    assert source.labels.tolist() == list("abcabc")
    assert source.ids is None
    assert source.clean_labels is None
    features = source.load_features()
    assert features.metric is None
    assert features.matrix.dtype == np.float32
    np.testing.assert_array_equal(features.matrix, np.arange(2.0 * N).reshape(N, 2) / 8)
    assert source.notes == ("labels: column 'label'",)
    assert features.notes == ("features: 2 columns of numbers ('x0', 'x1')",)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_column_of_embeddings(tmp_path, ending):
    frame = embeddings(label=[1, 2, 1, 2, 1, 2], size=range(N))
    source = open_source(write(frame, tmp_path / f"data{ending}"))
    features = source.load_features()
    np.testing.assert_array_equal(features.matrix, np.arange(3.0 * N).reshape(N, 3) / 8)
    assert features.notes == ("features: column 'vector'",)
    assert source.labels.tolist() == [1, 2, 1, 2, 1, 2]
    assert source.labels.dtype == np.int64


@pytest.mark.parametrize("ending", FORMATS)
def test_different_columns_are_made_comparable(tmp_path, ending):
    frame = pd.DataFrame(
        {"age": [20, 30, 40, 50], "salary": [1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3], "label": [0, 1, 0, 1]}
    )
    frame["one"] = 1
    features = open_source(write(frame, tmp_path / f"data{ending}")).load_features()
    expected = (np.arange(4) - 1.5) / np.std(np.arange(4))
    np.testing.assert_allclose(features.matrix[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(features.matrix[:, 1], expected, rtol=1e-5)
    np.testing.assert_array_equal(features.matrix[:, 2], np.zeros(4))
    assert features.metric == "euclidean"
    assert features.notes[1] == (
        "numbers of different columns are made comparable: mean 0, deviation 1, Euclidean metric"
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_ids_labels_and_truth_are_never_features(tmp_path, ending):
    frame = numbers(id=range(100, 106), label=[0, 1] * 3, clean_label=[0] * 6, target=[1] * 6)
    source = open_source(write(frame, tmp_path / f"data{ending}"), labels="label")
    assert source.ids.tolist() == list(range(100, 106))
    assert source.clean_labels.tolist() == [0] * 6
    assert source.load_features().matrix.shape == (N, 2)
    assert source.notes == ("ids: column 'id'",)


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_that_were_asked_for(tmp_path, ending):
    frame = numbers(verdict=list("ababab"), name=list("uvwxyz"), label=range(N))
    path = write(frame, tmp_path / f"data{ending}")
    source = open_source(path, labels="verdict", features="x1, label", id="name")
    assert source.labels.tolist() == list("ababab")
    assert source.ids.tolist() == list("uvwxyz")
    assert source.load_features().matrix.shape == (N, 2)
    assert source.load_features().metric == "euclidean"
    assert open_source(path, labels="verdict", features="x1").load_features().matrix.shape == (N, 1)


TYPED = {
    "text": ["a", "b", "a", "c", "a", "b"],
    "text that looks like numbers": ["007", "7", "007", "7", "7", "7"],
    "text that looks like dates": ["2020-01-01", "x", "x", "2020-01-01", "x", "x"],
    "integers": [3, -1, 3, 2**40, 0, 0],
    "text with commas and quotes": ['a,"b"', "c\td", 'a,"b"', "c\td", "e;f", "é"],
    "texts of no value": ["nan", "null", "None", "NA", "N/A", "nan"],
}


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("kind", TYPED)
def test_labels_come_back_as_given(tmp_path, ending, kind):
    frame = numbers(label=TYPED[kind])
    source = open_source(write(frame, tmp_path / f"data{ending}"))
    assert source.labels.tolist() == TYPED[kind]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_booleans_come_back_as_given(tmp_path, ending):
    frame = numbers(label=[True, False] * 3)
    source = open_source(write(frame, tmp_path / f"data{ending}"))
    assert source.labels.dtype == np.bool_
    assert source.labels.tolist() == [True, False] * 3


def test_booleans_of_a_csv_stay_as_they_are_spelt(tmp_path):
    source = open_source(write(numbers(label=[True, False] * 3), tmp_path / "data.csv"))
    assert source.labels.tolist() == ["True", "False"] * 3


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64"])
def test_integers_of_any_width(tmp_path, kind):
    frame = numbers(label=np.array([1, 2, 1, 2, 1, 100], kind))
    source = open_source(write(frame, tmp_path / "data.parquet"))
    assert source.labels.dtype == kind
    assert source.labels.tolist() == [1, 2, 1, 2, 1, 100]


def test_categories_across_row_groups(tmp_path):
    frame = numbers(label=pd.Categorical(list("abcabc"), categories=list("cbaz")))
    path = tmp_path / "data.parquet"
    frame.to_parquet(path, row_group_size=2)
    assert open_source(path).labels.tolist() == list("abcabc")


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32()),
     pa.list_(pa.float32(), 3), pa.list_(pa.int8()), pa.list_(pa.float16())],
    ids=str,
)  # fmt: skip
def test_every_type_of_list_in_parquet(tmp_path, kind):
    values = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 1]]
    if kind.value_type == pa.float16():
        values = [[np.float16(value) for value in row] for row in values]
    table = pa.table({"v": pa.array(values, kind), "label": ["a", "b", "a", "b"]})
    path = tmp_path / "data.parquet"
    pq.write_table(table, path, row_group_size=3)
    matrix = open_source(path).load_features().matrix
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, np.array(values, np.float32))


def test_types_after_the_first_rows_are_not_a_surprise(tmp_path):
    """Integers that are followed by fractions, beyond what was looked at to tell the type."""
    n = 200_000
    x = np.zeros(n)
    x[-1] = 0.5
    lines = ["a,label"] + [f"{v:g},c{i % 2}" for i, v in enumerate(x)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines))
    matrix = open_source(path, features="a, a").load_features().matrix
    assert matrix.shape == (n, 1)
    assert matrix[-1, 0] > 100  # standardised: nearly all the rest is equal
    rows = [
        {"x1": int(v) if v == 0 else v, "x2": 0, "label": i % 2} for i, v in enumerate(x[-300:])
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert open_source(path).load_features().matrix[-1, 0] == 0.5


def test_a_csv_of_a_spreadsheet_elsewhere(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xef\xbb\xbflabel;x1;x2\r\na;1.5;2\r\nb;2.5;3\r\n")
    source = open_source(path)
    assert source.labels.tolist() == ["a", "b"]
    np.testing.assert_array_equal(source.load_features().matrix, [[1.5, 2], [2.5, 3]])


def test_huge_rows(tmp_path):
    """Rows of 200,000 numbers: 4 MB of text each."""
    d = 200_000
    row = np.linspace(0, 1, d, dtype=np.float32)
    table = pa.table({"v": [row, row], "label": ["a", "b"]})
    pq.write_table(table, tmp_path / "data.parquet")
    matrix = open_source(tmp_path / "data.parquet").load_features().matrix
    np.testing.assert_array_equal(matrix, [row, row])
    cell = json.dumps(row.tolist())
    (tmp_path / "data.csv").write_text(f'label,v\na,"{cell}"\nb,"{cell}"\n')
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.csv").load_features().matrix, [row, row]
    )
    (tmp_path / "data.jsonl").write_text(
        f'{{"label": "a", "v": {cell}}}\n{{"label": "b", "v": {cell}}}\n'
    )
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.jsonl").load_features().matrix, [row, row]
    )


# Labels and features in files of their own


@pytest.mark.parametrize("ending", [".npy", ".npz", ".txt", ".csv", ".tsv", ".parquet", ".jsonl"])
def test_labels_in_another_file(tmp_path, ending):
    path = write(numbers(label=[9] * 6), tmp_path / "data.csv")
    other = tmp_path / f"truth{ending}"
    labels = list("abcabc")
    if ending == ".npy":
        np.save(other, labels)
    elif ending == ".npz":
        np.savez(other, labels=labels)
    elif ending == ".txt":
        other.write_text("\n".join(labels) + "\n")
    else:
        write(pd.DataFrame({"anything": labels}), other)
    source = open_source(path, labels=str(other))
    assert source.labels.tolist() == labels
    assert source.load_features().matrix.shape == (N, 2)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".parquet", ".jsonl"])
def test_features_in_another_file(tmp_path, ending):
    path = write(numbers(label=range(N)), tmp_path / "data.csv")
    other = tmp_path / f"features{ending}"
    x = np.random.default_rng(0).random((N, 4)).astype(np.float32)
    if ending == ".npy":
        np.save(other, x)
    elif ending == ".npz":
        np.savez(other, x)
    else:
        write(pd.DataFrame(x.astype(float), columns=[f"d{i}" for i in range(4)]), other)
    matrix = open_source(path, features=str(other)).load_features().matrix
    np.testing.assert_allclose(matrix, x, rtol=1e-6)


# The copy with labels changed


def edit(label_from, keep, keep_clean=False) -> Edit:
    return Edit(np.array(label_from), np.array(keep, bool), keep_clean)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_copy_changes_labels_and_rows_alone(tmp_path, ending):
    frame = embeddings(
        label=["007", "b", "c", "007", "b", "c"], note=['say "x, y"', "", "é", "2\n3", "\t", "7.0"]
    )
    path = write(frame, tmp_path / f"data{ending}")
    copy = tmp_path / f"copy{ending}"
    written = open_source(path).write_edited(
        copy, edit([1, 1, 2, 3, 4, 0], [True, True, False, True, True, True], keep_clean=True)
    )
    assert written == (copy,)
    source = open_source(copy, labels="label")
    assert source.labels.tolist() == ["b", "b", "007", "b", "007"]
    assert source.clean_labels.tolist() == ["007", "b", "007", "b", "c"]
    kept = [0, 1, 3, 4, 5]
    expected = open_source(path).load_features().matrix[kept]
    np.testing.assert_array_equal(source.load_features().matrix, expected)
    notes = open_source(copy, labels="label", id="note").ids.tolist()
    assert [note or "" for note in notes] == [frame["note"][n] for n in kept]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_copy_without_changes_reads_the_same(tmp_path, ending):
    path = write(numbers(label=list("abcabc")), tmp_path / f"data{ending}")
    copy = tmp_path / f"copy{ending}"
    open_source(path).write_edited(copy, edit(range(N), [True] * N))
    if ending != ".parquet":
        assert copy.read_bytes() == path.read_bytes()
    else:
        assert pq.read_table(copy).equals(pq.read_table(path), check_metadata=True)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
        min_size=2,
        max_size=8,
    )
)
@example(["", "\r"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_any_text_survives_a_copy(tmp_path_factory, ending, texts):
    folder = tmp_path_factory.mktemp("copy")
    frame = pd.DataFrame({"label": ["a"] * len(texts), "note": texts, "x": range(len(texts))})
    path = write(frame, folder / f"data{ending}")
    if ending == ".csv":  # unquoted, a carriage return would end its row
        frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL)
    n = len(texts)
    open_source(path).write_edited(folder / f"copy{ending}", edit(range(n), [True] * n, True))
    before, after = (
        open_source(folder / f"{name}{ending}", labels="label", id="note").ids.tolist()
        for name in ("data", "copy")
    )
    assert before == after


def test_a_csv_keeps_its_ways(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xef\xbb\xbflabel;x\r\na;1\r\n\r\nb;2\r\n")
    open_source(path).write_edited(tmp_path / "copy.csv", edit([1, 1], [True, True]))
    assert (tmp_path / "copy.csv").read_bytes() == b"\xef\xbb\xbflabel;x\r\nb;1\r\nb;2\r\n"


def test_parquet_keeps_types_row_groups_and_compression(tmp_path):
    label = pd.Categorical(list("abcabc"), categories=list("cba"))
    frame = numbers(label=label, nested=[{"a": [1]}] * N)
    path = tmp_path / "data.parquet"
    frame.to_parquet(path, row_group_size=2, compression="gzip", index=False)
    copy = tmp_path / "copy.parquet"
    open_source(path).write_edited(copy, edit([1, *range(1, N)], [True] * 5 + [False]))
    old, new = pq.ParquetFile(path), pq.ParquetFile(copy)
    assert new.schema_arrow == old.schema_arrow
    assert new.metadata.row_group(0).column(0).compression == "GZIP"
    assert [new.metadata.row_group(i).num_rows for i in range(3)] == [2, 2, 1]
    assert pd.read_parquet(copy)["label"].tolist() == list("bbcab")


def test_labels_of_another_file_become_a_column(tmp_path):
    frame = pd.DataFrame({"x0": np.arange(4.0), "x1": np.arange(4.0)})
    np.save(tmp_path / "labels.npy", ["a", "b", "a", "b"])
    for ending in FORMATS:
        path = write(frame, tmp_path / f"data{ending}")
        source = open_source(path, labels=str(tmp_path / "labels.npy"))
        source.write_edited(tmp_path / f"copy{ending}", edit([1, 1, 2, 3], [1, 1, 1, 0]))
        assert open_source(tmp_path / f"copy{ending}").labels.tolist() == ["b", "b", "a"]
    path = write(frame.assign(label=0), tmp_path / "data.csv")
    source = open_source(path, labels=str(tmp_path / "labels.npy"))
    message = refused(lambda: source.write_edited(tmp_path / "x.csv", edit(range(4), [1] * 4)))
    assert message == (
        f"{path} has a column 'label' beside the labels in {tmp_path / 'labels.npy'}; "
        "rename it, the copy holds the labels there"
    )


def test_rows_dropped_are_dropped_from_a_feature_file_too(tmp_path):
    x = np.arange(12.0).reshape(6, 2)
    np.save(tmp_path / "x.npy", x)
    path = write(pd.DataFrame({"label": list("ababab")}), tmp_path / "data.csv")
    source = open_source(path, features=str(tmp_path / "x.npy"))
    written = source.write_edited(tmp_path / "copy.csv", edit(range(6), [1, 0, 1, 1, 1, 1]))
    assert written == (tmp_path / "copy.csv", tmp_path / "copy.features.npy")
    np.testing.assert_array_equal(np.load(written[1]), x[[0, 2, 3, 4, 5]])


def test_a_copy_has_the_format_of_its_source(tmp_path):
    path = write(numbers(label=list("ababab")), tmp_path / "data.csv")
    target = tmp_path / "copy.parquet"
    message = refused(
        lambda: open_source(path).write_edited(target, edit(range(N), [1] * N)), OutputError
    )
    assert message == f"cannot write {target}: a copy of {path} ends in .csv, too"


def test_a_dataset_is_corrupted_once(tmp_path):
    path = write(numbers(label=list("ababab"), clean_label=list("ababab")), tmp_path / "data.csv")
    message = refused(
        lambda: open_source(path).write_edited(
            tmp_path / "copy.csv", edit(range(N), [1] * N, keep_clean=True)
        )
    )
    assert message == (
        f"{path} has a column 'clean_label': its labels were corrupted on purpose before; "
        "start from the dataset as it was"
    )


def test_a_large_row_group_is_read_in_little_memory(tmp_path):
    cells = [np.random.default_rng(n).bytes(1 << 16) for n in range(1600)]  # 105 MB
    pq.write_table(pa.table({"image": cells, "label": ["a", "b"] * 800}), tmp_path / "a.parquet")
    code = (
        "import sys; from pathlib import Path; import pyarrow as pa\n"
        "from simifeat.io.parquet import ParquetFile\n"
        "n = sum(map(len, ParquetFile(Path(sys.argv[1])).contents('image')))\n"
        "print(n, pa.default_memory_pool().max_memory() >> 20)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.parquet"],
        capture_output=True,
        text=True,
        check=True,
    )
    n_bytes, peak = map(int, done.stdout.split())
    assert n_bytes == 1600 << 16
    assert peak < 200, f"{peak} MB for batches of 32 MB"
