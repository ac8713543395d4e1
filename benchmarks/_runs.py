"""The command line run as a process of its own: its time, its peak memory, its verdicts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simifeat.verdicts import Verdicts


@dataclass(frozen=True)
class Run:
    """What one run took."""

    seconds: float
    cpu_seconds: float
    """Of all its threads: what else the machine does matters less."""
    peak_bytes: int
    """Largest resident memory of the process."""


def detect_command(
    features: Path | str, labels: Path | None, output: Path, *more: str
) -> list[str]:
    """The command that judges ``features`` and writes ``output``."""
    command = [sys.executable, "-m", "simifeat", "detect", str(features), "-o", str(output)]
    return [*command, *([] if labels is None else ["--labels", str(labels)]), *more]


def run(command: list[str]) -> Run:
    """Run to the end; its own words where it fails."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    seconds = time.perf_counter() - begun
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def f1(flags: np.ndarray, labels: np.ndarray, clean: np.ndarray) -> float:
    """F1 in per cent of flagged rows."""
    wrong = labels != clean
    return 200 * float((flags & wrong).sum()) / float(flags.sum() + wrong.sum())


def f1_of(output: Path, labels: Path, clean: Path) -> float:
    """F1 in per cent of the verdicts at ``output``."""
    return f1(Verdicts.load(output).is_corrupted, np.load(labels), np.load(clean))
