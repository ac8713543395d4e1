from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pictures import encoded, picture, tiny_network
from simifeat.errors import InputError, OutputError
from simifeat.io.images import open_image_folder
from simifeat.io.source import Edit, Request


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_network())
    return f"onnx:{path}"


@pytest.fixture
def photos(tmp_path):
    root = tmp_path / "photos"
    for n in range(12):
        place = root / ("cat", "dog")[n % 2] / f"{n:02d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded(picture(n)))
    return root


def reopened(photos, network, **more):
    return open_image_folder(Request(photos, extractor=network, **more))


def test_labels_are_the_folders_and_ids_the_paths(photos, network):
    (photos / "dog" / "old").mkdir()
    shutil.move(photos / "dog" / "01.png", photos / "dog" / "old" / "01.PNG")
    source = reopened(photos, network)
    assert list(source.labels) == ["cat"] * 6 + ["dog"] * 6
    assert list(source.ids[:2]) == ["cat/00.png", "cat/02.png"]
    assert "dog/old/01.PNG" in source.ids
    assert source.notes == ()


def test_features_are_the_networks_in_the_order_of_the_ids(photos, network):
    source = reopened(photos, network)
    found = source.load_features()
    assert found.matrix.shape == (12, 6)
    assert found.metric == "cosine"
    assert found.skipped == ()
    assert found.kept is None
    shuffled = {name: row for row, name in enumerate(source.ids)}
    single = photos / "cat" / "04.png"
    for other in photos.rglob("*.png"):
        if other != single:
            other.unlink()
    alone = reopened(photos, network).load_features().matrix
    np.testing.assert_allclose(alone[0], found.matrix[shuffled["cat/04.png"]], rtol=1e-5)


def test_bad_files_are_named_and_stand_in_no_row(photos, network, tmp_path):
    outside = tmp_path / "secret.png"
    outside.write_bytes(encoded(picture(99)))
    bad = {
        "cat/link.png": lambda place: place.symlink_to(outside),
        "cat/notes.txt": lambda place: place.write_text("hello"),
        "cat/zero.png": lambda place: place.write_bytes(b""),
        "dog/cut.jpg": lambda place: place.write_bytes(encoded(picture(5, 64), "JPEG")[:-500]),
        "dog/text.webp": lambda place: place.write_text("no picture"),
        "dog/gone.png": lambda place: place.symlink_to(photos / "dog" / "nowhere.png"),
    }
    for name, make in bad.items():
        make(photos / name)
    (photos / "dog" / ".DS_Store").write_bytes(b"x")
    (photos / "loose.png").write_bytes(encoded(picture(7)))
    source = reopened(photos, network)
    found = source.load_features()
    reasons = {each.name: each.reason for each in found.skipped}
    assert set(reasons) == set(bad)
    assert reasons["cat/link.png"] == "a link to outside the folder"
    assert reasons["cat/notes.txt"] == "not a picture by its name"
    assert reasons["cat/zero.png"] == "empty file (0 bytes)"
    assert reasons["dog/gone.png"] == "a link to nothing"
    assert reasons["dog/cut.jpg"].startswith("damaged picture: ")
    assert reasons["dog/text.webp"] == "not a picture of a known format"
    assert len(found.matrix) == len(found.kept) == 12
    assert np.isfinite(found.matrix).all()
    assert set(source.ids[found.kept]) == {
        f"{('cat', 'dog')[n % 2]}/{n:02d}.png" for n in range(12)
    }
    assert source.notes == (f"1 pictures directly in {photos} have no label and are left out",)


def test_skipping_leaves_the_features_of_the_others_alone(photos, network):
    before = reopened(photos, network).load_features().matrix
    (photos / "cat" / "03.png").write_bytes(b"")  # between 02 and 04
    found = reopened(photos, network).load_features()
    np.testing.assert_array_equal(found.matrix, before)


def test_it_is_an_error_if_all_fail(photos, network):
    for path in photos.rglob("*.png"):
        path.write_bytes(b"")
    with pytest.raises(InputError) as caught:
        reopened(photos, network).load_features()
    assert str(caught.value) == (
        "none of the 12 records can be read; the first is cat/00.png (empty file (0 bytes)); "
        "check the paths and the kind of the files"
    )


