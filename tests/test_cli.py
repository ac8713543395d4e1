"""Commands as people run them: what is printed where, which files appear, which exit code."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simifeat.cli import COMMANDS, main
from simifeat.errors import MissingExtra
from simifeat.verdicts import Verdicts

K, PER_CLASS, D = 3, 40, 5
N = K * PER_CLASS


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path) -> Path:
    """Three clear clusters, every tenth label wrong."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(K), PER_CLASS)
    x = np.eye(K, D)[truth] + 0.1 * rng.standard_normal((N, D))
    labels = np.where(np.arange(N) % 10 == 0, (truth + 1) % K, truth)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(D)])
    frame["label"] = np.array(["cat", "dog", "owl"])[labels]
    frame["clean_label"] = np.array(["cat", "dog", "owl"])[truth]
    frame["id"] = [f"row-{n}" for n in range(N)]
    frame.to_csv("data.csv", index=False)
    return tmp_path / "data.csv"


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def failed(capsys, *arguments) -> str:
    """The one line that a failing command prints."""
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


# detect


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_detect_writes_verdicts_in_input_order(capsys, data, ending):
    code, out, err = run(capsys, "detect", data, "-o", f"out{ending}")
    assert code == 0
    verdicts = Verdicts.load(f"out{ending}")
    frame = pd.read_csv(data)
    assert verdicts.ids.tolist() == frame["id"].tolist()
    assert verdicts.labels.tolist() == frame["label"].tolist()
    np.testing.assert_array_equal(
        verdicts.is_corrupted, (frame["label"] != frame["clean_label"]).to_numpy()
    )
    assert verdicts.suggested.tolist() == frame["clean_label"].tolist()
    assert out.startswith("12 of 120 labels look corrupted (10.0%); estimated noise rate ")
    assert "Most suspicious:\n  row-" in out
    assert err.splitlines() == [
        "note: labels: column 'label'",
        "note: ids: column 'id'",
        "note: features: 5 columns of numbers ('x0', 'x1', 'x2', 'x3' and 1 more)",
        f"written to out{ending}",
    ]
    assert verdicts.metadata["source"] == {
        "path": str(data), "labels": None, "features": None, "extractor": None, "id": None,
    }  # fmt: skip


def test_detect_prints_json_for_machines(capsys, data):
    code, out, _ = run(capsys, "detect", data, "--json", "-o", "out.csv")
    facts = json.loads(out)
    assert code == 0
    assert facts["n_corrupted"] == 12
    assert facts["corrupted_rate"] == 0.1
    assert facts["gate_tripped"] is False
    assert facts["written"] == ["out.csv"]
    assert facts["metadata"]["seed"] == 0


@pytest.mark.parametrize(("rate", "code"), [("0.09", 1), ("0.1", 0), ("0.5", 0)])
def test_the_gate(capsys, data, rate, code):
    found, out, err = run(capsys, "detect", data, "--fail-above", rate, "-o", "out.parquet")
    assert found == code
    assert ("gate: 10.00% is above 9.00%" in err) == (code == 1)
    assert out
    assert Path("out.parquet").exists()


def test_every_choice_reaches_the_library(capsys, data):
    code, _, _ = run(
        capsys, "detect", data, "-o", "out.parquet", "--method", "rank", "-k", 7, "--epochs", 3,
        "--metric", "euclidean", "--engine", "exact", "--weights", "similarity", "--center",
        "extra", "--transition", "hoc", "--seed", 5, "--threads", 1,
    )  # fmt: skip
    assert code == 0
    metadata = Verdicts.load("out.parquet").metadata
    wanted = {
        "method": "rank", "k": 7, "n_epochs": 3, "metric": "euclidean", "engine": "exact",
        "weights": "similarity", "center": "extra", "transition": "hoc",
    }  # fmt: skip
    assert {name: metadata["settings"][name] for name in wanted} == wanted
    assert metadata["seed"] == 5


def test_a_preset_and_a_choice_over_it(capsys, data):
    run(capsys, "detect", data, "-o", "out.parquet", "--preset", "official", "--method", "vote")
    settings = Verdicts.load("out.parquet").metadata["settings"]
    assert (settings["method"], settings["cut"]) == ("vote", "percentile")


def test_the_same_bytes_on_any_number_of_threads(capsys, data):
    for threads in (1, 2):
        run(capsys, "detect", data, "-o", f"out{threads}.parquet", "--threads", threads)
    assert Path("out1.parquet").read_bytes() == Path("out2.parquet").read_bytes()


