from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from simifeat.augment import TextAugment
from simifeat.errors import InputError, OutputError
from simifeat.features.epochfile import EpochFile
from simifeat.features.epochs import Plan, extract_epochs
from simifeat.features.extract import Batch
from simifeat.io.records import Record, Unreadable

N = 37


class Texts:
    """Records of text; those in ``bad`` cannot be read."""

    kind = "text"

    def __init__(self, n=N, bad=(), mark=""):
        self.n, self.bad, self.mark = n, set(bad), mark

    def __len__(self):
        return self.n

    def __iter__(self):
        for row in range(self.n):
            yield Record(f"row {row}", lambda row=row: self._read(row))

    def _read(self, row):
        if row in self.bad:
            raise Unreadable("empty cell")
        return " ".join(f"{self.mark}{row * 7 + word}" for word in range(20))


class Sums:
    """An extractor whose features are plain to see; it counts what it is asked for."""

    name, kind, identity, notes, batch_size = "sums", "text", "sums 1", (), 4

    def __init__(self):
        self.prepared = 0
        self.threads = set()

    def prepare(self, content):
        self.prepared += 1
        self.threads.add(threading.get_ident())
        return content

    def run(self, batch):
        numbers = [[float(word) for word in text.split()] for text in batch]
        return np.array([[sum(row), len(row), max(row)] for row in numbers], np.float32)


def epochs_of(tmp_path, records=None, extractor=None, **choices):
    plan = Plan(
        Texts() if records is None else records,
        extractor or Sums(),
        augment=TextAugment(0.3),
        **choices,
    )
    found = extract_epochs(plan, tmp_path)
    return [np.array(epoch) for epoch in found.epochs], found


def test_epochs_differ_the_first_is_plain_and_all_come_back_the_same(tmp_path):
    epochs, found = epochs_of(tmp_path / "a", n_epochs=3)
    plain = Sums().run([Texts()._read(row) for row in range(N)])
    np.testing.assert_array_equal(epochs[0], plain)
    assert len({epoch.tobytes() for epoch in epochs}) == 3
    assert found.skipped == ()
    np.testing.assert_array_equal(found.kept, np.arange(N))
    again, _ = epochs_of(tmp_path / "b", n_epochs=3)
    np.testing.assert_array_equal(epochs, again)


