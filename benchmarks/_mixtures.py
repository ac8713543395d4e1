"""Any number of rows that lie as CIFAR's features do: jittered mixtures of them, with labels.

A row is (1 - t) a + t b + noise, where a is a feature vector of CIFAR-10 or CIFAR-100, b one of its
ten nearest, t uniform in [0, .5], and the noise .3 times as long as the mean distance of a and b.
More than 256 dimensions come by a random rotation into them. The class is a's of 110; labels are
corrupted at a symmetric rate of .3. The rows are the same whatever their number: row i depends on
the seed and its block of 50,000 alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from _common import load_cifar
from simifeat.neighbors import find_neighbors

BLOCK = 50_000
NOISE_RATE = 0.3


def mixture_files(data: Path, work: Path, n: int, d: int, seed: int = 0) -> tuple[Path, Path, Path]:
    """Paths of features [n, d], labels [n] and clean labels [n] as .npy, made once in ``work``."""
    work.mkdir(parents=True, exist_ok=True)
    names = ("features", "labels", "clean")
    paths = tuple(work / f"mixture_{n}x{d}_{seed}_{name}.npy" for name in names)
    if all(path.exists() for path in paths):
        return paths  # type: ignore[return-value]
    source, classes, near = _sources(data, work)
    n_classes = int(classes.max()) + 1
    length = np.linalg.norm(source - source[near[:, 4]], axis=1).mean()
    turn = np.eye(source.shape[1], dtype=np.float32)
    if d > source.shape[1]:
        square = np.random.default_rng(seed).normal(size=(d, source.shape[1]))
        turn = np.linalg.qr(square)[0].T.astype(np.float32)  # [256, d]
    drafts = [path.with_suffix(".tmp") for path in paths]
    features = np.lib.format.open_memmap(drafts[0], "w+", np.float32, (n, d))
    clean, labels = np.empty((2, n), np.int32)
    for start in range(0, n, BLOCK):
        rng = np.random.default_rng([seed, start])
        a = rng.integers(len(source), size=BLOCK)
        b = near[a, rng.integers(near.shape[1], size=BLOCK)]
        t = rng.uniform(0, 0.5, (BLOCK, 1)).astype(np.float32)
        rows = ((1 - t) * source[a] + t * source[b]) @ turn
        rows += rng.normal(size=rows.shape).astype(np.float32) * np.float32(0.3 * length / d**0.5)
        wrong = rng.random(BLOCK) < NOISE_RATE
        other = (classes[a] + rng.integers(1, n_classes, size=BLOCK)) % n_classes
        stop = min(start + BLOCK, n)
        features[start:stop] = rows[: stop - start]
        clean[start:stop] = classes[a][: stop - start]
        labels[start:stop] = np.where(wrong, other, classes[a])[: stop - start]
    features.flush()
    for draft, array in zip(drafts[1:], (labels, clean), strict=True):
        with draft.open("wb") as file:
            np.save(file, array)
    for draft, path in zip(drafts, paths, strict=True):
        draft.rename(path)
    return paths  # type: ignore[return-value]


def _sources(data: Path, work: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features [m, 256] and classes [m] of both sets, and the ten nearest rows of each."""
    parts, classes = [], []
    for number, name in enumerate(("cifar10", "cifar100")):
        features, labels = load_cifar(data, name)
        parts.append(features)
        classes.append(labels["clean"] + 10 * number)
    source = np.concatenate(parts).astype(np.float32)
    stored = work / "mixture_sources.npy"
    if not stored.exists():
        np.save(stored, find_neighbors(source, 10, engine="approximate").index)
    return source, np.concatenate(classes), np.load(stored)
