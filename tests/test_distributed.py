from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import simifeat
from scaled import blobs, write_npy, write_parquet
from simifeat.cli import main
from simifeat.distributed import detect_files
from simifeat.distributed.cost import Budget, Size
from simifeat.distributed.inputs import BadShard
from simifeat.distributed.stages import STAGES
from simifeat.errors import InputError, OutputError
from simifeat.verdicts import Verdicts

N = 4000


@pytest.fixture(scope="module")
def data():
    return blobs(N)


@pytest.fixture(scope="module")
def shards(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    return write_parquet(folder, *data, 5)


@pytest.fixture(scope="module")
def whole(shards, tmp_path_factory):
    """The bytes of an uninterrupted run's verdicts."""
    folder = tmp_path_factory.mktemp("whole")
    return saved(detect_files(shards, folder / "work"), folder)


def saved(verdicts, folder):
    verdicts.save(folder / "saved.parquet")
    return (folder / "saved.parquet").read_bytes()


def same(one, other):
    for name in ("is_corrupted", "p_corrupted", "score", "suggested"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def small(monkeypatch, part_bytes=1 << 14, search_bytes=1 << 17):
    """Many small parts and groups, as a narrow memory would make them."""
    tight = Budget(2, part_bytes, search_bytes)
    monkeypatch.setattr(Budget, "fit", classmethod(lambda *_: tight))


# The same answer


@pytest.mark.parametrize("choices", [{}, {"method": "rank", "k": 5}, {"metric": "euclidean"}])
def test_files_are_judged_as_arrays_are(data, tmp_path, monkeypatch, choices):
    small(monkeypatch)
    features, labels = data
    path, beside = write_npy(tmp_path, features, labels)
    found = detect_files(path, tmp_path / "work", labels=beside, seed=3, **choices)
    same(
        found,
        simifeat.detect(features, labels, engine="approximate", seed=3, **choices),
    )
    assert found.metadata["kept_apart"]["n_with_kin"] == 20
    assert not (tmp_path / "work").exists()


def test_copies_vote_where_they_are_told_to(data, tmp_path):
    features, labels = data
    path, beside = write_npy(tmp_path, features, labels)
    found = detect_files(path, tmp_path / "work", labels=beside, duplicates="vote")
    same(
        found,
        simifeat.detect(features, labels, engine="approximate", duplicates="vote"),
    )


def test_groups_are_kept_apart(data, tmp_path, monkeypatch):
    small(monkeypatch)
    features, labels = data
    groups = np.arange(N) // 3
    path, beside = write_npy(tmp_path, features, labels)
    np.save(tmp_path / "g.npy", groups)
    found = detect_files(
        path, tmp_path / "work", labels=beside, groups=str(tmp_path / "g.npy"), method="vote"
    )
    same(
        found,
        simifeat.detect(features, labels, engine="approximate", groups=groups, method="vote"),
    )


def test_memory_and_threads_change_no_byte(shards, whole, tmp_path, monkeypatch):
    small(monkeypatch)
    assert saved(detect_files(shards, tmp_path / "work"), tmp_path) == whole
    small(monkeypatch, 1 << 16, 1 << 20)
    assert saved(detect_files(shards, tmp_path / "work", n_threads=1), tmp_path) == whole


def test_arrow_files_are_read_as_parquet_is(data, whole, tmp_path):
    features, labels = data
    table = pa.table(
        {
            "id": [f"row-{i}" for i in range(N)],
            "embedding": list(features),
            "label": labels,
        }
    )
    with pa.ipc.new_file(str(tmp_path / "all.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=700)
    assert saved(detect_files(str(tmp_path / "all.arrow"), tmp_path / "work"), tmp_path) == whole


# Stopped and started again


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_goes_on_in_the_stage_it_was_stopped_in(shards, whole, tmp_path, monkeypatch, stage):
    small(monkeypatch)

    class Stop(Exception):
        pass

    def stop(name, done, _):
        if name == stage:
            raise Stop

    with pytest.raises(Stop):
        detect_files(shards, tmp_path / "work", progress=stop)
    told, stages = [], []
    found = detect_files(
        shards,
        tmp_path / "work",
        note=told.append,
        progress=lambda name, done, total: stages.append((name, done)),
    )
    assert told == [f"going on with the run in {tmp_path / 'work'}"]
    assert list(STAGES)[list(STAGES).index(stage) - 1] not in {name for name, _ in stages} or (
        stage == "read"
    )
    assert saved(found, tmp_path) == whole


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_bytes(data, tmp_path):
    features, labels = blobs(12_000, d=48)
    path, beside = write_npy(tmp_path, features, labels)
    command = [sys.executable, "-m", "simifeat", "detect", path, "--labels", beside]
    command += ["--memory", "1GB", "-o", str(tmp_path / "out.parquet")]
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.monotonic() - began
    whole = (tmp_path / "out.parquet").read_bytes()
    (tmp_path / "out.parquet").unlink()
    rng = random.Random(0)
    for _ in range(5):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 0.9) * seconds)
        running.send_signal(signal.SIGKILL)
        running.wait()
        if (tmp_path / "out.parquet").exists():
            assert (tmp_path / "out.parquet").read_bytes() == whole
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "out.parquet").read_bytes() == whole
    assert sorted(os.listdir(tmp_path)) == [
        "out.nearest.npz",
        "out.parquet",
        "out.parquet.json",
        "x.npy",
        "y.npy",
    ]


def test_other_settings_or_data_start_anew(data, tmp_path):
    features, labels = data
    path, beside = write_npy(tmp_path, features, labels)
    told = []
    run = {"labels": beside, "note": told.append, "keep": True}
    detect_files(path, tmp_path / "work", **run)
    first = detect_files(path, tmp_path / "work", **run)
    assert len(told) == 1
    detect_files(path, tmp_path / "work", seed=1, **run)
    detect_files(path, tmp_path / "work", fresh=True, **run)
    np.save(path, features * np.linspace(0.5, 2, features.shape[1], dtype=np.float32))
    other = detect_files(path, tmp_path / "work", **run)
    assert len(told) == 1
    assert not np.array_equal(first.p_corrupted, other.p_corrupted)


def test_a_folder_with_other_files_is_left_alone(data, tmp_path):
    path, beside = write_npy(tmp_path, *data)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("all of it")
    with pytest.raises(OutputError, match="it holds other files; name another folder"):
        detect_files(path, tmp_path / "work", labels=beside)
    assert (tmp_path / "work" / "thesis.txt").read_text() == "all of it"


def test_what_was_killed_before_its_key_was_written_is_no_other_file(data, tmp_path):
    path, beside = write_npy(tmp_path, *data)
    (tmp_path / "work").mkdir()
    for name in (".simifeat-0123456789ab.tmp", "read-000000.npz", "rows"):
        (tmp_path / "work" / name).write_bytes(b"cut")
    detect_files(path, tmp_path / "work", labels=beside)
    assert not (tmp_path / "work").exists()


# Bad shards


@pytest.fixture
def broken(data, tmp_path):
    """Shards of which one has a page that was damaged after it was written."""
    pattern = write_parquet(tmp_path, *data, 5)
    path = tmp_path / "part-002.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(bytes(content))
    return pattern, path


def test_a_damaged_shard_is_named(broken, tmp_path):
    pattern, _path = broken
    with pytest.raises(BadShard, match=r"part-002\.parquet"):
        detect_files(pattern, tmp_path / "work")


def test_a_damaged_shard_is_left_out_on_request(data, broken, tmp_path):
    pattern, path = broken
    told = []
    found = detect_files(pattern, tmp_path / "work", skip_bad=True, note=told.append)
    assert len(told) == 1
    assert told[0].startswith("left out: ")
    assert str(path) in told[0]
    assert found.n_examples == N * 4 // 5
    assert not set(found.ids) & {f"row-{i}" for i in range(1600, 2400)}


def test_a_number_that_is_none_is_named_by_file_and_row(data, tmp_path):
    features, labels = data
    features = features.copy()
    features[1234, 3] = np.nan
    path, beside = write_npy(tmp_path, features, labels)
    with pytest.raises(BadShard, match=r"x\.npy: row 1234 has NaN, infinity or a number beyond"):
        detect_files(path, tmp_path / "work", labels=beside)


# What it costs


def test_too_little_memory_is_refused_with_what_is_needed():
    size = Size(1_000_000, 512, 30, 100)
    with pytest.raises(InputError, match=r"take 2\.\d GB at least, and 0\.5 GB are allowed"):
        Budget.fit(size, 5 * 10**8, 2)


@pytest.mark.parametrize("memory", [4 * 10**9, 5 * 10**9, 8 * 10**9, 64 * 10**9])
@pytest.mark.parametrize("d", [16, 512, 2048])
def test_a_budget_keeps_within_its_memory(memory, d):
    size = Size(1_000_000, d, 30, 100)
    budget = Budget.fit(size, memory, 8)
    assert budget.memory(size) <= memory
    assert 1 <= budget.n_threads <= 8


def test_more_memory_never_means_fewer_threads():
    size = Size(1_000_000, 512, 30, 100)
    threads = [Budget.fit(size, gb * 10**9, 8).n_threads for gb in range(3, 20)]
    assert threads == sorted(threads)
    assert threads[-1] == 8


# From the command line


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_runs_in_stages(shards, whole, tmp_path, capsys):
    target = tmp_path / "out.parquet"
    code, out, _err = run(capsys, "detect", shards, "--memory", "1GB", "-o", target)
    assert code == 0
    assert "of 4,000 labels look corrupted" in out
    same(Verdicts.load(target), Verdicts.load(_kept(whole, tmp_path)))
    assert sorted(os.listdir(tmp_path)) == [
        "out.nearest.npz",
        "out.parquet",
        "out.parquet.json",
        "whole.parquet",
    ]


def test_a_table_is_brought_into_files_of_ranges_first(data, tmp_path, capsys):
    features, labels = data
    np.savez(tmp_path / "data.npz", features=features, labels=labels)
    target = tmp_path / "out.parquet"
    assert run(capsys, "detect", tmp_path / "data.npz", "--memory", "1GB", "-o", target)[0] == 0
    same(
        Verdicts.load(target),
        simifeat.detect(features, labels, engine="approximate"),
    )
    assert not list(tmp_path.glob("*.work*"))


def _kept(content: bytes, folder: Path) -> Path:
    path = folder / "whole.parquet"
    path.write_bytes(content)
    return path


def test_a_dry_run_says_what_it_costs_and_writes_nothing(shards, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "detect", shards, "--dry-run")
    assert code == 0
    assert out.startswith("4,000 rows of 16 dimensions, 4 classes, 30 neighbours:\n  time ")
    assert "disk" in out
    code, out, _ = run(capsys, "detect", shards, "--dry-run", "--json", "--memory", "800MB")
    facts = json.loads(out)
    assert facts["rows"] == N
    assert facts["memory_bytes"] <= 800 * 10**6
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "4XB"], "'4XB' is no size; give one such as 4GB or 512MiB"),
        (["--memory", "10MB", "-o", "o.parquet"], "GB at least, and 0.0 GB are allowed"),
        (["--memory", "1GB"], "a staged run needs a place for its results; name a file with -o"),
        (
            ["--memory", "1GB", "--extractor", "x", "--epochs", "3", "-o", "o.parquet"],
            "--groups and --epochs are not known to a staged run on anything else",
        ),
        (["--cluster", "127.0.0.1:1", "-o", "o.parquet"], "cannot reach the Ray cluster"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    shards, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    if "--cluster" in arguments:
        pytest.importorskip("ray")
    code, _out, err = run(capsys, "detect", shards, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []
