"""The noise rate and T of ten real label sets, by every estimator, against the truth.

    python benchmarks/noise.py

Defaults were chosen on the CIFAR-10 sets; the CIFAR-100 sets are reported untouched.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, get_args

import numpy as np

from _common import load_cifar, parser, write_result
from simifeat.errors import NotIdentifiable
from simifeat.mend import N_NEIGHBORS
from simifeat.neighbors import find_neighbors
from simifeat.noise import transition_of
from simifeat.transition import AnyEstimator, estimate_transition

DATASETS = ("cifar10", "cifar100")


def main() -> None:
    """Measure and write the result."""
    arguments = parser(__doc__ or "", "noise.json")
    arguments.add_argument("--datasets", nargs="*", default=DATASETS)
    arguments.add_argument("--methods", nargs="*", default=get_args(AnyEstimator))
    chosen = arguments.parse_args()
    warnings.simplefilter("ignore", NotIdentifiable)
    rows: list[dict[str, Any]] = []
    for dataset in chosen.datasets:
        features, sets = load_cifar(chosen.data, dataset)
        clean = sets.pop("clean")
        graph = find_neighbors(features, N_NEIGHBORS)
        for name, labels in sets.items():
            matrix = transition_of(labels, clean)
            for method in chosen.methods:
                start = time.perf_counter()
                found = estimate_transition(None, labels, method, neighbors=graph, seed=chosen.seed)
                spent = time.perf_counter() - start
                true = float((labels != clean).mean())
                sure = found.intervals
                row = {
                    "set": f"{dataset} {name}",
                    "method": method,
                    "true": round(true, 4),
                    "estimate": round(found.noise_rate, 4),
                    "error": round(found.noise_rate - true, 4),
                    "interval": sure and [round(bound, 4) for bound in sure.noise_rate],
                    "held": sure and sure.noise_rate[0] <= true <= sure.noise_rate[1],
                    "row_l1_error": round(
                        float(np.abs(found.matrix - matrix).sum(axis=1).mean()), 4
                    ),
                    "diagonal_mean_absolute_error": round(
                        float(np.abs(np.diagonal(found.matrix - matrix)).mean()), 4
                    ),
                    "seconds": round(spent, 2),
                }
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    write_result(chosen.output, chosen.seed, rows)


if __name__ == "__main__":
    main()
