"""Rows of a class that the dataset does not have, and rows that show nothing: are they told apart?

    python benchmarks/outliers.py

Classes of CIFAR-10 (or ten of CIFAR-100) are taken out, and 2 % rows of theirs put back under
labels of the classes that stay: at random, or that of the nearest row. "Scrambled" rows take every
feature from another row. Features of the two datasets cannot be mixed: each file has axes of its
own. AUROC of the score, beside the mean distance to ten neighbours, that distance over the
neighbours' own (as in LOF), and 1 - the largest belief; and how many the verdict itself finds and
flags wrongly.
The scale and the cut were chosen on CIFAR-10.
"""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

import simifeat
from _common import load_cifar, parser, write_result
from simifeat.neighbors import find_neighbors

SHARE = 0.02
CASES = [
    *(("cifar10", [c], labels) for labels in ("clean", "human_worst") for c in range(10)),
    *(("cifar100", list(range(c, 100, 10)), t) for t in ("clean", "human") for c in (0, 5)),
]
KINDS = ("held out, random label", "held out, nearest label", "scrambled")


def plant(features, labels, clean, held, kind, n_rows, rng):
    """Features, labels and which rows are planted."""
    stay = np.flatnonzero(~np.isin(clean, held) & ~np.isin(labels, held))
    stay = rng.permutation(stay)[:n_rows]
    n_planted = int(SHARE * len(stay))
    if kind == "scrambled":
        donors = stay[rng.integers(0, len(stay), (n_planted, features.shape[1]))]
        strange = np.take_along_axis(features, donors, axis=0)
    else:
        strange = features[rng.permutation(np.flatnonzero(np.isin(clean, held)))[:n_planted]]
    given = rng.choice(np.unique(labels[stay]), n_planted)
    if kind == "held out, nearest label":
        given = labels[stay][(strange @ features[stay].T).argmax(axis=1)]
    rows = np.concatenate([features[stay], strange])
    return rows, np.concatenate([labels[stay], given]), np.arange(len(rows)) >= len(stay)


def measure(rows, labels, planted):
    """AUROC of each score, and the verdict's own rates."""
    graph = find_neighbors(rows, 30)
    verdicts = simifeat.detect(None, labels, neighbors=graph)
    distance = (1 - graph.similarity[:, :10].astype(np.float64)).mean(axis=1)
    ratio = distance / distance[graph.index[:, :10]].mean(axis=1)
    scores = {
        "simifeat": verdicts.outlier_score,
        "distance": distance,
        "distance ratio": ratio,
        "1 - largest belief": 1 - verdicts.beliefs.probability.max(axis=1),
    }
    flags = verdicts.is_outlier
    return {
        "auroc": {name: round(roc_auc_score(planted, s), 3) for name, s in scores.items()},
        "found": round(float(flags[planted].mean()), 4),
        "others_flagged": round(float(flags[~planted].mean()), 4),
        "planted_called_corrupted": round(float(verdicts.is_corrupted[planted].mean()), 4),
    }


def main():
    """Measure every case."""
    arguments = parser(__doc__, "outliers.json")
    arguments.add_argument("--rows", type=int, default=20_000, help="rows that stay, at most")
    options = arguments.parse_args()
    warnings.simplefilter("ignore", simifeat.NotIdentifiable)
    result, loaded = [], {}
    for dataset, held, label_set in CASES:
        if dataset not in loaded:
            features, sets = load_cifar(options.data, dataset)
            features = features.astype(np.float32)
            loaded[dataset] = features / np.linalg.norm(features, axis=1, keepdims=True), sets
        features, sets = loaded[dataset]
        for kind in KINDS:
            rng = np.random.default_rng([options.seed, held[0], KINDS.index(kind)])
            case = plant(features, sets[label_set], sets["clean"], held, kind, options.rows, rng)
            row = {"dataset": dataset, "held_out": held, "labels": label_set, "planted": kind}
            result.append(row | measure(*case))
            print(result[-1], flush=True)
    means = {}
    for row in result:
        name = f"{row['dataset']} {row['labels']}, {row['planted']}"
        means.setdefault(name, []).append(row)
    summary = {
        name: {
            **{score: round(float(np.mean([r["auroc"][score] for r in rows])), 3)
               for score in rows[0]["auroc"]},
            "found": round(float(np.mean([r["found"] for r in rows])), 3),
            "others_flagged": round(float(np.mean([r["others_flagged"] for r in rows])), 4),
        }
        for name, rows in means.items()
    }  # fmt: skip
    write_result(options.output, options.seed, {"share": SHARE, "mean": summary, "cases": result})


if __name__ == "__main__":
    main()
