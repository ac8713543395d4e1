"""One contract for every source that keeps pictures: same labels, features, copies, examples."""

from __future__ import annotations

import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sources
from pictures import encoded, picture, tiny_network
from simifeat.cli import main
from simifeat.errors import InputError
from simifeat.examples import open_examples
from simifeat.features.decode import decode_rgb
from simifeat.io import open_source
from simifeat.io.source import Edit

N = 14
CODES = np.arange(N) % 3
LABELS = [sources.NAMES[code] for code in CODES]


def folder(place):
    for i, content in enumerate(sources.files(N)):
        path = place / LABELS[i] / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place


def table_of_bytes(place):
    path = place.with_suffix(".parquet")
    pq.write_table(sources.arrow_table(sources.files(N), CODES), path, row_group_size=4)
    return path


def tar_folder(place):
    place.mkdir()
    members = list(sources.samples(sources.files(N), CODES))
    for i, part in enumerate((members[:10], members[10:])):
        sources.tar(place / f"shard-{i:03d}.tar", part)
    return place


def dataset_dict(place):
    sources.saved_dataset(place / "train", sources.files(N), CODES)
    sources.saved_dataset(place / "test", sources.files(3), CODES[:3])
    (place / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return place


MAKERS = {
    "saved dataset": lambda place: sources.saved_dataset(place, sources.files(N), CODES),
    "dataset of splits": dataset_dict,
    "hub folder": lambda place: sources.hub_folder(place, sources.files(N), CODES),
    "pattern of parquet": lambda place: (
        sources.hub_folder(place, sources.files(N), CODES) / "data" / "train-*.parquet"
    ),
    "table of bytes": table_of_bytes,
    "tar": lambda place: sources.tar(
        place.with_suffix(".tar"), sources.samples(sources.files(N), CODES)
    ),
    "tar with json": lambda place: sources.tar(
        place.with_suffix(".tar"), sources.samples(sources.files(N), CODES, "json")
    ),
    "packed tar": lambda place: sources.tar(
        place.with_suffix(".tar.gz"), sources.samples(sources.files(N), CODES, "txt")
    ),
    "folder of tars": tar_folder,
    "pattern of tars": lambda place: tar_folder(place) / "shard-{000..001}.tar",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMIFEAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_network())
    return f"onnx:{path}"


@pytest.fixture(params=MAKERS)
def place(request, tmp_path):
    return MAKERS[request.param](tmp_path / "data")


def test_labels_are_the_names_in_order(place):
    assert open_source(place).labels.tolist() == LABELS


def test_features_are_those_of_the_same_pictures_in_a_folder(place, network, tmp_path):
    plain = open_source(folder(tmp_path / "plain"), extractor=network)
    order = np.argsort([name.split("/")[1] for name in plain.ids])
    found = open_source(place, extractor=network).load_features()
    np.testing.assert_array_equal(found.matrix, plain.load_features().matrix[order])
    assert found.skipped == ()
    assert found.kept is None


def copied(place, tmp_path, **more):
    keep = np.ones(N, bool)
    keep[[0, 5, 13]] = False
    label_from = np.arange(N)
    label_from[[1, 12]] = [2, 4]  # an owl's, a dog's
    target = tmp_path / f"copy{'.tar.gz' if place.name.endswith('gz') else place.suffix}"
    if not place.is_file():
        target = tmp_path / "copy"
    open_source(place).write_edited(target, Edit(label_from, keep, **more))
    wanted = [LABELS[label_from[n]] for n in np.flatnonzero(keep)]
    return target, keep, wanted


def test_a_copy_holds_the_new_labels_and_the_same_pictures(place, network, tmp_path):
    target, keep, wanted = copied(place, tmp_path)
    copy = open_source(target, extractor=network)
    assert copy.labels.tolist() == wanted
    before = open_source(place, extractor=network)
    np.testing.assert_array_equal(copy.load_features().matrix, before.load_features().matrix[keep])
    if before.ids is not None:
        assert copy.ids.tolist() == before.ids[keep].tolist()


def test_a_copy_may_keep_the_labels_as_they_were(place, tmp_path):
    target, keep, wanted = copied(place, tmp_path, keep_clean=True)
    copy = open_source(target)
    assert copy.labels.tolist() == wanted
    assert copy.clean_labels.tolist() == [LABELS[n] for n in np.flatnonzero(keep)]


def test_the_pictures_can_be_looked_at(place, tmp_path):
    ids = open_source(place).ids
    ids = np.arange(N) if ids is None else ids
    left = np.delete(np.arange(N), [3])
    origin = {"path": str(place), "not_judged": [3]}
    examples = open_examples(origin, pa.array(ids[left].tolist()), tmp_path)
    assert examples.kind == "image"
    content, _ = examples.picture(3, 24)  # row 4 of the source
    np.testing.assert_array_equal(decode_rgb(content, 24), picture(4))


def test_bad_pictures_are_named_and_left_out(tmp_path, network):
    contents = sources.files(N)
    contents[2], contents[7], contents[9] = b"", b"no picture", encoded(picture(0))[:-90]
    for number, make in enumerate((sources.saved_dataset, sources.hub_folder)):
        source = open_source(make(tmp_path / str(number), contents, CODES), extractor=network)
        found = source.load_features()
        assert found.kept.tolist() == [0, 1, 3, 4, 5, 6, 8, 10, 11, 12, 13]
        assert len(found.matrix) == 11
        assert [each.name for each in found.skipped] == ["2.png", "7.png", "9.png"]
    tar = sources.tar(tmp_path / "a.tar", sources.samples(contents, CODES))
    found = open_source(tar, extractor=network).load_features()
    assert {each.name: each.reason.split(":")[0] for each in found.skipped} == {
        "train/0002.png": "empty file (0 bytes)",
        "train/0007.png": "not a picture of a known format",
        "train/0009.png": "damaged picture",
    }


# Hugging Face datasets


def test_text_is_preferred_to_numbers_in_a_dataset(tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    table = pa.table({"sentence": ["a b", "c d"], "label": [0, 1], "idx": [5, 6]})
    with pa.ipc.new_file(place / "data.arrow", table.schema) as writer:
        writer.write_table(table)
    (place / "dataset_info.json").write_text("{}")
    source = open_source(place)
    assert source.labels.tolist() == [0, 1]
    assert source.notes == ("features: extracted from column 'sentence'", "labels: column 'label'")


def test_the_only_column_of_classes_holds_the_labels(tmp_path):
    table = sources.arrow_table(sources.files(3), [0, 1, 2]).rename_columns(["image", "animal"])
    features = {"image": sources.FEATURES["image"], "animal": sources.FEATURES["label"]}
    place = sources.saved_dataset(tmp_path / "data", sources.files(3), [0, 1, 2], 1, features)
    (file,) = place.glob("*.arrow")
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    source = open_source(place)
    assert source.notes == ("labels: column 'animal'",)
    assert source.labels.tolist() == list(sources.NAMES)


def test_the_training_split_is_taken_and_said(tmp_path):
    place = dataset_dict(tmp_path / "data")
    assert open_source(place).notes[0] == (
        f"split 'train' of 'train', 'test'; {place / 'test'} is another"
    )
    assert len(open_source(place / "test").labels) == 3
    hub = sources.hub_folder(tmp_path / "hub", sources.files(N), CODES)
    sources.hub_folder(hub, sources.files(3), CODES[:3], 1, "test")
    assert open_source(hub).notes[0].endswith(f"; {hub / 'data' / 'test*'} is another")
    assert len(open_source(hub / "data" / "test*").labels) == 3


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        _ = open_source(path, **options).labels
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_splits_without_a_training_one_must_be_chosen(tmp_path):
    place = dataset_dict(tmp_path / "data")
    (place / "train").rename(place / "dev")
    (place / "dataset_dict.json").write_text('{"splits": ["dev", "test", "../x"]}')
    assert refused(place) == (
        f"{place} has 2 splits ('dev', 'test'); give one of them, such as {place / 'dev'}"
    )


def test_what_is_wrong_with_a_dataset_is_said(tmp_path):
    def fresh(name, state=None, codes=CODES):
        place = sources.saved_dataset(tmp_path / name, sources.files(N), codes)
        if state is not None:
            (place / "state.json").write_text(state)
        return place

    outside = '{"_data_files": [{"filename": "../other/data.arrow"}]}'
    place = fresh("a", outside)
    assert refused(place) == f"{place} names a data file outside the folder (data.arrow)"
    place = fresh("b", "{}")
    assert refused(place) == f"{place} holds no data files (.arrow); save the dataset again"
    place = fresh("c", "[1")
    assert refused(place).startswith(f"cannot read {place / 'state.json'} as JSON, it is damaged")
    place = fresh("d", codes=[7, *CODES[1:]])
    assert refused(place) == (
        f"column 'label' of {place} holds 7 in row 0, but its classes are numbered from 0 to 2; "
        "save the dataset again"
    )
    place = fresh("e", '{"_indices_data_files": [{"filename": "i.arrow"}]}')
    assert "was saved with a list of rows beside the data" in refused(place)
    place = fresh("f")
    cut = place / "data-00001-of-00002.arrow"
    cut.write_bytes(cut.read_bytes()[:-2000])
    assert refused(place).startswith(f"cannot read {cut} as Arrow, it is damaged or cut short")
    (cut).write_bytes(b"")
    assert str(cut) in refused(place)


def test_a_code_below_zero_is_a_missing_label(tmp_path):
    place = sources.saved_dataset(tmp_path / "a", sources.files(N), [-1, *CODES[1:]])
    assert open_source(place).labels[:2].tolist() == [None, "dog"]


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    hub = sources.hub_folder(tmp_path / "hub", sources.files(N), CODES)
    other = hub / "data" / "train-00001-of-00002.parquet"
    pq.write_table(pa.table({"x": [1.0]}), other)
    assert refused(hub).startswith(f"{other} has other columns than ")


# Tar shards


def test_links_devices_and_strange_names_in_a_tar_do_nothing(tmp_path, network):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as file:
        for name, kind in (("x.png", tarfile.SYMTYPE), ("y.png", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            file.addfile(member)
    members = [
        ("../../evil/0.png", sources.files(1)[0]),
        ("../../evil/0.cls", b"cat"),
        ("/abs/1.png", sources.files(2)[1]),
        ("/abs/1.cls", b"dog"),
    ]
    whole = sources.tar(tmp_path / "b.tar", members)
    before = set(tmp_path.rglob("*"))
    source = open_source(whole, extractor=network)
    assert source.ids.tolist() == ["../../evil/0", "/abs/1"]
    assert len(source.load_features().matrix) == 2
    assert {path.parent.name for path in set(tmp_path.rglob("*")) - before} <= {
        "cache",
        "features",
        tmp_path.name,
    }
    assert refused(path) == f"{path} holds no samples: no members named like 0001.jpg in a tar"


def test_samples_without_a_label_are_named(tmp_path, network):
    members = list(sources.samples(sources.files(6), CODES[:6]))
    del members[5]  # the label of the third
    members[8] = (members[8][0], b"  ")
    source = open_source(sources.tar(tmp_path / "a.tar", members), extractor=network)
    assert source.labels.tolist() == [LABELS[n] for n in (0, 1, 3, 5)]
    found = source.load_features()
    assert [(each.name, each.reason) for each in found.skipped] == [
        ("train/0002", "no cls beside it"),
        ("train/0004", "no cls beside it"),
    ]
    assert len(found.matrix) == 4


@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
def test_a_tar_that_is_cut_short_gives_what_is_whole(tmp_path, network, ending):
    noise = np.random.default_rng(0).integers(0, 256, (12, 40, 40, 3), np.uint8)
    contents = [encoded(each) for each in noise]
    path = sources.tar(tmp_path / f"a{ending}", sources.samples(contents, CODES[:12]))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    source = open_source(path, extractor=network)
    found = source.load_features()
    assert len(found.matrix) == len(source.labels) in (5, 6)
    assert found.skipped[0].name == path.name
    assert found.skipped[0].reason.startswith("damaged or cut short, lost from train/000")


def test_texts_in_a_tar(tmp_path):
    members = [
        (f"{i}.{end}", text)
        for i in range(4)
        for end, text in (("txt", f"text {i}".encode()), ("json", b'{"label": %d}' % (i % 2)))
    ]
    source = open_source(sources.tar(tmp_path / "a.tar", members))
    assert source.labels.tolist() == [0, 1, 0, 1]
    assert list(source.rows.contents("txt")) == [f"text {i}" for i in range(4)]


def test_a_pattern_that_names_what_is_not_there(tmp_path):
    place = tar_folder(tmp_path / "data")
    assert refused(place / "shard-{000..002}.tar") == (
        f"{place / 'shard-002.tar'} does not exist, but {place / 'shard-{000..002}.tar'} names it; "
        "check the path"
    )
    assert refused(place / "x-*.tar") == f"{place / 'x-*.tar'} names no file; check the path"


@pytest.mark.parametrize("kind", ["pattern of parquet", "pattern of tars", "folder of tars"])
def test_several_files_from_the_command_line(kind, tmp_path, network, capsys):
    place = MAKERS[kind](tmp_path / "data")
    out, copy = tmp_path / "out.parquet", tmp_path / "copy"
    assert main(["detect", str(place), "--extractor", network, "-k", "3", "-o", str(out)]) == 0
    assert main(["clean", str(out), "--action", "keep", "-o", str(copy)]) == 0
    capsys.readouterr()
    assert open_source(copy).labels.tolist() == LABELS


def test_a_pattern_with_a_star_from_the_command_line(tmp_path, network, capsys):
    tar_folder(tmp_path / "data")
    stars = str(tmp_path / "data" / "shard-*.tar")
    assert main(["detect", stars, "--extractor", network, "-k", "3"]) == 0
    assert f"of {N} labels" in capsys.readouterr().out