def test_detect_from_arrays(capsys, data):
    frame = pd.read_csv(data)
    x = frame[[f"x{i}" for i in range(D)]].to_numpy()
    np.save("x.npy", x)
    np.save("y.npy", frame["label"].to_numpy().astype(str))
    np.savez("xy.npz", features=x, labels=frame["label"].to_numpy().astype(str))
    run(capsys, "detect", "x.npy", "--labels", "y.npy", "-o", "a.parquet")
    run(capsys, "detect", "xy.npz", "-o", "b.parquet")
    run(capsys, "detect", data, "--features", "x.npy", "-o", "c.parquet")
    a, b, c = (Verdicts.load(f"{name}.parquet") for name in "abc")
    np.testing.assert_array_equal(a.score, b.score)
    np.testing.assert_array_equal(a.score, c.score)
    assert a.ids.tolist() == list(range(N))


# noise, fitness


def test_noise(capsys, data):
    code, out, _ = run(capsys, "noise", data)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("noise rate ")
    assert lines[2].split() == ["true", "prior", "cat", "dog", "owl"]
    assert float(lines[3].split()[2]) == pytest.approx(0.9, abs=0.08)


def test_noise_as_json(capsys, data):
    _, out, _ = run(capsys, "noise", data, "--json", "--method", "hoc")
    facts = json.loads(out)
    assert facts["classes"] == ["cat", "dog", "owl"]
    assert facts["method"] == "hoc"
    np.testing.assert_allclose(np.sum(facts["matrix"], axis=1), 1)


def test_noise_of_many_classes_names_the_largest(capsys):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(20), 50)
    labels = np.where((truth == 3) & (rng.random(1000) < 0.4), 7, truth)
    x = np.eye(20)[truth] + 0.05 * rng.standard_normal((1000, 20))
    np.savez("xy.npz", features=x, labels=labels)
    _, out, _ = run(capsys, "noise", "xy.npz")
    lines = out.splitlines()
    assert lines[3].split()[:2] == ["3", "7"]
    assert lines[-1] == "(the 15 largest of 380; --json has all)"


def test_noise_that_cannot_be_told(capsys):
    rng = np.random.default_rng(0)
    np.savez("xy.npz", features=rng.random((100, 4)), labels=rng.integers(0, 3, 100))
    code, out, err = run(capsys, "noise", "xy.npz")
    assert code == 0
    assert "not identifiable: " in out
    assert "note: the noise transition cannot be identified: " in err


def test_fitness(capsys, data):
    code, out, _ = run(capsys, "fitness", data)
    assert code == 0
    assert out.startswith("good: ")
    facts = json.loads(run(capsys, "fitness", data, "--json")[1])
    assert facts["grade"] == "good"
    assert facts["clusterability"][0] > 0.95
    assert facts["k"] in facts["ks"]


# corrupt, clean


def test_corrupt_keeps_the_truth(capsys, data):
    pd.read_csv(data).drop(columns="clean_label").to_csv("clean.csv", index=False)
    code, out, err = run(
        capsys, "corrupt", "clean.csv", "--kind", "symmetric", "--rate", 0.5, "-o", "bad.csv"
    )
    assert code == 0
    before, after = pd.read_csv("clean.csv"), pd.read_csv("bad.csv")
    n = int((before["label"] != after["label"]).sum())
    assert out == f"{n} of 120 labels corrupted (symmetric, rate 0.5)\n"
    assert 40 < n < 80
    assert after["clean_label"].tolist() == before["label"].tolist()
    assert after.columns.tolist() == [*before.columns, "clean_label"]
    assert "written to bad.csv" in err


def test_corrupt_to_the_next_class_and_by_features(capsys, data):
    pd.read_csv(data).drop(columns="clean_label").to_csv("clean.csv", index=False)
    run(capsys, "corrupt", "clean.csv", "--kind", "asymmetric", "--rate", 1, "-o", "next.csv")
    after = pd.read_csv("next.csv")
    turned = {"cat": "dog", "dog": "owl", "owl": "cat"}
    assert after["label"].tolist() == [turned[label] for label in after["clean_label"]]
    arguments = ("corrupt", "clean.csv", "--kind", "instance", "--rate", 0.4, "--json", "-o")
    facts = json.loads(run(capsys, *arguments, "inst.csv")[1])
    assert 25 < facts["n_corrupted"] < 75
    run(capsys, *arguments, "again.csv")
    assert Path("inst.csv").read_bytes() == Path("again.csv").read_bytes()


