"""One machine against a Ray cluster of three nodes: the same bytes, also when nodes are killed.

    python benchmarks/cluster.py

Each node is a group of processes of its own on this machine, with one core of it. Ten runs lose a
node, which is killed without grace at a random moment. The price of the engine is the time of two
workers on a cluster of two nodes against one process with two threads, taken in turns.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from _common import ROOT, parser, write_result
from _mixtures import mixture_files
from _runs import detect_command, run

sys.path.insert(0, str(ROOT / "tests"))
from scaled import ray_cluster


def loses_a_node(command: list[str], cluster: Any, seconds: float) -> bool:
    """Run while a further node is killed after ``seconds``; whether the run still went on then."""
    node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    cluster.wait_for_nodes()
    clock = threading.Timer(seconds, partial(cluster.remove_node, node, allow_graceful=False))
    begun = time.perf_counter()
    clock.start()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lasted = time.perf_counter() - begun
    clock.join()
    return lasted > seconds


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "cluster.json")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    arguments.add_argument("--rows", type=int, default=300_000)
    arguments.add_argument("--dimensions", type=int, default=256)
    arguments.add_argument("--kills", type=int, default=10)
    arguments.add_argument("--turns", type=int, default=3)
    chosen = arguments.parse_args()
    sizes = (chosen.rows, chosen.dimensions)
    features, labels, _ = mixture_files(chosen.data, chosen.work, *sizes, chosen.seed)
    here = chosen.work / "here.parquet"
    there = chosen.work / "there.parquet"
    alone = detect_command(features, labels, here, "--memory", "6GB", "--fresh", "--threads", "2")
    run(alone)
    whole = here.read_bytes()
    rng = random.Random(chosen.seed)
    runs = []
    with ray_cluster(3) as (cluster, _):
        spread = detect_command(features, labels, there, "--cluster", cluster.address, "--fresh")
        begun = time.perf_counter()
        run(spread)
        seconds = time.perf_counter() - begun
        equal = there.read_bytes() == whole
        print("three nodes:", round(seconds, 1), "s, same bytes:", equal, flush=True)
        for _ in range(chosen.kills):
            moment = rng.uniform(0.1, 0.9) * seconds
            there.unlink()
            hit = loses_a_node(spread, cluster, moment)
            same = there.read_bytes() == whole
            runs.append(
                {"node_killed_after": round(moment, 1), "in_the_run": hit, "same_bytes": same}
            )
            print(runs[-1], flush=True)
    one, two = [], []
    with ray_cluster(2) as (cluster, _):
        spread = detect_command(features, labels, there, "--cluster", cluster.address, "--fresh")
        for _ in range(chosen.turns):
            one.append(run(alone).seconds)
            two.append(run(spread).seconds)
            print("one process", round(one[-1], 1), "two workers", round(two[-1], 1), flush=True)
    result = {
        "rows": chosen.rows,
        "dimensions": chosen.dimensions,
        "three_nodes_same_bytes": equal,
        "three_nodes_seconds": round(seconds, 1),
        "node_killed": runs,
        "node_killed_same_bytes": sum(each["same_bytes"] for each in runs),
        "one_process_seconds": [round(s, 1) for s in one],
        "two_workers_seconds": [round(s, 1) for s in two],
        "ratio": round(statistics.median(two) / statistics.median(one), 2),
    }
    write_result(chosen.output, chosen.seed, result)
    if not equal or not all(each["same_bytes"] for each in runs):
        sys.exit("a run ended with other bytes")


if __name__ == "__main__":
    main()
