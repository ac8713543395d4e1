"""Options of the changes between epochs, and what a second run finds in the cache."""

from __future__ import annotations

import numpy as np
import pytest

from pictures import encoded, picture, tiny_network
from simifeat.augment import ImageAugment, TextAugment
from simifeat.cli import main
from simifeat.errors import InputError
from simifeat.features.images import ImageExtractor
from simifeat.features.records import chosen_augment, record_features
from simifeat.features.registry import without_options
from simifeat.io.images import ImageFiles
from simifeat.io.source import Request

N = 24


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def photos(tmp_path):
    for row in range(N):
        place = tmp_path / "photos" / f"class{row % 2}" / f"{row:02}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded(picture(row)))
    (tmp_path / "net.onnx").write_bytes(tiny_network())
    return tmp_path / "photos"


@pytest.fixture
def batches(monkeypatch):
    """How many batches went through a network."""
    counted = []
    run = ImageExtractor.run

    def count(self, batch):
        counted.append(len(batch))
        return run(self, batch)

    monkeypatch.setattr(ImageExtractor, "run", count)
    return counted


def epochs_of(photos, options="", n_epochs=2):
    names = tuple(sorted(f"{file.parent.name}/{file.name}" for file in photos.rglob("*.png")))
    spec = f"onnx:{photos.parent / 'net.onnx'}{options}"
    request = Request(photos, extractor=spec, n_epochs=n_epochs)
    found = record_features(ImageFiles(photos, names), request)
    return [np.array(epoch) for epoch in found.matrix]


def test_options_of_the_changes_are_taken_apart_from_those_of_the_extractor():
    spec, taken = without_options("lite?size=32&flip=0&mean=1,2,3&jitter=.4", ("flip", "jitter"))
    assert spec == "lite?size=32&mean=1,2,3"
    assert taken == {"flip": "0", "jitter": ".4"}
    assert without_options("onnx:a b.onnx", ("flip",)) == ("onnx:a b.onnx", {})
    assert without_options("lite?flip=1", ("flip",)) == ("lite", {"flip": "1"})


def test_changes_by_option():
    assert chosen_augment("image", "x", {}) == ImageAugment()
    changed = chosen_augment("image", "x", {"padding": "0.25", "flip": "0", "jitter": "0.4"})
    assert changed == ImageAugment(padding=0.25, flip=False, jitter=0.4)
    assert chosen_augment("text", "x", {"dropout": "0.3"}) == TextAugment(0.3)
    with pytest.raises(InputError) as caught:
        chosen_augment("image", "x", {"jitter": "1"})
    assert str(caught.value) == (
        "option jitter=1 of the extractor x: give a share of at least 0 and below 1"
    )


def test_epochs_differ_by_what_was_asked_for(photos):
    plain, changed = epochs_of(photos)
    assert not np.allclose(plain, changed)
    plain, flipped = epochs_of(photos, "?padding=0")
    n_same = int((plain == flipped).all(axis=1).sum())
    assert 4 <= n_same <= 20  # about half of them are mirrored
    plain, coloured = epochs_of(photos, "?padding=0&flip=0&jitter=0.4")
    assert not np.allclose(plain, coloured)
    plain, same = epochs_of(photos, "?padding=0&flip=0")
    np.testing.assert_array_equal(plain, same)


def test_a_second_run_with_another_method_extracts_nothing(photos, batches, tmp_path):
    extractor = ["--extractor", f"onnx:{tmp_path / 'net.onnx'}", "-k", "3"]

    def detect(*arguments):
        batches.clear()
        assert main(["detect", str(photos), *extractor, *arguments]) == 0
        return sum(batches)

    assert detect("--epochs", "3", "--method", "vote") == 3 * N
    assert detect("--epochs", "3", "--method", "rank") == 0
    assert detect("--epochs", "3", "--method", "propagate", "-k", "5") == 0
    assert detect("--method", "vote") == 0  # the first epoch is the plain one
    assert detect("--epochs", "4", "--method", "vote") == N
    assert detect("--epochs", "2", "--method", "vote", "--seed", "1") == N  # plain is without seed
    (photos / "class0" / "00.png").write_bytes(encoded(picture(99)))
    assert detect("--method", "vote") == N
