"""What a review can be written as: read back by hand, format by format."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import simifeat
from pictures import encoded, picture
from reviewing import NAMES, judged, text_review
from simifeat.cli import main
from simifeat.review.answers import Answer, State
from simifeat.review.exports import FORMATS, Material
from simifeat.review.finished import Finished
from simifeat.review.imports.label_studio import import_results
from simifeat.review.opening import open_review


def written(views, name, path):
    with views.desk.lock:
        finished = Finished.of(views.desk.sheet, views.desk.ledger)
    material = Material(finished, views.examples, views.origin, views.name)
    assert FORMATS[name].why_not(material) is None
    with path.open("wb") as file:
        FORMATS[name].write(material, file)
    return path


def decide_a_few(desk):
    """Keep, relabel, drop, skip and a conflict: row -> what it comes to, None for a drop."""
    sheet = desk.sheet
    kept, moved, dropped, skipped, torn = sheet.flagged[:5].tolist()
    new = int(sheet.suggested[moved])
    desk.decide([Answer(kept, "keep")], "Ana")
    desk.decide([Answer(moved, "relabel", new)], "Ana")
    desk.decide([Answer(dropped, "drop")], "Ben")
    desk.decide([Answer(skipped, "skip"), Answer(torn, "keep")], "Ana")
    desk.decide([Answer(torn, "drop")], "Ben")
    return {kept: int(sheet.labels[kept]), moved: new, dropped: None}


@pytest.fixture
def texts(tmp_path):
    with open_review(text_review(tmp_path)) as views:
        yield views, decide_a_few(views.desk)


def test_the_patch_says_who_changed_what_and_when(texts, tmp_path):
    views, said = texts
    text = written(views, "patch", tmp_path / "p.csv").read_text()
    lines = list(csv.DictReader(text.splitlines()))
    sheet = views.desk.sheet
    assert [line["id"] for line in lines] == [str(sheet.id_of(row)) for row in sorted(said)]
    for line, row in zip(lines, sorted(said), strict=True):
        label = said[row]
        assert line["old"] == sheet.classes[sheet.labels[row]]
        assert line["new"] == ("" if label is None else sheet.classes[label])
        assert line["who"] == ("Ben" if label is None else "Ana")
        assert line["when"].startswith("20")
    assert [line["action"] for line in lines if line["new"] == ""] == ["drop"]


def test_tasks_of_label_studio_carry_suggestion_and_decision(texts, tmp_path):
    views, said = texts
    tasks = json.loads(written(views, "label-studio", tmp_path / "t.json").read_text())
    sheet = views.desk.sheet
    assert [task["data"]["simifeat_row"] for task in tasks] == sorted(sheet.flagged.tolist())
    for task in tasks:
        row = task["data"]["simifeat_row"]
        assert task["data"]["text"] == f"text number {row}, about trees and their leaves"
        (prediction,) = task["predictions"]
        (chosen,) = prediction["result"]
        assert chosen["value"]["choices"] == [sheet.classes[sheet.suggested[row]]]
        assert prediction["score"] == pytest.approx(sheet.p_corrupted[row], abs=1e-5)
        assert ("annotations" in task) == (row in said)
    config = ElementTree.parse(written(views, "label-studio-config", tmp_path / "c.xml"))
    choices = config.find("Choices[@name='label']")
    assert [choice.get("value") for choice in choices] == list(NAMES)
    assert config.find("Text").get("value") == "$text"


def annotate(task, by, choice, control="label"):
    result = [{"from_name": control, "to_name": "example", "type": "choices"}]
    result[0]["value"] = {"choices": [choice]}
    return {**task, "annotations": [{"completed_by": {"email": by}, "result": result}]}


def test_results_of_label_studio_come_back_as_decisions(texts, tmp_path):
    views, _ = texts
    desk, sheet = views.desk, views.desk.sheet
    tasks = json.loads(written(views, "label-studio", tmp_path / "t.json").read_text())
    untouched = sheet.flagged[5:9].tolist()
    fresh = [task for task in tasks if task["data"]["simifeat_row"] in untouched]
    rows = [task["data"]["simifeat_row"] for task in fresh]
    given = [sheet.classes[sheet.labels[row]] for row in rows]
    other = next(name for name in NAMES if name != given[1])
    content = json.dumps(
        [
            annotate(fresh[0], "eva@example.org", given[0]),
            annotate(fresh[1], "eva@example.org", other),
            annotate(fresh[2], "eva@example.org", "Drop this example", "drop"),
            annotate(fresh[3], "eva@example.org", "no such label"),
            *(task for task in tasks if "annotations" in task),  # our own, come back
            {"data": {"simifeat_row": rows[0], "simifeat_data": "other"}, "annotations": []},
            "no task",
        ]
    ).encode()
    before = desk.seq
    found = import_results(desk, content)
    assert (found.added, found.skipped) == (3, 5)
    assert [State(int(desk.state[row])) for row in rows[:3]] == [
        State.KEEP,
        State.RELABEL,
        State.DROP,
    ]
    assert sheet.classes[desk.label[rows[1]]] == other
    assert {v.reviewer for v in desk.ledger.voices(rows[0])} == {"eva@example.org"}
    assert desk.seq == before + 3
    assert import_results(desk, content).added == 0  # once is enough
    short = [{"id": sheet.id_of(rows[3]), "label": given[3], "annotator": 7}]
    assert import_results(desk, json.dumps(short).encode()).added == 1  # JSON-MIN
    assert desk.ledger.voices(rows[3])[-1].reviewer == "Label Studio 7"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_the_cleaned_table_has_the_new_labels_and_lacks_what_was_dropped(tmp_path, ending, capsys):
    path = text_review(tmp_path)
    frame = pd.read_json(tmp_path / "texts.jsonl", lines=True)
    source = tmp_path / f"texts.{ending}"
    if ending == "csv":
        frame.to_csv(source, index=False)
    elif ending == "parquet":
        frame.to_parquet(source, index=False)
    with open_review(path, moved_to=str(source)) as views:
        said = decide_a_few(views.desk)
        sheet = views.desk.sheet
        page_copy = written(views, "dataset", tmp_path / f"page.{ending}")
    for row, label in said.items():
        frame.loc[row, "label"] = None if label is None else sheet.classes[label]
    expected = frame.dropna().reset_index(drop=True)
    copy = tmp_path / f"clean.{ending}"
    assert main(["clean", str(path), "--source", str(source), "-o", str(copy)]) == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}.get(
        ending, lambda p: pd.read_json(p, lines=True)
    )
    pd.testing.assert_frame_equal(read(copy), expected)
    assert page_copy.read_bytes() == copy.read_bytes()
    assert capsys.readouterr().out == (
        "1 labels changed, 1 rows dropped, 59 of 60 rows kept\n"
        "3 rows were decided by people\n"
        f"{len(sheet.flagged) - 3} flagged rows without a decision were kept as they are "
        "(--action)\n"
    )


def test_clean_without_people_and_with_a_log_elsewhere(tmp_path, capsys):
    path = text_review(tmp_path)
    with open_review(path, decisions=tmp_path / "mine.sqlite") as views:
        decide_a_few(views.desk)
        n_flagged = len(views.desk.sheet.flagged)
    copy = str(tmp_path / "c.jsonl")
    assert main(["clean", str(path), "-o", copy]) == 0  # there is no log beside the file
    assert f"0 labels changed, {n_flagged} rows dropped" in capsys.readouterr().out
    log = str(tmp_path / "mine.sqlite")
    assert main(["clean", str(path), "-o", copy, "--decisions", log, "--action", "relabel"]) == 0
    n_open = n_flagged - 3
    assert f"{1 + n_open} labels changed, 1 rows dropped" in capsys.readouterr().out
    assert main(["clean", str(path), "-o", copy, "--decisions", "nothing.sqlite"]) == 2
    assert "nothing.sqlite does not exist; give the log of decisions, or none" in (
        capsys.readouterr().err
    )


@pytest.fixture
def pictures(tmp_path):
    """Pictures in folders of their classes, judged and reviewed; verdicts, views, decisions."""
    path, root = tmp_path / "out.parquet", tmp_path / "trees"
    labels = judged(path).labels
    names = np.array([f"{label}/{number:02d}.png" for number, label in enumerate(labels)])
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(encoded(picture(number, 12)))
    order = np.argsort(names)  # as the folder is read
    features = np.eye(3)[order % 3] + 0.1 * np.random.default_rng(1).normal(size=(60, 3))
    verdicts = simifeat.detect(features, labels[order], ids=names[order], k=5, seed=0)
    about = {"path": str(root), **dict.fromkeys(("labels", "features", "extractor", "id"))}
    replace(verdicts, metadata={**verdicts.metadata, "source": about}).save(path)
    with open_review(path) as views:
        yield path, views, decide_a_few(views.desk)


def staying(views, said):
    """File -> label of the pictures that stay."""
    sheet = views.desk.sheet
    labels = {row: int(sheet.labels[row]) for row in range(sheet.n_rows)} | said
    return {
        str(sheet.id_of(row)): sheet.classes[label]
        for row, label in labels.items()
        if label is not None
    }


def test_a_folder_of_pictures_is_copied_into_its_new_classes(pictures, tmp_path):
    path, views, said = pictures
    target = tmp_path / "cleaned"
    assert main(["clean", str(path), "-o", str(target)]) == 0
    expected = {Path(name).name: label for name, label in staying(views, said).items()}
    found = {file.name: file.parent.name for file in target.rglob("*.png")}
    assert found == expected


def test_coco_boxes_every_picture_that_stays(pictures, tmp_path):
    _, views, said = pictures
    data = json.loads(written(views, "coco", tmp_path / "coco.json").read_text())
    names = {item["id"]: item["name"] for item in data["categories"]}
    files = {item["id"]: item for item in data["images"]}
    found = {}
    for item in data["annotations"]:
        image = files[item["image_id"]]
        assert item["bbox"] == [0, 0, image["width"], image["height"]]
        assert item["area"] == image["width"] * image["height"] > 0
        found[image["file_name"]] = names[item["category_id"]]
    assert found == staying(views, said)
    assert len({item["id"] for item in data["annotations"]}) == len(found)


def test_fiftyone_joins_labels_to_pictures_by_their_names(pictures, tmp_path):
    _, views, said = pictures
    data = json.loads(written(views, "fiftyone", tmp_path / "labels.json").read_text())
    found = {name: data["classes"][code] for name, code in data["labels"].items()}
    expected = staying(views, said)
    assert found == {name.removesuffix(".png"): label for name, label in expected.items()}


def test_cvat_tags_every_picture_that_stays(pictures, tmp_path):
    _, views, said = pictures
    root = ElementTree.parse(written(views, "cvat", tmp_path / "cvat.xml")).getroot()
    assert root.findtext("version") == "1.1"
    assert [label.findtext("name") for label in root.iter("label")] == list(NAMES)
    found = {image.get("name"): image.find("tag").get("label") for image in root.iter("image")}
    assert found == staying(views, said)
    manual = [i.get("name") for i in root.iter("image") if i.find("tag").get("source") == "manual"]
    sheet = views.desk.sheet
    assert manual == [
        str(sheet.id_of(row)) for row, label in sorted(said.items()) if label is not None
    ]


def test_tasks_name_pictures_as_label_studio_serves_them(pictures, tmp_path):
    _, views, _ = pictures
    tasks = json.loads(written(views, "label-studio", tmp_path / "t.json").read_text())
    for task in tasks:
        row = task["data"]["simifeat_row"]
        name = views.desk.sheet.id_of(row)
        assert task["data"]["image"] == f"/data/local-files/?d={name}"


def test_formats_of_pictures_are_refused_for_texts(tmp_path, capsys):
    path = text_review(tmp_path)
    for name in ("coco", "cvat", "fiftyone"):
        target = tmp_path / f"x.{name}"
        assert main(["clean", str(path), "--as", name, "-o", str(target)]) == 2
        assert f"cannot write {name}: This format is for pictures." in capsys.readouterr().err
        assert not target.exists()
