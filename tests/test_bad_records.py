"""From the command line: what cannot be read is named, the rest is judged, all rows line up."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pictures import encoded, picture, png_that_claims, tiny_network
from simifeat.cli import main
from simifeat.examples import open_examples
from simifeat.features.decode import decode_rgb
from simifeat.verdicts import Verdicts

N = 36
COLOURS = {"red": (200, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 200)}
LABELS = [list(COLOURS)[n % 3] for n in range(N)]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.onnx").write_bytes(tiny_network())
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


NETWORK = "onnx:../tiny.onnx"


def pixels(n):
    """A picture whose colour tells its class."""
    shade = np.array(COLOURS[LABELS[n]], np.int16)
    noise = np.random.default_rng(n).integers(-30, 31, (24, 24, 3))
    return np.clip(shade + noise, 0, 255).astype(np.uint8)


def exif_rotated(n):
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(pixels(n)), "JPEG", exif=exif)


def animated(n):
    frames = [Image.fromarray(pixels(n)), Image.fromarray(pixels(n + 1))]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


UNUSUAL = {
    "cmyk.jpg": lambda n: encoded(Image.fromarray(pixels(n)).convert("CMYK"), "JPEG"),
    "deep.png": lambda n: encoded(pixels(n)[..., 0].astype(np.uint16) * 257),
    "moves.gif": animated,
    "turned.jpg": exif_rotated,
}
"""Read like any other."""
BAD = {
    "cut.png": (lambda: encoded(picture(3, 64))[:-300], "damaged picture"),
    "cut.jpg": (lambda: encoded(picture(3, 64), "JPEG")[:-300], "damaged picture"),
    "bomb.png": (lambda: png_that_claims(30_000, 30_000), "more than 89,478,485 pixels"),
    "zero.png": (lambda: b"", "empty file (0 bytes)"),
    "page.png": (lambda: b"<html>", "not a picture of a known format"),
    "notes.txt": (lambda: b"hello", "not a picture by its name"),
}


def detect(capsys, *arguments):
    code = main(["detect", *arguments, "-o", "out.parquet", "-k", "5"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return Verdicts.load("out.parquet"), said.out


def skipped_in(name="out.parquet.json"):
    record = json.loads(Path(name).read_text("utf-8"))
    return {each["name"]: each["reason"] for each in record["metadata"]["source"]["skipped"]}


def test_a_folder_of_all_that_is_bad(capsys):
    for n in range(N):
        path = Path("photos", LABELS[n], f"{n:02d}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(pixels(n)))
    wrong = Path("photos/blue/wrong.png")
    wrong.write_bytes(encoded(pixels(0)))  # red
    for name, make in UNUSUAL.items():
        Path("photos/red", name).write_bytes(make(0))
    for name, (make, _) in BAD.items():
        Path("photos/green", name).write_bytes(make())
    Path("secret.png").write_bytes(encoded(pixels(0)))
    Path("photos/green/away.png").symlink_to(Path("secret.png").absolute())
    os.mkfifo("photos/green/pipe.png")
    with open("photos/green/vast.png", "wb") as file:
        file.truncate((1 << 28) + 1)
    Path("photos/green/gone.png").symlink_to(Path("photos/nothing.png").absolute())
    verdicts, out = detect(capsys, "photos", "--extractor", NETWORK)
    reasons = skipped_in()
    expected = {f"green/{name}": why for name, (_, why) in BAD.items()}
    expected |= {
        "green/away.png": "a link to outside the folder",
        "green/gone.png": "a link to nothing",
        "green/pipe.png": "not a regular file",
        "green/vast.png": "more than 256 MB",
    }
    assert reasons.keys() == expected.keys()
    for name, why in expected.items():
        assert reasons[name].startswith(why), name
    assert "10 could not be read and were not judged: green/away.png (a link to" in out
    assert verdicts.n_examples == N + 1 + len(UNUSUAL)
    assert not set(verdicts.ids) & set(expected)
    assert "blue/wrong.png" in verdicts.ids[verdicts.is_corrupted]
    dropped = set(verdicts.ids[verdicts.is_corrupted])
    assert main(["clean", "out.parquet", "-o", "copy"]) == 0
    left = {path.relative_to("copy").as_posix() for path in Path("copy").rglob("*.*")}
    assert not left & dropped
    assert left >= set(verdicts.ids) - dropped
    capsys.readouterr()


def cells():
    """Paths of pictures in a table, some of them bad; the rows that are good."""
    names = [f"pictures/{n:02d}.png" for n in range(N)]
    for n, name in enumerate(names):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(encoded(pixels(n)))
    Path("../secret.png").write_bytes(encoded(pixels(0)))
    bad = {
        3: ("../secret.png", "a path outside the folder"),
        7: (os.path.abspath("../secret.png"), "a path outside the folder"),
        11: ("pictures/none.png", "cannot be read: No such file or directory"),
        12: ("", "empty cell"),
        20: ("pictures", "not a regular file"),
        21: ("pictures/a\0b.png", "no path"),
        22: ("/etc/passwd", "a path outside the folder"),
    }
    for row, (name, _) in bad.items():
        names[row] = name
    return names, {row: why for row, (_, why) in bad.items()}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_table_of_paths(capsys, ending):
    names, bad = cells()
    if ending == ".csv":
        bad.pop(21)  # text files hold no zero bytes
        names[21] = "pictures/21.png"
    frame = pd.DataFrame({"image": names, "label": LABELS})
    frame.loc[0, "label"] = "green"  # it is red
    write(frame, f"data{ending}")
    verdicts, _ = detect(capsys, f"data{ending}", "--extractor", NETWORK)
    source = json.loads(Path("out.parquet.json").read_text())["metadata"]["source"]
    assert source["not_judged"] == list(bad)
    for why, each in zip(bad.values(), source["skipped"], strict=True):
        assert each["reason"].startswith(why)
    judged = np.setdiff1d(np.arange(N), list(bad))
    assert verdicts.ids.tolist() == judged.tolist()
    assert verdicts.labels.tolist() == frame["label"][judged].tolist()
    assert verdicts.is_corrupted[0]
    lines_up(verdicts, f"data{ending}", judged, capsys)


def write(frame, name):
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(name)
    else:
        frame.to_json(name, orient="records", lines=True)


def lines_up(verdicts, path, judged, capsys):
    """A copy loses the flagged rows alone; what review shows of a row is that row."""
    assert main(["clean", "out.parquet", "-o", f"copy{Path(path).suffix}"]) == 0
    capsys.readouterr()
    flagged = judged[verdicts.is_corrupted]
    reader = {".csv": pd.read_csv, ".parquet": pd.read_parquet}.get(Path(path).suffix)
    copy = reader(f"copy{Path(path).suffix}") if reader else pd.read_json("copy.jsonl", lines=True)
    assert len(copy) == N - len(flagged)
    assert copy["label"].tolist() == [
        label for n, label in enumerate(verdict_labels(verdicts, judged)) if n not in flagged
    ]
    examples = open_examples(verdicts.metadata["source"], pa.array(judged), Path())
    for row in (0, 5, len(judged) - 1):
        content, _ = examples.picture(row, 24)
        np.testing.assert_array_equal(decode_rgb(content, 24), pixels(int(judged[row])))


def verdict_labels(verdicts, judged):
    """Labels of the source: those judged, and those of the rows between."""
    labels = list(LABELS)
    for row, label in zip(judged, verdicts.labels, strict=True):
        labels[row] = label
    return labels


def test_pictures_in_a_table_as_bytes(capsys):
    contents = [encoded(pixels(n)) for n in range(N)]
    contents[1], contents[8], contents[30] = None, b"", b"junk"
    pq.write_table(pa.table({"image": contents, "label": LABELS}), "data.parquet")
    verdicts, _ = detect(capsys, "data.parquet", "--extractor", NETWORK)
    assert skipped_in() == {
        "row 1": "empty cell",
        "row 8": "empty file (0 bytes)",
        "row 30": "not a picture of a known format",
    }
    judged = np.setdiff1d(np.arange(N), [1, 8, 30])
    lines_up(verdicts, "data.parquet", judged, capsys)


TEXTS = {
    "red": ["a red tomato on a plate", "ripe strawberries and cherries", "ketchup and tomato soup"],
    "green": ["grass in the meadow", "leaves of a tree in spring", "a frog sits in the moss"],
    "blue": ["the sea under the sky", "waves of the deep ocean", "a sailor on the blue water"],
}
MIXED = {
    2: (7, "a number where a text should be"),
    5: (None, "empty cell"),
    9: ("", "empty cell"),
    10: (["a", "b"], "a list where a text should be"),
    14: ({"a": 1}, "an object where a text should be"),
    19: (True, "a truth value where a text should be"),
    23: ("?!... \u2603", "no letters or digits in the text"),
    24: ("   ", "no letters or digits in the text"),
    25: (1.5, "a number where a text should be"),
}


def test_texts_of_mixed_types(capsys):
    pytest.importorskip("wordllama")
    texts = [f"{TEXTS[LABELS[n]][n // 3 % 3]} {n}" for n in range(N)]
    rows = [
        {"text": MIXED.get(n, (text,))[0], "label": label}
        for n, (text, label) in enumerate(zip(texts, LABELS, strict=True))
    ]
    rows[0]["label"] = "blue"
    rows[12]["text"] = texts[12] + " \ud83d"  # half of a character
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    verdicts, out = detect(capsys, "data.jsonl")
    assert skipped_in() == {f"row {row}": why for row, (_, why) in MIXED.items()}
    assert f"{len(MIXED)} could not be read and were not judged: row 2 (a number" in out
    assert verdicts.ids.tolist() == [n for n in range(N) if n not in MIXED]
    assert 0 in verdicts.ids[verdicts.is_corrupted]
    assert main(["clean", "out.parquet", "-o", "copy.jsonl"]) == 0
    left = [json.loads(line) for line in Path("copy.jsonl").read_text().splitlines()]
    flagged = set(verdicts.ids[verdicts.is_corrupted].tolist())
    assert left == [row for n, row in enumerate(rows) if n not in flagged]
    capsys.readouterr()


def test_if_the_first_cell_of_texts_is_a_number(capsys):
    pytest.importorskip("wordllama")
    rows = [{"text": f"{TEXTS[label][0]} {n}", "label": label} for n, label in enumerate(LABELS)]
    rows[0]["text"] = 5
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    detect(capsys, "data.jsonl")
    assert skipped_in() == {"row 0": "a number where a text should be"}


def test_labels_of_mixed_types_are_refused(capsys):
    rows = [{"x0": n, "x1": 1, "label": label} for n, label in enumerate(LABELS)]
    rows[4]["label"] = 7
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["detect", "data.jsonl", "-o", "out.parquet"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: column 'label' of data.jsonl changes from string to number in row 4; make its "
        "cells of one type"
    )


def test_nothing_is_written_if_all_fail(capsys):
    pd.DataFrame({"image": ["a.png", "b.png"], "label": ["x", "y"]}).to_csv("data.csv")
    assert main(["detect", "data.csv", "--extractor", NETWORK, "-o", "out.parquet"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: none of the 2 records can be read; the first is a.png (cannot be read: No such "
        "file or directory); check the paths and the kind of the files"
    )
    assert not Path("out.parquet").exists()


def test_good_data_say_nothing_of_skipped(capsys):
    contents = [encoded(pixels(n)) for n in range(N)]
    pq.write_table(pa.table({"image": contents, "label": LABELS}), "data.parquet")
    _, out = detect(capsys, "data.parquet", "--extractor", NETWORK)
    assert "not judged" not in out
    assert "skipped" not in Path("out.parquet.json").read_text()
