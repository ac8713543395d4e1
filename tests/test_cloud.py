"""Paths elsewhere, fetched through fsspec: memory:// here, a server of this machine, file://."""

from __future__ import annotations

import functools
import http.server
import json
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sources
from pictures import tiny_network
from simifeat.cli import main
from simifeat.errors import InputError, MissingExtra
from simifeat.io import open_source
from simifeat.io.cloud import fetch, is_url

N = 12
CODES = np.arange(N) % 3
LABELS = [sources.NAMES[code] for code in CODES]


@pytest.fixture
def bucket():
    """An empty bucket in memory; writes files and gives their address."""
    system = fsspec.filesystem("memory")
    system.store.clear()

    def put(name, content):
        with system.open(f"/bucket/{name}", "wb") as file:
            file.write(content)
        return f"memory://bucket/{name}"

    yield put
    system.store.clear()


@pytest.fixture
def network(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_network())
    return f"onnx:{path}"


def test_what_is_an_address():
    assert is_url("s3://bucket/x")
    assert is_url("hf://datasets/a/b")
    assert not any(map(is_url, ("C://x", "a/b.csv", "/a:/b", "data.csv")))


def test_a_table_with_labels_in_a_file_of_their_own(bucket, tmp_path):
    csv = "x0,x1\n" + "".join(f"{i},{i + 1}\n" for i in range(4))
    url = bucket("a/data.csv", csv.encode())
    np.save(tmp_path / "labels.npy", np.arange(4))
    labels = bucket("labels.npy", (tmp_path / "labels.npy").read_bytes())
    source = open_source(url, labels=labels)
    assert source.labels.tolist() == [0, 1, 2, 3]
    assert source.load_features().matrix.tolist() == [[i, i + 1] for i in range(4)]


def test_arrays(bucket, tmp_path):
    np.savez(tmp_path / "a.npz", features=np.eye(4), labels=np.arange(4))
    url = bucket("a.npz", (tmp_path / "a.npz").read_bytes())
    assert open_source(url).load_features().matrix.tolist() == np.eye(4).tolist()


def test_folders_of_pictures(bucket, network, tmp_path):
    for i, content in enumerate(sources.files(N)):
        bucket(f"photos/{LABELS[i]}/deep/{i:02d}.png", content)
        path = tmp_path / "photos" / LABELS[i] / "deep" / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    told = []
    far = open_source(
        "memory://bucket/photos", extractor=network, progress=lambda *step: told.append(step)
    )
    near = open_source(tmp_path / "photos", extractor=network)
    assert told[-1] == ("fetching files", N, N)
    assert far.ids.tolist() == near.ids.tolist()
    np.testing.assert_array_equal(far.load_features().matrix, near.load_features().matrix)


def test_patterns_of_shards(bucket, network, tmp_path):
    members = list(sources.samples(sources.files(N), CODES))
    for i in range(2):
        path = sources.tar(tmp_path / f"s-{i}.tar", members[i * N : (i + 1) * N])
        bucket(f"web/s-{i}.tar", path.read_bytes())
    for pattern in ("s-{0..1}.tar", "s-*.tar"):
        source = open_source(f"memory://bucket/web/{pattern}", extractor=network)
        assert source.labels.tolist() == LABELS
        assert len(source.load_features().matrix) == N


def test_datasets_in_a_folder(bucket, tmp_path):
    table = sources.arrow_table(sources.files(N), CODES)
    pq.write_table(table, tmp_path / "x.parquet")
    bucket("hub/data/train-00000-of-00001.parquet", (tmp_path / "x.parquet").read_bytes())
    assert open_source("memory://bucket/hub").labels.tolist() == LABELS
    saved = sources.saved_dataset(tmp_path / "saved", sources.files(N), CODES)
    assert open_source(f"file://{saved}").labels.tolist() == LABELS


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_files_of_a_server(tmp_path):
    pytest.importorskip("aiohttp")
    (tmp_path / "data.csv").write_text("x0,x1,label\n1,2,a\n3,4,b\n")
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/data.csv?version=1"
            assert open_source(url).labels.tolist() == ["a", "b"]
            with pytest.raises(InputError, match=r"nothing.csv does not exist; check the path"):
                open_source(f"http://127.0.0.1:{server.server_port}/nothing.csv")
        finally:
            server.shutdown()
            thread.join()


def refused(url):
    with pytest.raises(InputError) as caught:
        open_source(url)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_fetched(bucket, monkeypatch):
    url = "memory://bucket/nothing.csv"
    assert refused(url) == f"{url} does not exist; check the path"
    assert refused("memory://bucket/x-*.tar") == (
        "memory://bucket/x-*.tar names no file; check the path"
    )
    assert refused("nosuch://bucket/x").startswith(
        "nosuch://bucket/x: there is no way to read nosuch:// ("
    )

    def missing(_):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    assert refused("s3://bucket/x") == (
        "s3://bucket/x: a package for s3:// is missing; install it with: pip install s3fs"
    )

    def no_fsspec(module, extra):
        raise MissingExtra(f"{module} {extra}")

    monkeypatch.setattr("simifeat.io.cloud.require", no_fsspec)
    with pytest.raises(MissingExtra, match=r"fsspec.core cloud"):
        open_source("s3://bucket/x")


def test_names_that_lead_elsewhere_are_refused(tmp_path, monkeypatch):
    class Evil:
        def isfile(self, _):
            return False

        def find(self, _):
            return ["bucket/a/../../../evil.csv"]

    monkeypatch.setattr("fsspec.core.url_to_fs", lambda url: (Evil(), "bucket/a"))
    with pytest.raises(InputError, match=r"holds a name that leads elsewhere \(evil.csv\)"):
        fetch("s3://bucket/a", tmp_path / "spool")
    assert not list(tmp_path.rglob("evil.csv"))


def test_from_the_command_line_to_a_cleaned_copy(bucket, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 3)) + 6 * np.eye(3)[np.arange(60) % 3]
    labels = [str(i % 3) for i in range(60)]
    labels[0] = "1"
    table = pa.table({**{f"x{j}": matrix[:, j] for j in range(3)}, "label": labels})
    pq.write_table(table, "x.parquet")
    url = bucket("x.parquet", (tmp_path / "x.parquet").read_bytes())
    assert main(["detect", url, "-o", "out.parquet", "-k", "5"]) == 0
    assert (
        json.loads((tmp_path / "out.parquet.json").read_text())["metadata"]["source"]["path"] == url
    )
    assert main(["clean", "out.parquet", "-o", "clean.parquet"]) == 0
    capsys.readouterr()
    assert pq.read_table("clean.parquet").num_rows == 59
