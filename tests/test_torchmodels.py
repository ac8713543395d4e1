"""timm, OpenCLIP and Sentence Transformers by stand-ins with the calls that are made of them."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch

from pictures import encoded, picture
from simifeat.errors import InputError, MissingExtra
from simifeat.features.registry import open_extractor
from simifeat.io.records import Unreadable

MEAN, STD = (0.5, 0.25, 0.125), (0.5, 0.5, 0.25)


class Means(torch.nn.Module):
    """Features are the means over the places, through a layer that keeps them."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.layer = torch.nn.Linear(3, 3, bias=False)
        self.layer.weight.data = torch.eye(3) * (1 + seed)
        self.drop = torch.nn.Dropout(0.5)  # shows if it is left in training

    def forward(self, pixels):
        assert not torch.is_grad_enabled()
        return self.drop(self.layer(pixels.mean((2, 3))))


def stub(monkeypatch, name, **content):
    module = types.ModuleType(name)
    for key, value in content.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.fixture
def timm(monkeypatch):
    asked = []

    def create_model(name, pretrained, num_classes):
        asked.append((name, pretrained, num_classes))
        if name == "nothing":
            raise RuntimeError("Unknown model (nothing)\nmore lines")
        return Means(seed=len(name))

    data = types.SimpleNamespace(
        resolve_model_data_config=lambda model: {
            "input_size": (3, 24, 24),
            "mean": MEAN,
            "std": STD,
        }
    )
    stub(monkeypatch, "timm", create_model=create_model, data=data)
    return asked


def expected(pixels, scale=1.0):
    means = np.stack([each.reshape(-1, 3).mean(axis=0) / 255 for each in pixels])
    return scale * (means - MEAN) / STD


def test_timm(timm):
    extractor = open_extractor("timm:ab", "image")
    assert timm == [("ab", True, 0)]
    shown = [picture(seed) for seed in range(3)]
    prepared = [extractor.prepare(encoded(each)) for each in shown]
    found = extractor.run(prepared)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(shown, 3), rtol=1e-4, atol=1e-5)
    assert extractor.name == "timm:ab"
    small = open_extractor("timm:ab?size=12&batch=5", "image")
    assert small.prepare(encoded(shown[0])).shape == (12, 12, 3)
    assert small.batch_size == 5
    assert len({each.identity for each in (extractor, small)}) == 2
    assert open_extractor("timm:ab", "image").identity == extractor.identity
    assert open_extractor("timm:abc", "image").identity != extractor.identity
    with pytest.raises(Unreadable):
        extractor.prepare("text")


def test_the_identity_is_that_of_the_weights(timm, monkeypatch):
    before = open_extractor("timm:ab", "image").identity
    monkeypatch.setattr(sys.modules["timm"], "create_model", lambda *_, **__: Means(seed=9))
    assert open_extractor("timm:ab", "image").identity != before


def test_a_model_that_cannot_be_loaded(timm):
    with pytest.raises(InputError) as caught:
        open_extractor("timm:nothing", "image")
    assert str(caught.value) == "timm:nothing cannot be loaded: Unknown model (nothing)"


def test_open_clip(monkeypatch):
    asked = []

    class Clip(Means):
        def __init__(self):
            super().__init__()
            self.visual = types.SimpleNamespace(image_size=(24, 24), image_mean=MEAN, image_std=STD)

        def encode_image(self, pixels):
            return self(pixels)

    def create_model(name, pretrained):
        asked.append((name, pretrained))
        return Clip()

    stub(monkeypatch, "open_clip", create_model=create_model)
    shown = [picture(seed) for seed in range(2)]
    extractor = open_extractor("open_clip:ViT-B-32", "image")
    found = extractor.run([extractor.prepare(encoded(each)) for each in shown])
    np.testing.assert_allclose(found, expected(shown), rtol=1e-4, atol=1e-5)
    open_extractor("open_clip:ViT-B-32?pretrained=laion2b_s34b_b79k", "image")
    assert asked == [("ViT-B-32", "openai"), ("ViT-B-32", "laion2b_s34b_b79k")]


def test_sentence_transformers(monkeypatch):
    asked = []

    class Model(Means):
        device = "cpu"

        def encode(self, texts, *, batch_size, convert_to_numpy, normalize_embeddings, **_):
            assert convert_to_numpy
            assert not normalize_embeddings
            return np.array([[len(text), batch_size] for text in texts], np.float64)

    def load(name, *, trust_remote_code):
        asked.append((name, trust_remote_code))
        return Model()

    stub(monkeypatch, "sentence_transformers", SentenceTransformer=load)
    extractor = open_extractor("sentence-transformers:all/x", "text")
    assert asked == [("all/x", False)]
    found = extractor.run([extractor.prepare(text) for text in ("abc", "de")])
    np.testing.assert_array_equal(found, [[3, 2], [2, 2]])
    assert found.dtype == np.float32
    with pytest.raises(Unreadable, match="no letters or digits"):
        extractor.prepare("--")


@pytest.mark.parametrize(
    ("spec", "kind", "module", "extra"),
    [
        ("timm:x", "image", "timm", "timm"),
        ("open_clip:x", "image", "open_clip", "open-clip"),
        ("sentence-transformers:x", "text", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_what_is_not_installed_is_said_in_one_line(monkeypatch, spec, kind, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        open_extractor(spec, kind)
    assert str(caught.value) == (
        f"{module} is not installed; install it with: pip install 'simifeat[{extra}]'"
    )


def test_features_that_are_no_rows_are_refused(timm, monkeypatch):
    class Maps(Means):
        def forward(self, pixels):
            return pixels

    monkeypatch.setattr(sys.modules["timm"], "create_model", lambda *_, **__: Maps())
    extractor = open_extractor("timm:maps", "image")
    with pytest.raises(InputError, match=r"answers an array of shape \(1, 3, 24, 24\)"):
        extractor.run([picture(0)])
