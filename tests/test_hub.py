from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pictures import picture
from simifeat.errors import InputError, OutputError
from simifeat.features import hub, hub_models
from simifeat.features.base import AtHand
from simifeat.features.hub import HubFile, fetch
from simifeat.features.registry import EXTRACTORS, open_extractor
from simifeat.features.resnet import random_resnet

CONTENT = np.random.default_rng(0).bytes(3_000_000)
INSTEAD = "wordllama, which comes with simifeat[text]"


class Hub(ThreadingHTTPServer):
    """A hub on this machine; what it does wrong is set by the test."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = {}
        self.asked = []
        self.cut_after = None
        self.ranges = True
        self.status = None


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.server.asked.append((self.path, start))
        content = self.server.files.get(self.path)
        if self.server.status or content is None:
            self.send_response(self.server.status or 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if not self.server.ranges:
            start = 0
        self.send_response(206 if self.server.ranges else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if self.server.ranges:
            last = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        self.end_headers()
        end = len(content) if self.server.cut_after is None else start + self.server.cut_after
        self.wfile.write(content[start:end])
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(variable, raising=False)
        yield server
        server.shutdown()
        thread.join()


def hub_file(content=CONTENT, path="model.safetensors", repository="who/what"):
    return HubFile(repository, "0" * 40, path, len(content), hashlib.sha256(content).hexdigest())


def offered(server, file, content=CONTENT):
    server.files[f"/{file.repository}/resolve/{file.revision}/{file.path}"] = content
    return file


def test_a_file_is_fetched_once_with_progress(server):
    file, told = offered(server, hub_file()), []
    place = fetch(file, "what", INSTEAD, lambda *step: told.append(step))
    assert place == file.place
    assert place.read_bytes() == CONTENT
    assert told[-1] == ("fetching what (MB)", 3, 3)
    assert fetch(file, "what", INSTEAD) == place
    assert server.asked == [(f"/who/what/resolve/{'0' * 40}/model.safetensors", 0)]
    assert [each.name for each in place.parent.iterdir()] == ["model.safetensors"]


def test_what_was_cut_is_gone_on_with_in_the_same_run(server):
    server.cut_after = 1_234_567
    file = offered(server, hub_file())
    assert fetch(file, "what", INSTEAD).read_bytes() == CONTENT
    assert [start for _path, start in server.asked] == [0, 1_234_567, 2_469_134]


def test_what_was_cut_is_gone_on_with_in_a_later_run(server):
    file = offered(server, hub_file())
    file.place.parent.mkdir(parents=True)
    file.place.with_name("model.safetensors.part").write_bytes(CONTENT[:1000])
    assert fetch(file, "what", INSTEAD).read_bytes() == CONTENT
    assert [start for _path, start in server.asked] == [1000]


def test_a_server_without_ranges_is_asked_for_all_of_it(server):
    server.ranges = False
    file = offered(server, hub_file())
    file.place.parent.mkdir(parents=True)
    file.place.with_name("model.safetensors.part").write_bytes(b"x" * 1000)
    assert fetch(file, "what", INSTEAD).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "sent", [CONTENT[:-1] + b"x", CONTENT + b"x", CONTENT[:100]], ids=["other", "longer", "shorter"]
)
def test_another_file_than_the_pinned_one_is_never_used(server, sent):
    wanted = hub_file(CONTENT[:100] if len(sent) == 100 else CONTENT)
    if len(sent) == 100:
        sent = b"y" * 100
    file = offered(server, wanted, sent)
    if len(sent) > len(CONTENT):  # what is too much is not read; the rest is the file
        assert fetch(file, "what", INSTEAD).read_bytes() == CONTENT
        return
    with pytest.raises(InputError) as caught:
        fetch(file, "what", INSTEAD)
    assert str(caught.value) == (
        f"{file.address} is not the file that simifeat knows (SHA-256 "
        f"{hashlib.sha256(sent).hexdigest()[:12]}…, expected {file.sha256[:12]}…); it was not "
        f"kept; try again, or use {INSTEAD}"
    )
    assert [each for each in file.place.parent.iterdir() if each.suffix != ".lock"] == []


def test_a_file_that_was_changed_in_the_cache_is_fetched_again(server):
    file = offered(server, hub_file())
    fetch(file, "what", INSTEAD).write_bytes(CONTENT[:-1] + b"x")
    assert fetch(file, "what", INSTEAD).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_cut_that_brings_nothing_ends_it_and_keeps_what_came(server):
    file = offered(server, hub_file())
    server.cut_after = 0
    file.place.parent.mkdir(parents=True)
    draft = file.place.with_name("model.safetensors.part")
    draft.write_bytes(CONTENT[:1000])
    with pytest.raises(InputError, match=r"\(3 MB\) from .*: the connection was cut; without"):
        fetch(file, "what", INSTEAD)
    assert draft.read_bytes() == CONTENT[:1000]


@pytest.mark.parametrize(("status", "reason"), [(404, "it answers 404"), (503, "it answers 503")])
def test_an_answer_that_is_no_file(server, status, reason):
    server.status = status
    file = hub_file()
    with pytest.raises(InputError) as caught:
        fetch(file, "what", INSTEAD)
    assert str(caught.value) == (
        f"cannot fetch what (3 MB) from {file.address}: {reason}; without the hub use {INSTEAD}, "
        f"or your own network as onnx:PATH, or put the file at {file.place}"
    )


def test_offline_names_what_works(server, monkeypatch):
    server.shutdown()
    server.server_close()
    with pytest.raises(InputError) as caught:
        open_extractor("resnet34", "image")
    line = str(caught.value)
    assert line.startswith("cannot fetch resnet34 (87 MB) from http://127.0.0.1:")
    assert "Connection refused; without the hub use efficientnet-lite0, which comes" in line
    assert "or your own network as onnx:PATH, or put the file at " in line
    assert "\n" not in line
    with pytest.raises(InputError, match="use wordllama, which comes with simifeat"):
        open_extractor("bert-base", "text")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set; without the hub use"):
        open_extractor("clip-vit-b32", "image")


def test_a_file_put_there_by_hand_needs_no_hub(server):
    file = hub_file()
    file.place.parent.mkdir(parents=True)
    file.place.write_bytes(CONTENT)
    assert fetch(file, "what", INSTEAD) == file.place
    assert server.asked == []


def test_a_full_disk_is_said(server, monkeypatch):
    file = offered(server, hub_file())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hub.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device; free some space, or name"):
        fetch(file, "what", INSTEAD)


def test_two_runs_beside_each_other_fetch_it_once(server):
    file, found = offered(server, hub_file()), []
    threads = [
        threading.Thread(target=lambda: found.append(fetch(file, "what", INSTEAD)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [file.place] * 4
    assert len(server.asked) == 1


def safetensors(weights):
    """A safetensors file of float32 tensors."""
    import json

    entries, body = {}, b""
    for name, value in weights.items():
        data = np.ascontiguousarray(value, np.float32).tobytes()
        entries[name] = {
            "dtype": "F32",
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    header = json.dumps(entries).encode()
    return len(header).to_bytes(8, "little") + header + body


def test_an_extractor_from_the_hub(server, monkeypatch):
    weights = random_resnet(18, 4, np.random.default_rng(0))
    content = safetensors(weights)
    file = offered(server, hub_file(content, repository="timm/small"), content)
    monkeypatch.setitem(hub_models.WEIGHTS, "resnet18", file)
    told = []
    extractor = open_extractor(
        "resnet18?size=32", "image", AtHand(progress=lambda *step: told.append(step))
    )
    assert extractor.run([picture(0, 32)]).shape == (1, 32)
    assert told[0][0] == "fetching resnet18 (MB)"
    again = open_extractor("resnet18?size=32", "image")
    assert again.identity == extractor.identity
    assert len(server.asked) == 1


def test_every_file_of_the_hub_is_pinned():
    files = [*hub_models.WEIGHTS.values(), *hub_models.TOKENIZERS.values()]
    for file in files:
        assert len(bytes.fromhex(file.revision)) == 20
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.path.endswith((".safetensors", ".json"))  # data, nothing that is unpickled
    assert len({file.sha256 for file in files}) == len(files)
    assert set(hub_models.WEIGHTS) <= set(EXTRACTORS)