@pytest.fixture(autouse=True)
def folders(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()


def test_threads_and_seeds(tmp_path):
    one, _ = epochs_of(tmp_path / "a", n_epochs=2, n_threads=1)
    many, _ = epochs_of(tmp_path / "b", n_epochs=2, n_threads=5)
    np.testing.assert_array_equal(one, many)
    other, _ = epochs_of(tmp_path / "b", n_epochs=2, seed=1)
    np.testing.assert_array_equal(one[0], other[0])  # plain
    assert not np.array_equal(one[1], other[1])


def test_all_epochs_are_changed_if_asked_for(tmp_path):
    (first, second), _ = epochs_of(tmp_path, n_epochs=2, plain_first=False)
    plain = Sums().run([Texts()._read(row) for row in range(N)])
    assert not np.array_equal(first, plain)
    assert not np.array_equal(first, second)


def test_what_is_kept_is_not_extracted_again(tmp_path):
    first, second, third = Sums(), Sums(), Sums()
    wanted, _ = epochs_of(tmp_path, extractor=first, n_epochs=2)
    assert first.prepared == 2 * N
    found, _ = epochs_of(tmp_path, extractor=second, n_epochs=3)
    assert second.prepared == N
    np.testing.assert_array_equal(found[:2], wanted)
    third.identity = "sums 2"
    epochs_of(tmp_path, extractor=third)
    assert third.prepared == N
    changed = Sums()
    epochs_of(tmp_path, Texts(mark="1"), changed)
    assert changed.prepared == N


def test_records_that_cannot_be_read_stand_in_no_row(tmp_path):
    bad = (0, 1, 2, 3, 9, 36)  # the whole first batch, one inside, the last
    epochs, found = epochs_of(tmp_path / "a", Texts(bad=bad), n_epochs=2)
    assert [each.name for each in found.skipped] == [f"row {row}" for row in bad]
    assert {each.reason for each in found.skipped} == {"empty cell"}
    good = [row for row in range(N) if row not in bad]
    np.testing.assert_array_equal(found.kept, good)
    whole, _ = epochs_of(tmp_path / "b", n_epochs=2)
    np.testing.assert_array_equal(epochs, [epoch[good] for epoch in whole])
    _, again = epochs_of(tmp_path / "a", Texts(bad=bad), n_epochs=2)
    assert again.skipped == found.skipped


def test_none_readable_is_an_error(tmp_path):
    with pytest.raises(
        InputError, match=r"^none of the 37 records can be read; the first is row 0"
    ):
        epochs_of(tmp_path, Texts(bad=range(N)))
    with pytest.raises(InputError, match="0 records"):
        epochs_of(tmp_path, Texts(0))


def test_a_record_that_fails_later_is_an_error(tmp_path):
    records = Texts()
    found = extract_epochs(Plan(records, Sums(), n_epochs=2, augment=TextAugment()), tmp_path)
    records.bad.add(5)
    next(found.epochs)
    with pytest.raises(InputError, match="leave the files alone while they are examined"):
        next(found.epochs)


def test_the_next_epoch_is_extracted_while_one_is_in_use(tmp_path):
    extractor = Sums()
    plan = Plan(Texts(), extractor, n_epochs=3, augment=TextAugment())
    found = extract_epochs(plan, tmp_path)
    assert extractor.prepared == N
    next(found.epochs)
    deadline = time.monotonic() + 10
    while extractor.prepared < 2 * N and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert extractor.prepared == 2 * N  # one ahead, not two


def test_leaving_early_stops_the_extraction(tmp_path):
    class Slow(Sums):
        def run(self, batch):
            time.sleep(0.05)
            return super().run(batch)

    plan = Plan(Texts(400), Slow(), n_epochs=2, augment=TextAugment(), n_threads=50)
    found = extract_epochs(plan, tmp_path)
    plan.extractor.prepared = 0
    next(found.epochs)
    found.epochs.close()
    assert plan.extractor.prepared < 400
    assert not [t for t in threading.enumerate() if t.name.startswith("simifeat")]


def test_progress_counts_rows(tmp_path):
    told = []
    epochs_of(tmp_path, n_epochs=2, progress=lambda *step: told.append(step))
    assert told[0] == ("features of epoch 1", 4, N)
    assert ("features of epoch 1", N, N) in told
    assert told[-1] == ("features of epoch 2", N, N)


def test_an_error_of_the_extractor_comes_through(tmp_path):
    class Broken(Sums):
        def run(self, batch):
            raise InputError("the model cannot do this")

    with pytest.raises(InputError, match="the model cannot do this"):
        epochs_of(tmp_path, extractor=Broken())


def test_a_damaged_epoch_is_made_again(tmp_path):
    epochs, _ = epochs_of(tmp_path)
    (whole,) = tmp_path.glob("*.npy")
    whole.write_bytes(whole.read_bytes()[:100])
    again, _ = epochs_of(tmp_path)
    np.testing.assert_array_equal(again, epochs)


def batches_of(matrix, start=0):
    for row in range(start, len(matrix), 4):
        yield Batch(row, matrix[row : row + 4], ())


@pytest.mark.parametrize(
    "cut", [0, 5, 127, 128, 140, 128 + 12 * 4, 128 + 12 * 7 + 5, 128 + 12 * 36]
)
def test_a_draft_of_any_length_is_gone_on_with(tmp_path, cut):
    matrix = np.arange(N * 3, dtype=np.float32).reshape(N, 3)
    other = EpochFile(tmp_path / "a", "key", N)
    other.write(batches_of(matrix), 0)
    whole = (tmp_path / "a" / "key.npy").read_bytes()
    (tmp_path / "b" / "key.draft").write_bytes(whole[:cut])
    file = EpochFile(tmp_path / "b", "key", N)
    done = file.n_done(4)
    assert done == max(0, (cut - 128) // 12) // 4 * 4
    file.write(batches_of(matrix, done), done)
    assert (tmp_path / "b" / "key.npy").read_bytes() == whole


def test_a_full_disk_is_said(tmp_path):
    def full():
        yield Batch(0, np.zeros((4, 3), np.float32), ())
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device; free some space, or name"):
        EpochFile(tmp_path, "key", N).write(full(), 0)


KILLED = """
    import sys, threading, numpy as np
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from test_epochs import Sums, Texts
    from simifeat.augment import TextAugment
    from simifeat.features.epochs import Plan, extract_epochs
    import os, signal, json
    import simifeat

    place, kill = Path(sys.argv[1]), sys.argv[2] == "kill"
    count = Sums()

    class Watched(Sums):
        def run(self, batch):
            if kill and count.prepared > 2 * 200 + 90:   # in epoch 3, two of five being done
                os.kill(os.getpid(), signal.SIGKILL)
            return np.sin(super().run(batch))
        def prepare(self, content):
            count.prepared += 1
            return content

    plan = Plan(Texts(200), Watched(), n_epochs=5, augment=TextAugment(0.2), n_threads=2)
    found = extract_epochs(plan, place)
    labels = np.arange(200) % 3
    verdicts = simifeat.detect(found.epochs, labels, k=5, method="rank", seed=0)
    columns = verdicts.columns()
    print(json.dumps({{
        "prepared": count.prepared,
        "columns": {{name: column.tobytes().hex() for name, column in columns.items()}},
    }}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(KILLED).format(tests=os.path.dirname(__file__)))

    def run(place, how):
        return subprocess.run(
            [sys.executable, script, place, how], capture_output=True, text=True, timeout=60
        )

    killed = run(tmp_path / "a", "kill")
    assert killed.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "a").glob("*.npy"))) == 2
    assert len(list((tmp_path / "a").glob("*.draft"))) == 1
    resumed = run(tmp_path / "a", "go on")
    whole = run(tmp_path / "b", "go on")
    assert resumed.returncode == whole.returncode == 0, resumed.stderr + whole.stderr
    resumed, whole = json.loads(resumed.stdout), json.loads(whole.stdout)
    assert whole["prepared"] == 5 * 200
    # epochs 1 and 2 are there, and of epoch 3 what was written before the end
    assert resumed["prepared"] <= 3 * 200
    assert resumed["columns"] == whole["columns"]


def test_two_runs_beside_each_other_share_the_work(tmp_path):
    class Slow(Sums):
        def run(self, batch):
            time.sleep(0.01)
            return super().run(batch)

    extractors = [Slow(), Slow()]
    found = {}

    def work(number):
        found[number], _ = epochs_of(tmp_path, extractor=extractors[number], n_threads=1)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found[0], found[1])
    assert sorted(each.prepared for each in extractors) == [0, N]
    assert not list(tmp_path.glob("*.lock"))
