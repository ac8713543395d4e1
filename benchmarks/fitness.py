"""What fitness says of the features without clean labels, against the truth.

    python benchmarks/fitness.py

1 - delta_k, the share of rows whose k nearest neighbours all have their true class, and the noise
rate, on ten real label sets.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from _common import load_cifar, parser, write_result
from simifeat.errors import NotIdentifiable
from simifeat.fitness import assess
from simifeat.neighbors import find_neighbors
from simifeat.theory import clusterability_curve

DATASETS = ("cifar10", "cifar100")
KS = (1, 2, 5, 10, 30)


def main() -> None:
    """Measure and write the result."""
    arguments = parser(__doc__ or "", "fitness.json")
    arguments.add_argument("--rows", type=int, help="the first so many rows only")
    chosen = arguments.parse_args()
    warnings.simplefilter("ignore", NotIdentifiable)
    rows: list[dict[str, Any]] = []
    for dataset in DATASETS:
        features, sets = load_cifar(chosen.data, dataset)
        features = features[: chosen.rows]
        clean = sets.pop("clean")[: chosen.rows]
        graph = find_neighbors(features, 50)
        truth = clusterability_curve(graph, clean, KS)
        for name, labels in {"clean": clean, **sets}.items():
            given = labels[: chosen.rows]
            start = time.perf_counter()
            found = assess(None, given, neighbors=graph, seed=chosen.seed)
            row = {
                "set": f"{dataset} {name}",
                "rows": len(given),
                "ks": list(KS),
                "true": [round(float(share), 4) for share in truth],
                "estimate": [round(float(found.clusterability[k - 1]), 4) for k in KS],
                "noise_rate": round(float(found.noise_rate), 4),
                "true_noise_rate": round(float((given != clean).mean()), 4),
                "grade": found.grade,
                "separation": round(found.separation, 4),
                "k": found.k,
                "seconds": round(time.perf_counter() - start, 2),
            }
            row["largest_error"] = round(
                float(np.abs(np.subtract(row["estimate"], row["true"])).max()), 4
            )
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    write_result(chosen.output, chosen.seed, rows)


if __name__ == "__main__":
    main()