def test_clean_drops_or_relabels(capsys, data):
    frame = pd.read_csv(data)
    wrong = frame["label"] != frame["clean_label"]
    run(capsys, "detect", data, "-o", "out.parquet")
    code, out, _ = run(capsys, "clean", "out.parquet", "-o", "dropped.csv")
    assert (code, out) == (
        0,
        "0 labels changed, 12 rows dropped, 108 of 120 rows kept\n"
        "12 flagged rows without a decision were dropped (--action)\n",
    )
    assert pd.read_csv("dropped.csv").equals(frame[~wrong].reset_index(drop=True))
    _, out, _ = run(capsys, "clean", "out.parquet", "-o", "new.csv", "--action", "relabel")
    assert out == (
        "12 labels changed, 0 rows dropped, 120 of 120 rows kept\n"
        "12 flagged rows without a decision were relabelled as suggested (--action)\n"
    )
    assert pd.read_csv("new.csv")["label"].tolist() == frame["clean_label"].tolist()
    facts = json.loads(run(capsys, "clean", "out.parquet", "-o", "new.csv", "--json")[1])
    assert facts == {
        "n_rows": 120,
        "n_kept": 108,
        "n_dropped": 12,
        "n_relabelled": 0,
        "n_decided": 0,
        "n_undecided": 12,
        "undecided": "drop",
        "written": ["new.csv"],
    }


def test_clean_finds_data_that_moved(capsys, data):
    run(capsys, "detect", "data.csv", "-o", "out.parquet")
    Path("data.csv").rename("elsewhere.csv")
    assert failed(capsys, "clean", "out.parquet", "-o", "new.csv") == (
        "data.csv was judged, but cannot be opened from here; say with --source where it is now"
    )
    code, _, _ = run(capsys, "clean", "out.parquet", "--source", "elsewhere.csv", "-o", "new.csv")
    assert code == 0


def test_clean_refuses_data_that_changed(capsys, data):
    run(capsys, "detect", "data.csv", "-o", "out.parquet")
    frame = pd.read_csv(data)
    frame.loc[5, "label"] = "owl"
    frame.to_csv("data.csv", index=False)
    assert failed(capsys, "clean", "out.parquet", "-o", "new.csv") == (
        "1 labels of the source are no longer those that were judged, the first in row 5 ('owl', "
        "was 'cat'); run simifeat detect again"
    )
    frame[:-1].to_csv("data.csv", index=False)
    assert failed(capsys, "clean", "out.parquet", "-o", "new.csv") == (
        "the source has 119 rows, but 120 were judged; it was changed since: run simifeat detect "
        "again"
    )
    assert not Path("new.csv").exists()


# demo


def test_demo(capsys):
    started = time.monotonic()
    code, out, _ = run(capsys, "demo")
    assert code == 0
    assert time.monotonic() - started < 60
    assert "Against the truth:" in out
    verdicts = Verdicts.load("demo-output/verdicts.parquet")
    assert verdicts.n_examples == 1797
    frame = pd.read_csv("demo-output/digits.csv")
    wrong = (frame["label"] != frame["clean_label"]).to_numpy()
    hits = (verdicts.is_corrupted & wrong).sum()
    assert 2 * hits / (verdicts.is_corrupted.sum() + wrong.sum()) > 0.95
    shown = [line.split() for line in out.splitlines() if line.startswith("  simifeat")]
    assert len(shown) >= 2
    for command in shown:
        if command[1] != "review":  # it serves until somebody stops it
            assert run(capsys, *command[1:])[0] == 0
    assert "1,000 made-up mails" in out
    mail = pd.read_csv("demo-output/mail.csv")
    verdicts = Verdicts.load("demo-output/mail.parquet")
    wrong = (mail["label"] != mail["clean_label"]).to_numpy()
    assert 0.2 < wrong.mean() < 0.3
    hits = (verdicts.is_corrupted & wrong).sum()
    assert 2 * hits / (verdicts.is_corrupted.sum() + wrong.sum()) > 0.9
    page = Path("demo-output/report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") > 24  # digits, and their neighbours


def test_the_demo_says_what_texts_need(capsys, monkeypatch):
    def missing(module, extra):
        raise MissingExtra(f"{module} is not installed; install simifeat[{extra}]")

    monkeypatch.setattr("simifeat.cli.demo.require", missing)
    code, out, _ = run(capsys, "demo")
    assert code == 0
    assert "2. Texts are left out: tokenizers is not installed; install simifeat[text]" in out
    assert not Path("demo-output/mail.csv").exists()


