"""The default detector against its peers on the same neighbours: flags, ranking, calibration.

Sets: CIFAR-10 and CIFAR-100 with people's labels, symmetric .6, asymmetric .3 and instance .4
noise (three seeds of ``simifeat.noise``), their clean labels, and four small sets of scikit-learn
with each noise at .1, .2, .4. Defaults were chosen on CIFAR-10's sets.

Peers: vote and rank (here); confident learning, cleanlab with a linear probe out of five folds;
cleanlab on shares of the 10 nearest labels, which is its way without predictions; SelfClean's
score; the share of disagreeing neighbours, cut at one half. cleanlab has the best of its four
filters by F1, chosen with clean labels. SelfClean has no cut at a single number: ranking alone;
where no neighbour of 50 has (or lacks) the own label, the distance of the 50th stands in.

Cells are kept in --work: a run that was cut short goes on where it was.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import simifeat
from _common import load_cifar, parser, write_result
from simifeat import metrics, noise
from simifeat.neighbors import Neighbors, find_neighbors

FILTERS = ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning")
RATES = (0.1, 0.2, 0.4)
REVIEWED = (100, 500, 2000)
SEEDS = (0, 1, 2)
K_SEARCHED, K_PEERS = 50, 10


def first(graph: Neighbors, k: int) -> Neighbors:
    """The nearest k, or as many as there are."""
    return graph.first(min(k, graph.k))


def measures(flags, suspicion, labels, clean) -> dict:
    """F1 of ``flags`` (None: no cut) and average precision of ``suspicion``, higher = worse."""
    found = {"ap": 100 * metrics.average_precision(-suspicion, labels, clean)}
    if flags is not None:
        found["f1"] = 100 * metrics.detection_scores(flags, labels, clean).f1
    return found


def ours(verdicts, labels, clean) -> dict:
    """What the new detector is held to: ranking, calibration, noise rate, yield."""
    p, wrong = verdicts.p_corrupted.astype(np.float64), labels != clean
    found = measures(verdicts.is_corrupted, p, labels, clean)
    place = np.minimum((15 * p).astype(int), 14)
    gap = np.bincount(place, p - wrong, 15)
    found |= {
        "ece": float(np.abs(gap).sum() / len(p)),
        "noise_rate": float(wrong.mean()),
        "estimated_rate": verdicts.transition.noise_rate,
        "flagged": float(verdicts.is_corrupted.mean()),
        "identifiable": verdicts.transition.identifiable,
        "calibration": verdicts.metadata.get("calibration"),
    }
    for n in REVIEWED:
        if n <= wrong.sum():
            hit = int(wrong[verdicts.most_suspicious(n)].sum())
            found[f"yield_{n}"] = {"expected": verdicts.expected_yield(n), "found": hit}
    return found


def cleanlab_cell(probability, labels, clean) -> dict:
    """cleanlab on P(label) [n, K], by its best filter."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    quality = get_label_quality_scores(labels, probability)
    by_filter = {}
    for name in FILTERS:
        flags = find_label_issues(labels, probability, filter_by=name, n_jobs=1)
        by_filter[name] = measures(flags, -quality, labels, clean)
    best = max(by_filter, key=lambda name: by_filter[name]["f1"])
    return by_filter[best] | {"filter": best}


def out_of_fold(features, labels, n_classes) -> np.ndarray:
    """P(label | features) of a logistic regression out of five folds, [n, K]."""
    x = StandardScaler().fit_transform(features).astype(np.float32)
    out = np.zeros((len(x), n_classes))
    n_folds = max(2, min(5, int(np.bincount(labels)[np.unique(labels)].min())))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(x, labels):
        probe = LogisticRegression(C=0.01 if len(x) > 10_000 else 1.0, max_iter=50)
        probe.fit(x[train], labels[train])
        out[np.ix_(test, probe.classes_)] = probe.predict_proba(x[test])
    return out


def selfclean_score(graph: Neighbors, labels) -> np.ndarray:
    """d_same^2 / (d_same^2 + d_other^2), higher = more suspicious."""
    same = labels[graph.index] == labels[:, None]
    distance = np.maximum(1 - graph.similarity, 1e-9)
    last = distance[:, -1]
    near = np.minimum(np.where(same, distance, np.inf).min(axis=1), last)
    far = np.minimum(np.where(same, np.inf, distance).min(axis=1), last)
    return near**2 / (near**2 + far**2)


