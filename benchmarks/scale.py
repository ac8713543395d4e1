"""A million rows of 512 dimensions within 4 GB, against 100,000 rows of the same kind.

    python benchmarks/scale.py --work /tmp/scale

Rows are jittered mixtures of the CIFAR features (see _mixtures.py). Each run is a process of its
own, judged by its peak resident memory. What the approximate search costs is counted twice: on
100,000 rows against the whole run with exact neighbours, and among the million on 2,000 rows whose
exact neighbours are searched here, by the vote of the ten nearest.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from _common import parser, write_result
from _mixtures import mixture_files
from _runs import detect_command, f1, f1_of, run
from simifeat.nearest_file import Nearest
from simifeat.verdicts import Verdicts

D = 512
SIZES = (100_000, 1_000_000)
AUDITED = 2_000
K_VOTE = 10


def audit(
    features: Path, labels: Path, clean: Path, found: Verdicts, seed: int
) -> dict[str, object]:
    """F1 of the vote on some rows, by the neighbours that were found and by the true ones."""
    rows = np.load(features, mmap_mode="r")
    given, truth = np.load(labels), np.load(clean)
    picked = np.sort(np.random.default_rng(seed).choice(len(rows), AUDITED, replace=False))
    queries = _unit(rows[picked])
    best = np.full((AUDITED, K_VOTE), -np.inf, np.float32)
    index = np.full((AUDITED, K_VOTE), -1, np.int64)
    for start in range(0, len(rows), 1 << 15):
        values = queries @ _unit(rows[start : start + (1 << 15)]).T
        own = np.flatnonzero((picked >= start) & (picked < start + values.shape[1]))
        values[own, picked[own] - start] = -np.inf
        every = np.concatenate([best, values], axis=1)
        numbers = np.concatenate(
            [index, np.broadcast_to(np.arange(start, start + values.shape[1]), values.shape)],
            axis=1,
        )
        place = np.argpartition(-every, K_VOTE - 1, axis=1)[:, :K_VOTE]
        best = np.take_along_axis(every, place, axis=1)
        index = np.take_along_axis(numbers, place, axis=1)
    kept = found.neighbors
    assert isinstance(kept, Nearest)
    flagged = np.flatnonzero(np.isin(picked, kept.rows))  # neighbours of flagged rows are kept
    near = kept.index[np.searchsorted(kept.rows, picked[flagged])]
    hits = [np.isin(a, b).sum() for a, b in zip(near[:, :K_VOTE], index[flagged], strict=True)]
    return {
        "rows": AUDITED,
        "recall_of_ten_nearest_of_flagged_rows": round(
            float(np.sum(hits)) / near[:, :K_VOTE].size, 4
        ),
        "vote_f1_exact_neighbours": round(
            f1(_vote(given, index, picked), given[picked], truth[picked]), 2
        ),
        "default_f1_on_these_rows": round(
            f1(found.is_corrupted[picked], given[picked], truth[picked]), 2
        ),
    }


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _vote(labels: np.ndarray, index: np.ndarray, rows: np.ndarray) -> np.ndarray:
    counts = np.zeros((len(rows), int(labels.max()) + 1), np.int32)
    np.add.at(counts, (np.arange(len(rows))[:, None], labels[index]), 1)
    return counts.argmax(axis=1) != labels[rows]


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "scale.json")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    arguments.add_argument("--memory", default="4GB")
    chosen = arguments.parse_args()
    result: dict[str, object] = {"d": D, "memory": chosen.memory, "runs": []}
    for n in SIZES:
        features, labels, clean = mixture_files(chosen.data, chosen.work, n, D, chosen.seed)
        output = chosen.work / f"out-{n}.parquet"
        more = ("--memory", chosen.memory, "--fresh", "--seed", str(chosen.seed))
        spent = run(detect_command(features, labels, output, *more))
        found = Verdicts.load(output)
        row = {
            "n": n,
            **{name: round(value, 1) for name, value in asdict(spent).items()},
            "recall": found.metadata["recall"],
            "search": found.metadata["engine_reason"],
            "f1": round(f1_of(output, labels, clean), 2),
            "noise_rate": round(found.transition.noise_rate, 4),
        }
        if n == SIZES[0]:
            exact = chosen.work / "exact.parquet"
            run(detect_command(features, labels, exact, "--engine", "fast"))
            row["f1_with_exact_neighbours"] = round(f1_of(exact, labels, clean), 2)
        result["runs"].append(row)  # type: ignore[attr-defined]
        print(row, flush=True)
    small, large = result["runs"]  # type: ignore[misc]
    for kind in ("seconds", "cpu_seconds"):
        result[f"{kind}_ratio"] = round(large[kind] / small[kind], 2)
    result["audit"] = audit(features, labels, clean, found, chosen.seed)
    print({name: value for name, value in result.items() if name != "runs"}, flush=True)
    write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
