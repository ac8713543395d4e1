"""CVAT for images 1.1: a tag a picture, of every picture that stays."""

from __future__ import annotations

from typing import BinaryIO
from xml.etree import ElementTree

import numpy as np

from simifeat.review.exports.base import Format, Material, only_pictures
from simifeat.review.show import visible


def _write(material: Material, file: BinaryIO) -> None:
    finished = material.finished
    names = [visible(str(value), len(str(value))) for value in finished.sheet.classes]
    rows = np.flatnonzero(finished.stays).tolist()
    file.write(b'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n<version>1.1</version>\n')
    file.write(_meta(material, names, len(rows)) + b"\n")
    for number, row in enumerate(rows):
        width, height = material.size(row)
        image = ElementTree.Element(
            "image",
            id=str(number),
            name=_plain(material.file_name(row)),
            width=str(width),
            height=str(height),
        )
        source = "manual" if row in finished.decided else "file"
        ElementTree.SubElement(image, "tag", label=names[int(finished.label[row])], source=source)
        file.write(ElementTree.tostring(image, "utf-8") + b"\n")
    file.write(b"</annotations>\n")


def _meta(material: Material, names: list[str], size: int) -> bytes:
    meta = ElementTree.Element("meta")
    task = ElementTree.SubElement(meta, "task")
    for tag, text in (("name", material.name), ("size", str(size)), ("mode", "annotation")):
        ElementTree.SubElement(task, tag).text = _plain(text)
    labels = ElementTree.SubElement(task, "labels")
    for name in names:
        label = ElementTree.SubElement(labels, "label")
        ElementTree.SubElement(label, "name").text = name
        ElementTree.SubElement(label, "type").text = "tag"
        ElementTree.SubElement(label, "attributes")
    return ElementTree.tostring(meta, "utf-8")


def _plain(text: str) -> str:
    return visible(text, len(text))  # XML has no place for control characters


FORMAT = Format(
    "CVAT",
    "CVAT for images 1.1: the label of every picture as a tag, without dropped ones.",
    lambda material: ".xml",
    _write,
    only_pictures,
)
