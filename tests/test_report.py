"""The report as data, as a page, and in a real browser."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import simifeat
from browser import axe_faults, listening
from simifeat.evidence import nearest_of
from simifeat.io.exact_json import loads
from simifeat.report import render, summarise, write_report
from simifeat.report.gallery import make_cards, suspicious_rows
from simifeat.report.page import answer
from simifeat.report.write import _nearest
from test_detect import blobs

HOSTILE = ["<script>alert(1)</script>", 'a\u202eb"><img src=x onerror=alert(2)>', "x" * 1_000_000]


@pytest.fixture(scope="module")
def found():
    features, labels, _ = blobs(n=300, spread=0.3)
    names = np.array(["ash", "birch", "cedar"])
    return features, simifeat.detect(features, names[labels])


def test_the_summary_counts_what_the_verdicts_say(found):
    _, verdicts = found
    summary = summarise(verdicts)
    assert summary.n_corrupted == sum(verdicts.is_corrupted)
    assert summary.expected_corrupted == pytest.approx(sum(map(float, verdicts.p_corrupted)))
    assert [line.name for line in summary.classes] == sorted(
        ["ash", "birch", "cedar"],
        key=lambda name: -np.mean(verdicts.is_corrupted[verdicts.labels == name]),
    )
    for line in summary.classes:
        mine = verdicts.labels == line.name
        assert line.n_examples == mine.sum()
        assert line.n_corrupted == (mine & verdicts.is_corrupted).sum()
        assert line.expected == pytest.approx(verdicts.p_corrupted[mine].sum(), rel=1e-5)
        suggested = verdicts.suggested[mine & verdicts.is_corrupted].tolist()
        assert suggested.count(line.most_often) == max(map(suggested.count, suggested))
    for pair in summary.pairs:
        both = (verdicts.labels == pair.given) & (verdicts.suggested == pair.suggested)
        assert pair.count == (both & verdicts.is_corrupted).sum()
    assert sum(pair.count for pair in summary.pairs) == summary.n_corrupted
    assert sum(summary.scores.flagged) == summary.n_corrupted
    assert sum(summary.scores.kept) == summary.n_examples - summary.n_corrupted
    by_doubt = sorted(map(float, verdicts.p_corrupted), reverse=True)
    for budget in summary.budgets:
        assert budget.expected == pytest.approx(sum(by_doubt[: budget.reviewed]), rel=1e-5)
    assert summary.budgets[-1].reviewed == 300


def test_of_many_classes_the_matrix_shows_those_that_lose_most():
    rng = np.random.default_rng(0)
    clean = np.arange(1200) % 40
    features = np.eye(40)[clean] + 0.05 * rng.normal(size=(1200, 40))
    rates = np.where(np.arange(40) < 5, 0.4, 0.02)
    matrix = np.diag(1 - rates) + np.roll(np.diag(rates), 1, axis=1)
    labels = simifeat.noise.from_transition(clean, matrix, seed=0)
    summary = summarise(simifeat.detect(features, labels))
    assert len(summary.matrix.names) == 24
    assert summary.matrix.n_left_out == 16
    assert {"0", "1", "2", "3", "4"} <= set(summary.matrix.names)
    for row, rest in zip(summary.matrix.values, summary.matrix.rest, strict=True):
        assert sum(row) + rest == pytest.approx(1)


def test_the_answer_is_one_sentence(found):
    summary = summarise(found[1])
    assert re.fullmatch(
        r"About \d+ of 300 labels are wrong \(\d+\.\d%(, between .*)?\); \d+ are named here\.",
        answer(summary),
    )


def test_the_answer_gives_the_interval_of_the_noise_rate_where_it_is_known(found):
    summary = replace(summarise(found[1]), noise_rate=0.2, noise_interval=(0.15, 0.25), level=0.9)
    assert answer(summary).startswith(
        "About 60 of 300 labels are wrong (20.0%, between 15.0% and 25.0% with 90% confidence); "
    )
    assert "between 15.0% and 25.0% with 90% confidence" in render(summary, [])


def test_the_cut_stands_between_what_is_named_and_what_is_kept(found):
    _, verdicts = found
    parted = replace(verdicts, score=np.where(verdicts.is_corrupted, 0.2, 0.6).astype(np.float32))
    summary = summarise(parted)
    assert summary.scores.cut == pytest.approx(0.4)
    assert "cut at 0.4" in render(summary, [])
    mixed = replace(verdicts, score=np.linspace(0, 1, 300, dtype=np.float32))
    summary = summarise(mixed)
    assert summary.scores.cut is None
    assert "No single score parts them" in render(summary, [])


def test_cards_show_the_neighbours_that_were_asked(found):
    _, verdicts = found
    rows = suspicious_rows(verdicts, 3)
    near = _nearest(verdicts, rows, None)
    for row, pairs in zip(rows, near, strict=True):
        assert [other for other, _ in pairs] == verdicts.neighbors.index[row, :5].tolist()
    cards = make_cards(verdicts, rows, None, near)
    for card, pairs in zip(cards, near, strict=True):
        assert [n.label for n in card.neighbors] == [verdicts.labels[other] for other, _ in pairs]
    alone = replace(verdicts, neighbors=None)
    assert _nearest(alone, rows, None) == []
    by_features = _nearest(alone, rows, found[0])
    assert [[o for o, _ in pairs] for pairs in by_features] == [[o for o, _ in p] for p in near]


def test_what_cannot_be_known_is_said_first():
    rng = np.random.default_rng(0)
    with pytest.warns(simifeat.NotIdentifiable):
        verdicts = simifeat.detect(rng.normal(size=(200, 4)), rng.integers(0, 3, 200))
    page = render(summarise(verdicts), [])
    assert "cannot be known from these features" in page
    assert "Not identifiable." in page


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_shown_and_not_obeyed(label):
    features, labels, _ = blobs(n=150)
    names = np.array([label, "b", "c"], dtype=object)
    verdicts = simifeat.detect(features, names[labels])
    cards = make_cards(verdicts, suspicious_rows(verdicts, 5))
    page = render(summarise(verdicts), cards)
    assert page.count("<script") == 1
    assert "onerror=alert(2)>" not in page.replace("onerror=alert(2)&gt;", "")
    assert "\u202e" not in page
    assert len(page) < 200_000


def test_the_same_verdicts_give_the_same_files(found, tmp_path):
    features, verdicts = found
    for name in ("a", "b"):
        write_report(verdicts, tmp_path / f"{name}.html", features)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    facts = loads((tmp_path / "a.json").read_bytes())
    assert facts["n_corrupted"] == verdicts.n_corrupted
    json.loads((tmp_path / "a.json").read_text())


def test_fifty_thousand_rows_stay_below_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    n = 50_000
    centers = rng.normal(size=(10, 4))
    clean = rng.integers(0, 10, n)
    features = centers[clean] + 0.2 * rng.normal(size=(n, 4))
    index = np.stack([np.roll(np.argsort(clean, kind="stable"), s) for s in range(1, 7)], axis=1)
    graph = np.empty((n, 6), np.int64)
    graph[np.argsort(clean, kind="stable")] = index
    labels = simifeat.noise.symmetric(clean, 0.3, seed=0)
    verdicts = simifeat.detect(None, labels, neighbors=(graph, np.full(graph.shape, 0.1)))
    page, _ = write_report(verdicts, tmp_path / "r.html", features)
    assert page.stat().st_size < 5_000_000


def test_nearest_are_the_nearest():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 5))
    rows = np.array([3, 59, 0])
    for metric in ("cosine", "euclidean"):
        whole = simifeat.neighbors.find_neighbors(features, 4, metric)
        some = nearest_of(features, rows, 4, metric)
        np.testing.assert_array_equal(some.index, whole.index[rows])
        np.testing.assert_allclose(some.similarity, whole.similarity[rows], atol=1e-3)


@pytest.mark.browser
def test_the_page_in_a_browser(chromium, found, tmp_path):
    features, verdicts = found
    path, _ = write_report(verdicts, tmp_path / "r.html", features)
    for scheme, width in (("light", 1000), ("dark", 390)):
        page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        with listening(page) as heard:
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            table = page.locator("#classes ~ .wide table.sortable")
            button = table.get_by_role("button", name="Examples")
            for rising in (False, True):
                button.press("Enter")
                cells = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
                values = [int(text) for text in cells]
                assert values == sorted(values, reverse=not rising)
            assert heard == []
        page.context.close()
    for scheme in ("light", "dark"):
        context = chromium.new_context(bypass_csp=True, color_scheme=scheme)  # axe is our script
        page = context.new_page()
        page.goto(path.as_uri())
        assert axe_faults(page) == []
        context.close()
