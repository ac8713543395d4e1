"""Proposition 1 and Theorem 2 against simulation: is what they promise kept, and how far off is it?

    python benchmarks/theory.py

Needs no data. Writes theory.json, and theory-vote.png and theory-rank.png beside it.
"""

from __future__ import annotations

import numpy as np

from _common import parser, write_result
from simifeat import noise, theory
from simifeat.bench.plots import plot_lines
from simifeat.neighbors import find_neighbors

N, KS = 10_000, tuple(range(2, 41, 2))
RATES = (0.1, 0.2, 0.3, 0.4)
N_FALSE, N_TRUE, N_TRIALS = 200, 300, 2_000


def vote(rng: np.random.Generator, n_classes: int) -> dict[str, object]:
    """Share of examples whose k + 1 labels have the true class as their strict majority.

    For more than two classes also where it is the strict plurality, with the sharper bound.
    """
    clean = rng.integers(0, n_classes, N)
    features = np.eye(n_classes)[clean] + 0.3 * rng.normal(size=(N, n_classes))
    graph = find_neighbors(features, max(KS))
    shares = theory.clusterability_curve(graph, clean)
    found: dict[str, object] = {"n_classes": n_classes, "k": KS, "rates": {}}
    for rate in RATES:
        labels = noise.symmetric(clean, rate, seed=int(rng.integers(2**31)))
        voters = np.hstack([labels[:, None], labels[graph.index]])  # [n, 1 + k]
        majority, plurality = [], []
        for k in KS:
            counts = np.stack([(voters[:, : k + 1] == j).sum(axis=1) for j in range(n_classes)], 1)
            own = counts[np.arange(N), clean]
            counts[np.arange(N), clean] = -1
            majority.append(float(np.mean(2 * own > k + 1)))
            plurality.append(float(np.mean(own > counts.max(axis=1))))
        ks = np.array(KS)
        found["rates"][str(rate)] = {
            "delta_k": (1 - shares[ks - 1]).tolist(),
            "majority": majority,
            "plurality": plurality,
            "bound": theory.vote_lower_bound(ks, rate, 1 - shares[ks - 1]).tolist(),
            "bound_plurality": theory.vote_lower_bound(
                ks, rate, 1 - shares[ks - 1], n_classes=n_classes
            ).tolist(),
        }
    return found


def rank(rng: np.random.Generator, kind: str) -> dict[str, object]:
    """How often the ranking reaches the F1 of Theorem 2, against the probability it promises.

    Scores of height 1 / delta at their mean and of tails that decay with v: normal ones have
    v = pi, uniform ones v = 14.
    """
    delta, v, alpha = 0.2, {"normal": np.pi, "uniform": 14.0}[kind], 60
    gaps = np.round(np.arange(0.05, 1.2, 0.05), 2)
    lines: dict[str, list[float]] = {"simulated": [], "printed": [], "rescaled": []}
    f1 = 0.0
    for gap in gaps:
        draw = {
            "normal": lambda n: rng.normal(0, delta / np.sqrt(2 * np.pi), (N_TRIALS, n)),
            "uniform": lambda n: rng.uniform(-delta / 2, delta / 2, (N_TRIALS, n)),
        }[kind]
        false, true = draw(N_FALSE), gap + draw(N_TRUE)
        cut = np.sort(np.hstack([false, true]), axis=1)[:, N_FALSE - 1]  # the N- lowest are flagged
        reached = (false <= cut[:, None]).mean(axis=1)  # precision and recall alike
        for name, rescale in (("printed", False), ("rescaled", True)):
            bound = theory.rank_f1_lower_bound(
                N_FALSE, N_TRUE, gap, 0.0, delta, v, alpha, rescale=rescale
            )
            lines[name].append(bound.probability)
            f1 = bound.f1
        lines["simulated"].append(float(np.mean(reached >= f1 - 1e-12)))
    return {"delta": delta, "v": v, "alpha": alpha, "f1": f1, "gap": gaps.tolist(), **lines}


def main() -> None:
    """Simulate, write, plot."""
    given = parser(__doc__, "theory.json").parse_args()
    rng = np.random.default_rng(given.seed)
    votes = {str(n): vote(rng, n) for n in (2, 10)}
    ranks = {kind: rank(rng, kind) for kind in ("normal", "uniform")}
    kept = [
        (entry["majority"][i] >= entry["bound"][i])
        for found in votes.values()
        for entry in found["rates"].values()
        for i in range(len(KS))
    ]
    write_result(
        given.output,
        given.seed,
        {
            "n": N,
            "vote": votes,
            "vote_bounds_kept": f"{sum(kept)} of {len(kept)}",
            "n_false": N_FALSE,
            "n_true": N_TRUE,
            "n_trials": N_TRIALS,
            "rank": ranks,
        },
    )
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for n_classes, found in votes.items():
        lines = panels.setdefault(f"P(vote is correct), {n_classes} classes", {})
        for rate, entry in found["rates"].items():
            lines[f"e = {rate}, simulated"] = (list(KS), entry["majority"])
            lines[f"e = {rate}, Proposition 1"] = (list(KS), entry["bound"])
    plot_lines(panels, "k", given.output.with_name("theory-vote.png"))
    panels = {
        f"P(F1 >= {entry['f1']:.2f}), {kind} scores": {
            name: (entry["gap"], entry[name]) for name in ("simulated", "printed", "rescaled")
        }
        for kind, entry in ranks.items()
    }
    plot_lines(panels, "mu_true - mu_false", given.output.with_name("theory-rank.png"))


if __name__ == "__main__":
    main()
