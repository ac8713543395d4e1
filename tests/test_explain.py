"""What is said in support of a verdict is what decided it."""

import dataclasses
import json

import numpy as np
import pytest

import simifeat
from simifeat import InputError, detect
from simifeat.nearest_file import save_nearest
from simifeat.propagate import PropagateOptions, neighbor_weights


def blobs(n=240, rate=0.2, spread=0.3):
    rng = np.random.default_rng(0)
    clean = rng.permutation(np.arange(n) % 3)
    features = np.eye(3)[clean] + spread * rng.normal(size=(n, 3))
    names = np.array(["cat", "dog", "owl"])
    return features, names[simifeat.noise.symmetric(clean, rate, seed=0)]


@pytest.fixture(scope="module")
def verdicts():
    return detect(*blobs(), ids=[f"row-{n}" for n in range(240)])


def test_the_witnesses_are_who_was_heard_with_the_weight_they_had(verdicts):
    near = verdicts.neighbors
    weights = neighbor_weights(near, PropagateOptions().power).toarray()
    for row in (0, 7, 100):
        found = verdicts.explain(row).witnesses
        assert {w.row for w in found} == set(np.flatnonzero(weights[row]))
        for witness in found:
            assert witness.weight == pytest.approx(weights[row, witness.row], rel=1e-4)
            assert witness.label == verdicts.labels[witness.row]
            assert witness.id == f"row-{witness.row}"
            assert witness.suggested == verdicts.suggested[witness.row]
        own = {w.row: w.similarity for w in found}
        for m, similarity in zip(near.index[row], near.similarity[row], strict=True):
            assert own[m] == pytest.approx(similarity)
        assert sum(w.weight for w in found) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("weights", ["uniform", "similarity"])
def test_votes_are_shares(weights):
    verdicts = detect(*blobs(), method="vote", k=7, weights=weights)
    found = verdicts.explain(3).witnesses
    assert sorted(w.row for w in found) == sorted(verdicts.neighbors.index[3].tolist())
    expected = (
        np.ones(7) if weights == "uniform" else np.maximum(verdicts.neighbors.similarity[3], 0)
    )
    np.testing.assert_allclose([w.weight for w in found], expected / expected.sum(), rtol=1e-5)


@pytest.mark.parametrize("method", ["propagate", "vote", "rank"])
def test_the_threshold_parts_flagged_from_kept(method):
    verdicts = detect(*blobs(spread=0.5), method=method)
    for row in range(0, 240, 7):
        found = verdicts.explain(row)
        beyond = (
            found.value > found.threshold
            if found.measure == "p_corrupted"
            else found.value < found.threshold
        )
        tied = found.value == found.threshold  # a tie may fall either way
        assert tied or beyond == found.is_corrupted


def test_the_runner_up_is_the_suggestion_where_the_label_is_corrupted(verdicts):
    row = int(np.flatnonzero(verdicts.is_corrupted)[0])
    found = verdicts.explain(row)
    assert found.runner_up == verdicts.suggested[row] != verdicts.labels[row]
    assert 0.5 < found.p_runner_up <= found.p_corrupted + 1e-6
    kept = verdicts.explain(int(np.flatnonzero(~verdicts.is_corrupted)[0]))
    assert kept.runner_up != kept.label
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.row = 1


def test_reads_like_a_sentence(verdicts):
    row = int(verdicts.most_suspicious(1)[0])
    lines = str(verdicts.explain(row)).splitlines()
    label, other = str(verdicts.labels[row]), str(verdicts.suggested[row])
    assert lines[0].startswith(f"row {row} (id row-{row}): the label {label!r} looks corrupted, P(")
    assert lines[1].endswith("above 0.500 a label is flagged")
    assert f"the most probable other class is {other!r}, probability" in lines[2]
    assert f"neighbours say by weight: {other!r}" in lines[3]
    assert len(lines) == 5 + 10
    rounds = detect(*blobs(), method="vote", n_epochs=5)
    assert "flagged in 100% of 5 rounds" in str(rounds.explain(row))


def test_evidence_as_columns_after_the_others(verdicts, tmp_path):
    frame = verdicts.to_pandas(evidence=True)
    plain = list(verdicts.to_pandas().columns)
    assert list(frame.columns)[: len(plain)] == plain
    assert list(frame.columns)[len(plain) :] == [
        "runner_up", "p_runner_up", "threshold",
        "neighbor_ids", "neighbor_labels", "neighbor_similarities",
    ]  # fmt: skip
    for row in (0, 50):
        near = verdicts.neighbors.index[row, :10]
        assert json.loads(frame.neighbor_ids[row]) == [f"row-{m}" for m in near]
        assert json.loads(frame.neighbor_labels[row]) == verdicts.labels[near].tolist()
        np.testing.assert_allclose(
            json.loads(frame.neighbor_similarities[row]),
            verdicts.neighbors.similarity[row, :10],
            atol=6e-5,
        )
        found = verdicts.explain(row)
        assert frame.runner_up[row] == found.runner_up
        assert frame.p_runner_up[row] == pytest.approx(found.p_runner_up)
    for form in ("parquet", "csv", "jsonl"):
        path = tmp_path / f"out.{form}"
        verdicts.save(path, evidence=True)
        loaded = simifeat.Verdicts.load(path)
        np.testing.assert_array_equal(loaded.is_corrupted, verdicts.is_corrupted)
        assert loaded.extra["neighbor_ids"].tolist() == frame.neighbor_ids.tolist()


def test_loaded_verdicts_explain_what_is_kept_beside_them(verdicts, tmp_path):
    path = tmp_path / "out.parquet"
    verdicts.save(path)
    flagged = np.flatnonzero(verdicts.is_corrupted)
    kept = int(np.flatnonzero(~verdicts.is_corrupted)[0])
    with pytest.raises(InputError, match="the neighbours are not known: the verdicts were loaded"):
        simifeat.Verdicts.load(path).explain(int(flagged[0]))
    save_nearest(path, verdicts)
    loaded = simifeat.Verdicts.load(path)
    found = loaded.explain(int(flagged[0]))
    assert {w.row for w in found.witnesses} == set(
        verdicts.neighbors.index[flagged[0], :10].tolist()
    )
    assert found.runner_up == verdicts.suggested[flagged[0]]
    assert found.p_runner_up is None
    with pytest.raises(InputError, match=f"the neighbours of row {kept} are not known: the file"):
        loaded.explain(kept)
    with pytest.raises(InputError, match="known after detect alone, not after loading a file"):
        loaded.to_pandas(evidence=True)


@pytest.mark.parametrize("row", [-1, 240, 1.5, True, "7"])
def test_a_row_that_is_not_there(verdicts, row):
    with pytest.raises(InputError) as caught:
        verdicts.explain(row)
    assert str(caught.value) == f"there is no row {row!r}; rows are numbered 0 to 239"
