"""What every table shares: cells that are kept, a run that goes on, grids, one's own detectors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bench_data import write_features
from simifeat.bench.cells import Cell, Group, Store, run
from simifeat.bench.data import feature_files, fingerprint, one_extractor, subset
from simifeat.bench.grid import Figure, Grid
from simifeat.bench.noisy import NoisyLabels
from simifeat.bench.order import AGREEMENT, order_grid
from simifeat.cli import main
from simifeat.errors import InputError

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra simifeat[bench])")

TOY = '''
import os, time
from pathlib import Path
import numpy as np
from simifeat.baselines.outcome import Examples, outcome

def nearest_mean(features, labels, *, seed, ids=None):
    """Corrupted is what lies nearer to the mean of another class."""
    here = Path(__file__).parent
    with open(here / "calls", "a") as calls:
        calls.write(f"{seed}\\n")
    (here / f"process-{os.getpid()}").touch()
    while seed == 1 and (here / "hold").exists():
        time.sleep(0.02)
    examples = Examples.of(features, labels, ids)
    codes, n_classes = examples.labels.codes, examples.labels.n_classes
    means = np.stack([features[codes == j].mean(axis=0) for j in range(n_classes)])
    away = ((features[:, None] - means) ** 2).sum(axis=2)
    near = np.exp(away.min(axis=1, keepdims=True) - away)
    share = (near / near.sum(axis=1, keepdims=True)).astype(np.float32)
    own = share[np.arange(len(codes)), codes]
    return outcome(examples, "toy", is_corrupted=share.argmax(axis=1) != codes, score=own,
                   probability=share, seed=seed, settings={})
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A folder with a detector of one's own, found by Python."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "toydetector.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("toydetector", None)


def is_running(process):
    """Whether it lives; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def table2(data, output, *more):
    return ["bench", "table2", "--data", str(data), "-o", str(output), "--jobs", "1", *more]


def test_a_detector_is_one_file_and_one_line(tmp_path, toy, capsys):
    """On the command line the line is an option; in the registry it is an entry."""
    data = write_features(tmp_path / "data")
    own = ["--methods", "vote,toydetector:nearest_mean", "--noise", "human", "--seeds", "2"]
    assert main(table2(data, tmp_path / "out", *own)) == 0
    told = capsys.readouterr()
    assert "nearest_mean" in told.out
    assert "SimiFeat-V" in told.out
    assert "(87.43)" in told.out  # the paper's own figure for the vote
    assert "4 of 4 cells" in told.err
    record = json.loads((tmp_path / "out" / "table2.json").read_text())
    cell = record["cells"]["table2-cifar10-good-human-toydetector.nearest_mean-0"]
    assert cell["f1"] > 0.9
    assert cell["n_examples"] == 300
    for ending in ("md", "tex", "png"):
        assert (tmp_path / "out" / f"table2.{ending}").stat().st_size > 100
    assert "**" in (tmp_path / "out" / "table2.md").read_text()


def test_changed_code_is_told_and_computed_anew_on_request(tmp_path, toy, capsys):
    data = write_features(tmp_path / "data")
    own = ["--methods", "toydetector:nearest_mean", "--noise", "human", "--seeds", "2"]
    calls = toy / "calls"
    assert main(table2(data, tmp_path / "out", *own)) == 0
    assert main(table2(data, tmp_path / "out", *own)) == 0
    assert calls.read_text() == "0\n1\n"
    assert "2 of 2 cells are there already" in capsys.readouterr().err
    (toy / "toydetector.py").write_text(TOY + "\n# another\n")
    assert main(table2(data, tmp_path / "out", *own)) == 0
    assert calls.read_text() == "0\n1\n"
    said = "2 of the cells there were made by other code; --again computes them anew"
    assert said in capsys.readouterr().err
    again = ["--again", "toydetector:nearest_mean"]
    assert main(table2(data, tmp_path / "out", *own, *again)) == 0
    assert calls.read_text() == "0\n1\n" * 2
    assert main(table2(data, tmp_path / "out", *own, *again)) == 0
    assert calls.read_text() == "0\n1\n" * 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_run_goes_on_at_the_missing_cell(tmp_path, toy, n_jobs):
    """SIGKILL in the second of three seeds; the first is not computed again."""
    data, output, calls = write_features(tmp_path / "data"), tmp_path / "out", toy / "calls"
    command = [sys.executable, "-m", "simifeat", *table2(data, output)]
    command += ["--methods", "toydetector:nearest_mean", "--noise", "human", "--seeds", "3"]
    command[command.index("--jobs") + 1] = str(n_jobs)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(toy), *sys.path])}
    (toy / "hold").touch()
    first = output / "cells" / "table2-cifar10-good-human-toydetector.nearest_mean-0.json"
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not (first.exists() and calls.exists() and "1\n" in calls.read_text()):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    while any(is_running(int(file.name.split("-")[1])) for file in toy.glob("process-*")):
        assert time.monotonic() < end, "a process of the killed run works on"
        time.sleep(0.05)
    assert not (output / "table2.json").exists()
    written = first.stat().st_mtime_ns
    (toy / "hold").unlink()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "of 3 cells are there already" in done.stderr
    assert first.stat().st_mtime_ns == written
    assert calls.read_text().split().count("0") == 1
    killed = json.loads((output / "table2.json").read_text())
    command[command.index("-o") + 1] = str(tmp_path / "whole")
    subprocess.run(command, env=environment, capture_output=True, check=True)
    whole = json.loads((tmp_path / "whole" / "table2.json").read_text())
    assert [cell["f1"] for cell in killed["cells"].values()] == [
        cell["f1"] for cell in whole["cells"].values()
    ]


