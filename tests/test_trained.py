from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch
from torch.nn import functional

from pictures import encoded, picture
from simifeat.cli import main
from simifeat.errors import InputError
from simifeat.features import trained, warmup
from simifeat.features.base import Asked, AtHand
from simifeat.features.gather import decoded
from simifeat.features.images import ImageExtractor
from simifeat.features.options import Options
from simifeat.features.registry import open_extractor
from simifeat.features.resnet import build_resnet, describe_resnet, random_resnet
from simifeat.features.trained import Trainable, warmed_up
from simifeat.features.warmup import balanced_draws, train_on_labels
from simifeat.io.records import Record, Unreadable

SIZE = 16


@pytest.fixture(autouse=True)
def one_thread(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Pictures:
    kind = "image"

    def __init__(self, n=40, bad=()):
        self.n, self.bad = n, set(bad)

    def __len__(self):
        return self.n

    def __iter__(self):
        for row in range(self.n):
            yield Record(f"row {row}", lambda row=row: self._read(row))

    def _read(self, row):
        if row in self.bad:
            raise Unreadable("empty cell")
        return encoded(shade(row))


def shade(row):
    """A picture whose class, row modulo 2, shows in its colour."""
    pixels = picture(row, SIZE) // 3
    pixels[..., row % 2 * 2] += 120
    return pixels


def small_resnet(depth=10):
    weights = random_resnet(depth, 4, np.random.default_rng(0))
    return Trainable(
        "small",
        "digest",
        lambda: weights,
        lambda layers: describe_resnet(layers, depth),
        lambda found: build_resnet(found, depth),
    )


def warm(options, at_hand):
    asked = Asked("small", "", options, "image", at_hand)
    chosen = Options("small", options)
    model = warmed_up(small_resnet(), asked, chosen, SIZE)
    chosen.finish()
    return model


def test_draws_are_balanced_whatever_the_labels():
    codes = np.repeat([0, 1, 2], [1, 10, 989])
    draws = balanced_draws(codes, 500, seed=3)
    assert draws.shape == (500, 32)
    shares = np.bincount(codes[draws].ravel()) / draws.size
    np.testing.assert_allclose(shares, 1 / 3, atol=0.02)
    assert len(np.unique(draws)) > 900  # all rows of the largest class come
    np.testing.assert_array_equal(draws, balanced_draws(codes, 500, seed=3))


def test_one_batch_is_one_step_of_sgd():
    """Against autograd on a network of one convolution, momentum having no past yet."""
    rng = np.random.default_rng(0)
    weights = {"c.weight": rng.normal(size=(5, 3, 1, 1)).astype(np.float32)}

    def describe(layers):
        value = layers.conv(layers.pixels((0,) * 3, (255,) * 3), "c")
        layers.features(layers.node("ReduceMean", value, axes=[2, 3], keepdims=0), 5)

    shown = np.stack([np.full((4, 4, 3), 40 * row, np.uint8) for row in range(6)])  # any crop: same
    codes = np.array([0, 1, 2, 0, 1, 2])
    batches = [np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5])]
    monkey = pytest.MonkeyPatch()
    monkey.setattr(warmup, "cropped_and_flipped", lambda pixels, generator: pixels)
    found = train_on_labels(weights, describe, shown, batches, codes)
    monkey.undo()
    w = torch.from_numpy(weights["c.weight"].copy()).requires_grad_()
    head = torch.zeros(3, 5, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    speed = [torch.zeros_like(each) for each in (w, head, bias)]
    for rows in batches:
        pixels = torch.from_numpy(shown[rows].transpose(0, 3, 1, 2).astype(np.float32)) / 255
        told = functional.conv2d(pixels, w).mean((2, 3)) @ head.T + bias
        loss = functional.cross_entropy(told, torch.from_numpy(codes[rows]))
        slopes = torch.autograd.grad(loss, (w, head, bias))
        with torch.no_grad():
            for number, (value, slope) in enumerate(zip((w, head, bias), slopes, strict=True)):
                speed[number] = 0.9 * speed[number] + slope
                value -= 0.002 * speed[number]
    np.testing.assert_allclose(found["c.weight"], w.detach().numpy(), rtol=1e-6)
    assert not np.array_equal(found["c.weight"], weights["c.weight"])
    assert set(found) == {"c.weight"}


def test_warm_up_moves_features_apart_by_label_and_is_kept(monkeypatch):
    told = []
    labels = np.array(["red", "blue"] * 20)
    at_hand = AtHand(Pictures(bad=[3]), labels, 0, lambda *step: told.append(step))
    model = warm({"warmup": "1", "batches": "60"}, at_hand)
    assert told[-1] == ("warm-up", 60, 60)
    assert ("pictures to train on", 40, 40) in told

    def apart(network):
        found = ImageExtractor(network).run([shade(row) for row in range(40)])
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        same = found @ found.T
        mine = np.equal.outer(np.arange(40) % 2, np.arange(40) % 2)
        return same[mine].mean() - same[~mine].mean()

    raw = build_resnet(small_resnet().weights(), 10)
    from simifeat.features.images import ImageModel

    assert apart(model) > apart(ImageModel("raw", raw, SIZE)) + 0.05
    monkeypatch.setattr(trained, "train_on_labels", None)  # the second time nothing is trained
    again = warm({"warmup": "1", "batches": "60"}, at_hand)
    assert again.identity == model.identity
    with pytest.raises(TypeError):  # other labels are another network
        warm({"warmup": "1", "batches": "60"}, AtHand(Pictures(bad=[3]), labels[::-1]))


def test_warm_up_that_was_cut_ends_as_one_that_was_not(tmp_path, monkeypatch):
    class Cut(Exception):
        pass

    def cut(stage, done, _total):
        if (stage, done) == ("warm-up", 70):
            raise Cut

    labels, steps = np.arange(40) % 2, []
    options = {"warmup": "1", "batches": "80"}
    with pytest.raises(Cut):
        warm(options, AtHand(Pictures(), labels, 0, cut))
    found = warm(options, AtHand(Pictures(), labels, 0, lambda *step: steps.append(step)))
    assert next(step for step in steps if step[0] == "warm-up") == ("warm-up", 51, 80)
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "other"))
    assert warm(options, AtHand(Pictures(), labels)).file == found.file
    assert not list((tmp_path / "cache" / "training").iterdir())


