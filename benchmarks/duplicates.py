"""Copies of an example: should they vote for each other? And groups: frames of one video.

    python benchmarks/duplicates.py

A fifth of the rows of CIFAR-10 (human labels) get four copies each, labelled in two ways: copied
along with the example, or drawn anew from T of the label set, as independent annotators would.
F1 and average precision over all rows, with copies kept apart (the default) and voting. Then the
copies are moved a little, as frames of one video are, so that only groups= can tell.
"""

import numpy as np
from sklearn.metrics import average_precision_score

import simifeat
from _common import load_cifar, parser, write_result

N_COPIES = 4
SHARE = 0.2


def plant(features, labels, clean, anew, moved, rng):
    """Rows with copies: features, labels, true labels, group of each."""
    n = len(features)
    copied = np.repeat(rng.permutation(n)[: int(SHARE * n)], N_COPIES)
    rows = np.concatenate([np.arange(n), copied])
    given = labels[rows].copy()
    if anew:  # a draw from the labels that others of the same true class got
        for c in np.unique(clean):
            new = n + np.flatnonzero(clean[copied] == c)
            given[new] = rng.choice(labels[clean == c], len(new))
    table = features[rows].copy()
    if moved:
        step = rng.normal(size=(len(copied), table.shape[1]))
        table[n:] += moved * step / np.linalg.norm(step, axis=1, keepdims=True)
    return table.astype(np.float32), given, clean[rows], rows


def scores(verdicts, labels, clean, part):
    """F1 and average precision of the rows ``part``."""
    wrong = (labels != clean)[part]
    flags = verdicts.is_corrupted[part]
    hit = float((wrong & flags).sum())
    return {
        "f1": round(200 * hit / max(1, wrong.sum() + flags.sum()), 1),
        "average_precision": round(
            100 * float(average_precision_score(wrong, verdicts.p_corrupted[part])), 1
        ),
    }


def main():
    """Measure copies and moved copies, labelled along and anew."""
    arguments = parser(__doc__, "duplicates.json")
    arguments.add_argument("--rows", type=int, default=10_000)
    options = arguments.parse_args()
    features, sets = load_cifar(options.data, "cifar10")
    features = features[: options.rows].astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    clean = sets["clean"][: options.rows]
    result = []
    for label_set in ("human", "human_worst"):
        labels = sets[label_set][: options.rows]
        for moved in (0.0, 0.1):
            for anew in (False, True):
                rng = np.random.default_rng(options.seed)
                table, given, truth, group = plant(features, labels, clean, anew, moved, rng)
                has_copies = np.isin(group, group[options.rows :])
                row = {
                    "labels": label_set,
                    "copies": "moved" if moved else "equal",
                    "labelled": "anew" if anew else "along",
                }
                choices = {"apart": {"groups": group} if moved else {}}
                choices["vote"] = {"duplicates": "vote"}
                for name, choice in choices.items():
                    for method in ("propagate", "vote"):
                        verdicts = simifeat.detect(table, given, method=method, **choice)
                        row[f"{method}, {name}"] = {
                            "copies": scores(verdicts, given, truth, has_copies),
                            "others": scores(verdicts, given, truth, ~has_copies),
                        }
                result.append(row)
                print(row, flush=True)
    write_result(options.output, options.seed, {"rows": options.rows, "cases": result})


if __name__ == "__main__":
    main()
