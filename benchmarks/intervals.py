"""How often the intervals of the noise rate, of each class's rate and of T hold the truth.

    python benchmarks/intervals.py

Labels are drawn from a planted T over features in Gaussian clusters, one to four a class, from well
apart to overlapping. Truth is what was planted, not what happened to be drawn. Each setting is
repeated with new features, T and labels; "coverage" should be .9 or more.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from _common import parser, write_result
from simifeat.neighbors import find_neighbors
from simifeat.noise import from_transition
from simifeat.transition import estimate_transition

DIMENSIONS = 16
SETTINGS = (  # rows, classes, clusters a class, spread of a cluster
    (1000, 2, 2, 0.5),
    (1000, 5, 1, 0.3),
    (2000, 5, 2, 0.5),
    (2000, 5, 2, 0.7),
    (4000, 10, 1, 0.3),
    (4000, 10, 2, 0.6),
    (5000, 10, 4, 0.5),
    (5000, 10, 4, 0.7),
    (5000, 10, 4, 1.0),
    (10000, 50, 2, 0.7),
)


def planted(n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """T [K, K]: .6 to .95 on the diagonal, the rest uneven."""
    matrix = rng.dirichlet(np.full(n_classes, 0.5), n_classes)
    np.fill_diagonal(matrix, 0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    right = rng.uniform(0.6, 0.95, n_classes)
    matrix *= (1 - right)[:, None]
    np.fill_diagonal(matrix, right)
    return matrix


def once(n: int, n_classes: int, n_clusters: int, spread: float, seed: list[int]) -> dict[str, Any]:
    """One draw of everything: what the intervals held."""
    rng = np.random.default_rng(seed)
    matrix, prior = planted(n_classes, rng), rng.dirichlet(np.full(n_classes, 30.0))
    clean = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=prior)])
    centres = rng.normal(size=(n_classes, n_clusters, DIMENSIONS))
    features = centres[clean, rng.integers(n_clusters, size=n)]
    features = features + spread * rng.normal(size=(n, DIMENSIONS))
    labels = from_transition(clean, matrix, seed=rng)
    graph = find_neighbors(features, 30)
    found = estimate_transition(None, labels, neighbors=graph)
    sure = found.intervals
    if sure is None:
        return {"answered": False}
    rate = 1 - float(prior @ np.diagonal(matrix))
    rates = 1 - np.diagonal(matrix)
    flips = matrix[sure.true, sure.label]
    largest = prior[sure.true] * flips >= 0.002  # those that corrupt one label in five hundred
    return {
        "answered": True,
        "impurity": float((clean[graph.index] != clean[:, None]).mean()),
        "rate": sure.noise_rate[0] <= rate <= sure.noise_rate[1],
        "error": found.noise_rate - rate,
        "width": sure.noise_rate[1] - sure.noise_rate[0],
        "classes": share_held(sure.class_rates, rates),
        "flips": share_held(sure.flips[largest], flips[largest]),
    }


def share_held(bounds: np.ndarray, truth: np.ndarray) -> float:
    """Share of intervals [m, 2] that hold the truth [m]."""
    return float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())


def summary(setting: tuple[int, int, int, float], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares and means over the repeats that gave an interval."""
    done = [run for run in runs if run["answered"]]

    def mean(name: str) -> float:
        return round(float(np.mean([run[name] for run in done])), 4)

    n, n_classes, n_clusters, spread = setting
    return {
        "rows": n,
        "classes": n_classes,
        "clusters_a_class": n_clusters,
        "spread": spread,
        "repeats": len(runs),
        "without_interval": len(runs) - len(done),
        "neighbours_of_another_class": mean("impurity"),
        "coverage_noise_rate": mean("rate"),
        "coverage_class_rates": mean("classes"),
        "coverage_flips": mean("flips"),
        "mean_error": mean("error"),
        "mean_width": mean("width"),
    }


def main() -> None:
    """Measure and write the result."""
    arguments = parser(__doc__ or "", "intervals.json")
    arguments.add_argument("--repeats", type=int, default=100)
    arguments.add_argument("--settings", type=int, nargs="*", default=range(len(SETTINGS)))
    chosen = arguments.parse_args()
    rows = []
    for number in chosen.settings:
        start = time.perf_counter()
        seeds = [[chosen.seed, number, repeat] for repeat in range(chosen.repeats)]
        rows.append(summary(SETTINGS[number], [once(*SETTINGS[number], seed) for seed in seeds]))
        rows[-1]["seconds_a_run"] = round((time.perf_counter() - start) / chosen.repeats, 2)
        print(rows[-1], file=sys.stderr, flush=True)
    write_result(chosen.output, chosen.seed, rows)


if __name__ == "__main__":
    main()
