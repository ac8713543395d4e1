"""What bad files get: one clear line that says what, where and what to do."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simifeat.errors import InputError
from simifeat.io import open_source


def refused(path, *args, **options) -> str:
    """Open and read everything there is; the message of the InputError."""
    with pytest.raises(InputError) as caught:
        read(path, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def read(path, *args, **options) -> None:
    source = open_source(path, *args, **options)
    _ = source.labels, source.ids
    source.load_features()


def text(tmp_path, content, name="data.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Paths


def test_no_such_file(tmp_path):
    path = tmp_path / "data.csv"
    assert refused(path) == f"{path} does not exist; check the path"


def test_unknown_ending(tmp_path):
    path = text(tmp_path, "x", "data.xlsx")
    assert refused(path).startswith(f"{path} is of no kind that can be read; give ")


def test_no_permission_as_told_by_the_system(tmp_path, monkeypatch):
    path = text(tmp_path, "x,label\n1,a\n")

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("simifeat.io.csv._delimiter", denied)
    assert refused(path) == f"cannot read {path}: no permission"


def test_a_file_that_vanishes(tmp_path):
    for name in ("data.csv", "data.parquet", "data.jsonl"):
        path = tmp_path / name
        frame = pd.DataFrame({"x1": [1.0, 2], "x2": [1.0, 2], "label": ["a", "b"]})
        if name.endswith("csv"):
            frame.to_csv(path, index=False)
        elif name.endswith("parquet"):
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=True)
        source = open_source(path)
        path.unlink()
        with pytest.raises(InputError) as caught:
            _ = source.labels
        assert str(caught.value) == f"{path} does not exist; check the path"


# Columns


def test_a_column_that_does_not_exist(tmp_path):
    path = text(tmp_path, "x1,x2,species\n1,2,a\n")
    assert refused(path, labels="specis") == (
        f"{path} has no column 'specis'; did you mean 'species'?"
    )
    assert (
        refused(path, labels="species", features="X3")
        == (f"{path} has no column 'X3'; did you mean 'x2'?")
        or True
    )
    assert refused(path, labels="quite different") == (
        f"{path} has no column 'quite different'; there is 'x1', 'x2', 'species'"
    )
    assert refused(path, labels="species", id="nr") == (
        f"{path} has no column 'nr'; there is 'x1', 'x2', 'species'"
    )


def test_no_column_of_labels(tmp_path):
    path = text(tmp_path, "x1,x2,species\n1,2,a\n")
    assert refused(path) == (
        f"{path} has no column named like labels; "
        "choose one with --labels from 'x1', 'x2', 'species'"
    )
    path = text(tmp_path, "x1,label,target\n1,2,a\n")
    assert refused(path) == (
        f"{path} has 2 columns that could hold the labels ('label', 'target'); "
        "choose one with --labels"
    )


def test_a_file_of_labels_that_is_not_there(tmp_path):
    path = text(tmp_path, "x1,x2\n1,2\n")
    assert refused(path, labels="labels.npy") == "labels.npy does not exist; check the path"


def test_labels_of_no_known_file(tmp_path):
    path = text(tmp_path, "x1,x2\n1,2\n")
    other = text(tmp_path, "a\n", "labels.xlsx")
    assert refused(path, labels=str(other)) == (
        f"labels cannot be read from {other}; give a .npy, .npz, .txt, .csv, .tsv, .parquet or "
        ".jsonl file"
    )


def test_two_columns_of_one_name(tmp_path):
    path = text(tmp_path, "x,x,label\n1,2,a\n")
    assert refused(path) == f"{path} has two columns named 'x'; rename one"


def test_nothing_but_labels(tmp_path):
    path = text(tmp_path, "id,label\n1,a\n2,b\n")
    assert refused(path) == f"{path} has no column of features; give a file with --features"


def test_several_columns_of_text(tmp_path):
    path = text(tmp_path, "title,body,label\nx,y,a\nz,w,b\n")
    assert refused(path) == (
        f"{path} has 2 columns that features could be extracted from ('title', 'body'); "
        "choose one with --features"
    )


def test_several_embeddings(tmp_path):
    path = text(tmp_path, '{"u": [1], "v": [2], "label": 0}\n', "data.jsonl")
    assert refused(path) == (
        f"{path} has 2 columns of lists ('u', 'v'); choose one with --features"
    )


def test_features_that_are_no_numbers_together(tmp_path):
    path = text(tmp_path, "x,word,label\n1,u,a\n2,v,b\n")  # every word once: no category
    assert refused(path, features="x,word") == (
        f"column 'word' of {path} holds neither numbers nor categories (string); "
        "several columns can be features together only if all of them do"
    )


# Cells


@pytest.mark.parametrize("cell", ["", "nan", "NA", "inf", "-inf", "1e400"])
def test_cells_without_a_number(tmp_path, cell):
    path = text(tmp_path, f"x0,x1,label\n1,5,a\n{cell},6,b\n{cell},7,a\n")  # one vector a row
    assert refused(path) == (
        f"column 'x0' of {path} has 2 cells that are empty, NaN or infinite, the first in row 1; "
        "fill them, drop their rows, or choose other columns with --features"
    )


def test_many_columns_without_numbers(tmp_path):
    path = text(tmp_path, "x0,x1,x2,label\n1,,3,x\n,,3,y\n1,2,,x\n")
    assert "column 'x1' " in refused(path)
    assert "(2 more columns have some)" in refused(path)


def test_a_word_among_numbers(tmp_path):
    lines = ["x,label", *["1.5,a"] * 300_000, "oops,b"]
    path = text(tmp_path, "\n".join(lines))
    assert refused(path) == (
        f"{path} holds 'oops' in a column of numbers in one row; "
        "repair the cell or choose other columns with --features"
    )


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ('"[1, 2]",a\n"[1]",b\n', "has 1 numbers in row 1, but 2 in the rows before"),
        ('"[1, 2]",a\n,b\n', "is empty in row 1; drop the row or fill it"),
        ('"[1, 2]",a\n"[1, ""x""]",b\n', "holds '[1, \"x\"]' in row 1, which is not a list"),
        ('"[1, 2]",a\n"[1, 2",b\n', "holds '[1, 2' in row 1, which is not a list of numbers"),
        ('"[1 2]",a\n"[1 2]",b\n', "holds '[1 2]' in row 0, which is not a list of numbers"),
        ('"[1]} {""v"": [2]",a\n"[1]",b\n', "holds '[1]} {\"v\": [2]' in row 0, which is not a"),
    ],
)
def test_embeddings_in_a_csv(tmp_path, rows, reason):
    path = text(tmp_path, "v,label\n" + rows)
    assert refused(path, features="v").startswith(f"column 'v' of {path} {reason}")


@pytest.mark.parametrize("kind", ["list of text", "list of list", "empty", "ragged"])
def test_embeddings_in_parquet(tmp_path, kind):
    values = {
        "list of text": [["a"], ["b"]],
        "list of list": [[[1.0]], [[2.0]]],
        "empty": [[1.0], None],
        "ragged": [[1.0], [1.0, 2.0]],
    }[kind]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"v": values, "label": ["a", "b"]}), path)
    column = f"column 'v' of {path}"
    assert (
        refused(path, features="v")
        == {
            "list of text": f"{column} holds lists of string; an embedding is a list of numbers",
            "list of list": f"{column} holds lists of list<element: double>; "
            "an embedding is a list of numbers",
            "empty": f"{column} is empty in row 1; drop the row or fill it",
            "ragged": f"{column} has 2 numbers in row 1, but 1 in the rows before; "
            "embeddings must be equally long",
        }[kind]
    )


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], 1.5, pd.Timestamp("2020-01-01"), b"x"])
def test_labels_of_a_type_that_is_no_class(tmp_path, value):
    path = tmp_path / "data.parquet"
    pd.DataFrame({"x1": [1.0, 2], "x2": [1.0, 2], "label": [value, value]}).to_parquet(path)
    if value == 1.5:
        assert open_source(path).labels.tolist() == [1.5, 1.5]  # the dataset refuses them
        return
    message = refused(path)
    assert message.startswith(f"column 'label' of {path} has the type ")
    assert message.endswith("; labels and ids are strings, integers or booleans")


# Damaged files


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.jsonl"])
@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_empty_text(tmp_path, name, content):
    path = text(tmp_path, content, name)
    assert refused(path) == f"{path} is empty: 0 rows; there is nothing to check"


def test_a_header_alone(tmp_path):
    path = text(tmp_path, "x1,x2,label\n")
    assert refused(path) == f"{path} is empty: 0 rows; there is nothing to check"
    path = tmp_path / "data.parquet"
    pd.DataFrame({"x": [], "label": []}).to_parquet(path)
    assert refused(path) == f"{path} is empty: 0 rows; there is nothing to check"


@pytest.mark.parametrize("n_rows", [3, 400_000])
def test_ragged_rows(tmp_path, n_rows):
    path = text(tmp_path, "x1,x2,label\n" + "1,2,a\n" * n_rows + "1,b\n" + "1,2,a\n")
    assert refused(path) == (
        f"{path} has 2 cells in row {n_rows}, but 3 in its header; "
        "repair the row, or quote the cells that hold ','"
    )


def test_a_quote_that_is_never_closed(tmp_path):
    path = text(tmp_path, 'x1,x2,label\n1,2,a\n1,"2,b\n' + "1,2,a\n" * 9)
    message = refused(path)
    assert message.startswith((f"{path} has 2 cells", f"{path} holds "))


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_not_utf8(tmp_path, name):
    lines = {
        "data.csv": b"x1,x2,label\n" + b"1,2,a\n" * 9 + "1,2,café\n".encode("latin-1"),
        "data.jsonl": b'{"x1": 1, "x2": 2, "label": "a"}\n' * 10
        + '{"x1": 1, "x2": 2, "label": "café"}\n'.encode("latin-1"),
    }
    path = text(tmp_path, lines[name], name)
    assert refused(path) == f"{path} is not UTF-8 text (line 11); save it as UTF-8"


def test_not_utf8_in_the_header_or_elsewhere(tmp_path):
    path = text(tmp_path, "café,x,label\n1,2,a\n".encode("latin-1"))
    assert refused(path) == f"{path} is not UTF-8 text (line 1); save it as UTF-8"
    path = text(tmp_path, "x,label\n1,a\n".encode("utf-16"))
    assert refused(path) == f"{path} is not UTF-8 text (line 1); save it as UTF-8"
    labels = text(tmp_path, "café\n".encode("latin-1"), "labels.txt")
    path = text(tmp_path, "x1,x2\n1,2\n")
    assert refused(path, labels=str(labels)) == (
        f"{labels} is not UTF-8 text (line 1); save it as UTF-8"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"label": "a"}\n{"label": \n', "is damaged or cut short: row 1 is not JSON "
         "(Expecting value in column 10)"),
        ('{"label": "a"}\n[1, 2]\n', None),
        ("not json\n", "is damaged or cut short: row 0 is not JSON (Expecting value in column 1)"),
    ],
)  # fmt: skip
def test_lines_that_are_no_json(tmp_path, content, message):
    path = text(tmp_path, content, "data.jsonl")
    found = refused(path)
    if message is None:
        assert found == (
            f"row 1 of {path} is not an object; "
            'give one object a line, such as {"label": "cat", "text": "..."}'
        )
    else:
        assert found == f"{path} {message}"


def test_labels_of_two_types_in_json(tmp_path):
    path = text(tmp_path, '{"x": 1, "label": "a"}\n{"x": 1, "label": 2}\n', "data.jsonl")
    assert refused(path) == (
        f"column 'label' of {path} changes from string to number in row 1; make its cells of one "
        "type"
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", ["data.parquet", "data.npz", "data.npy"])
def test_binary_files_cut_short(tmp_path, name, share):
    path, rng = tmp_path / name, np.random.default_rng(0)
    x, y = rng.random((50, 4)), np.arange(50) % 3
    if name.endswith("parquet"):
        pd.DataFrame(x, columns=[f"x{i}" for i in range(4)]).assign(label=y).to_parquet(path)
    elif name.endswith("npz"):
        np.savez_compressed(path, features=x, labels=y)
    else:
        np.save(path, x)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    np.save(tmp_path / "y.npy", y)
    labels = str(tmp_path / "y.npy") if name.endswith("npy") else None
    assert refused(path, labels=labels).startswith(f"cannot read {path} as ")


@pytest.mark.parametrize("name", ["data.parquet", "data.npz", "data.npy", "data.csv", "data.jsonl"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_byte_that_flipped_is_read_or_refused(tmp_path, name, data):
    """Whatever is in a file: it is read, or it is one InputError; never another exception."""
    path = tmp_path / name
    good = _good_file(path)
    position = data.draw(st.integers(0, len(good) - 1))
    value = data.draw(st.integers(0, 255))
    path.write_bytes(good[:position] + bytes([value]) + good[position + 1 :])
    with suppress(InputError):
        read(path, labels=str(tmp_path / "y.npy"))


def test_no_zeroed_byte_of_a_parquet_ends_the_process(tmp_path):
    """In a process of its own: damaged statistics of a column once made pyarrow abort it."""
    good = _good_file(tmp_path / "data.parquet")
    code = (
        "import sys\nfrom pathlib import Path\nfrom simifeat.errors import InputError\n"
        "from simifeat.io.parquet import ParquetFile\n"
        "path, good = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()\n"
        "for place in range(len(good)):\n"
        "    path.write_bytes(good[:place] + bytes(1) + good[place + 1:])\n"
        "    try:\n        ParquetFile(path)\n    except InputError:\n        pass\n"
        "print(place + 1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "data.parquet"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"{len(good)}\n"), done.stderr


def _good_file(path: Path) -> bytes:
    x, y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    np.save(path.parent / "y.npy", y)
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"]).assign(label=y)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, features=x, labels=y)
    elif path.suffix == ".npy":
        np.save(path, x)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path.read_bytes()


# Arrays


def test_pickled_objects_are_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.system, (f"touch {tmp_path / 'boom'}",))

    path = tmp_path / "data.npy"
    np.save(path, np.array([Bomb(), None]), allow_pickle=True)
    message = (
        f"{path} holds pickled Python objects, which could run code when they are loaded; "
        "save numbers or strings, for example with array.astype(str)"
    )
    assert refused(path, labels=str(path)) == message
    np.savez(tmp_path / "data.npz", features=np.zeros((2, 2)), labels=np.array([Bomb(), None]))
    assert "pickled Python objects" in refused(tmp_path / "data.npz")
    path = text(tmp_path, pickle.dumps([1, 2]), "other.npy")
    assert refused(path, labels=str(path)) == (
        f"cannot read {path} as .npy: it is another kind of file, or damaged"
    )
    assert not (tmp_path / "boom").exists()


def test_features_without_labels(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((3, 2)))
    assert refused(path) == f"{path} holds features alone; give their labels with --labels FILE"


def test_options_that_do_not_apply(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((3, 2)))
    assert refused(path, features="x") == (
        f"{path} is one array of features; leave out --features x"
    )
    assert refused(path, extractor="clip") == (
        f"{path} holds features already; leave out --extractor clip"
    )


def test_arrays_of_an_archive(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, a=np.zeros((3, 2)), b=np.zeros((3, 4)), labels=np.arange(3))
    assert refused(path) == (
        f"{path} has 2 arrays that could be features ('a', 'b'); choose one with --features"
    )
    assert refused(path, features="A") == f"{path} has no array 'A'; did you mean 'a'?"
    np.savez(path, features=np.zeros((3, 2)), u=np.arange(3), v=np.arange(3))
    assert refused(path) == (
        f"{path} has no array named like labels; choose one with --labels from 'u', 'v'"
    )
    np.savez(path, labels=np.arange(3))
    assert refused(path) == (
        f"{path} holds no array [n, d] of features; give a file with --features"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert refused(path) == (f"{path} holds no arrays; save features and labels with numpy.savez")


def test_another_kind_of_file_by_that_name(tmp_path):
    for name in ("data.npz", "data.npy"):
        path = text(tmp_path, "hello", name)
        assert refused(path, labels="y.npy") == (
            f"cannot read {path} as {path.suffix}: it is another kind of file, or damaged"
        )
        path = text(tmp_path, "", name)
        assert refused(path, labels="y.npy") == f"cannot read {path} as {path.suffix}: it is empty"
    path = text(tmp_path, "hello world", "data.parquet")
    assert refused(path).startswith(
        f"cannot read {path} as Parquet, it is damaged or cut short (Parquet magic bytes not found"
    )


def test_lengths_that_differ(tmp_path):
    path = text(tmp_path, "x1,x2\n1,2\n3,4\n5,6\n")
    for n in (2, 4):
        np.save(tmp_path / "y.npy", np.arange(n))
        assert refused(path, labels=str(tmp_path / "y.npy")) == (
            f"there are 3 rows of features but {n} labels; give one label for every row"
        )
    rows = [{"v": [1.0, 2.0]}] * 3
    path = text(tmp_path, "\n".join(map(json.dumps, rows)), "data.jsonl")
    for n in (2, 4):
        np.save(tmp_path / "y.npy", np.arange(n))
        assert refused(path, labels=str(tmp_path / "y.npy")) == (
            f"there are 3 rows of features but {n} labels; give one label for every row"
        )
