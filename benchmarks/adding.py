"""Adding rows to a finished run, against a run on all rows from the start.

    python benchmarks/adding.py

The last rows of CIFAR-10 (human labels) are added to a run on the others. Both ways are timed in
turn in one process, the median of some repeats; verdicts and neighbours must be equal.
"""

import time
from statistics import median

import numpy as np

import simifeat
from _common import load_cifar, parser, write_result
from simifeat import Run


def timed(call, *arguments, **choices):
    """Seconds and result."""
    start = time.perf_counter()
    result = call(*arguments, **choices)
    return time.perf_counter() - start, result


def main():
    """Time deliveries of different sizes."""
    arguments = parser(__doc__, "adding.json")
    arguments.add_argument("--rows", type=int, default=50_000)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    features, sets = load_cifar(options.data, "cifar10")
    features = features[: options.rows].astype(np.float32)
    labels = sets["human"][: options.rows]
    result = []
    for method in ("rank", "propagate"):
        for n_new in (1, 100, 1000, 5000):
            cut = options.rows - n_new
            if cut < n_new:
                continue
            run = Run.start(features[:cut], labels[:cut], method=method)
            seconds = {"extend": [], "full_run": []}
            for _ in range(options.repeats):
                spent, grown = timed(run.extend, features[cut:], labels[cut:])
                seconds["extend"].append(spent)
                spent, full = timed(simifeat.detect, features, labels, method=method)
                seconds["full_run"].append(spent)
            equal = all(
                np.array_equal(values, full.columns()[name])
                for name, values in grown.verdicts.columns().items()
            )
            row = {
                "method": method,
                "rows": cut,
                "added": n_new,
                "touched": None if grown.touched is None else len(grown.touched),
                "verdicts_equal": equal,
                **{name: round(median(each), 2) for name, each in seconds.items()},
            }
            row["ratio"] = round(row["full_run"] / row["extend"], 2)
            result.append(row)
            print(row, flush=True)
    write_result(options.output, options.seed, result)


if __name__ == "__main__":
    main()
