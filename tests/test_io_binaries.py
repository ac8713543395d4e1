"""CIFAR's binary files and idx files: exact pixels, labels by name, copies, what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest

import sources
from pictures import tiny_network
from simifeat.errors import InputError
from simifeat.examples import open_examples
from simifeat.features.decode import decode_rgb
from simifeat.io import open_source
from simifeat.io.source import Edit

N = 10
CODES = np.arange(N) % 3
LABELS = [sources.NAMES[code] for code in CODES]


@pytest.fixture
def network(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_network())
    return f"onnx:{path}"


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        open_source(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pixels(source, column="image", size=32):
    return [decode_rgb(content, size) for content in source.rows.contents(column)]


def rgb(record):
    """Pixel by pixel as the set's own page has it: red, green, blue planes, row by row."""
    picture = np.empty((32, 32, 3), np.uint8)
    for channel in range(3):
        for row in range(32):
            for column in range(32):
                picture[row, column, channel] = record[-3072 + 1024 * channel + 32 * row + column]
    return picture


# CIFAR


def test_cifar10_gives_names_and_pixels(tmp_path):
    records = sources.cifar10(tmp_path / "bin")
    source = open_source(tmp_path / "bin")
    assert source.labels.tolist() == LABELS
    for found, record in zip(pixels(source), records, strict=True):
        np.testing.assert_array_equal(found, rgb(record))
    assert source.notes[0] == (
        "data_batch_3.bin, data_batch_4.bin, data_batch_5.bin is not there; "
        "the other files are taken"
    )


def test_the_folder_around_it_and_a_single_file_will_do(tmp_path):
    sources.cifar10(tmp_path / "cifar-10-batches-bin")
    assert open_source(tmp_path).labels.tolist() == LABELS
    one = open_source(tmp_path / "cifar-10-batches-bin" / "data_batch_2.bin")
    assert one.labels.tolist() == LABELS[5:]


def cifar100(place):
    place.mkdir()
    records = np.random.default_rng(1).integers(0, 256, (N, 3074), np.uint8)
    records[:, 0], records[:, 1] = [0, 0, 1] * 3 + [0], CODES
    records.tofile(place / "train.bin")
    (place / "fine_label_names.txt").write_text("\n".join(sources.NAMES))
    (place / "coarse_label_names.txt").write_text("mammal\nbird\n")
    return records


def test_cifar100_has_fine_and_coarse_labels(tmp_path):
    records = cifar100(tmp_path / "bin")
    source = open_source(tmp_path / "bin")
    assert source.labels.tolist() == LABELS
    coarse = open_source(tmp_path / "bin", labels="coarse_label").labels.tolist()
    assert coarse == ["mammal", "mammal", "bird"] * 3 + ["mammal"]
    np.testing.assert_array_equal(pixels(source)[7], rgb(records[7]))


def edit():
    keep = np.ones(N, bool)
    keep[[0, 6]] = False
    label_from = np.arange(N)
    label_from[[1, 9]] = 2
    return Edit(label_from, keep), [LABELS[label_from[n]] for n in np.flatnonzero(keep)]


def test_a_copy_of_cifar10_is_one_again(tmp_path):
    sources.cifar10(tmp_path / "bin")
    change, wanted = edit()
    open_source(tmp_path / "bin").write_edited(tmp_path / "copy", change)
    copy = open_source(tmp_path / "copy")
    assert copy.labels.tolist() == wanted
    before = pixels(open_source(tmp_path / "bin"))
    np.testing.assert_array_equal(pixels(copy), [before[n] for n in np.flatnonzero(change.keep)])


def test_the_coarse_label_of_a_copy_follows_the_fine_one(tmp_path):
    cifar100(tmp_path / "bin")
    change, wanted = edit()
    open_source(tmp_path / "bin").write_edited(tmp_path / "copy", change)
    assert open_source(tmp_path / "copy").labels.tolist() == wanted
    coarse = open_source(tmp_path / "copy", labels="coarse_label").labels.tolist()
    assert coarse == ["bird" if name == "owl" else "mammal" for name in wanted]


def test_labels_from_a_file_of_their_own_go_into_the_copy(tmp_path):
    sources.cifar10(tmp_path / "bin")
    change, wanted = edit()
    np.save(tmp_path / "noisy.npy", np.array(LABELS))
    source = open_source(tmp_path / "bin", labels=str(tmp_path / "noisy.npy"))
    source.write_edited(tmp_path / "copy", change)
    assert open_source(tmp_path / "copy").labels.tolist() == wanted
    np.save(tmp_path / "noisy.npy", np.array(["cat", "fox"] * 5))
    source = open_source(tmp_path / "bin", labels=str(tmp_path / "noisy.npy"))
    with pytest.raises(InputError, match="the label 'fox' has no number in"):
        source.write_edited(tmp_path / "other", change)
    assert not (tmp_path / "other").exists()


def test_a_file_that_is_cut_short_gives_what_is_whole(tmp_path, network):
    sources.cifar10(tmp_path / "bin")
    second = tmp_path / "bin" / "data_batch_2.bin"
    second.write_bytes(second.read_bytes()[:-100])
    source = open_source(tmp_path / "bin", extractor=network)
    assert source.labels.tolist() == LABELS[:-1]
    found = source.load_features()
    assert len(found.matrix) == N - 1
    assert [(each.name, each.reason) for each in found.skipped] == [
        ("data_batch_2.bin", "cut short: 2973 bytes behind picture 4")
    ]


