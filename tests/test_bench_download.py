import hashlib
import io
import tarfile

import pytest

from bench_data import write_pictures
from simifeat.bench.download import ARCHIVES, Archive, fetch_pictures
from simifeat.bench.pictures import has_pictures, read_cifar
from simifeat.cli import main
from simifeat.errors import InputError


@pytest.fixture
def archive(tmp_path):
    """CIFAR-10's layout in a tar file, with something beside it that is not asked for."""
    source = write_pictures(tmp_path / "source", 40)
    path = tmp_path / "cifar.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for each in sorted(source.iterdir()):
            file.add(each, f"cifar-10-batches-bin/{each.name}")
        info = tarfile.TarInfo("../../outside.bin")
        info.size = 3
        file.addfile(info, io.BytesIO(b"bad"))
    return Archive(path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest())


def test_pictures_are_fetched_once_and_only_what_is_asked_for(archive, tmp_path):
    told, folder = [], tmp_path / "kept" / "pictures"
    fetch_pictures(folder, "cifar10", told.append, {"cifar10": archive})
    assert has_pictures(folder, "cifar10")
    assert len(read_cifar(folder, "cifar10")[0]) == 40
    assert {path.name for path in folder.iterdir()} == {f"data_batch_{n}.bin" for n in range(1, 6)}
    assert not list(tmp_path.glob("**/outside.bin"))
    fetch_pictures(folder, "cifar10", told.append, {"cifar10": archive})
    assert told == [f"fetching {archive.address}"]


def test_another_file_than_the_known_one_is_not_kept(archive, tmp_path):
    folder = tmp_path / "kept"
    other = Archive(archive.address, "0" * 64)
    with pytest.raises(InputError, match="is not the file that simifeat knows"):
        fetch_pictures(folder, "cifar10", lambda _: None, {"cifar10": other})
    assert list(folder.iterdir()) == []


def test_what_cannot_be_fetched_is_told_with_a_remedy(tmp_path):
    gone = Archive((tmp_path / "gone.tar.gz").as_uri(), "0" * 64)
    with pytest.raises(InputError, match="unpack the binary version of cifar10 into"):
        fetch_pictures(tmp_path, "cifar10", lambda _: None, {"cifar10": gone})
    with pytest.raises(InputError, match="there is no download of mnist; there is one of cifar10"):
        fetch_pictures(tmp_path, "mnist", lambda _: None)


def test_the_known_files_are_those_of_the_authors_site():
    for archive in ARCHIVES.values():
        assert archive.address.startswith("https://")
        assert len(archive.sha256) == 64


def test_a_download_needs_a_folder(tmp_path, capsys):
    words = ["bench", "figure3", "--data", str(tmp_path), "--download"]
    assert main(words) == 2
    assert "--download needs a folder; give it with --pictures" in capsys.readouterr().err