def test_a_folder_without_pictures_in_folders_is_refused(tmp_path):
    (tmp_path / "cat").mkdir()
    with pytest.raises(InputError, match="holds no pictures in folders named like their labels"):
        open_image_folder(Request(tmp_path))


@pytest.mark.parametrize("option", ["labels", "features"])
def test_options_that_cannot_apply_are_refused(photos, option):
    with pytest.raises(InputError, match=f"leave out --{option}$"):
        open_image_folder(Request(photos, **{option: "x"}))


def test_relabelled_and_dropped_pictures_are_copied_into_their_new_folders(photos, network):
    (photos / "dog" / "00.png").write_bytes(encoded(picture(50)))  # a name that cat has, too
    source = reopened(photos, network)
    names = list(source.ids)
    label_from = np.arange(len(names))
    label_from[names.index("cat/00.png")] = names.index("dog/01.png")
    keep = np.ones(len(names), bool)
    keep[names.index("cat/02.png")] = False
    target = photos.parent / "cleaned"
    assert source.write_edited(target, Edit(label_from, keep)) == (target,)
    written = {p.relative_to(target).as_posix() for p in target.rglob("*.png")}
    unchanged = set(names) - {"cat/00.png", "cat/02.png", "dog/00.png"}
    assert written - unchanged == {"dog/00.png", "dog/dog_00.png"}
    assert (target / "dog" / "00.png").read_bytes() == (photos / "cat" / "00.png").read_bytes()
    assert not [p for p in photos.parent.iterdir() if p.name.startswith(".simifeat")]
    with pytest.raises(OutputError, match="it is there already; name a new folder"):
        source.write_edited(target, Edit(label_from, keep))


def test_a_copy_that_fails_leaves_nothing(photos, network):
    source = reopened(photos, network)
    os.unlink(photos / "dog" / "11.png")
    target = photos.parent / "cleaned"
    n = len(source.labels)
    with pytest.raises(OutputError, match="cannot write"):
        source.write_edited(target, Edit(np.arange(n), np.ones(n, bool)))
    assert {p.name for p in photos.parent.iterdir()} <= {"photos", "tiny.onnx", "cache"}


KILLED = """
    import os, signal, sys
    from simifeat.cli import main
    from simifeat.features.images import ImageExtractor

    kill, n_prepared = sys.argv[1] == "kill", 0
    prepare = ImageExtractor.prepare

    def watched(self, content):
        global n_prepared
        n_prepared += 1
        if kill and n_prepared > 2 * 120 + 50:  # in epoch 3 of 5
            os.kill(os.getpid(), signal.SIGKILL)
        return prepare(self, content)

    ImageExtractor.prepare = watched
    code = main(["detect", "photos", "--epochs", "5", "-k", "5", "-o", *sys.argv[2:]])
    print(code, n_prepared)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_command_goes_on_where_it_stopped(tmp_path, network):
    for n in range(120):
        place = tmp_path / "photos" / f"c{n % 3}" / f"{n:03d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encoded(picture(n % 40)))
    (tmp_path / "run.py").write_text(textwrap.dedent(KILLED))

    def run(cache, how, output):
        environment = {**os.environ, "SIMIFEAT_CACHE": str(tmp_path / cache)}
        done = subprocess.run(
            [sys.executable, "run.py", how, output, "--extractor", network],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, (done.stdout.splitlines() or [""])[-1]

    assert run("one", "kill", "out.parquet")[0] == -signal.SIGKILL
    assert not list(tmp_path.glob("out*"))
    kept = {path: path.stat().st_ino for path in (tmp_path / "one" / "features").glob("*.npy")}
    assert len(kept) == 2
    code, said = run("one", "go on", "out.parquet")
    assert (code, said.split()[0]) == (0, "0")
    assert int(said.split()[1]) <= 3 * 120  # epochs 1 and 2 are not extracted again
    assert {path: path.stat().st_ino for path in kept} == kept
    assert run("two", "go on", "whole.parquet") == (0, "0 600")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert (tmp_path / "out.parquet").read_bytes() == whole
    assert (tmp_path / "out.parquet.json").read_bytes() == (
        tmp_path / "whole.parquet.json"
    ).read_bytes()
