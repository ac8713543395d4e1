"""The noise models against literal loops, their own definitions and hypothesis."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import truncnorm

from simifeat import noise
from simifeat.errors import InputError

RATES = st.floats(0, 1)
VALUES = {
    "str": np.array(["cat", "dog", "emu", "fox"]),
    "uint8": np.array([3, 5, 7, 200], dtype=np.uint8),
    "int64": np.array([-5, 0, 7, 2**40]),
    "bool": np.array([False, True]),
    "object": np.array(["a", "bb", "ccc"], dtype=object),
    "bytes": np.array([b"a", b"bb", b"ccc"]),
}


def draw(values, n=400, seed=0):
    return values[np.random.default_rng(seed).integers(0, len(values), n)]


def every_model(labels, rate, seed, features=None):
    k = len(np.unique(labels))
    features = np.ones((len(labels), 3)) if features is None else features
    matrix = np.full((k, k), rate / (k - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return {
        "symmetric": noise.symmetric(labels, rate, seed=seed),
        "asymmetric": noise.asymmetric(labels, rate, seed=seed),
        "instance_dependent": noise.instance_dependent(features, labels, rate, seed=seed),
        "from_transition": noise.from_transition(labels, matrix, seed=seed),
    }


@pytest.mark.parametrize("kind", VALUES)
def test_values_keep_their_type(kind):
    clean = draw(VALUES[kind])
    for name, out in every_model(clean, 0.5, 1).items():
        assert type(out) is np.ndarray, name
        assert out.dtype == clean.dtype, name
        assert out.shape == clean.shape, name
        assert set(out.tolist()) <= set(clean.tolist()), name


def test_pandas_columns_and_lists_come_back_as_arrays():
    words = ["a", "b", "c"] * 30
    expected = noise.symmetric(np.array(words), 0.5, seed=3)
    for given_as in (words, pd.Series(words), pd.Series(words, dtype="category"), tuple(words)):
        out = noise.symmetric(given_as, 0.5, seed=3)
        assert isinstance(out, np.ndarray)
        assert out.tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(rate=RATES, seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60))
def test_rate_zero_keeps_rate_one_flips_all(rate, seed, n):
    clean = np.arange(n) % 3 if n > 2 else np.array([0, 1])
    for model in (noise.symmetric, noise.asymmetric):
        assert (model(clean, 0.0, seed=seed) == clean).all()
        assert (model(clean, 1.0, seed=seed) != clean).all()
        out = model(clean, rate, seed=seed)
        assert set(out.tolist()) <= set(clean.tolist())
    features = np.random.default_rng(seed).normal(size=(n, 2))
    out = noise.instance_dependent(features, clean, 1.0, std=0.0, seed=seed)
    assert (out != clean).all()
    out = noise.instance_dependent(features, clean, 0.0, std=0.0, seed=seed)
    assert (out == clean).all()


@settings(max_examples=25, deadline=None)
@given(rate=RATES, seed=st.integers(0, 2**32 - 1))
def test_seeds_of_any_kind_agree_and_repeat(rate, seed):
    clean = draw(VALUES["str"], 60)
    first = every_model(clean, rate, seed)
    again = every_model(clean, rate, np.random.SeedSequence(seed))
    for name in first:
        assert first[name].tobytes() == again[name].tobytes()
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global generator must stay put
    every_model(clean, rate, np.random.default_rng(seed))
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_a_passed_generator_moves_on():
    clean = draw(VALUES["int64"])
    rng = np.random.default_rng(0)
    features = np.ones((len(clean), 2))
    a = noise.instance_dependent(features, clean, 0.5, seed=rng)
    b = noise.instance_dependent(features, clean, 0.5, seed=rng)
    assert (a != b).any()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rate=RATES, order=st.permutations(["x", "y", "z"]))
def test_renaming_classes_renames_the_result(seed, rate, order):
    """Which values the classes have cannot matter, only their order."""
    codes = draw(np.arange(3), 80, seed)
    names = np.array(order)
    features = np.random.default_rng(seed).normal(size=(80, 4))
    for model in (
        noise.symmetric,
        noise.asymmetric,
        lambda y, r, **kw: noise.instance_dependent(features, y, r, **kw),
    ):
        by_code = model(codes, rate, seed=seed, classes=[0, 1, 2])
        by_name = model(names[codes], rate, seed=seed, classes=order)
        assert (names[by_code] == by_name).all()


def test_symmetric_is_uniform_over_the_others():
    clean = np.repeat(np.arange(5), 40_000)
    matrix = noise.transition_of(noise.symmetric(clean, 0.6, seed=5), clean)
    expected = np.full((5, 5), 0.15)
    np.fill_diagonal(expected, 0.4)
    assert np.abs(matrix - expected).max() < 5 * np.sqrt(0.25 / 40_000)


def test_asymmetric_goes_to_the_next_class_only():
    clean = np.repeat(np.array(["a", "b", "c"]), 20_000)
    out = noise.asymmetric(clean, 0.3, seed=2)
    following = {"a": "b", "b": "c", "c": "a"}
    moved = out != clean
    assert all(following[c] == o for c, o in zip(clean[moved], out[moved], strict=True))
    assert abs(moved.mean() - 0.3) < 5 * np.sqrt(0.21 / 60_000)


def test_asymmetric_follows_the_order_asked_for():
    out = noise.asymmetric(["a", "b", "c"], 1.0, classes=["c", "a", "b", "zebra"])
    assert out.tolist() == ["b", "zebra", "a"]


def test_a_list_of_classes_does_not_widen_the_type():
    clean = np.array([3, 5, 7], dtype=np.uint8)
    assert noise.symmetric(clean, 0.5, classes=[3, 5, 7, 9]).dtype == np.uint8
    assert noise.symmetric(clean, 0.5, classes=[3, 5, 7, 900]).dtype == np.int64


@pytest.mark.parametrize("kind", ["int", "str"])
def test_from_transition_draws_from_the_rows(kind):
    matrix = np.array([[0.7, 0.3, 0.0], [0.1, 0.5, 0.4], [0.0, 0.0, 1.0]])
    clean = np.repeat(np.arange(3), 30_000)
    names = np.array(["a", "b", "c"]) if kind == "str" else np.array([10, 20, 30])
    out = noise.from_transition(names[clean], matrix, seed=4)
    seen = noise.transition_of(out, names[clean])
    assert np.abs(seen - matrix).max() < 5 * np.sqrt(0.25 / 30_000)
    assert (seen[matrix == 0] == 0).all()


def test_from_transition_never_draws_a_class_of_rate_zero():
    """Rounding must not leave a gap above the last class that can be drawn."""
    thirds = np.array([1 / 3 - 1e-7, 1 / 3, 1 / 3, 0.0])
    matrix = np.tile(thirds, (4, 1))

    class AlmostOne(np.random.Generator):
        def random(self, size=None):
            return np.full(size, np.nextafter(1.0, 0.0))

    rng = AlmostOne(np.random.PCG64(0))
    assert noise.from_transition([0, 1, 2, 3], matrix, seed=rng).tolist() == [2, 2, 2, 2]


def literal_instance_dependent(features, codes, n_classes, rate, std, seed):
    """The model example by example, with the same stream of random numbers."""
    rng = np.random.default_rng(seed)
    n, d = features.shape
    u_rate, u_flip, u_target = rng.random(n), rng.random(n), rng.random(n)
    entropy = rng.integers(1 << 32, size=4, dtype=np.uint64).tolist()
    seeds = np.random.SeedSequence(entropy).spawn(n_classes)
    out = []
    for m in range(n):
        q = truncnorm.ppf(u_rate[m], (0 - rate) / std, (1 - rate) / std, loc=rate, scale=std)
        y = codes[m]
        w = np.random.default_rng(seeds[y]).standard_normal((d, n_classes))
        a = [float(features[m] @ w[:, j]) for j in range(n_classes)]
        a[y] = -np.inf
        e = [np.exp(v - max(a)) for v in a]
        p = [q * v / sum(e) for v in e]
        p[y] = 1 - q
        if u_flip[m] >= q:
            out.append(y)
            continue
        total, j = 0.0, 0
        for j in range(n_classes):
            total += p[j] / q if j != y else 0.0
            if total > u_target[m]:
                break
        out.append(j)
    return np.array(out)


@pytest.mark.parametrize("block", [1 << 22, 16])
def test_instance_dependent_is_the_literal_model(monkeypatch, block):
    monkeypatch.setattr(noise, "_BLOCK_VALUES", block)
    rng = np.random.default_rng(7)
    features = rng.normal(size=(300, 6)).astype(np.float32)
    codes = rng.integers(0, 5, 300)
    out = noise.instance_dependent(features, codes, 0.35, std=0.2, seed=11)
    assert (out == literal_instance_dependent(features, codes, 5, 0.35, 0.2, 11)).all()


def test_instance_dependent_depends_on_the_features():
    """All flips of equal examples follow one softmax; other features flip elsewhere."""
    clean = np.repeat([0, 1, 2, 3], 20_000)
    features = np.ones((80_000, 8))
    features[::2] *= -1
    out = noise.instance_dependent(features, clean, 0.4, seed=3)
    one = noise.transition_of(out[::2], clean[::2])
    other = noise.transition_of(out[1::2], clean[1::2])
    assert np.abs(one - other).max() > 0.1
    assert np.abs(np.diag(one) - 0.6).max() < 0.02


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.4, 0.95])
def test_the_mean_rate_is_that_of_the_truncated_normal(rate):
    clean = np.arange(100_000) % 4
    out = noise.instance_dependent(np.ones((100_000, 2)), clean, rate, std=0.1, seed=9)
    expected = truncnorm((0 - rate) / 0.1, (1 - rate) / 0.1, loc=rate, scale=0.1).mean()
    assert abs((out != clean).mean() - expected) < 5 * np.sqrt(0.25 / 100_000)


def test_instance_dependent_holds_one_projection_at_a_time():
    n_classes, n_dims = 400, 256
    clean = np.arange(800) % n_classes
    features = np.ones((800, n_dims), dtype=np.float32)
    tracemalloc.start()
    noise.instance_dependent(features, clean, 0.5, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_classes * n_classes * n_dims * 8 / 20


@settings(max_examples=40, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=50),
    seed=st.integers(0, 1000),
)
def test_transition_of_is_the_literal_count(pairs, seed):
    labels, clean = (np.array(column) for column in zip(*pairs, strict=True))
    classes = sorted({*labels.tolist(), *clean.tolist()})
    matrix = noise.transition_of(labels, clean)
    for i, a in enumerate(classes):
        members = [m for m in range(len(clean)) if clean[m] == a]
        for j, b in enumerate(classes):
            if members:
                share = sum(labels[m] == b for m in members) / len(members)
            else:
                share = float(i == j)
            assert matrix[i, j] == pytest.approx(share)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    assert (noise.transition_of(labels[shuffled], clean[shuffled]) == matrix).all()


def test_transition_of_in_the_order_asked_for():
    matrix = noise.transition_of(["b", "b", "a"], ["a", "b", "a"], classes=["c", "b", "a"])
    assert matrix.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]]


THREE = ["a", "b", "c"]
EYE = np.eye(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: noise.symmetric(THREE, 1.5),
            "rate must be a number in [0, 1], got 1.5; 0.4 corrupts about 40 % of the labels",
        ),
        (
            lambda: noise.asymmetric(THREE, float("nan")),
            "rate must be a number in [0, 1], got nan; 0.4 corrupts about 40 % of the labels",
        ),
        (
            lambda: noise.asymmetric(THREE, "0.4"),
            "rate must be a number in [0, 1], got '0.4'; 0.4 corrupts about 40 % of the labels",
        ),
        (
            lambda: noise.symmetric(["a", "a"], 0.5),
            "all 2 clean labels are 'a': there is nothing to flip to; "
            "name the other classes with classes=[...]",
        ),
        (
            lambda: noise.symmetric(THREE, 0.5, classes=["a", "b"]),
            "the label 'c' is not among classes; add it there",
        ),
        (
            lambda: noise.symmetric(THREE, 0.5, classes=["a", "b", "c", "a"]),
            "classes names a class twice; give every class once",
        ),
        (
            lambda: noise.instance_dependent(np.ones((3, 2)), THREE, 0.5, std=-1),
            "std must be a finite number of at least 0, got -1",
        ),
        (
            lambda: noise.instance_dependent(np.ones((4, 2)), THREE, 0.5),
            "there are 4 rows of features but 3 labels; give one label for every row",
        ),
        (
            lambda: noise.from_transition(THREE, np.eye(2)),
            "matrix has shape (2, 2) but there are 3 classes; it must be (3, 3), rows and columns "
            "in the order of classes",
        ),
        (
            lambda: noise.from_transition(THREE, EYE * 0.9),
            "matrix row 0 sums to 0.9, not 1; row i holds P(label = j | clean label = i) for all j",
        ),
        (
            lambda: noise.from_transition(THREE, [[1, 0, 0], [2, -1, 0], [0, 0, 1]]),
            "matrix row 1 holds a negative or missing value",
        ),
        (
            lambda: noise.from_transition(THREE, "abc"),
            "matrix must be a table of numbers, one row and column a class",
        ),
        (
            lambda: noise.transition_of(THREE, ["a", "b"]),
            "there are 3 labels but 2 clean labels; give one of each for every example",
        ),
    ],
)
def test_errors_say_what_and_what_to_do(call, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        call()
