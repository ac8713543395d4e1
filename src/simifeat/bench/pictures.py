"""CIFAR pictures in the sets' own binary layout, and features that need nothing but pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.bench.cells import Say
from simifeat.bench.data import FeatureFile
from simifeat.errors import InputError, require
from simifeat.io.atomic import write_bytes

Pictures = NDArray[np.uint8]  # [n, 32, 32, 3]

FILES = {
    "cifar10": (tuple(f"data_batch_{number}.bin" for number in range(1, 6)), 1),
    "cifar100": (("train.bin",), 2),
}
"""Training files in order, and label bytes before each picture."""
_PROJECTED = 256  # width of the random projection and of the principal components


def has_pictures(folder: Path, dataset: str) -> bool:
    """Whether all training files of ``dataset`` are in ``folder``."""
    return dataset in FILES and all((folder / name).is_file() for name in FILES[dataset][0])


def read_cifar(folder: Path, dataset: str) -> tuple[Pictures, NDArray[np.int64]]:
    """Training pictures and their true labels (the fine ones of CIFAR-100), in official order."""
    names, n_labels = FILES[dataset]
    if not has_pictures(folder, dataset):
        raise InputError(
            f"{folder} does not hold the pictures of {dataset}: {', '.join(names)}; they are in "
            "the binary version of the set"
        )
    record = n_labels + 3 * 32 * 32
    raw = np.concatenate([np.fromfile(folder / name, np.uint8) for name in names])
    if len(raw) == 0 or len(raw) % record:
        raise InputError(
            f"{folder} holds {len(raw)} bytes of {dataset}, not a whole number of pictures of "
            f"{record} bytes; download the set again"
        )
    table = raw.reshape(-1, record)
    planes = table[:, n_labels:].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), table[:, n_labels - 1].astype(int)


@dataclass(frozen=True)
class PictureFile:
    """The training pictures of one dataset."""

    dataset: str
    folder: Path

    def load(self, rows: NDArray[np.int64] | None = None) -> Pictures:
        """The pictures [n, 32, 32, 3], or those of ``rows``."""
        pictures, _ = read_cifar(self.folder, self.dataset)
        return pictures if rows is None else pictures[rows]


def extracted(
    folder: Path, dataset: str, output: Path, names: tuple[str, ...], say: Say
) -> list[FeatureFile]:
    """Features of the pictures in ``folder`` by each extractor, computed where not yet there."""
    for name in names:
        if name not in EXTRACTORS:
            raise InputError(f"there is no {name!r}; choose from {', '.join(EXTRACTORS)}")
    files = [FeatureFile(dataset, name, output / f"{dataset}_{name}.npy") for name in names]
    missing = [file for file in files if not file.path.exists()]
    if missing:
        pictures, _ = read_cifar(folder, dataset)
        output.mkdir(parents=True, exist_ok=True)
        for file in missing:
            say(f"extracting {file.extractor} of {len(pictures):,} pictures of {dataset}")
            content = io.BytesIO()
            np.save(content, EXTRACTORS[file.extractor](pictures))
            write_bytes(file.path, content.getvalue())
    return files


def with_extracted(
    files: list[FeatureFile],
    folder: Path | None,
    datasets: tuple[str, ...],
    output: Path,
    names: tuple[str, ...],
    say: Say,
) -> list[FeatureFile]:
    """``files`` and, if there is a ``folder`` of pictures, the features made of them."""
    if folder is None:
        return files
    there = [dataset for dataset in datasets if has_pictures(folder, dataset)]
    if not there:
        raise InputError(f"{folder} holds the pictures of none of {', '.join(datasets)}")
    made = [each for name in there for each in extracted(folder, name, output, names, say)]
    return [*files, *made]


def pixels(pictures: Pictures) -> Pictures:
    """The pixels themselves, [n, 3072]."""
    return pictures.reshape(len(pictures), -1)


def _centred(pictures: Pictures) -> NDArray[np.float32]:
    flat = pixels(pictures).astype(np.float32) / np.float32(255)
    flat -= flat.mean(axis=0)
    return flat


def projection(pictures: Pictures) -> NDArray[np.float32]:
    """Centred pixels through a random matrix, [n, 256]."""
    flat = _centred(pictures)
    matrix = np.random.default_rng(0).standard_normal((flat.shape[1], _PROJECTED))
    return flat @ (matrix / np.sqrt(_PROJECTED)).astype(np.float32)


def components(pictures: Pictures) -> NDArray[np.float32]:
    """Principal components of the pixels, each of unit variance, [n, 256]."""
    flat = _centred(pictures)
    values, vectors = np.linalg.eigh(flat.T @ flat / np.float32(len(flat)))
    top = np.argsort(-values)[: min(_PROJECTED, len(flat) - 1)]
    return flat @ (vectors[:, top] / np.sqrt(np.maximum(values[top], 1e-12)))


def _lite0(size: int) -> Callable[[Pictures], NDArray[np.float32]]:
    def extract(pictures: Pictures) -> NDArray[np.float32]:
        from simifeat.features.registry import open_extractor

        image = require("PIL.Image", extra="image")
        network = open_extractor(f"efficientnet-lite0?size={size}", "image")
        found = []
        for start in range(0, len(pictures), network.batch_size):
            batch = [
                np.asarray(image.fromarray(each).resize((size, size), image.Resampling.BICUBIC))
                for each in pictures[start : start + network.batch_size]
            ]
            found.append(network.run(batch))
        return np.concatenate(found)

    return extract


def simclr(pictures: Pictures) -> NDArray[np.float32]:
    """A SimCLR trained on the pictures themselves, [n, 128].

    Two processor cores set its size: a ResNet-10 of a quarter of the width, eight epochs on the
    first 10,000 pictures. The paper trains a whole ResNet-34 on all of them.
    """
    from simifeat.features.images import ImageExtractor, ImageModel
    from simifeat.features.simclr import train_simclr

    network = train_simclr(pictures[:10_000], depth=10, width=16, n_epochs=8)
    extractor = ImageExtractor(ImageModel("simclr", network, pictures.shape[1]))
    step = extractor.batch_size
    starts = range(0, len(pictures), step)
    return np.concatenate([extractor.run(list(pictures[s : s + step])) for s in starts])


EXTRACTORS: Mapping[str, Callable[[Pictures], NDArray[Any]]] = {
    "pixels": pixels,
    "projection": projection,
    "components": components,
    "simclr": simclr,
    "lite0-64px": _lite0(64),
    "lite0-96px": _lite0(96),
    "lite0-160px": _lite0(160),
}
"""What can be had of the pictures offline."""