def cell(name: str, features, graph: Neighbors, labels, clean, metric: str) -> dict:
    """Every method on one set of labels."""
    n_classes = int(max(labels.max(), clean.max())) + 1
    labels = labels.astype(np.int64)
    found = {}
    near = first(graph, 30)
    for method in ("propagate", "graph", "vote", "rank"):
        choices = {"views": "neighbors"} if method == "graph" else {}
        what = "propagate" if method == "graph" else method
        given = features if method == "propagate" else None
        begun = time.perf_counter()
        verdicts = simifeat.detect(
            given,
            labels,
            method=what,
            metric=metric,
            **({"neighbors": near} if given is None else {}),
            **choices,
        )
        if method in ("propagate", "graph"):
            found[method] = ours(verdicts, labels, clean)
        else:
            found[method] = measures(verdicts.is_corrupted, -verdicts.score, labels, clean)
        found[method]["seconds"] = time.perf_counter() - begun
    heard = labels[first(graph, K_PEERS).index]  # [n, k]
    shares = np.stack([(heard == j).mean(axis=1) for j in range(n_classes)], axis=1)
    disagreeing = 1 - shares[np.arange(len(labels)), labels]
    found["k-disagreeing"] = measures(disagreeing > 0.5, disagreeing, labels, clean)
    found["SelfClean"] = measures(None, selfclean_score(graph, labels), labels, clean)
    if np.unique(labels).size == n_classes:
        found["cleanlab, features"] = cleanlab_cell(shares, labels, clean)
        probability = out_of_fold(features, labels, n_classes)
        found["confident learning"] = cleanlab_cell(probability, labels, clean)
    print(name, {k: (round(v.get("f1", 0), 1), round(v["ap"], 1)) for k, v in found.items()})
    return found


def cifar_sets(features, stored):
    """(name, labels) of one data set: people's labels as they are, noise in three seeds."""
    clean = stored["clean"]
    yield "clean", clean
    for name in stored:
        if name.startswith("human"):
            yield name, stored[name]
    for seed in SEEDS:
        yield f"symmetric .6, seed {seed}", noise.symmetric(clean, 0.6, seed=seed)
        yield f"asymmetric .3, seed {seed}", noise.asymmetric(clean, 0.3, seed=seed)
        instance = noise.instance_dependent(features.astype(np.float32), clean, 0.4, seed=seed)
        yield f"instance .4, seed {seed}", instance


def small_sets(features, clean):
    """(name, labels): each noise at each rate, asymmetric in both directions."""
    k = int(clean.max()) + 1
    yield "clean", clean
    for rate in RATES:
        for seed in SEEDS:
            yield f"symmetric {rate}, seed {seed}", noise.symmetric(clean, rate, seed=seed)
            forward = noise.asymmetric(clean, rate, seed=seed)
            back = k - 1 - noise.asymmetric(k - 1 - clean, rate, seed=seed, classes=range(k))
            yield f"asymmetric {rate}, seed {seed}", forward
            yield f"asymmetric back {rate}, seed {seed}", back
            instance = noise.instance_dependent(features, clean, rate, seed=seed)
            yield f"instance {rate}, seed {seed}", instance


def table(result: dict) -> str:
    """F1 / AP, mean over the seeds, as Markdown."""
    rows: dict[str, list[dict]] = {}
    for name, found in result.items():
        rows.setdefault(name.split(", seed")[0], []).append(found)
    methods = list(dict.fromkeys(m for found in result.values() for m in found))
    lines = ["| set | " + " | ".join(methods) + " |", "| --- " * (len(methods) + 1) + "|"]
    for name, cells in rows.items():
        texts = []
        for method in methods:
            held = [each[method] for each in cells if method in each]
            f1 = [each["f1"] for each in held if "f1" in each]
            ap = [each["ap"] for each in held]
            left = f"{np.mean(f1):.1f}" if f1 else "-"
            texts.append(f"{left} / {np.mean(ap):.1f}" if ap else "-")
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is not there yet and write all of it."""
    arguments = parser(__doc__, "quality.json")
    arguments.add_argument("--work", type=Path, default=Path("/tmp/simifeat-quality"))
    arguments.add_argument("--only", nargs="*", help="names of data sets, such as cifar10 iris")
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # what is not identifiable stands in each cell
    known = ["cifar10", "cifar100", "iris", "wine", "digits", "breast_cancer"]
    result = {}
    for data in given.only or known:
        if data.startswith("cifar"):
            features, stored = load_cifar(given.data, data)
            features = features.astype(np.float32)
            clean, metric, sets = stored["clean"], "cosine", cifar_sets(features, stored)
        else:
            features, clean = getattr(datasets, f"load_{data}")(return_X_y=True)
            features = StandardScaler().fit_transform(features).astype(np.float32)
            metric, sets = "euclidean", small_sets(features, clean)
        graph = None
        for name, labels in sets:
            kept = given.work / f"{data}, {name}.json"
            if not kept.exists():
                if graph is None:
                    graph = find_neighbors(features, min(K_SEARCHED, len(features) - 1), metric)
                found = cell(f"{data}, {name}", features, graph, labels, clean, metric)
                kept.write_text(json.dumps(found))
            result[f"{data}, {name}"] = json.loads(kept.read_text())
    write_result(given.output, given.seed, {"cells": result, "table": table(result)})
    sys.stdout.write(table(result) + "\n")


if __name__ == "__main__":
    main()
