"""Planted missing and extra labels: what several labels a row cost and give.

    python benchmarks/multilabel.py

Two (or three) CIFAR-10 pictures make one row: features are the mean of theirs, labels the set of
their true classes. Of the labels some go missing, others are added. F1 and average precision of
each kind of error, over all rows and classes, beside the share of disagreeing neighbours; and the
rates of both kinds against the planted ones.
"""

import time

import numpy as np
from sklearn.metrics import average_precision_score, f1_score

import simifeat
from _common import load_cifar, parser, write_result

CASES = [(2, 0.2, 0.02), (2, 0.1, 0.0), (2, 0.0, 0.05), (2, 0.0, 0.0), (3, 0.2, 0.02)]


def plant(features, clean, n_rows, n_pictures, missing, extra, rng):
    """Features, true labels [n, K] and those with errors."""
    chosen = rng.integers(0, len(features), (n_rows, n_pictures))
    truth = np.zeros((n_rows, int(clean.max()) + 1), bool)
    truth[np.arange(n_rows)[:, None], clean[chosen]] = True
    lost = truth & (rng.random(truth.shape) < missing)
    added = ~truth & (rng.random(truth.shape) < extra)
    return features[chosen].mean(axis=1), truth, (truth & ~lost) | added


def kind(flags, score, wrong, among):
    """F1 and average precision of one kind of error among the entries where it is possible."""
    if not wrong.any():
        return {"flagged_share": round(float(flags[among].mean()), 4)}
    return {
        "f1": round(100 * float(f1_score(wrong[among], flags[among])), 1),
        "average_precision": round(
            100 * float(average_precision_score(wrong[among], score[among])), 1
        ),
    }


def main():
    """Measure every case."""
    arguments = parser(__doc__, "multilabel.json")
    arguments.add_argument("--rows", type=int, default=20_000)
    options = arguments.parse_args()
    features, sets = load_cifar(options.data, "cifar10")
    features = features.astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    result = []
    for n_pictures, missing, extra in CASES:
        rng = np.random.default_rng(options.seed)
        rows, truth, labels = plant(
            features, sets["clean"], options.rows, n_pictures, missing, extra, rng
        )
        start = time.process_time()
        found = simifeat.detect_multilabel(rows, labels, seed=options.seed)
        spent = time.process_time() - start
        near = found.neighbors.index[:, :10]
        disagree = (labels[near] != labels[:, None]).mean(axis=1)  # [n, K]
        row = {
            "pictures_a_row": n_pictures,
            "missing_rate": missing,
            "extra_rate": extra,
            "cpu_seconds": round(spent, 1),
        }
        for what, verdict, wrong, among in (
            ("missing", found.missing, truth & ~labels, ~labels),
            ("extra", found.extra, labels & ~truth, labels),
        ):
            row[what] = {
                "simifeat": kind(verdict, found.p_corrupted, wrong, among),
                "disagreeing_neighbours": kind(disagree > 0.5, disagree, wrong, among),
            }
        row["missing"]["mean_estimated_rate"] = round(float(found.missing_rate.mean()), 3)
        row["extra"]["mean_estimated_rate"] = round(float(found.extra_rate.mean()), 4)
        row["label_sets_right"] = {
            "given": round(float((labels == truth).all(axis=1).mean()), 3),
            "suggested": round(float((found.suggested == truth).all(axis=1).mean()), 3),
        }
        result.append(row)
        print(row, flush=True)
    write_result(options.output, options.seed, {"rows": options.rows, "cases": result})


if __name__ == "__main__":
    main()
