"""What every benchmark shares: where the data are, and how a result is written down."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
_PACKAGES = ("simifeat", "numpy", "scipy", "scikit-learn", "faiss-cpu", "cleanlab", "pyarrow")


def parser(description: str, output: str) -> argparse.ArgumentParser:
    """Arguments that every benchmark takes."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("-o", "--output", type=Path, default=RESULTS / output)
    return arguments


def load_cifar(data: Path, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Features [n, d] of "cifar10" or "cifar100" and every label set of it by its short name."""
    features, labels = data / f"{name}_lite0_256d.npy", data / "cifar_labels.npz"
    for path in (features, labels):
        if not path.exists():
            sys.exit(
                f"{path} is missing: give the folder that holds it with --data (features are "
                "EfficientNet-lite0's of the CIFAR training pictures in their official order)"
            )
    stored = np.load(labels)
    sets = {key.split("_", 1)[1]: stored[key] for key in stored if key.split("_", 1)[0] == name}
    return np.load(features), {key: values.astype(np.int64) for key, values in sets.items()}


def run_alone(script: str, *words: object) -> dict[str, Any]:
    """What ``script`` prints as JSON with these ``words``, in a process of its own."""
    command = [sys.executable, script, *(str(word) for word in words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system."""
    cpu = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Installed versions of what takes part, and the revision of this repository."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    revision = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {**found, "revision": revision or "unknown"}


def write_result(path: Path, seed: int, result: Any) -> None:
    """Write ``result`` as JSON with the machine, versions, seed and command that made it."""
    record = {
        "command": " ".join(["python", *sys.argv]),
        "seed": seed,
        "machine": machine(),
        "versions": versions(),
        "result": result,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written to {path}", file=sys.stderr)
