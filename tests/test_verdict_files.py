from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simifeat.errors import InputError, OutputError
from simifeat.transition import Transition
from simifeat.verdict_files import load_verdicts, metadata_path, save_verdicts
from simifeat.verdicts import COLUMNS, Verdicts

ENDINGS = [".parquet", ".csv", ".jsonl"]


def make_verdicts(labels, ids=None, seed=0, **changes) -> Verdicts:
    labels = np.asarray(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    n, k = len(labels), len(classes)
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(k), size=k)
    prior = rng.dirichlet(np.ones(k))
    flags = rng.random(n) < 0.5
    values = {
        "ids": np.arange(n) if ids is None else np.asarray(ids),
        "labels": labels,
        "is_corrupted": flags,
        "score": rng.random(n, dtype=np.float32),
        "p_corrupted": rng.random(n, dtype=np.float32),
        "flag_rate": rng.random(n, dtype=np.float32),
        "suggested": classes[np.where(flags, (codes + 1) % k, codes)],
        "classes": classes,
        "transition": Transition(
            matrix=matrix,
            prior=prior,
            label_frequency=np.bincount(codes) / n,
            method="ml",
            loss=float(rng.random()),
            n_triples=n,
            classes=classes,
        ),
        "metadata": {"version": "0.1.0", "settings": {"k": 10, "max_rows": None}, "recall": 0.1},
    }
    return Verdicts(**{**values, **changes})


def assert_same(left, right, where="verdicts") -> None:
    for item in dataclasses.fields(left):
        a, b = getattr(left, item.name), getattr(right, item.name)
        name = f"{where}.{item.name}"
        if dataclasses.is_dataclass(a):
            assert_same(a, b, name)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, name
            assert [type(x) for x in a.ravel().tolist()] == [type(x) for x in b.ravel().tolist()]
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            assert a == b or (a != a and b != b), name


def objects(values) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


