"""Exact neighbours of 50,000 x 512, k = 20, against ``faiss.knn``: time, and whether they agree.

Every search runs in a process of its own, ours and faiss's in turn, with the same threads; a small
search before the timed one loads the libraries. Rows are CIFAR's features as mixtures of one
another in 512 dimensions (see ``_mixtures.py``), and normal noise, which has no clusters at all.
Neighbours are equal by distance where the cosines, computed anew in double precision, differ by
less than a millionth place by place.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from _common import parser, run_alone, write_result
from _mixtures import mixture_files

K = 20
SMALL = 5000
TARGET = {"avx512": 0.35, "avx2": 0.8}


def search(engine: str, features: Path, target: Path) -> dict[str, Any]:
    """Search once here; neighbours go to ``target``."""
    rows = np.load(features)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    call = _faiss if engine == "faiss" else _simifeat
    call(rows[:SMALL], engine)
    start = time.perf_counter()
    index, used = call(rows, engine)
    spent = time.perf_counter() - start
    np.save(target, index)
    return {"seconds": spent, "used": used}


def _simifeat(rows: np.ndarray, engine: str) -> tuple[np.ndarray, str]:
    from simifeat.neighbors import find_neighbors

    found = find_neighbors(rows, K, engine="auto" if engine == "simifeat" else "exact")
    return found.index, found.reason


def _faiss(rows: np.ndarray, _: str) -> tuple[np.ndarray, str]:
    import faiss

    index = faiss.knn(rows, rows, K + 1, metric=faiss.METRIC_INNER_PRODUCT)[1]
    return index, f"faiss {faiss.__version__} with {faiss.omp_get_max_threads()} threads"


def cosines(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Cosines [n, k] of the first k neighbours that are not the row itself, falling."""
    found = np.empty((len(rows), K))
    for start in range(0, len(rows), 1000):
        near = index[start : start + 1000]  # [b, k or k + 1]
        own = near == np.arange(start, start + len(near))[:, None]
        a = rows[start : start + 1000].astype(np.float64)
        value = np.einsum("bd,bkd->bk", a, rows[near].astype(np.float64))
        value[own] = -np.inf
        found[start : start + 1000] = -np.sort(-value, axis=1)[:, :K]
    return found


def compared(features: Path, work: Path, repeats: int, with_numpy: bool) -> dict[str, Any]:
    """Medians of ``repeats`` turns and the share of equal neighbours."""
    engines = ["simifeat", "faiss"]
    times: dict[str, list[float]] = {}
    used: dict[str, str] = {}
    for turn in range(repeats):
        for engine in [*engines, *(["numpy"] if with_numpy and not turn else [])]:
            target = work / f"neighbors_{engine}.npy"
            run = run_alone(__file__, "--one", engine, features, target)
            times.setdefault(engine, []).append(run["seconds"])
            used[engine] = run["used"]
            print(engine, round(run["seconds"], 2), file=sys.stderr, flush=True)
    rows = np.load(features)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ours, theirs = (cosines(rows, np.load(work / f"neighbors_{e}.npy")) for e in engines)
    medians = {engine: round(statistics.median(spent), 2) for engine, spent in times.items()}
    return {
        "rows": rows.shape[0],
        "width": rows.shape[1],
        "k": K,
        "seconds": medians,
        "all_seconds": {engine: [round(s, 2) for s in spent] for engine, spent in times.items()},
        "used": used,
        "ratio": round(medians["simifeat"] / medians["faiss"], 3),
        "equal_by_distance": round(float((np.abs(ours - theirs) < 1e-6).mean()), 6),
        "farther_than_faiss": int((ours < theirs - 1e-6).sum()),
    }


def noise_file(work: Path, n: int, d: int, seed: int) -> Path:
    """Normal noise [n, d]."""
    path = work / f"noise_{n}x{d}_{seed}.npy"
    if not path.exists():
        np.save(path, np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32))
    return path


def main() -> None:
    """Compare on both sets and write the result."""
    arguments = parser(__doc__ or "", "neighbors.json")
    arguments.add_argument("--work", type=Path, default=Path("/tmp/simifeat-bench"))
    arguments.add_argument("-n", type=int, default=50_000)
    arguments.add_argument("-d", type=int, default=512)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--numpy", action="store_true", help="the plain numpy engine, once")
    arguments.add_argument("--one", nargs=3, help="engine, features, target: one search, here")
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(search(options.one[0], Path(options.one[1]), Path(options.one[2]))))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    sets = {
        "mixtures of CIFAR features": mixture_files(
            options.data, options.work, options.n, options.d, options.seed
        )[0],
        "normal noise": noise_file(options.work, options.n, options.d, options.seed),
    }
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    results = {
        name: compared(path, options.work, options.repeats, options.numpy)
        for name, path in sets.items()
    }
    write_result(options.output, options.seed, {"target_ratio": TARGET, "sets": results})


if __name__ == "__main__":
    main()
