"""What an out-of-fold linear probe adds to the default detector: it trains, so it is an option.

    python benchmarks/probe.py [--rows 50000]

F1 at the detector's own cut, average precision and calibration error (15 bins) on all ten label
sets, without and with probe=True, on the same features. Its penalty, folds and steps were chosen
on CIFAR-10.
"""

import time
import warnings

import numpy as np
from sklearn.metrics import average_precision_score

import simifeat
from _common import load_cifar, parser, write_result


def scores(verdicts, wrong):
    """F1, average precision, calibration error in percent."""
    found = simifeat.metrics.detection_scores(
        verdicts.is_corrupted, wrong.astype(int), np.zeros(len(wrong), int)
    )
    bins = np.minimum((verdicts.p_corrupted * 15).astype(int), 14)
    error = 0.0
    for each in np.unique(bins):
        rows = bins == each
        error += abs(verdicts.p_corrupted[rows].mean() - wrong[rows].mean()) * rows.mean()
    return {
        "f1": round(100 * float(found.f1), 1),
        "average_precision": round(
            100 * float(average_precision_score(wrong, verdicts.p_corrupted)), 1
        ),
        "calibration_error": round(float(error), 3),
    }


def main():
    """Measure every label set."""
    arguments = parser(__doc__, "probe.json")
    arguments.add_argument("--rows", type=int, default=50_000)
    options = arguments.parse_args()
    warnings.simplefilter("ignore", simifeat.NotIdentifiable)
    result = []
    for dataset in ("cifar10", "cifar100"):
        features, sets = load_cifar(options.data, dataset)
        features = features[: options.rows].astype(np.float32)
        clean = sets.pop("clean")[: options.rows]
        for name, labels in sets.items():
            labels = labels[: options.rows]
            row = {
                "set": f"{dataset} {name}",
                "noise_rate": round(float((labels != clean).mean()), 3),
            }
            for what, probe in (("without", False), ("with_probe", True)):
                start = time.process_time()
                verdicts = simifeat.detect(features, labels, probe=probe, seed=options.seed)
                row[what] = scores(verdicts, labels != clean)
                row[what]["cpu_seconds"] = round(time.process_time() - start, 1)
            result.append(row)
            print(row, flush=True)
    write_result(options.output, options.seed, {"rows": options.rows, "sets": result})


if __name__ == "__main__":
    main()
