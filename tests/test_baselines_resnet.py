import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch

from simifeat.baselines.confidence_loss import confidence_loss, sieve
from simifeat.baselines.network import Network, torch_loss
from simifeat.baselines.registry import detector
from simifeat.baselines.resnet import ResNetTrainer
from simifeat.baselines.tracin import self_influence
from simifeat.baselines.training import Objective, Recipe
from simifeat.errors import InputError
from simifeat.features import trainstate
from simifeat.metrics import average_precision

RECIPE = Recipe(n_epochs=6, batch_size=16, learning_rate=0.05)
SMALL = {"recipe": RECIPE, "depth": 10, "width": 4}
SIEVED = Objective(beta_max=1.0, sieve_from=0.3)


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def coloured():
    """Noise of a class's colour, a sixth of the labels corrupted: pictures, labels, truth."""
    rng = np.random.default_rng(0)
    clean = np.arange(96) % 3
    shades = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])
    pictures = shades[clean][:, None, None] + rng.normal(0, 40, (96, 8, 8, 3))
    labels = np.where(rng.random(96) < 1 / 6, (clean + 1) % 3, clean)
    return pictures.clip(0, 255).astype(np.uint8), labels.astype(np.int32), clean


def test_the_loss_of_tensors_is_that_of_arrays():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (40, 5)).astype(np.float32)
    codes = rng.integers(0, 5, 40).astype(np.int32)
    prior = rng.dirichlet(np.ones(5)).astype(np.float32)
    passed = sieve(logits, codes)
    assert 0 < passed.sum() < 40
    tensors = torch.from_numpy(logits), torch.from_numpy(codes).long(), torch.from_numpy(prior)
    for beta in (0.0, 2.0):
        losses = confidence_loss(logits, codes, prior, beta)
        assert float(torch_loss(*tensors, beta, False)) == pytest.approx(losses.mean(), rel=1e-5)
        assert float(torch_loss(*tensors, beta, True)) == pytest.approx(
            losses[passed].mean(), rel=1e-5
        )


def test_self_influence_is_that_of_per_example_gradients(coloured):
    """The last layer's gradients one example at a time, by torch, at every checkpoint."""
    pictures, labels, _ = coloured
    training = ResNetTrainer(**SMALL).fit(pictures, labels, 3, seed=1)
    assert [each.learning_rate for each in training.checkpoints] == pytest.approx(
        [0.05, 0.05, 0.005, 0.005]  # epochs 2, 3, 4 and 6
    )
    found = self_influence(training, labels)
    expected = np.zeros(6)
    for checkpoint in training.checkpoints:
        features = checkpoint.inputs[:, :-1].astype(np.float64)
        weight = np.linalg.lstsq(checkpoint.inputs.astype(float), checkpoint.logits, rcond=None)[0]
        for n in range(6):
            layer = torch.nn.Linear(features.shape[1], 3).double()
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weight[:-1].T))
                layer.bias.copy_(torch.from_numpy(weight[-1]))
            said = layer(torch.from_numpy(features[n : n + 1]))
            torch.nn.functional.cross_entropy(said, torch.tensor([int(labels[n])])).backward()
            squares = [float((each.grad**2).sum()) for each in (layer.weight, layer.bias)]
            expected[n] += checkpoint.learning_rate * sum(squares)
    np.testing.assert_allclose(found[:6], expected, rtol=1e-3)


@pytest.mark.parametrize("objective", [Objective(), SIEVED], ids=["plain", "sieved"])
def test_a_training_that_was_cut_ends_as_one_that_was_not(
    objective, coloured, tmp_path, monkeypatch
):
    pictures, labels, _ = coloured
    choices = {"objective": objective, "seed": 3}
    whole = ResNetTrainer(**SMALL).fit(pictures, labels, 3, **choices)

    class Cut(Exception):
        pass

    n_steps = []
    step = Network.step

    def cut(*arguments):
        n_steps.append(1)
        if len(n_steps) == 25:  # in the fifth epoch of six
            raise Cut
        step(*arguments)

    monkeypatch.setattr(Network, "step", cut)
    with pytest.raises(Cut):
        ResNetTrainer(keep=tmp_path, **SMALL).fit(pictures, labels, 3, **choices)
    found = ResNetTrainer(keep=tmp_path, **SMALL).fit(pictures, labels, 3, **choices)
    assert len(n_steps) == 25 + 12  # the fifth epoch anew, and the sixth
    for one, other in zip(found.checkpoints, whole.checkpoints, strict=True):
        np.testing.assert_array_equal(one.logits, other.logits)
        np.testing.assert_array_equal(one.inputs, other.inputs)
        assert one.learning_rate == other.learning_rate
    again = ResNetTrainer(keep=tmp_path, **SMALL).fit(pictures, labels, 3, **choices)
    assert len(n_steps) == 37  # all there
    np.testing.assert_array_equal(again.logits, whole.logits)
    next(tmp_path.glob("*-3.npz")).unlink()  # a checkpoint is lost: from the start
    ResNetTrainer(keep=tmp_path, **SMALL).fit(pictures, labels, 3, **choices)
    assert len(n_steps) == 37 + 36


def test_states_hold_plain_arrays_alone(coloured, tmp_path):
    pictures, labels, _ = coloured
    ResNetTrainer(keep=tmp_path, **SMALL).fit(pictures, labels, 3)
    files = list(tmp_path.iterdir())
    assert len(files) == 5  # the state and four checkpoints
    momenta = 0
    for file in files:
        with np.load(file, allow_pickle=False) as kept:
            momenta += sum(name.startswith("momentum_buffer/") for name in kept.files)
            assert all(kept[name].dtype != object for name in kept.files)
    assert momenta > 20
    assert "momentum_buffer" in trainstate._MOMENTS


@pytest.mark.parametrize("name", ["cores", "tracin", "deep_knn"])
def test_every_baseline_takes_a_resnet_on_pictures(name, coloured):
    pictures, labels, clean = coloured
    trainer = ResNetTrainer(Recipe(n_epochs=5, batch_size=16, learning_rate=0.03), 10, 4)
    found = detector(name).load()(pictures, labels, seed=0, trainer=trainer)
    assert average_precision(found.score, labels, clean) > 0.5
    assert "depth=10" in str(found.metadata)


def test_only_rows_asked_for_are_learnt(coloured):
    pictures, labels, _ = coloured
    rows = np.flatnonzero(np.arange(96) % 2)
    changed = np.where(np.isin(np.arange(96), rows), labels, (labels + 1) % 3).astype(np.int32)
    one, other = (
        ResNetTrainer(**SMALL).fit(pictures, given, 3, rows=rows, last_only=True)
        for given in (labels, changed)
    )
    assert len(one.checkpoints) == 1
    np.testing.assert_array_equal(one.logits, other.logits)


def test_features_in_place_of_pictures_are_refused():
    with pytest.raises(InputError, match=r"uint8 \[n, s, s, 3\], and these are float32 \[5, 4\]"):
        ResNetTrainer(**SMALL).fit(np.zeros((5, 4), np.float32), np.zeros(5, np.int32), 2)