def test_the_demo_opens_its_report_for_people_alone(capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("simifeat.cli.demo.webbrowser.open", opened.append)
    monkeypatch.setattr("simifeat.cli.demo._texts", lambda folder, seed: [])
    run(capsys, "demo")
    assert not opened  # stdout is no terminal
    monkeypatch.setattr("simifeat.cli.demo._has_screen", lambda: True)
    run(capsys, "demo", "--no-browser")
    assert not opened
    run(capsys, "demo")
    assert opened == [Path("demo-output/report.html").absolute().as_uri()]


# What bad input gets


def test_what_the_library_refuses_is_one_line(capsys, data):
    frame = pd.read_csv(data)
    x = np.zeros((N, 2))
    x[[3, 4], 1] = np.nan
    np.savez("nan.npz", features=x, labels=frame["label"].to_numpy().astype(str))
    assert failed(capsys, "detect", "nan.npz", "-o", "out.parquet") == (
        "features hold 2 values that are NaN or infinite in 2 of 120 rows, the first in row 3; "
        "drop or fill those rows"
    )
    np.savez("one.npz", features=np.zeros((4, 2)), labels=["a"] * 4)
    assert failed(capsys, "detect", "one.npz", "-o", "out.parquet") == (
        "all 4 labels are 'a' (1 class); detection needs at least 2 classes"
    )
    np.savez("empty.npz", features=np.zeros((0, 2)), labels=np.zeros(0, int))
    assert failed(capsys, "detect", "empty.npz", "-o", "out.parquet") == (
        "labels are empty: 0 rows; there is nothing to check"
    )
    np.savez("short.npz", features=np.zeros((4, 2)), labels=["a", "b", "a"])
    assert failed(capsys, "detect", "short.npz", "-o", "out.parquet") == (
        "there are 4 rows of features but 3 labels; give one label for every row"
    )
    frame.loc[[7, 9], "label"] = None
    frame.to_csv("missing.csv", index=False)
    assert failed(capsys, "detect", "missing.csv", "-o", "out.parquet") == (
        "2 of 120 labels are missing (NaN or empty), the first in row 7; drop those rows or label "
        "them"
    )
    assert failed(capsys, "detect", data, "--labels", "lable") == (
        f"{data} has no column 'lable'; did you mean 'label'?"
    )
    assert failed(capsys, "detect", "no.csv") == "no.csv does not exist; check the path"
    assert not Path("out.parquet").exists()


def test_what_is_asked_wrongly_is_one_line(capsys, data):
    message = failed(capsys, "detect", data, "--methd", "rank")
    assert message.startswith("No such option '--methd'")
    assert "--method" in message  # the rest is worded by click
    assert message.endswith("; see simifeat detect --help")
    assert failed(capsys, "detect", data, "--method", "majority") == (
        "Invalid value for '--method': 'majority' is not one of 'propagate', 'vote', 'rank'; "
        "see simifeat detect --help"
    )
    assert failed(capsys, "detect") == "Missing argument 'SOURCE'; see simifeat detect --help"
    assert failed(capsys, "detekt") == "No such command 'detekt'; see simifeat --help"
    assert failed(capsys, "detect", data, "--fail-above", 7) == (
        "Invalid value for '--fail-above': 7.0 is not in the range 0<=x<=1; "
        "see simifeat detect --help"
    )


@pytest.mark.parametrize("command", ["detect", "corrupt", "clean"])
def test_a_target_that_cannot_be_written(capsys, data, command):
    run(capsys, "detect", data, "-o", "out.parquet")
    Path("folder.parquet").mkdir()
    Path("folder.csv").mkdir()
    ending = ".parquet" if command == "detect" else ".csv"
    arguments = {
        "detect": ["detect", data],
        "corrupt": ["corrupt", data, "--kind", "symmetric", "--rate", "0.1"],
        "clean": ["clean", "out.parquet"],
    }[command]
    if command == "corrupt":
        pd.read_csv(data).drop(columns="clean_label").to_csv("data.csv", index=False)
    assert failed(capsys, *arguments, "-o", f"folder{ending}") == (
        f"cannot write folder{ending}: it is a directory; give a file name"
    )
    assert failed(capsys, *arguments, "-o", f"no/where{ending}") == (
        f"cannot write no/where{ending}: there is no directory no; make it first"
    )
    assert failed(capsys, *arguments, "-o", f"data.csv/x{ending}") == (
        f"cannot write data.csv/x{ending}: data.csv is not a directory; choose another place"
    )


def test_a_target_is_refused_before_any_work(capsys):
    assert failed(capsys, "detect", "no.csv", "-o", "out.xlsx") == (
        "cannot write out.xlsx: a verdict file ends in .parquet, .csv, .jsonl"
    )
    assert failed(capsys, "detect", "no.csv", "--report", "no/report.html") == (
        "cannot write no/report.html: there is no directory no; make it first"
    )


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "simifeat", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_that_cannot_grow_leaves_the_earlier_output(capsys, data, ending):
    """The limit on the size of a file stands for a quota: writing fails half way."""
    run(capsys, "detect", data, "-o", f"out{ending}")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    found = command("detect", data, "-o", f"out{ending}", "-k", 5, preexec_fn=limit)
    assert found.returncode == 2
    assert found.stderr.splitlines()[-1] == (
        f"error: cannot write out{ending}: the disk or the quota is full; free some space or "
        "choose another place"
    )
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@contextmanager
def small_disk(folder: Path):
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_leaves_the_earlier_output(capsys, data):
    with small_disk(Path("disk")):
        found = run(capsys, "detect", data, "-o", "disk/out.parquet")
        assert found[0] == 0
        free = shutil.disk_usage("disk").free
        Path("disk/filler").write_bytes(b"\0" * (free - 4096))
        before = {path.name: path.read_bytes() for path in Path("disk").iterdir()}
        assert failed(capsys, "detect", data, "-o", "disk/out.parquet", "-k", 5) == (
            "cannot write disk/out.parquet: the disk or the quota is full; free some space or "
            "choose another place"
        )
        pd.read_csv(data).drop(columns="clean_label").to_csv("plain.csv", index=False)
        assert failed(
            capsys, "corrupt", "plain.csv", "--kind", "symmetric", "--rate", 0.1,
            "-o", "disk/copy.csv",
        ) == (
            "cannot write disk/copy.csv: the disk or the quota is full; free some space or choose "
            "another place"
        )  # fmt: skip
        assert {path.name: path.read_bytes() for path in Path("disk").iterdir()} == before


@contextmanager
def as_somebody_else():
    """Root may read and write everything, so it steps down for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_permission(capsys, data, monkeypatch):
    run(capsys, "detect", data, "-o", "out.parquet")  # imports all, while it may
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        os.chmod(folder, 0o755)
        shutil.copy(data, "open.csv")
        shutil.copy(data, "secret.csv")
        os.chmod("secret.csv", 0)
        os.mkdir("closed")
        os.chmod("closed", 0o500 if os.geteuid() else 0o755)
        with as_somebody_else():
            assert failed(capsys, "detect", "open.csv", "-o", "closed/out.parquet") == (
                "cannot write closed/out.parquet: no permission to write in closed; "
                "choose another place"
            )
            assert failed(capsys, "detect", "secret.csv") == (
                "cannot read secret.csv: no permission"
            )
        monkeypatch.undo()


def test_ctrl_c_leaves_nothing_behind(data):
    rng = np.random.default_rng(0)
    np.savez("big.npz", features=rng.random((20_000, 512)), labels=rng.integers(0, 9, 20_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "simifeat", "detect", "big.npz", "-o", "out.parquet"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "note: labels: array 'labels'\n"
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "interrupted; nothing was written"
    assert "Traceback" not in rest
    assert sorted(path.name for path in Path().iterdir()) == ["big.npz", "data.csv"]


def test_a_reader_that_goes_away_is_no_error(data):
    line = f"{sys.executable} -m simifeat detect {data} --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert found.stdout == "{0\n"
    assert "Traceback" not in found.stderr
    assert "BrokenPipe" not in found.stderr


# The command as a whole


def test_help_lists_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in out


def test_help_of_a_command_starts_as_the_list_says(capsys):
    for name, line in COMMANDS.items():
        _, out, _ = run(capsys, name, "--help")
        assert " ".join(line.split()) in " ".join(out.split())


def test_help_is_light():
    """No command, no pyarrow and no scikit-learn is imported to list the commands."""
    code = (
        "import sys; from simifeat.cli import main; main(['--help']); "
        "print([m for m in sys.modules if m.startswith('simifeat.cli.')"
        " or m in ('pyarrow', 'sklearn', 'torch', 'PIL', 'onnxruntime')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_fitness_against_other_features(capsys):
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 4
    good = np.eye(4)[labels] + 0.2 * rng.standard_normal((400, 4))
    np.savez("two.npz", features=good, other=rng.random((400, 4)), labels=labels)
    code, out, _ = run(capsys, "fitness", "two.npz", "--against", "other", "--features", "features")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "these features"
    assert lines[1].startswith("good: ")
    assert "against" in lines
    assert lines[-1].startswith("these features are the better: same label beyond chance ")
    same = run(capsys, "fitness", "two.npz", "--features", "features", "--against", "features")[1]
    assert same.splitlines()[-1].startswith("neither is clearly the better: ")
    command = ("fitness", "two.npz", "--features", "other", "--against", "features", "--json")
    facts = json.loads(run(capsys, *command)[1])
    assert facts["agreement"] < facts["against"]["agreement"]
