from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from pictures import encoded, picture, tiny_network
from simifeat.errors import InputError
from simifeat.features.efficientnet import build_efficientnet_lite0
from simifeat.features.layers import Layers
from simifeat.features.onnxfile import Graph
from simifeat.features.registry import open_extractor


def run(file, **inputs):
    return onnxruntime.InferenceSession(file).run(None, inputs)[0]


def finished(layers, value, width):
    layers.features(value, width)
    return layers.model()


def over_rows(weights):
    """Layers whose input ``x`` is float32 [n, t, 8]."""
    layers = Layers("test", weights)
    return layers, layers.graph.input("x", "float32", ["n", "t", 8])


def test_metadata_shapes_and_types_are_read_back_by_the_runtime():
    session = onnxruntime.InferenceSession(tiny_network(metadata={"mean": "1,2,3"}))
    (wanted,), (made,) = session.get_inputs(), session.get_outputs()
    assert (wanted.name, wanted.type, wanted.shape) == (
        "pixels",
        "tensor(uint8)",
        ["n", "h", "w", 3],
    )
    assert (made.name, made.shape) == ("features", ["n", 6])
    stored = session.get_modelmeta().custom_metadata_map
    assert stored == {"size": "24", "mean": "1,2,3"}


def test_negative_and_large_integers_survive():
    graph = Graph("test")
    graph.input("x", "int64", [2])
    graph.constant("c", np.array([-(2**62), 2**62], np.int64))
    graph.node("Add", ["x", "c"], "y")
    graph.output("y", "int64", [2])
    found = run(graph.model(opset=17), x=np.array([-1, 1], np.int64))
    assert found.tolist() == [-(2**62) - 1, 2**62 + 1]


def test_convolution_with_batch_norm_is_a_literal_loop():
    rng = np.random.default_rng(0)
    weights = {
        "c.weight": rng.normal(size=(4, 1, 3, 3)).astype(np.float32),  # two groups of one
        "c.bias": rng.normal(size=4).astype(np.float32),
        "b.weight": rng.uniform(0.5, 2, 4).astype(np.float32),
        "b.bias": rng.normal(size=4).astype(np.float32),
        "b.running_mean": rng.normal(size=4).astype(np.float32),
        "b.running_var": rng.uniform(0.5, 2, 4).astype(np.float32),
    }
    layers = Layers("test", weights)
    value = layers.graph.input("x", "float32", [1, 2, 5, 5])
    value = layers.conv(value, "c", norm="b", eps=1e-3, stride=2, pads=(0, 1), groups=2)
    layers.graph.node("Identity", [value], "y")
    layers.graph.output("y", "float32", [1, 4, 2, 2])
    x = rng.normal(size=(1, 2, 5, 5)).astype(np.float32)
    padded = np.pad(x[0], ((0, 0), (0, 1), (0, 1)))
    wanted = np.zeros((4, 2, 2))
    for out in range(4):
        for row in range(2):
            for column in range(2):
                window = padded[out // 2, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
                summed = (window * weights["c.weight"][out, 0]).sum() + weights["c.bias"][out]
                scaled = (summed - weights["b.running_mean"][out]) / np.sqrt(
                    weights["b.running_var"][out] + 1e-3
                )
                wanted[out, row, column] = (
                    scaled * weights["b.weight"][out] + weights["b.bias"][out]
                )
    # 5 pixels and 1 after them, windows of 3, steps of 2: two places
    np.testing.assert_allclose(run(layers.model(), x=x)[0], wanted, rtol=1e-4, atol=1e-5)


def test_attention_is_a_literal_loop():
    rng = np.random.default_rng(1)
    layers, x = over_rows({})
    value = layers.attention(x, x, x, n_heads=2, width=8)
    value = layers.node("ReduceMean", value, axes=[1], keepdims=0)
    rows = rng.normal(size=(2, 3, 8)).astype(np.float32)
    wanted = np.zeros((2, 3, 8))
    for n in range(2):
        for head in (slice(0, 4), slice(4, 8)):
            for t in range(3):
                scores = np.exp([rows[n, t, head] @ rows[n, u, head] / 2 for u in range(3)])
                for u in range(3):
                    wanted[n, t, head] += scores[u] / scores.sum() * rows[n, u, head]
    found = run(finished(layers, value, 8), x=rows)
    np.testing.assert_allclose(found, wanted.mean(axis=1), rtol=1e-4, atol=1e-6)


def test_layer_norm_gelu_and_linear_are_their_equations():
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    weights = {
        "n.weight": rng.normal(size=8).astype(np.float32),
        "n.bias": rng.normal(size=8).astype(np.float32),
        "l.weight": rng.normal(size=(5, 8)).astype(np.float32),
        "l.bias": rng.normal(size=5).astype(np.float32),
    }
    layers, x = over_rows(weights)
    value = layers.linear(layers.gelu(layers.layer_norm(x, "n", eps=1e-6)), "l")
    value = layers.node("ReduceMean", value, axes=[1], keepdims=0)
    rows = rng.normal(size=(3, 1, 8)).astype(np.float32)
    inner = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-6)
    inner = inner * weights["n.weight"] + weights["n.bias"]
    wanted = (inner * norm.cdf(inner)) @ weights["l.weight"].T + weights["l.bias"]
    found = run(finished(layers, value, 5), x=rows)
    np.testing.assert_allclose(found, wanted[:, 0], rtol=1e-4, atol=1e-5)


