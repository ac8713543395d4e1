from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pictures import tiny_network
from simifeat.errors import InputError
from simifeat.features.onnxcheck import check_onnx
from simifeat.features.onnxfile import _bytes, _int
from simifeat.features.registry import open_extractor

ELSEWHERE = "model.onnx keeps its weights in other files, which are not read: an ONNX file may name"


def external(location=b"../../etc/passwd"):
    """A TensorProto whose numbers lie in another file."""
    entry = _bytes(1, b"location") + _bytes(2, location)
    return _int(1, 3) + _int(2, 1) + _bytes(8, b"w") + _bytes(13, entry) + _int(14, 1)


def node(attribute):
    return _bytes(1, b"x") + _bytes(4, b"Constant") + _bytes(5, _bytes(1, b"value") + attribute)


def refused(file):
    """Why, or ``nothing``."""
    try:
        check_onnx(file, "model.onnx")
    except InputError as error:
        return str(error)
    return "nothing"


PLACES = {
    "initializer": _bytes(7, _bytes(5, external())),
    "sparse initializer": _bytes(7, _bytes(15, _bytes(1, external()))),
    "constant": _bytes(7, _bytes(1, node(_bytes(5, external())))),
    "list of tensors": _bytes(7, _bytes(1, node(_bytes(10, external())))),
    "inner graph": _bytes(7, _bytes(1, node(_bytes(6, _bytes(5, external()))))),
    "inner graphs": _bytes(7, _bytes(1, node(_bytes(11, _bytes(5, external()))))),
    "sparse attribute": _bytes(7, _bytes(1, node(_bytes(22, _bytes(2, external()))))),
    "function": _bytes(25, _bytes(7, node(_bytes(5, external())))),
    "training": _bytes(20, _bytes(1, _bytes(5, external()))),
    "location alone": _bytes(7, _bytes(5, _int(14, 1))),
    "data alone": _bytes(7, _bytes(5, _bytes(13, _bytes(1, b"location")))),
}


@pytest.mark.parametrize("file", PLACES.values(), ids=PLACES)
def test_numbers_in_other_files_are_refused_wherever_they_are_named(file):
    with pytest.raises(InputError) as caught:
        check_onnx(_int(1, 8) + file, "model.onnx")
    assert str(caught.value).startswith(ELSEWHERE)


def test_a_whole_model_passes_and_every_cut_of_it_is_found_or_is_harmless():
    file = tiny_network()
    check_onnx(file, "model.onnx")
    for end in range(len(file)):
        assert refused(file[:end]).startswith(
            ("model.onnx is no ONNX file, or a damaged", "nothing")
        )


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_pass_or_be_refused(content):
    assert refused(content)


def test_messages_inside_one_another_have_an_end():
    file = b""
    for _ in range(200):
        file = _bytes(1, node(_bytes(6, file)))
    with pytest.raises(InputError, match="too many messages inside one another"):
        check_onnx(_bytes(7, file), "model.onnx")


def test_a_hostile_model_is_refused_before_the_runtime_sees_it(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(np.ones(3, np.float32).tobytes())
    path = tmp_path / "net.onnx"
    path.write_bytes(tiny_network() + _bytes(7, _bytes(5, external(b"secret"))))
    with pytest.raises(InputError, match="keeps its weights in other files, which are not read"):
        open_extractor(f"onnx:{path}", "image")


def test_a_model_can_be_pinned(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(tiny_network())
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    open_extractor(f"onnx:{path}?sha256={found}", "image")
    with pytest.raises(InputError) as caught:
        open_extractor(f"onnx:{path}?sha256=00ff", "image")
    assert str(caught.value) == (
        f"the model {path} is not the one asked for: its SHA-256 is {found}, not 00ff"
    )


def test_a_text_network_needs_its_tokenizer(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(tiny_network())
    with pytest.raises(InputError) as caught:
        open_extractor(f"onnx:{path}", "text")
    assert str(caught.value) == (
        "onnx:net.onnx is to read texts and has no tokenizer; give "
        f"onnx:{path}?tokenizer=PATH of its tokenizer.json"
    )
    with pytest.raises(InputError, match=r"cannot read the tokenizer nowhere.json: No such file"):
        open_extractor(f"onnx:{path}?tokenizer=nowhere.json", "text")
