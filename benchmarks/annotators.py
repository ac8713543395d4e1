"""Planted annotators on real features: the consensus, and how well annotators are known.

    python benchmarks/annotators.py

Twelve annotators of known quality (nine err evenly, two towards the next class, one guesses) label
rows of CIFAR-10 and CIFAR-100, one to five of them a row. Against the majority (ties at random) and
against Dawid and Skene's estimate, which is the same code without neighbours. Sharpness and power
are those chosen for propagate.
"""

import numpy as np
import scipy.sparse

import simifeat
from _common import load_cifar, parser, write_result
from simifeat.annotations import hard_annotations
from simifeat.annotators import estimate, expected_gain
from simifeat.neighbors import find_neighbors

ANNOTATORS = [
    *((share, "even") for share in (0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.5, 0.4, 0.85)),
    (0.8, "next"), (0.6, "next"), (0.0, "guess"),
]  # fmt: skip


def confusion(share, kind, n_classes):
    """P(says l | class i)."""
    if kind == "guess":
        return np.full((n_classes, n_classes), 1 / n_classes)
    right = share * np.eye(n_classes)
    if kind == "next":
        return right + (1 - share) * np.roll(np.eye(n_classes), 1, axis=1)
    return right + (1 - share) * (1 - np.eye(n_classes)) / (n_classes - 1)


def plant(clean, n_classes, each, rng):
    """Labels [n, m] of ``each`` annotators a row, -1 elsewhere, and everybody's confusion."""
    truth = np.array([confusion(*who, n_classes) for who in ANNOTATORS])
    labels = np.full((len(clean), len(ANNOTATORS)), -1)
    asked = rng.random(labels.shape).argsort(axis=1) < each
    for a in range(len(ANNOTATORS)):
        rows = np.flatnonzero(asked[:, a])
        cumulated = truth[a].cumsum(axis=1)[clean[rows]]
        drawn = (rng.random(len(rows))[:, None] > cumulated).sum(axis=1)
        labels[rows, a] = np.minimum(drawn, n_classes - 1)
    return labels, truth


def judge(belief, each, clean, quality):
    """How right, how sure, how well annotators are known."""
    prior = belief.mean(axis=0)
    known = np.einsum("i,mii->m", prior, each)
    return {
        "right": round(float((belief.argmax(axis=1) == clean).mean()), 4),
        "said_to_be_right": round(float(belief.max(axis=1).mean()), 4),
        "quality_error": round(float(np.abs(known - quality).mean()), 4),
        "quality_error_worst": round(float(np.abs(known - quality).max()), 4),
    }


def main():
    """Measure every number of labels a row."""
    arguments = parser(__doc__, "annotators.json")
    arguments.add_argument("--rows", type=int, default=20_000)
    options = arguments.parse_args()
    result = []
    for dataset in ("cifar10", "cifar100"):
        features, sets = load_cifar(options.data, dataset)
        features, clean = features[: options.rows].astype(np.float32), sets["clean"][: options.rows]
        n, n_classes = len(clean), int(clean.max()) + 1
        graph = find_neighbors(features, 30)
        for each in (1, 2, 3, 5):
            rng = np.random.default_rng([options.seed, n_classes, each])
            labels, truth = plant(clean, n_classes, each, rng)
            said = hard_annotations(labels)
            votes = said.votes() + 1e-3 * rng.random((n, n_classes))
            quality = np.einsum("i,mii->m", np.bincount(clean) / n, truth)
            found = simifeat.consensus_labels(None, labels, neighbors=graph)
            alone, per_annotator, pooled = estimate(said, scipy.sparse.csr_array((n, n)))
            again = found.ask_again(n // 10)
            row = {
                "dataset": dataset,
                "labels_a_row": each,
                "majority": round(float((votes.argmax(axis=1) == clean).mean()), 4),
                "dawid_skene": judge(alone, per_annotator, clean, quality),
                "with_neighbours": judge(
                    found.belief.astype(np.float64), found.confusion, clean, quality
                ),
                "wrong_among_the_tenth_to_ask_again": round(
                    float((found.labels != clean)[again].mean()), 4
                ),
                "mean_gain": round(float(expected_gain(alone, pooled).mean()), 4),
            }
            result.append(row)
            print(row, flush=True)
    write_result(options.output, options.seed, result)


if __name__ == "__main__":
    main()