@pytest.mark.parametrize(
    ("options", "at_hand", "message"),
    [
        ({"warmup": "1"}, AtHand(Pictures()), "small?warmup=1 trains on the labels, and these"),
        ({"warmup": "1"}, AtHand(), "small is trained on the pictures of a dataset, and there is"),
        ({"warmup": "1"}, AtHand(Pictures(), np.zeros(40)), "needs at least two classes"),
        ({"warmup": "2"}, AtHand(), "choose one of 0, 1"),
        ({"batches": "3"}, AtHand(), "has no option 'batches'; it knows warmup"),
    ],
)
def test_what_warm_up_cannot_do_is_said(options, at_hand, message):
    with pytest.raises(InputError) as caught:
        warm(options, at_hand)
    assert message in str(caught.value)


def test_lite0_warms_up(monkeypatch):
    """The network of the package, one batch: other features, and no torch to use them."""
    at_hand = AtHand(Pictures(), np.arange(40) % 2)
    tuned = open_extractor("efficientnet-lite0?size=32&warmup=1&batches=1", "image", at_hand)
    plain = open_extractor("efficientnet-lite0?size=32", "image")
    shown = [tuned.prepare(encoded(shade(row))) for row in range(4)]
    assert tuned.run(shown).shape == plain.run(shown).shape == (4, 1280)
    assert not np.allclose(tuned.run(shown), plain.run(shown))
    assert np.isfinite(tuned.run(shown)).all()


def test_pictures_are_gathered_in_order_without_those_that_fail():
    rows = np.array([1, 2, 5, 30, 39])
    with decoded(Pictures(bad=[5]), rows, SIZE, None) as (pictures, kept):
        np.testing.assert_array_equal(kept, [1, 2, 30, 39])
        np.testing.assert_array_equal(pictures, [shade(row) for row in kept])
    with (
        pytest.raises(InputError, match="none of the pictures can be read"),
        decoded(Pictures(bad=rows), rows, SIZE, None),
    ):
        pass


SIMCLR = "simclr?size=16&epochs=1&width=4&depth=10&batch=16"


def test_simclr_trains_on_the_pictures_at_hand_and_is_kept(monkeypatch):
    told = []
    at_hand = AtHand(Pictures(bad=[7]), None, 0, lambda *step: told.append(step))
    extractor = open_extractor(SIMCLR, "image", at_hand)
    assert told[-1] == ("SimCLR", 2, 2)
    assert extractor.run([shade(0)]).shape == (1, 32)
    told.clear()
    assert open_extractor(SIMCLR, "image", at_hand).identity == extractor.identity
    assert told == []
    open_extractor(SIMCLR, "image", AtHand(Pictures(), None, 1))
    open_extractor(f"{SIMCLR}&pictures=20", "image", at_hand)
    assert told[-1] == ("SimCLR", 1, 1)


def test_simclr_needs_pictures():
    with pytest.raises(InputError) as caught:
        open_extractor("simclr", "image")
    assert str(caught.value) == (
        "the extractor simclr is trained on the pictures of a dataset, and there is none here; "
        "use it with simifeat detect"
    )


def test_without_torch_one_line_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError) as caught:
        open_extractor("simclr", "image", AtHand(Pictures()))
    assert str(caught.value) == (
        "torch is not installed; install it with: pip install 'simifeat[torch]'"
    )


def test_from_the_command_line(tmp_path, capsys):
    for row in range(30):
        place = tmp_path / "photos" / ("red" if row % 2 else "blue") / f"{row}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded(shade(row)))
    photos, out = str(tmp_path / "photos"), str(tmp_path / "out.csv")
    arguments = [photos, "-o", out, "-k", "3", "--method", "vote"]
    assert main(["detect", *arguments, "--extractor", SIMCLR]) == 0
    warm_lite0 = "efficientnet-lite0?size=32&warmup=1&batches=1"
    assert main(["detect", *arguments, "--extractor", warm_lite0]) == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 31