def test_pickles_are_refused(tmp_path):
    place = tmp_path / "cifar-10-batches-py"
    place.mkdir()
    for name in ("data_batch_1", "test_batch", "batches.meta"):
        (place / name).write_bytes(b"\x80\x02.")
    for path in (place, tmp_path):
        assert refused(path) == (
            f"{path} is the Python version, which is pickled: loading it could run code; give the "
            "binary version (cifar-10-binary.tar.gz or cifar-100-binary.tar.gz, unpacked)"
        )


def test_a_label_beyond_the_names(tmp_path):
    sources.cifar10(tmp_path / "bin")
    (tmp_path / "bin" / "batches.meta.txt").write_text("cat\ndog\n")
    with pytest.raises(InputError, match=r"holds 2 in row 2, but its classes are numbered from 0"):
        _ = open_source(tmp_path / "bin").labels


def test_clean_labels_have_no_place(tmp_path):
    sources.cifar10(tmp_path / "bin")
    change, _ = edit()
    with pytest.raises(InputError, match="has no place for the labels as they were"):
        open_source(tmp_path / "bin").write_edited(
            tmp_path / "copy", Edit(change.label_from, change.keep, keep_clean=True)
        )
    assert not (tmp_path / "copy").exists()


def test_features_and_looks(tmp_path, network):
    records = sources.cifar10(tmp_path / "bin")
    found = open_source(tmp_path / "bin", extractor=network).load_features()
    assert found.matrix.shape == (N, 6)
    origin = {"path": str(tmp_path / "bin")}
    examples = open_examples(origin, pa.array(np.arange(N)), tmp_path)
    assert examples.kind == "image"
    content, _ = examples.picture(8, 32)
    np.testing.assert_array_equal(decode_rgb(content, 32), rgb(records[8]))


# idx


def mnist(place, end="", dot="-", head="train-", n=N):
    values = np.random.default_rng(2).integers(0, 256, (n, 28, 28), np.uint8)
    sources.idx(place / f"{head}images{dot}idx3-ubyte{end}", values)
    sources.idx(place / f"{head}labels{dot}idx1-ubyte{end}", np.arange(n) % 3)
    return values


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("below", ["", "raw", "MNIST/raw"])
def test_idx_files_give_their_pixels(tmp_path, end, dot, below):
    values = mnist(tmp_path / below, end, dot)
    source = open_source(tmp_path)
    assert source.labels.tolist() == (np.arange(N) % 3).tolist()
    for found, value in zip(pixels(source, size=28), values, strict=True):
        np.testing.assert_array_equal(found, np.repeat(value[..., None], 3, axis=2))


def test_the_training_pictures_are_taken_and_said(tmp_path):
    mnist(tmp_path)
    mnist(tmp_path, head="t10k-", n=4)
    source = open_source(tmp_path)
    assert len(source.labels) == N
    other = tmp_path / "t10k-images-idx3-ubyte"
    assert source.notes[0] == f"the training pictures; {other} holds others"
    assert len(open_source(other).labels) == 4


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_copy_of_idx_files(tmp_path, end):
    mnist(tmp_path / "a", end)
    change, _ = edit()
    before = open_source(tmp_path / "a")
    before.write_edited(tmp_path / "copy", change)
    copy = open_source(tmp_path / "copy")
    assert copy.labels.tolist() == before.labels[change.label_from][change.keep].tolist()
    np.testing.assert_array_equal(
        pixels(copy, size=28),
        [each for each, kept in zip(pixels(before, size=28), change.keep, strict=True) if kept],
    )


@pytest.mark.parametrize("end", ["", ".gz"])
def test_pictures_behind_a_cut_are_named(tmp_path, end, network):
    mnist(tmp_path / "a", end)
    path = tmp_path / "a" / f"train-images-idx3-ubyte{end}"
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    source = open_source(tmp_path / "a", extractor=network)
    assert len(source.labels) == N
    found = source.load_features()
    assert found.kept.tolist() == list(range(7))
    assert [each.name for each in found.skipped] == ["row 7", "row 8", "row 9"]


def test_what_is_wrong_with_idx_files_is_said(tmp_path):
    mnist(tmp_path / "a")
    labels = tmp_path / "a" / "train-labels-idx1-ubyte"
    pictures = tmp_path / "a" / "train-images-idx3-ubyte"
    sources.idx(labels, np.zeros(N - 1))
    assert refused(pictures) == (
        f"{pictures} holds {N} pictures but {labels} {N - 1} labels; get both files once more"
    )
    labels.unlink()
    assert refused(pictures) == f"there are no labels beside {pictures}; put {labels.name} there"
    pictures.write_bytes(b"\0\0\x0d\x03" + bytes(12))
    sources.idx(labels, np.zeros(N))
    assert refused(pictures) == (
        f"cannot read {pictures} as idx, it is damaged or cut short "
        "(no header of 3 dimensions of bytes)"
    )


def test_a_packed_file_is_unpacked_no_further_than_it_says(tmp_path):
    mnist(tmp_path, ".gz")
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + bytes(1 << 24)))
    assert len(pixels(open_source(tmp_path), size=28)) == N
