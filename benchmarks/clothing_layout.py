"""Lay Fashion-MNIST out like Clothing1M, so that ``simifeat bench table4`` can be shown on it.

    python benchmarks/clothing_layout.py fashion-as-clothing
    simifeat bench table4 --data fashion-as-clothing ...

Labels of the training pictures are corrupted depending on the picture; the tests are clean. The set
is in Debian's package dataset-fashion-mnist, or wherever --source says.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from simifeat.noise import instance_dependent


def main() -> None:
    """Write the folder."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    default = Path("/usr/share/datasets/fashion-mnist")
    arguments.add_argument("--source", type=Path, default=default)
    arguments.add_argument("--train", type=int, default=10_000)
    arguments.add_argument("--test", type=int, default=2_000)
    arguments.add_argument("--rate", type=float, default=0.4)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    if not given.source.is_dir():
        sys.exit(f"{given.source} is missing: apt-get install dataset-fashion-mnist, or --source")
    pictures, clean = read(given.source, "train", given.train)
    features = pictures.reshape(len(pictures), -1).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    noisy = instance_dependent(features, clean, given.rate, seed=given.seed)
    train = write(given.folder, "0", pictures)
    tests, labels = read(given.source, "t10k", given.test)
    test = write(given.folder, "1", tests)
    lists = {
        "noisy_train_key_list.txt": train,
        "clean_test_key_list.txt": test,
        "noisy_label_kv.txt": [f"{k} {v}" for k, v in zip(train, noisy, strict=True)],
        "clean_label_kv.txt": [f"{k} {v}" for k, v in zip(test, labels, strict=True)],
    }
    for name, lines in lists.items():
        (given.folder / name).write_text("\n".join(lines) + "\n")
    print(
        f"{len(train):,} training pictures, {np.mean(noisy != clean):.1%} of the labels corrupted"
    )


def read(source: Path, part: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures [n, 28, 28] and labels [n]."""
    with gzip.open(source / f"{part}-images-idx3-ubyte.gz") as file:
        pictures = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(source / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return pictures[:n], labels[:n].astype(np.int64)


def write(folder: Path, top: str, pictures: np.ndarray) -> list[str]:
    """The pictures below ``folder``; their names."""
    names = [f"images/{top}/{number % 100}/{number}.png" for number in range(len(pictures))]
    for name, picture in zip(names, pictures, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / name)
    return names


if __name__ == "__main__":
    main()
