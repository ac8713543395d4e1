"""Runs on a real cluster: three nodes, each a group of processes of its own."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ray", reason="ray is not installed (extra simifeat[ray])")
import ray

from pictures import encoded, picture
from scaled import blobs, ray_cluster, write_parquet
from simifeat.distributed import detect_files, on_ray
from simifeat.distributed.cost import Budget
from simifeat.distributed.inputs import BadShard
from simifeat.distributed.stages import STAGES
from simifeat.verdicts import Verdicts

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::ray")]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write_parquet(tmp_path_factory.mktemp("shards"), *blobs(12_000, d=32), 6)


@pytest.fixture(scope="module")
def whole(shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return saved(detect_files(shards, folder / "work"), folder)


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster() as (running, _):
        yield running


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    """Work for every node, although there are few rows."""
    tight = Budget(2, 1 << 17, 1 << 19)
    monkeypatch.setattr(Budget, "fit", classmethod(lambda *_: tight))


def saved(verdicts, folder):
    verdicts.save(folder / "saved.parquet")
    return (folder / "saved.parquet").read_bytes()


def workers():
    """Process numbers of the workers that run a stage now."""
    found = subprocess.run(["pgrep", "-f", "^ray::.*_run_one"], capture_output=True, check=False)
    return [int(number) for number in found.stdout.split()]


def test_a_cluster_gives_the_same_bytes(shards, whole, cluster, tmp_path):
    found = detect_files(shards, tmp_path / "work", cluster=cluster.address)
    assert saved(found, tmp_path) == whole
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_may_die_in_any_stage(shards, whole, cluster, tmp_path, stage):
    killed = []

    def kill(name, *_):
        if name == stage and not killed:
            killed.extend(workers()[:1])
            for number in killed:
                os.kill(number, signal.SIGKILL)

    found = detect_files(shards, tmp_path / "work", cluster=cluster.address, progress=kill)
    assert saved(found, tmp_path) == whole


def test_a_node_may_die(shards, whole, cluster, tmp_path):
    node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    cluster.wait_for_nodes()
    seconds = random.Random(0).uniform(0.2, 1.0)
    clock = threading.Timer(seconds, partial(cluster.remove_node, node, allow_graceful=False))
    clock.start()
    found = detect_files(shards, tmp_path / "work", cluster=cluster.address)
    clock.join()
    assert saved(found, tmp_path) == whole


def test_a_driver_may_die_and_be_started_again(shards, whole, cluster, tmp_path):
    target = tmp_path / "out.parquet"
    command = [sys.executable, "-m", "simifeat", "detect", shards, "-o", str(target)]
    command += ["--cluster", cluster.address]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work = tmp_path / "out.parquet.work"
    deadline = time.monotonic() + 60
    while not list(work.glob("assign-*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not target.exists()
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"note: going on with the run in {work}" in again.stderr
    assert not work.exists()
    (tmp_path / "whole.parquet").write_bytes(whole)
    one, other = Verdicts.load(target), Verdicts.load(tmp_path / "whole.parquet")
    np.testing.assert_array_equal(one.p_corrupted, other.p_corrupted)


def test_a_node_that_stands_still_is_gone_round(shards, whole, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(on_ray, "OnRay", partial(on_ray.OnRay, slow_seconds=3.0))
    stopped = []

    def stop(name, *_):
        if name == "search" and not stopped:
            stopped.extend(workers()[:1])
            for number in stopped:
                os.kill(number, signal.SIGSTOP)

    try:
        found = detect_files(shards, tmp_path / "work", cluster=cluster.address, progress=stop)
    finally:
        for number in stopped:
            os.kill(number, signal.SIGCONT)
    assert stopped
    assert saved(found, tmp_path) == whole


def test_a_full_object_store_is_no_matter(shards, whole, cluster, tmp_path):
    filler = []
    if not ray.is_initialized():
        ray.init(cluster.address, log_to_driver=False)
    for _ in range(7):
        filler.append(ray.put(bytes(10 * 2**20)))
    found = detect_files(shards, tmp_path / "work", cluster=cluster.address)
    assert len(filler) == 7
    assert saved(found, tmp_path) == whole


def test_a_damaged_shard_is_named_from_wherever_it_was_read(cluster, tmp_path):
    pattern = write_parquet(tmp_path, *blobs(3000, d=32), 3)
    path = tmp_path / "part-001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(BadShard, match=r"part-001\.parquet"):
        detect_files(pattern, tmp_path / "work", cluster=cluster.address)
    told = []
    found = detect_files(
        pattern, tmp_path / "work", cluster=cluster.address, skip_bad=True, note=told.append
    )
    assert found.n_examples == 2000
    assert str(path) in told[0]


def test_pictures_are_extracted_on_the_cluster(cluster, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(60):
        path = tmp_path / "photos" / ("ab"[number % 2]) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(picture(number)))
    (tmp_path / "photos" / "a" / "0.png").write_bytes(b"no picture")
    command = [sys.executable, "-m", "simifeat", "detect", str(tmp_path / "photos"), "-k", "5"]
    command += ["--extractor", "efficientnet-lite0?size=32"]
    shown = []
    for name, how in (("here", ["--memory", "1GB"]), ("there", ["--cluster", cluster.address])):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{name}"))
        target = tmp_path / f"{name}.parquet"
        ran = subprocess.run(
            [*command, *how, "-o", str(target)], check=True, capture_output=True, text=True
        )
        assert "1 cannot be read and are not judged: a/0.png" in ran.stderr
        shown.append(target.read_bytes())
    assert shown[0] == shown[1]
