"""A million rows through the approximate engine: time, peak memory, recall, and a peer.

Every search runs in a process of its own, so that its peak memory is its own. Recall is counted
against a plain exact search of 500 rows that the engine knows nothing of.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from _common import parser, run_alone, write_result
from _mixtures import mixture_files

K = 30
AUDITED = 500


def search(engine: str, features: Path, target: Path) -> dict[str, object]:
    """Search once here and say what it took; neighbours go to ``target``."""
    start = time.perf_counter()
    rows = np.load(features)
    report: dict[str, object] = {"engine": engine, "n": len(rows), "d": rows.shape[1]}
    loaded = time.perf_counter()
    if engine == "approximate":
        from simifeat.neighbors import find_neighbors

        found = find_neighbors(rows, K, engine="approximate")
        index = found.index
        report |= {"recall_reported": found.recall, "reason": found.reason}
    else:
        index = _faiss(rows, n_lists=max(1, len(rows) // 1000), n_probed=int(engine.split("=")[1]))
    report["seconds"] = round(time.perf_counter() - loaded, 2)
    report["seconds_with_loading"] = round(time.perf_counter() - start, 2)
    report["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    np.save(target, index)
    return report


def _faiss(rows: np.ndarray, n_lists: int, n_probed: int) -> np.ndarray:
    import faiss

    faiss.normalize_L2(rows)
    index = faiss.index_factory(rows.shape[1], f"IVF{n_lists},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(rows[:: max(1, len(rows) // (40 * n_lists))])
    index.add(rows)
    index.nprobe = n_probed
    return index.search(rows, K + 1)[1]  # itself included


def recall_of(features: Path, found: Path) -> float:
    """Share of the true neighbours of some rows that were found."""
    rows = np.load(features, mmap_mode="r")
    index = np.load(found, mmap_mode="r")
    asked = np.sort(np.random.default_rng(12345).choice(len(rows), AUDITED, replace=False))
    queries = _unit(rows[asked])
    best = np.full((AUDITED, K), -np.inf, np.float32)
    place = np.zeros((AUDITED, K), np.int64)
    for start in range(0, len(rows), 20_000):
        block = _unit(rows[start : start + 20_000])
        value = queries @ block.T
        own = (asked >= start) & (asked < start + len(block))
        value[own, asked[own] - start] = -np.inf
        top = np.argpartition(value, len(block) - K, axis=1)[:, -K:]
        value = np.concatenate([best, np.take_along_axis(value, top, 1)], axis=1)
        number = np.concatenate([place, top + start], axis=1)
        keep = np.argpartition(value, K, axis=1)[:, -K:]
        best, place = (np.take_along_axis(each, keep, 1) for each in (value, number))
    hits = [np.isin(place[i], index[row]).sum() for i, row in enumerate(asked)]
    return float(np.sum(hits) / (AUDITED * K))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def main() -> None:
    """Measure 100,000 and 1,000,000 rows and write the result."""
    arguments = parser(__doc__ or "", "million.json")
    arguments.add_argument("--work", type=Path, default=Path("/tmp/simifeat-bench"))
    arguments.add_argument("-d", type=int, default=256)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments.add_argument("--peer", action="store_true", help="faiss IVF as well")
    arguments.add_argument("--one", nargs=3, help="engine, features, target: one search, here")
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(search(options.one[0], Path(options.one[1]), Path(options.one[2]))))
        return
    runs = []
    for n in options.sizes:
        features = mixture_files(options.data, options.work, n, options.d, options.seed)[0]
        for engine in ["approximate", *(["faiss IVF, nprobe=12"] if options.peer else [])]:
            target = options.work / "million_index.npy"
            run = run_alone(__file__, "--one", engine, features, target)
            run["recall_of_500_rows"] = round(recall_of(features, target), 4)
            print(run, file=sys.stderr)
            runs.append(run)
    own = [run["seconds"] for run in runs if run["engine"] == "approximate"]
    result = {"k": K, "runs": runs, "time_ratio": round(own[-1] / own[0], 2)}
    write_result(options.output, options.seed, result)


if __name__ == "__main__":
    main()
