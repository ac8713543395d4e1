"""Data in files for runs in stages, and a Ray cluster whose nodes are processes of their own."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def blobs(n, d=16, n_classes=4, seed=0, copies=20):
    """Features [n, d] in clusters, a fifth of the labels moved on; the first rows are copies."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(n_classes, size=n)
    features = np.eye(n_classes, d)[clean] + 0.3 * rng.standard_normal((n, d))
    features[:copies] = features[0]
    labels = np.where(rng.random(n) < 0.2, (clean + 1) % n_classes, clean)
    return features.astype(np.float32), labels


def write_npy(folder, features, labels):
    """One file of features and one of labels; the path of the former and of the latter."""
    np.save(folder / "x.npy", features)
    np.save(folder / "y.npy", labels)
    return str(folder / "x.npy"), str(folder / "y.npy")


def write_parquet(folder, features, labels, n_shards, row_group=500):
    """Shards with columns id, embedding and label; the pattern that matches them."""
    bounds = np.linspace(0, len(features), n_shards + 1).astype(int)
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        table = pa.table(
            {
                "id": [f"row-{i}" for i in range(start, stop)],
                "embedding": pa.FixedSizeListArray.from_arrays(
                    pa.array(features[start:stop].ravel()), features.shape[1]
                ),
                "label": labels[start:stop],
            }
        )
        path = folder / f"part-{number:03d}.parquet"
        pq.write_table(table, path, row_group_size=row_group, write_page_checksum=True)
    return str(folder / "part-*.parquet")


@contextmanager
def ray_cluster(n_nodes=3):
    """A cluster on this machine, one process group a node; yields it and the nodes but the head."""
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        others = [cluster.add_node(**node) for _ in range(n_nodes - 1)]
        cluster.wait_for_nodes()
        yield cluster, others
    finally:
        ray.shutdown()
        cluster.shutdown()