LABELS = {
    "int64": np.array([3, -1, 3, 2**62]),
    "int8": np.array([3, -1, 3, 7], np.int8),
    "uint64": np.array([0, 2**64 - 1, 5, 5], np.uint64),
    "big-endian": np.array([3, 1, 3, 1], ">i4"),
    "bool": np.array([True, False, True, True]),
    "float64": np.array([1.0, 2.0, 1.0, 1e300]),
    "float32": np.array([1.0, 2.0, 1.0, 1e30], np.float32),
    "text": objects(["a", "007", "NA", "a"]),
    "fixed-width text": np.array(["a", "bcd", "bcd", "é"]),
    "awkward text": objects(["", 'say "a, b"', "two\nlines\r\nhere", "=1+1"]),
    "looks like other types": objects(["1", "true", "2020-01-01", "null"]),
    "python ints": objects([1, 2, 1, 2]),
    "python bools": objects([True, False, True, True]),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", LABELS)
def test_what_is_saved_is_loaded(tmp_path, ending, kind):
    verdicts = make_verdicts(LABELS[kind])
    path = tmp_path / f"out{ending}"
    verdicts.save(path)
    loaded = Verdicts.load(path)
    if kind == "big-endian":
        np.testing.assert_array_equal(loaded.labels, verdicts.labels)
        assert loaded.labels.dtype == np.dtype("<i4")
    else:
        assert_same(verdicts, loaded)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", LABELS)
def test_ids_come_back_as_they_were(tmp_path, ending, kind):
    if kind == "big-endian":
        pytest.skip("loaded as little-endian, see the labels")
    verdicts = make_verdicts([0, 1, 0, 1], ids=LABELS[kind])
    save_verdicts(verdicts, tmp_path / f"out{ending}")
    assert_same(verdicts, load_verdicts(tmp_path / f"out{ending}"))


FLOAT = st.floats(width=32, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=60, deadline=None)
@given(score=st.lists(FLOAT, min_size=2, max_size=6), texts=st.lists(TEXT, min_size=2, max_size=6))
def test_every_float_and_every_text_survives(tmp_path_factory, ending, score, texts):
    n = max(len(score), len(texts))
    numbers = np.resize(np.array(score, np.float32), n)
    verdicts = make_verdicts(
        np.arange(n) % 2, ids=objects([texts[i % len(texts)] for i in range(n)]), score=numbers
    )
    path = tmp_path_factory.mktemp("verdicts") / f"out{ending}"
    save_verdicts(verdicts, path)
    assert_same(verdicts, load_verdicts(path))


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_in_order_for_other_readers(tmp_path, ending):
    verdicts = make_verdicts(LABELS["text"])
    path = tmp_path / f"out{ending}"
    save_verdicts(verdicts, path)
    read = {".parquet": pandas.read_parquet, ".csv": pandas.read_csv, ".jsonl": _read_jsonl}[ending]
    options = {"keep_default_na": False} if ending == ".csv" else {}
    frame = read(path, **options)
    assert tuple(frame.columns) == COLUMNS
    assert frame["label"].tolist() == ["a", "007", "NA", "a"]
    assert frame["is_corrupted"].tolist() == verdicts.is_corrupted.tolist()
    np.testing.assert_array_equal(frame["score"].astype(np.float32), verdicts.score)


def _read_jsonl(path):
    return pandas.DataFrame([json.loads(line) for line in path.read_text().splitlines()])


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_verdicts_are_the_same_bytes(tmp_path, ending):
    for name in ("a", "b"):
        save_verdicts(make_verdicts(LABELS["text"]), tmp_path / f"{name}{ending}")
    for tail in ("", ".json"):
        first, second = (tmp_path / f"{name}{ending}{tail}" for name in ("a", "b"))
        assert _digest(first) == _digest(second)


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_metadata_stands_beside_and_within(tmp_path):
    path = tmp_path / "out.parquet"
    save_verdicts(make_verdicts([0, 1, 1]), path)
    assert metadata_path(path) == tmp_path / "out.parquet.json"
    record = json.loads(metadata_path(path).read_text())
    assert record["format"] == "simifeat verdicts"
    assert record["n_examples"] == 3
    assert record["metadata"]["settings"] == {"k": 10, "max_rows": None}
    assert pq.read_schema(path).metadata[b"simifeat"] == metadata_path(path).read_bytes()


def test_parquet_travels_alone(tmp_path):
    verdicts = make_verdicts([0, 1, 1])
    path = tmp_path / "out.parquet"
    save_verdicts(verdicts, path)
    metadata_path(path).unlink()
    assert_same(verdicts, load_verdicts(path))


@pytest.mark.parametrize("ending", ENDINGS)
def test_many_classes_keep_their_transition_in_little_space(tmp_path, ending):
    verdicts = make_verdicts(np.arange(300))
    path = tmp_path / f"out{ending}"
    save_verdicts(verdicts, path)
    assert_same(verdicts, load_verdicts(path))
    assert metadata_path(path).stat().st_size < 300 * 300 * 13


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
def test_metadata_is_standard_json_even_without_numbers(tmp_path, loss):
    verdicts = make_verdicts([0, 1])
    verdicts = dataclasses.replace(
        verdicts, transition=dataclasses.replace(verdicts.transition, loss=loss)
    )
    path = tmp_path / "out.csv"
    save_verdicts(verdicts, path)
    json.loads(metadata_path(path).read_text(), parse_constant=lambda name: pytest.fail(name))
    assert_same(verdicts, load_verdicts(path))


def test_identity_reasons_survive(tmp_path):
    verdicts = make_verdicts([0, 1])
    verdicts = dataclasses.replace(
        verdicts,
        transition=dataclasses.replace(
            verdicts.transition, identifiable=False, reasons=("too few rows", "one class")
        ),
    )
    save_verdicts(verdicts, tmp_path / "out.parquet")
    assert load_verdicts(tmp_path / "out.parquet").transition.reasons == (
        "too few rows",
        "one class",
    )


# What goes wrong


def refused(kind, action) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_unknown_ending(tmp_path):
    path = tmp_path / "out.xlsx"
    verdicts = make_verdicts([0, 1])
    assert refused(OutputError, lambda: save_verdicts(verdicts, path)) == (
        f"cannot write {path}: a verdict file ends in .parquet, .csv, .jsonl"
    )
    assert refused(InputError, lambda: load_verdicts(path)) == (
        f"cannot read {path}: a verdict file ends in .parquet, .csv, .jsonl"
    )


def test_metadata_never_replaces_a_file_of_somebody_else(tmp_path):
    path, beside = tmp_path / "out.parquet", tmp_path / "out.parquet.json"
    beside.write_text('{"mine": true}')
    message = refused(OutputError, lambda: save_verdicts(make_verdicts([0, 1]), path))
    assert message == (
        f"cannot write {path}: its metadata would replace {beside}, "
        "which simifeat did not write; choose another name"
    )
    assert beside.read_text() == '{"mine": true}'
    assert not path.exists()


def test_saving_again_replaces_both(tmp_path):
    path = tmp_path / "out.csv"
    save_verdicts(make_verdicts([0, 1]), path)
    verdicts = make_verdicts(["x", "y", "x"])
    save_verdicts(verdicts, path)
    assert_same(verdicts, load_verdicts(path))


@pytest.mark.parametrize("ending", ENDINGS)
def test_missing_file(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    message = refused(InputError, lambda: load_verdicts(path))
    assert message == f"{path} does not exist; check the path"


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_text_without_its_metadata(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    save_verdicts(make_verdicts([0, 1]), path)
    metadata_path(path).unlink()
    assert refused(InputError, lambda: load_verdicts(path)) == (
        f"{path}.json is missing: it holds what belongs to the verdicts in {path}; "
        "keep the two files together"
    )


def test_a_parquet_of_something_else(tmp_path):
    path = tmp_path / "out.parquet"
    pandas.DataFrame({"a": [1]}).to_parquet(path)
    assert refused(InputError, lambda: load_verdicts(path)) == (
        f"{path} holds no verdicts; give a file that simifeat detect wrote"
    )


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_text_file_cut_at_a_line(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    save_verdicts(make_verdicts([0, 1, 0, 1]), path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert refused(InputError, lambda: load_verdicts(path)) == (
        f"{path} has 3 rows, but 4 were written; it was edited or cut short: run detect again"
    )


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.97])
def test_a_file_cut_anywhere_is_one_line(tmp_path, ending, share):
    path = tmp_path / f"out{ending}"
    save_verdicts(make_verdicts([0, 1, 0, 1]), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert refused(InputError, lambda: load_verdicts(path)).startswith(
        (f"cannot read {path} as ", f"{path} has ")
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}', '{"format": 1e999}'])
def test_damaged_metadata_is_one_line(tmp_path, text):
    path = tmp_path / "out.csv"
    save_verdicts(make_verdicts([0, 1]), path)
    metadata_path(path).write_text(text)
    assert str(path) in refused(InputError, lambda: load_verdicts(path))


def test_a_later_version_is_said(tmp_path):
    path = tmp_path / "out.csv"
    save_verdicts(make_verdicts([0, 1]), path)
    beside = metadata_path(path)
    text = beside.read_text().replace('"format_version": 1', '"format_version": 99')
    beside.write_text(text)
    assert refused(InputError, lambda: load_verdicts(path)) == (
        f"{beside} was written by a later version of simifeat; update: pip install -U simifeat"
    )


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (
            objects([1, "a"]),
            "a verdict file cannot hold the column 'id' as it is (types int, str); "
            "make it all strings, integers or booleans",
        ),
        (
            np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
            "a verdict file cannot hold the column 'id' as it is (datetime64[D]); "
            "make it all strings, integers or booleans",
        ),
    ],
)
def test_ids_that_no_file_can_hold(tmp_path, ids, message):
    verdicts = make_verdicts([0, 1], ids=ids)
    path = tmp_path / "out.parquet"
    assert refused(OutputError, lambda: save_verdicts(verdicts, path)) == message
    assert list(tmp_path.iterdir()) == []


def test_integers_beyond_64_bits(tmp_path):
    verdicts = make_verdicts([0, 1], ids=objects([1, 2**70]))
    message = refused(OutputError, lambda: save_verdicts(verdicts, tmp_path / "out.parquet"))
    assert message.startswith("a verdict file cannot hold the column 'id' as it is (")
    assert message.endswith("; make it all strings")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_disk_that_fills_leaves_the_earlier_files(tmp_path, ending, monkeypatch):
    path = tmp_path / f"out{ending}"
    earlier = make_verdicts([0, 1])
    save_verdicts(earlier, path)
    _fail_on_sync(monkeypatch)
    message = refused(OutputError, lambda: save_verdicts(make_verdicts(["x", "y"]), path))
    assert message == (
        f"cannot write {path}: the disk or the quota is full; free some space or "
        "choose another place"
    )
    assert_same(earlier, load_verdicts(path))
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, f"{path.name}.json"]


def _fail_on_sync(monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("simifeat.io.atomic.os.fsync", full)


def test_no_folder_to_write_to(tmp_path):
    path = Path(tmp_path / "nowhere" / "out.parquet")
    message = refused(OutputError, lambda: save_verdicts(make_verdicts([0, 1]), path))
    assert message == (f"cannot write {path}: there is no directory {path.parent}; make it first")