def test_a_cell_is_good_only_for_its_inputs(tmp_path):
    store = Store(tmp_path)
    store.save(Cell("one", {"seed": 0}, "a"), {"f1": 0.5})
    assert store.load(Cell("one", {"seed": 0}, "a")) == {"f1": 0.5}
    assert store.load(Cell("one", {"seed": 1}, "a")) is None
    assert store.load(Cell("one", {"seed": 0}, "b")) == {"f1": 0.5}
    assert store.load(Cell("one", {"seed": 0}, "b", same_code=True)) is None
    (tmp_path / "one.json").write_text("{half")
    assert store.load(Cell("one", {"seed": 0}, "a")) is None


def test_a_cell_that_was_not_saved_is_an_error(tmp_path):
    group = Group((Cell("one", {}), Cell("two", {})), lambda cells, save: save(cells[0], {}))
    with pytest.raises(RuntimeError, match="no result was saved for two"):
        run([group], Store(tmp_path), 1, lambda _: None)


def test_a_grid_as_text_markdown_and_latex():
    figures = {("A_1", "x"): Figure((90.0, 92.0), 88.5), ("B", "x"): Figure((50.0,))}
    grid = Grid("F1 (%)", "Method", ["A_1", "B"], ["x", "y"], figures, n_best=1)
    assert grid.text().splitlines() == [
        "F1 (%)",
        "",
        "Method                     x  y",
        "A_1     91.00 ± 1.41 (88.50)  -",
        "B                      50.00  -",
    ]
    assert grid.markdown().splitlines()[2:] == [
        "| Method | x | y |",
        "| --- | --- | --- |",
        "| A_1 | **91.00** ± 1.41 (88.50) | - |",
        "| B | 50.00 | - |",
    ]
    latex = grid.latex()
    assert r"\caption{F1 (\%)}" in latex
    assert r"A\_1 & \textbf{91.00} $\pm$ 1.41 (88.50) & - \\" in latex
    assert r"\begin{tabular}{lrr}" in latex


def test_the_order_of_methods_here_and_in_the_paper():
    ours = {"A": (90.0, 80.0), "B": (70.0, 85.0), "C": (60.0, 60.0), "D": (99.0, None)}
    figures = {(row, "x"): Figure((here,), paper) for row, (here, paper) in ours.items()}
    found = order_grid(Grid("F1", "Method", list(ours), ["x"], figures))
    assert found.rows == ["A", "B", "C", AGREEMENT]
    places = {row: found.figures[row, "x"] for row in "ABC"}
    assert {row: (each.mean, each.paper) for row, each in places.items()} == {
        "A": (1, 2), "B": (2, 1), "C": (3, 3)
    }  # fmt: skip
    assert found.figures[AGREEMENT, "x"].mean == pytest.approx(0.5)


def test_noise_is_drawn_with_the_seed_and_the_same_for_every_subset(tmp_path):
    data = write_features(tmp_path / "data")
    labels = NoisyLabels(data, feature_files(data, ("cifar10",))[0])
    clean = labels.clean(None)
    for name, rate in (("symm60", 0.6), ("asym30", 0.3), ("inst40", 0.4)):
        drawn = labels.draw(name, 0, None)
        assert np.mean(drawn != clean) == pytest.approx(rate, abs=0.08)
        assert (labels.draw(name, 1, None) != drawn).any()
        rows = subset(300, 50)
        np.testing.assert_array_equal(labels.draw(name, 0, rows), drawn[rows])
    np.testing.assert_array_equal(labels.draw("human", 0, None), labels.draw("human", 9, None))


def test_fingerprints_tell_shapes_and_types_apart():
    marks = [np.zeros((2, 3)), np.zeros((3, 2)), np.zeros(6), np.zeros((2, 3), np.float32)]
    assert len({fingerprint(each) for each in marks}) == 4
    assert fingerprint(np.ones(2)) == fingerprint(np.ones(2))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--noise", "nope", "--extractor", "good"], "there are no labels cifar10_nope in"),
        (["--methods", "nope"], "there is no detector 'nope'; choose one of ce_sieve"),
        (["--extractor", "nope"], "there are no features of 'nope'; found bad, good"),
        ([], "there are features of bad, good; choose one with --extractor"),
        (["--datasets", "mnist"], "has no features; it needs files such as mnist_NAME.npy"),
        (["--seeds", "0"], "--seeds is '0'; give a number of seeds, or seeds with commas"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(more, said, tmp_path, capsys):
    data = write_features(tmp_path / "data", ("good", "bad"))
    assert main(table2(data, tmp_path / "out", *more)) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_labels_without_a_truth_are_refused(tmp_path):
    data = write_features(tmp_path / "data")
    (data / "cifar10_labels.npz").unlink()
    with pytest.raises(InputError, match="has no true labels of cifar10"):
        NoisyLabels(data, one_extractor(feature_files(data, ("cifar10",)), None)[0]).clean(None)
    with pytest.raises(InputError, match="is not a folder; give the folder of the feature files"):
        feature_files(Path(tmp_path / "no"), ("cifar10",))
