"""FiftyOne: the ``labels.json`` of its image classification datasets, pictures read in place."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import BinaryIO

import numpy as np

from simifeat.review.exports.base import Format, Material, only_pictures


def _write(material: Material, file: BinaryIO) -> None:
    """Keys are file names without their ending, as FiftyOne joins them with pictures."""
    finished = material.finished
    labels = {
        _key(material.file_name(row)): int(finished.label[row])
        for row in np.flatnonzero(finished.stays).tolist()
    }
    classes = [str(value) for value in finished.sheet.classes]
    file.write(json.dumps({"classes": classes, "labels": labels}, indent=1).encode() + b"\n")


def _key(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix()


FORMAT = Format(
    "FiftyOne",
    "labels.json of a FiftyOneImageClassificationDataset, without dropped pictures.",
    lambda material: ".json",
    _write,
    only_pictures,
)
