"""T and p from labels alone: how near to a planted T, how long and in how much memory.

    python benchmarks/transition.py            # recovery with 10 and 100 classes; 1,000 classes

Recovery: 50,000 rows in clusters of one class each, labels drawn from a random T whose rows keep
.5 to .9 of the labels and spread the rest unevenly. Size: 1,000 classes with a planted T, of five
neighbours four drawn from the own class, one from anywhere, as features would have it.
Every size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

from _common import parser, run_alone, write_result
from simifeat.neighbors import find_neighbors
from simifeat.noise import from_transition
from simifeat.transition import estimate_from_neighbors

N = 50_000
SEEDS = 3
SIZES = (  # rows, estimator, its options: HOC's steps cost the same each, so a few tell the time
    (200_000, "ml", {}),
    (200_000, "hoc", {"n_steps": 20, "n_restarts": 0}),
    (1_000_000, "ml", {}),
    (1_000_000, "hoc", {"n_steps": 5, "n_restarts": 0}),
)
N_CLASSES = 1000


def planted(n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """A random T [K, K]: .5 to .9 on the diagonal, the rest Dirichlet."""
    matrix = rng.dirichlet(np.full(n_classes, 0.3), n_classes)
    np.fill_diagonal(matrix, 0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    right = rng.uniform(0.5, 0.9, n_classes)
    matrix *= (1 - right)[:, None]
    np.fill_diagonal(matrix, right)
    return matrix


def recovery(n_classes: int, seed: int) -> list[dict[str, Any]]:
    """Errors of both estimators on one planted T."""
    rng = np.random.default_rng([seed, n_classes])
    matrix = planted(n_classes, rng)
    prior = rng.dirichlet(np.full(n_classes, 20.0))
    clean = rng.choice(n_classes, N, p=prior)
    centres = rng.normal(size=(n_classes, 32)).astype(np.float32)
    features = centres[clean] + 0.2 * rng.normal(size=(N, 32)).astype(np.float32)
    labels = from_transition(clean, matrix, seed=rng)
    index = find_neighbors(features, 2).index
    rows = []
    for method in ("ml", "hoc"):
        start = time.perf_counter()
        found = estimate_from_neighbors(labels, index, n_classes, method)
        spent = time.perf_counter() - start
        gap = np.abs(found.matrix - matrix)
        rows.append(
            {
                "classes": n_classes,
                "rows": N,
                "seed": seed,
                "method": method,
                "diagonal_mean_absolute_error": round(float(np.diagonal(gap).mean()), 5),
                "row_l1_error": round(float(gap.sum(axis=1).mean()), 4),
                "noise_rate": round(found.noise_rate, 4),
                "true_noise_rate": round(float((labels != clean).mean()), 4),
                "neighbours_of_the_same_class": round(
                    float((clean[index] == clean[:, None]).mean()), 4
                ),
                "seconds": round(spent, 2),
                "identifiable": found.identifiable,
            }
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def one_size(n: int, method: str, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Estimate once with 1,000 classes, here."""
    rng = np.random.default_rng([seed, n])
    matrix = planted(N_CLASSES, rng)
    clean = np.sort(rng.integers(N_CLASSES, size=n))
    labels = from_transition(clean, matrix, seed=rng)
    start = np.searchsorted(clean, np.arange(N_CLASSES + 1))
    size = np.diff(start)[clean]
    own = start[clean][:, None] + (rng.random((n, 2)) * size[:, None]).astype(np.int64)
    index = np.where(rng.random((n, 2)) < 0.8, own, rng.integers(n, size=(n, 2))).astype(np.int32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    begin = time.perf_counter()
    found = estimate_from_neighbors(labels, index, N_CLASSES, method, options=options)
    return {
        "rows": n,
        "classes": N_CLASSES,
        "method": method,
        "options": options,
        "seconds": round(time.perf_counter() - begin, 1),
        "peak_mib_before": before,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "noise_rate": round(found.noise_rate, 4),
        "diagonal_mean_absolute_error": round(
            float(np.abs(np.diagonal(found.matrix) - np.diagonal(matrix)).mean()), 4
        ),
    }


def main() -> None:
    """Measure and write the result."""
    arguments = parser(__doc__ or "", "transition.json")
    arguments.add_argument("--size", type=int, help="the number of a size: that one alone, here")
    arguments.add_argument("--only", choices=("recovery", "size"), help="leave the other part out")
    chosen = arguments.parse_args()
    if chosen.size is not None:
        print(json.dumps(one_size(*SIZES[chosen.size], chosen.seed)))
        return
    result: dict[str, Any] = {"targets": {"10 classes": 0.01, "100 classes": 0.03}}
    if chosen.only != "size":
        result["recovery"] = [
            row for k in (10, 100) for seed in range(SEEDS) for row in recovery(k, seed)
        ]
    if chosen.only != "recovery":
        result["sizes"] = []
        for number in range(len(SIZES)):
            run = run_alone(__file__, "--size", number, "--seed", chosen.seed)
            result["sizes"].append(run)
            print(result["sizes"][-1], file=sys.stderr, flush=True)
    write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
