"""10,000 classes and 500,000 rows within 4 GB.

    python benchmarks/classes.py

Every class is a cluster of 50 rows in 64 dimensions; a fifth of the labels go to a random class.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from _common import parser, write_result
from _runs import detect_command, f1_of, run
from simifeat.verdicts import Verdicts

D = 64
NOISE_RATE = 0.2
SPREAD = 0.9  # of a row around its class, where the classes' centres have length 1


def make(folder: Path, n: int, n_classes: int, seed: int) -> tuple[Path, Path, Path]:
    """Paths of features, labels and clean labels."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((n_classes, D)).astype(np.float32)
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    clean = rng.permutation(np.arange(n) % n_classes)
    features = centers[clean] + np.float32(SPREAD / D**0.5) * rng.standard_normal(
        (n, D), dtype=np.float32
    )
    wrong = rng.random(n) < NOISE_RATE
    labels = np.where(wrong, (clean + rng.integers(1, n_classes, n)) % n_classes, clean)
    paths = tuple(folder / f"classes-{name}.npy" for name in ("features", "labels", "clean"))
    for path, array in zip(paths, (features, labels, clean), strict=True):
        np.save(path, array)
    return paths  # type: ignore[return-value]


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "classes.json")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    arguments.add_argument("--rows", type=int, default=500_000)
    arguments.add_argument("--classes", type=int, default=10_000)
    arguments.add_argument("--memory", default="4GB")
    chosen = arguments.parse_args()
    features, labels, clean = make(chosen.work, chosen.rows, chosen.classes, chosen.seed)
    output = chosen.work / "classes.parquet"
    spent = run(detect_command(features, labels, output, "--memory", chosen.memory, "--fresh"))
    found = Verdicts.load(output)
    result = {
        "rows": chosen.rows,
        "classes": chosen.classes,
        "dimensions": D,
        "memory": chosen.memory,
        "seconds": round(spent.seconds, 1),
        "cpu_seconds": round(spent.cpu_seconds, 1),
        "peak_bytes": spent.peak_bytes,
        "f1": round(f1_of(output, labels, clean), 2),
        "noise_rate": NOISE_RATE,
        "noise_rate_estimate": round(found.transition.noise_rate, 4),
        "identifiable": found.transition.identifiable,
    }
    print(result)
    write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
