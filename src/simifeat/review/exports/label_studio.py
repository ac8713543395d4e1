"""Label Studio: the flagged rows as tasks, and the labelling interface that goes with them.

A task carries the suggestion as a prediction and what was decided as an annotation. Pictures that
are files are named as Label Studio's local storage does, below the folder of the dataset; others
travel inside the task.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote
from xml.etree import ElementTree

from simifeat.io.records import Unreadable
from simifeat.review.answers import Outcome, State
from simifeat.review.exports.base import Format, Material, write_list
from simifeat.review.show import visible
from simifeat.version import __version__

CHOICE, DROP, WHAT = "label", "drop", "example"  # names of the controls and of what they are about
DROP_TEXT = "Drop this example"
_SENT_SIZE = 512
_TAGS = {"image": "Image", "text": "Text"}


def tasks(material: Material) -> Iterator[dict[str, Any]]:
    """A task for every flagged row and for every other one that was decided about."""
    finished, sheet = material.finished, material.finished.sheet
    rows = sorted({*sheet.flagged.tolist(), *finished.decided})
    for row in rows:
        suggested = finished.value(int(sheet.suggested[row]))
        prediction = {
            "model_version": f"simifeat {__version__}",
            "score": round(float(sheet.p_corrupted[row]), 6),
            "result": [_chosen(CHOICE, str(suggested))],
        }
        task: dict[str, Any] = {"data": _data(material, row), "predictions": [prediction]}
        if row in finished.decided:
            task["annotations"] = [_annotation(material, row, finished.decided[row])]
        yield task


def config(material: Material) -> bytes:
    """The labelling interface: the example, its classes, and a box to drop it."""
    kind = material.examples.kind
    view = ElementTree.Element("View")
    tag = _TAGS.get(kind, "Text")
    ElementTree.SubElement(view, tag, name=WHAT, value=f"${_field(kind)}")
    labels = ElementTree.SubElement(
        view, "Choices", name=CHOICE, toName=WHAT, choice="single", showInline="true"
    )
    for value in material.finished.sheet.classes:
        text = str(value)
        ElementTree.SubElement(labels, "Choice", value=visible(text, len(text)))
    drop = ElementTree.SubElement(view, "Choices", name=DROP, toName=WHAT, choice="multiple")
    ElementTree.SubElement(drop, "Choice", value=DROP_TEXT)
    ElementTree.indent(view)
    return ElementTree.tostring(view, "utf-8") + b"\n"


def _data(material: Material, row: int) -> dict[str, Any]:
    sheet = material.finished.sheet
    kind = material.examples.kind
    return {
        "id": sheet.id_of(row),
        "simifeat_row": row,
        "simifeat_data": sheet.fingerprint[:16],
        "given": str(material.finished.value(int(sheet.labels[row]))),
        _field(kind): _shown(material, row),
    }


def _shown(material: Material, row: int) -> str:
    examples = material.examples
    if examples.kind == "text":
        return examples.text(row) or ""
    if examples.kind != "image":
        return "\n".join(f"{name}: {value}" for name, value in examples.fields(row))
    name = examples.file_name(row)
    if name is not None:
        return f"/data/local-files/?d={quote(name)}"
    try:
        content, media_type = examples.picture(row, _SENT_SIZE)
    except Unreadable:
        return ""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _annotation(material: Material, row: int, found: Outcome) -> dict[str, Any]:
    dropped = found.state == State.DROP
    label = str(material.finished.value(int(material.finished.label[row])))
    chosen = _chosen(DROP, DROP_TEXT) if dropped else _chosen(CHOICE, label)
    names = ", ".join(dict.fromkeys(voice.reviewer for voice in found.voices))
    return {"ground_truth": False, "result": [{**chosen, "meta": {"simifeat": names}}]}


def _chosen(control: str, value: str) -> dict[str, Any]:
    return {
        "from_name": control,
        "to_name": WHAT,
        "type": "choices",
        "value": {"choices": [value]},
    }


def _field(kind: str) -> str:
    return "image" if kind == "image" else "text"


def _write_tasks(material: Material, file: BinaryIO) -> None:
    write_list(file, tasks(material))


def _write_config(material: Material, file: BinaryIO) -> None:
    file.write(config(material))


TASKS = Format(
    "Label Studio tasks",
    "Flagged rows with the suggestion, and what was decided; its results can be imported again.",
    lambda material: ".json",
    _write_tasks,
)
CONFIG = Format(
    "Label Studio interface",
    "The labelling interface that goes with these tasks.",
    lambda material: ".xml",
    _write_config,
)