def test_weights_of_another_network_are_refused():
    with pytest.raises(InputError, match=r"^the weights lack the tensor '_conv_stem.weight':"):
        build_efficientnet_lite0({"conv1.weight": np.zeros((1, 1, 1, 1), np.float32)})


# --- onnx:PATH -----------------------------------------------------------------------------------


def network(shape, dtype="float32", metadata=None, *, maps=False):
    """A file whose features are the means over the places of what comes in."""
    layers = Layers("test", {})
    value = layers.graph.input("input", dtype, shape)
    if dtype != "float32":
        value = layers.node("Cast", value, to=1)
    if shape[-1] == 3:
        value = layers.node("Transpose", value, perm=[0, 3, 1, 2])
    if not maps:
        value = layers.node("ReduceMean", value, axes=[2, 3], keepdims=0)
    layers.graph.node("Identity", [value], "out")
    layers.graph.output("out", "float32", ["n", 3, "h", "w"] if maps else ["n", 3])
    return layers.graph.model(opset=17, metadata=metadata)


def opened(tmp_path, file, options=""):
    path = tmp_path / "net.onnx"
    path.write_bytes(file)
    return open_extractor(f"onnx:{path}{options}", "image")


def features(extractor, n=2):
    pixels = [picture(seed) for seed in range(n)]
    found = extractor.run([extractor.prepare(encoded(each)) for each in pixels])
    return found, np.stack([each.reshape(-1, 3).mean(axis=0) for each in pixels])


IMAGENET = np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])


@pytest.mark.parametrize(
    ("file", "options", "mean", "std"),
    [
        (network(["n", 3, 24, 24]), "", *IMAGENET),
        (network(["n", 24, 24, 3]), "", *IMAGENET),
        (network(["n", 24, 24, 3], maps=True), "", *IMAGENET),
        (network(["n", 24, 24, 3], "uint8"), "", 0, 1),
        (network(["n", 3, "h", "w"]), "?size=24&mean=127&std=128", 127, 128),
        (network(["n", 3, "h", "w"]), "?size=24&mean=.5&std=.25,.5,1", 127.5, [63.75, 127.5, 255]),
        (network(["n", 3, "h", "w"]), "?size=24&std=1", 0, 255),
        (
            network(["n", 3, "h", "w"], metadata={"size": "24", "mean": "10,20,30", "std": "2"}),
            "",
            [10, 20, 30],
            2,
        ),
        (network([4, 3, 24, 24]), "", *IMAGENET),
    ],
    ids=["nchw", "nhwc", "maps", "bytes", "given", "0..1", "std alone", "metadata", "fixed"],
)
def test_a_network_gets_what_it_wants(tmp_path, file, options, mean, std):
    extractor = opened(tmp_path, file, options)
    found, means = features(extractor)
    np.testing.assert_allclose(found, (means - mean) / std, rtol=1e-3, atol=1e-3)


def test_an_assumption_is_said(tmp_path):
    assert opened(tmp_path, network(["n", 3, 24, 24])).notes == (
        "onnx:net.onnx does not say how its input is normalised; ImageNet's mean and deviation",
    )
    assert opened(tmp_path, tiny_network()).notes == ()


def test_the_identity_tells_files_and_settings_apart(tmp_path):
    free = network(["n", 3, "h", "w"])
    identities = {
        opened(tmp_path, file, options).identity
        for file in (free, network(["n", 3, 24, 24]))
        for options in ("?size=24&mean=1", "?size=24&mean=2")
    }
    assert len(identities) == 4


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        (b"not a model", "", "net.onnx is no ONNX file, or a damaged one (a field of the unknown"),
        (b"", "", "ONNX Runtime cannot load the model onnx:net.onnx: "),
        (network(["n", 3, 24, 24]), "?size=32", "takes pictures of 24 pixels a side, not 32"),
        (network(["n", 3, 24, 32]), "", "takes pictures of 24 by 32 pixels"),
        (network(["n", 3, 24, 24]), "?colour=1", "has no option 'colour'; it knows input, output,"),
        (network(["n", 3, 24, 24]), "?size=many", "give a whole number of at least 1"),
        (network(["n", 3, 24, 24]), "?mean=1,2", "give one number, or three with commas between"),
        (network(["n", 3, 24, 24]), "?layout=hwc", "choose one of nhwc, nchw"),
        (network(["n", 3, 24, 24]), "?output=x", "has no output 'x'; choose one of out"),
        (network(["n", 24, 24, 3], "uint8"), "?mean=1", "takes bytes as they are"),
        (network(["n", 24, 24, 3], "int64"), "", "takes int64 as its input"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path, file, options, message):
    with pytest.raises(InputError) as caught:
        opened(tmp_path, file, options)
    assert message in str(caught.value)


def test_unknown_names_are_met_with_the_nearest():
    with pytest.raises(InputError) as caught:
        open_extractor("efficientnet-lite", "image")
    assert str(caught.value) == (
        "there is no extractor 'efficientnet-lite'; did you mean 'efficientnet-lite0'?"
    )
    with pytest.raises(InputError, match=r"cannot read the model nowhere.onnx: No such file"):
        open_extractor("onnx:nowhere.onnx", "image")
