from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch

from pictures import picture
from simifeat.errors import InputError
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.layers import Layers
from simifeat.features.resnet import SHAPES, build_resnet, describe_resnet, random_resnet
from simifeat.features.simclr import contrast, simclr_features, train_simclr
from simifeat.features.torchlayers import TorchLayers, trainable
from simifeat.features.views import random_view

SMALL = {"depth": 10, "width": 4, "batch_size": 16}


@pytest.fixture(autouse=True)
def one_thread():
    """What is this small is slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pictures(n=48, size=16):
    return np.stack([picture(seed, size) for seed in range(n)])


def test_the_loss_is_that_of_the_paper():
    rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    unit = [row / row.norm() for row in rows]
    total = 0.0
    for i in range(6):
        j = (i + 3) % 6
        others = sum(math.exp(float(unit[i] @ unit[m]) / 0.5) for m in range(6) if m != i)
        total -= math.log(math.exp(float(unit[i] @ unit[j]) / 0.5) / others)
    assert float(contrast(rows, 0.5)) == pytest.approx(total / 6, rel=1e-5)


@pytest.mark.parametrize("depth", SHAPES)
def test_onnx_and_torch_agree_on_every_shape(depth):
    weights = random_resnet(depth, 4, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for name, value in weights.items():  # batch norms that do something
        if value.ndim == 1:
            weights[name] = rng.uniform(0.5, 1.5, value.shape).astype(np.float32)
    shown = pictures(4, 32)
    found = ImageExtractor(ImageModel("test", build_resnet(weights, depth), 32)).run(list(shown))
    pixels = torch.from_numpy(shown.transpose(0, 3, 1, 2).astype(np.float32))
    layers = TorchLayers(trainable(weights, "cpu"), pixels, trains=False)
    describe_resnet(layers, depth)
    wanted = layers.output.detach().numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_views_are_pictures_and_differ():
    pixels = torch.from_numpy(pictures(8).transpose(0, 3, 1, 2).astype(np.float32))
    first, second = (random_view(pixels, torch.Generator().manual_seed(seed)) for seed in (0, 1))
    assert first.shape == pixels.shape
    assert first.min() >= 0
    assert first.max() <= 255
    assert not torch.allclose(first, second)
    again = random_view(pixels, torch.Generator().manual_seed(0))
    assert torch.equal(first, again)


def test_training_brings_views_of_one_picture_together():
    shown = pictures(64)
    told = []

    def loss_of(file):
        extractor = ImageExtractor(ImageModel("test", file, 16))
        pixels = torch.from_numpy(shown.transpose(0, 3, 1, 2).astype(np.float32))
        views = [
            random_view(pixels, torch.Generator().manual_seed(seed)).permute(0, 2, 3, 1).byte()
            for seed in (8, 9)
        ]
        found = [extractor.run(list(view.numpy())) for view in views]
        return float(contrast(torch.from_numpy(np.concatenate(found)), 0.2))

    shape = SMALL | {"width": 8, "learning_rate": 3e-3}
    none = train_simclr(shown, n_epochs=0, **shape)
    some = train_simclr(shown, n_epochs=30, progress=lambda *s: told.append(s), **shape)
    assert loss_of(some) < loss_of(none) - 0.3
    assert told[-1] == ("SimCLR", 120, 120)


def test_a_run_that_was_cut_ends_as_one_that_was_not(tmp_path):
    shown, keep = pictures(), tmp_path / "state.npz"

    class Cut(Exception):
        pass

    def cut(_stage, done, _total):
        if done == 8:  # in the third epoch of four
            raise Cut

    whole = train_simclr(shown, n_epochs=4, **SMALL)
    with pytest.raises(Cut):
        train_simclr(shown, n_epochs=4, keep=keep, progress=cut, **SMALL)
    steps = []
    found = train_simclr(
        shown, n_epochs=4, keep=keep, progress=lambda *step: steps.append(step), **SMALL
    )
    assert found == whole
    assert steps[0] == ("SimCLR", 7, 12)
    keep.write_bytes(keep.read_bytes()[:1000])
    assert train_simclr(shown, n_epochs=4, keep=keep, **SMALL) == whole


def test_features_of_pictures_in_memory():
    found = simclr_features(pictures(20), n_epochs=1, **SMALL)
    assert found.shape == (20, 32)
    assert np.isfinite(found).all()


def test_one_picture_cannot_be_compared():
    with pytest.raises(InputError, match="there are 1; give at least two"):
        train_simclr(pictures(1))


def test_the_stem_for_photographs():
    weights = random_resnet(18, 4, np.random.default_rng(0))
    weights["conv1.weight"] = np.zeros((4, 3, 7, 7), np.float32)
    layers = Layers("resnet18", weights)
    describe_resnet(layers, 18)
    shown = pictures(2, 64)
    found = ImageExtractor(ImageModel("test", layers.model(), 64)).run(list(shown))
    assert found.shape == (2, 32)
