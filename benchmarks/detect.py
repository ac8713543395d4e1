"""How long a detection takes from arrays to verdicts, as a multiple of its own neighbour search.

    python benchmarks/detect.py            # 50,000 x 256 with 10 and 100 classes, M = 1 and 21
    python benchmarks/detect.py --official # F1 of the authors' published code, by its preset

Without the feature files the timing runs on features made up in their shape.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

import simifeat
from _common import load_cifar, parser, write_result
from simifeat.dataset import Labels
from simifeat.judge import Judge
from simifeat.metrics import average_precision, detection_scores
from simifeat.neighbors import find_neighbors
from simifeat.settings import Settings

OFFICIAL = (  # set, labels, method, F1 of the official code on these features where it was run
    ("cifar10", "human", "vote", 75.64),
    ("cifar10", "human", "rank", 75.6),
    ("cifar100", "human", "vote", 71.72),
    ("cifar100", "human", "rank", None),
)


def seconds(call: Any) -> tuple[float, Any]:
    """Wall time of one call and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def timed(features: np.ndarray, labels: np.ndarray, method: str, n_epochs: int, n: int) -> Any:
    """Medians over ``n`` runs: the search the detection needs, alone, and the detection whole."""
    settings = Settings.resolve(method=method, n_epochs=n_epochs)
    judge = Judge(Labels.encode(labels), settings, None, np.random.SeedSequence(0))
    width = judge.n_searched
    search, whole = [], []
    for _ in range(n):
        spent, graph = seconds(lambda: find_neighbors(features, width))
        search.append(spent)
        spent, _ = seconds(
            lambda: simifeat.detect(features, labels, method=method, n_epochs=n_epochs)
        )
        whole.append(spent)
    row = {
        "rows": len(labels),
        "width": features.shape[1],
        "classes": len(np.unique(labels)),
        "method": method,
        "n_epochs": n_epochs,
        "n_searched": width,
        "engine": graph.engine,
        "search_s": round(statistics.median(search), 3),
        "detect_s": round(statistics.median(whole), 3),
        "ratio": round(statistics.median(whole) / statistics.median(search), 2),
    }
    print(row, flush=True)
    return row


def official(arguments: Any) -> list[dict[str, Any]]:
    """F1 of ``preset="official"`` in one epoch, beside the authors' code on the same features."""
    rows = []
    for name, labels_name, method, reference in OFFICIAL:
        features, labels = load_cifar(arguments.data, name)
        features = features.astype(np.float32)
        given, clean = labels[labels_name], labels["clean"]
        verdicts = simifeat.detect(
            features, given, preset="official", method=method, n_epochs=1, seed=arguments.seed
        )
        scores = detection_scores(verdicts.is_corrupted, given, clean)
        rows.append(
            {
                "data": f"{name} {labels_name}",
                "method": method,
                "f1": round(100 * scores.f1, 2),
                "official_code_f1": reference,
                "average_precision": round(
                    100 * average_precision(verdicts.score, given, clean), 2
                ),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "detect.json")
    arguments.add_argument("--official", action="store_true")
    arguments.add_argument("--repeats", type=int, default=3)
    chosen = arguments.parse_args()
    if chosen.official:
        output = chosen.output.with_name("official.json")
        write_result(output, chosen.seed, official(chosen))
        return
    rows = []
    for name in ("cifar10", "cifar100"):
        features, labels = load_cifar(chosen.data, name)
        features = features.astype(np.float32)
        for method, n_epochs in (("vote", 1), ("rank", 1), ("rank", 21), ("propagate", 1)):
            rows.append(timed(features, labels["human"], method, n_epochs, chosen.repeats))
    write_result(chosen.output, chosen.seed, rows)


if __name__ == "__main__":
    main()
