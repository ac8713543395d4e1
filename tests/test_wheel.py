"""What users install: the wheel, in a fresh environment, without extras and without a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OFFLINE = ("ConnectionError", "NewConnectionError", "Temporary failure", "No matching distribution")
USE = """
import importlib.util, json, sys, time
import numpy as np, scipy.sparse, scipy.special
start = time.process_time()
import simifeat
spent = time.process_time() - start
rng = np.random.default_rng(0)
clean = rng.integers(0, 3, 600)
features = np.eye(3)[clean] + 0.1 * rng.normal(size=(600, 3))
labels = simifeat.noise.symmetric(clean, 0.2, seed=1)
found = simifeat.detect(features, labels)
found.save("out.parquet")
again = simifeat.Verdicts.load("out.parquet")
print(json.dumps({
    "from": simifeat.__file__,
    "f1": simifeat.metrics.detection_scores(found.is_corrupted, labels, clean).f1,
    "same": bool((again.score == found.score).all()),
    "import_seconds": spent,
    "torch": importlib.util.find_spec("torch") is not None,
}))
"""


def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    """A command outside the source tree, with nothing of this environment's Python."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    env = {**plain, "CC": "/bin/false", "CXX": "/bin/false"}
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=env, **options
    )


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    succeed(run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT))
    [path] = folder.glob("simifeat-*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"simifeat"}
    source = ROOT / "src" / "simifeat"
    wanted = {
        str(path.relative_to(source.parent))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_a_fresh_install_detects(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv", check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (python, "-m", "pip", "install", "-q", "--only-binary", ":all:", wheel)
    succeed(run(*install, cwd=tmp_path))
    report = json.loads(succeed(run(python, "-c", USE, cwd=tmp_path)))
    assert str(tmp_path / "venv") in report["from"]
    assert report["f1"] > 0.95
    assert report["same"]
    assert report["import_seconds"] < 0.5
    assert not report["torch"]
    simifeat = tmp_path / "venv" / "bin" / "simifeat"
    assert succeed(run(simifeat, "--version")).startswith("simifeat")
    succeed(run(simifeat, "demo", "-o", tmp_path / "demo", cwd=tmp_path))
    assert (tmp_path / "demo").is_dir()
