"""Every table and figure end to end on data small enough for a test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench_data import write_features, write_pictures
from simifeat.bench.paper import TABLE1, TABLE2, TABLE3
from simifeat.bench.pictures import read_cifar
from simifeat.bench.table3 import table3
from simifeat.cli import main
from simifeat.errors import InputError

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra simifeat[bench])")

ENDINGS = {"json", "md", "tex", "png"}


def record_of(folder, name):
    """What was written: all endings, and the JSON with machine, versions, command."""
    there = {path.suffix[1:] for path in folder.glob(f"{name}.*")}
    assert there == ENDINGS
    record = json.loads((folder / f"{name}.json").read_text())
    assert {"command", "machine", "versions", "version"} <= set(record)
    return record


def test_table_1_trains_on_the_pictures(tmp_path, capsys, request):
    torch = pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
    pytest.importorskip("cleanlab", reason="cleanlab is not installed (extra simifeat[bench])")
    before = torch.get_num_threads()
    request.addfinalizer(lambda: torch.set_num_threads(before))
    torch.set_num_threads(1)
    data, pictures = write_features(tmp_path / "data"), write_pictures(tmp_path / "pictures")
    words = ["bench", "table1", "--data", str(data), "--pictures", str(pictures)]
    words += ["--extractor", "good", "--noise", "human", "--seeds", "1", "--limit", "60"]
    words += ["--depth", "10", "--width", "2", "--epochs", "2"]
    words += ["--methods", "cores,tracin,rank", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "(83.28)" in capsys.readouterr().out
    record = record_of(tmp_path / "out", "table1")
    assert "depth=10, width=2" in record["trainer"]
    assert len(record["cells"]) == 3
    assert len(list((tmp_path / "out" / "trainings").glob("*.npz"))) > 5
    rank = record["cells"]["table1-cifar10-good-human-rank-0"]
    assert rank["n_examples"] == 60
    assert rank["f1"] > 0.8
    assert main(words) == 0
    assert "3 of 3 cells are there already" in capsys.readouterr().err
    words[words.index("--pictures") : words.index("--pictures") + 2] = []
    assert main(words) == 2
    assert "give their folder with --pictures" in capsys.readouterr().err


def test_table_2_of_every_method(tmp_path, capsys):
    pytest.importorskip("cleanlab", reason="cleanlab is not installed (extra simifeat[bench])")
    data = write_features(tmp_path / "data")
    words = ["bench", "table2", "--data", str(data), "--noise", "asym30", "--seeds", "1"]
    assert main([*words, "-o", str(tmp_path / "out"), "--limit", "120"]) == 0
    told = capsys.readouterr()
    cells = record_of(tmp_path / "out", "table2")["cells"]
    assert len(cells) == 8
    for cell in cells.values():
        assert 0 <= cell["f1"] <= 1
        assert cell["n_examples"] == 120
        assert cell["cpu_seconds"] >= 0
    for title in ("CE Sieve", "CORES", "CL", "TracIn", "Deep k-NN", "SimiFeat-V", "propagate"):
        assert title in told.out


def test_table_3_ranks_extractors_by_their_clusterability(tmp_path):
    data = write_features(tmp_path / "data", ("good", "bad", "worse"))
    pictures = write_pictures(tmp_path / "pictures")
    options = {"methods": ("rank",), "noises": ("human",), "seeds": (0, 1)}
    extractors = ("pixels", "projection")
    grids = table3(
        data, tmp_path / "out", datasets=("cifar10",), pictures=pictures, extractors=extractors,
        **options,
    )  # fmt: skip
    rows = [name for name in grids[0].rows if not name.endswith("(paper)")]
    assert set(rows) == {"good", "bad", "worse", "pixels", "projection"}
    assert rows.index("good") < rows.index("bad") < rows.index("worse")
    assert "ViT-B/32-CLIP (paper)" in grids[0].rows
    share, f1 = grids[0].columns
    assert grids[0].figures["good", f1].mean > grids[0].figures["worse", f1].mean + 5
    record = record_of(tmp_path / "out", "table3")
    assert record["clusterability"]["cifar10/good"] == grids[0].figures["good", share].mean


def test_figure_3(tmp_path, capsys):
    data = write_features(tmp_path / "data", ("good", "bad"))
    assert main(["bench", "figure3", "--data", str(data), "-o", str(tmp_path / "out")]) == 0
    record = record_of(tmp_path / "out", "figure3")
    for name in ("good", "bad"):
        ks, deltas = record["delta_k"][name]
        assert (np.diff(deltas) >= 0).all()
        assert ks[0] == 1
    f1 = {name: dict(zip(*line, strict=True)) for name, line in record["f1_of_vote"].items()}
    assert f1["good"][20] > 0.9
    assert f1["good"][20] > f1["good"][2]
    assert f1["good"][10] > f1["bad"][10]
    assert record["delta_k"]["good"][1][9] < record["delta_k"]["bad"][1][9]
    assert "Lower bound of P(vote is correct)" in capsys.readouterr().out


def test_cifar_pictures_are_read_in_order(tmp_path):
    write_pictures(tmp_path / "pictures", 40)
    pictures, clean = read_cifar(tmp_path / "pictures", "cifar10")
    assert pictures.shape == (40, 32, 32, 3)
    np.testing.assert_array_equal(clean, np.arange(40) % 3)
    np.testing.assert_array_equal(pictures.mean(axis=(1, 2)).argmax(axis=1), clean)
    (tmp_path / "pictures" / "data_batch_3.bin").write_bytes(b"\0" * 10)
    with pytest.raises(InputError, match="not a whole number of pictures of 3073 bytes"):
        read_cifar(tmp_path / "pictures", "cifar10")
    with pytest.raises(InputError, match="does not hold the pictures of cifar100: train.bin"):
        read_cifar(tmp_path / "pictures", "cifar100")


def test_the_papers_figures_are_those_printed():
    """A few of each table, read off the paper by eye."""
    assert TABLE1["cores", "cifar100", "asym30"] == 0.02
    assert TABLE1["deep_knn", "cifar10", "symm60"] == 82.35
    assert TABLE2["tracin", "cifar100", "human"] == 79.32
    assert TABLE2["rank", "cifar10", "inst40"] == 91.14
    assert TABLE3["R34-C10-SSL"] == (69.31, 83.28, 85.26, 2.59, 68.03, 65.94)
    assert len(TABLE1) == 6 * 8
    assert len(TABLE2) == 7 * 8
