"""What a review can be written as; one format a file."""

from __future__ import annotations

from collections.abc import Mapping

from simifeat.review.exports import coco, cvat, dataset, fiftyone, label_studio, patch
from simifeat.review.exports.base import Format, Material

FORMATS: Mapping[str, Format] = {
    "dataset": dataset.FORMAT,
    "patch": patch.FORMAT,
    "label-studio": label_studio.TASKS,
    "label-studio-config": label_studio.CONFIG,
    "cvat": cvat.FORMAT,
    "coco": coco.FORMAT,
    "fiftyone": fiftyone.FORMAT,
}
"""Name -> the format, as the page and ``simifeat clean --as`` offer it."""

__all__ = ["FORMATS", "Format", "Material"]
