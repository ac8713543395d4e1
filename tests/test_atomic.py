from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from simifeat.errors import OutputError
from simifeat.io.atomic import check_target, replacing, write_bytes


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path):
    target = tmp_path / "out"
    with replacing(target) as (file,):
        file.write(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_several_files_appear_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")
    with replacing(first, second) as (one, two):
        one.write(b"1")
        two.write(b"2")
        assert (first.read_bytes(), second.exists()) == (b"old", False)
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_whatever_goes_wrong_leaves_what_was_there(tmp_path, error):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")

    def fail():
        with replacing(first, second) as (one, _):
            one.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert first.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOSPC, "the disk or the quota is full; free some space or choose another place"),
        (errno.EDQUOT, "the disk or the quota is full; free some space or choose another place"),
        (errno.EIO, "Input/output error; choose another place"),
    ],
)
def test_a_fault_of_the_disk_is_explained(tmp_path, monkeypatch, number, why):
    target = tmp_path / "out"
    target.write_bytes(b"old")

    def fail(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("simifeat.io.atomic.os.fsync", fail)
    with pytest.raises(OutputError) as caught:
        write_bytes(target, b"new")
    assert str(caught.value) == f"cannot write {target}: {why}"
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_targets_that_cannot_become_files(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, why in {
        "folder": "it is a directory; give a file name",
        "pipe": "it is not a regular file; give a file name",
        "no/out": f"there is no directory {tmp_path / 'no'}; make it first",
        "file/out": f"{tmp_path / 'file'} is not a directory; choose another place",
    }.items():
        with pytest.raises(OutputError) as caught:
            check_target(tmp_path / name)
        assert str(caught.value) == f"cannot write {tmp_path / name}: {why}"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "there" / "real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "real").read_bytes() == b"new"


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        write_bytes(tmp_path / "out", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o644


def test_a_killed_process_leaves_what_was_there(tmp_path):
    target = tmp_path / "out"
    target.write_bytes(b"old")
    code = (
        "import os, signal, sys; from pathlib import Path; "
        "from simifeat.io.atomic import replacing\n"
        "with replacing(Path(sys.argv[1])) as (file,):\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert found.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
