"""COCO: the label of a picture as a box around all of it, which every reader of COCO takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from simifeat.review.exports.base import Format, Material, only_pictures, write_list
from simifeat.version import __version__


def _write(material: Material, file: BinaryIO) -> None:
    finished = material.finished
    rows = np.flatnonzero(finished.stays).tolist()
    sizes = {row: material.size(row) for row in rows}

    def images() -> Iterator[dict[str, Any]]:
        for row in rows:
            width, height = sizes[row]
            name = material.file_name(row)
            yield {"id": row, "file_name": name, "width": width, "height": height}

    def annotations() -> Iterator[dict[str, Any]]:
        for number, row in enumerate(rows, 1):
            width, height = sizes[row]
            yield {
                "id": number,
                "image_id": row,
                "category_id": int(finished.label[row]) + 1,
                "bbox": [0, 0, width, height],
                "area": width * height,
                "segmentation": [],
                "iscrowd": 0,
            }

    classes = enumerate(finished.sheet.classes, 1)
    categories = [{"id": n, "name": str(value), "supercategory": ""} for n, value in classes]
    file.write(f'{{"info": {{"description": "simifeat {__version__}"}}, "licenses": []'.encode())
    parts = (("categories", categories), ("images", images()), ("annotations", annotations()))
    for name, items in parts:
        file.write(f',\n"{name}": '.encode())
        write_list(file, items)
    file.write(b"}\n")


FORMAT = Format(
    "COCO",
    "Images, categories and annotations; a label is a box around the whole picture.",
    lambda material: ".json",
    _write,
    only_pictures,
)
