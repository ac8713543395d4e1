"""What each stage of a run costs, fitted to small runs, checked on a larger one, read off for huge.

    python benchmarks/cost.py

Time is processor time, so that it does not depend on what else the machine does. Each stage's time
is a sum of the terms below with factors of at least 0; ``docs/scale.md`` tells what they mean.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from _common import parser, write_result
from _mixtures import mixture_files
from simifeat.distributed import detect_files
from simifeat.neighbors.cells import CELL_SIZE, SAMPLE_PER_CELL
from simifeat.neighbors.recall import SAMPLE

FITTED = ((50_000, 256), (50_000, 1024), (100_000, 256), (100_000, 512), (200_000, 256))
CHECKED = (300_000, 512)
READ_OFF = ((10**8, 512), (10**9, 512))
K = 30


@dataclass(frozen=True)
class Shape:
    """What the terms are made of."""

    n: int
    d: int
    overlap: int

    @property
    def cells(self) -> int:
        """Cells of the search."""
        return max(1, self.n // CELL_SIZE)


TERMS: Mapping[str, tuple[Callable[[Shape], float], ...]] = {
    "read": (lambda s: s.n * s.d,),
    "kin": (lambda s: s.n,),
    "survey": (lambda s: SAMPLE_PER_CELL * s.cells**2 * s.d, lambda s: s.n * s.d),
    "assign": (lambda s: s.n * s.cells * s.d, lambda s: s.n * SAMPLE * s.d),
    "layout": (lambda s: s.n,),
    "place": (lambda s: s.n * s.d,),
    "search": (
        lambda s: s.n * min(s.overlap, s.cells) * CELL_SIZE * s.d,
        lambda s: s.n * s.overlap,
    ),
    "graph": (lambda s: s.n * K,),
    "judging": (lambda s: s.n * K,),
}


def measure(
    shape: tuple[int, int], data: Path, work: Path, seed: int
) -> tuple[Shape, dict[str, float]]:
    """Processor seconds of each stage of one run."""
    features, labels, _ = mixture_files(data, work, *shape, seed)
    spent = dict.fromkeys(TERMS, 0.0)
    last = time.process_time()

    def progress(stage: str, *_: int) -> None:
        nonlocal last
        now = time.process_time()
        spent[stage if stage in spent else "judging"] += now - last
        last = now

    found = detect_files(
        str(features), work / "cost.work", labels=str(labels), fresh=True, progress=progress
    )
    spent["judging"] += time.process_time() - last
    overlap = int(found.metadata["engine_reason"].split("the ")[1].split(" ")[0])
    return Shape(*shape, overlap), spent


def predicted(shape: Shape, factors: Mapping[str, list[float]]) -> dict[str, float]:
    """Processor seconds of each stage by the fitted factors."""
    return {
        stage: sum(f * term(shape) for f, term in zip(factors[stage], terms, strict=True))
        for stage, terms in TERMS.items()
    }


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "cost.json")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    chosen = arguments.parse_args()
    where = (chosen.data, chosen.work, chosen.seed)
    runs = []
    for shape in FITTED:
        runs.append(measure(shape, *where))
        print(runs[-1], flush=True)
    factors = {}
    for stage, terms in TERMS.items():
        table = np.array([[term(shape) for term in terms] for shape, _ in runs])
        seconds = np.array([spent[stage] for _, spent in runs])
        scale = table.max(axis=0)
        weight = 1 / np.maximum(seconds, 0.05)  # relative errors count, but not those of noise
        found, _ = nnls(table / scale * weight[:, None], seconds * weight)
        factors[stage] = (found / scale).tolist()
    shape, spent = measure(CHECKED, *where)
    guess = predicted(shape, factors)
    result = {
        "k": K,
        "fitted": [{"n": s.n, "d": s.d, "overlap": s.overlap, "seconds": t} for s, t in runs],
        "factors": factors,
        "checked": {
            "n": shape.n,
            "d": shape.d,
            "overlap": shape.overlap,
            "seconds": spent,
            "predicted": guess,
            "total_ratio": round(sum(guess.values()) / sum(spent.values()), 3),
        },
        "read_off_cpu_hours": {
            f"{n:.0e} x {d}": {
                stage: round(seconds / 3600, 2)
                for stage, seconds in predicted(Shape(n, d, shape.overlap), factors).items()
            }
            for n, d in READ_OFF
        },
    }
    print(result["checked"], result["read_off_cpu_hours"])
    write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
