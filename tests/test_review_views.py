"""The review as data: filters, who is led where, what is left, how far second looks agree."""

from __future__ import annotations

import numpy as np
import pytest

from reviewing import text_review
from simifeat.errors import InputError
from simifeat.review.answers import Answer, State
from simifeat.review.calibrate import calibrate
from simifeat.review.checks import agreements
from simifeat.review.filters import next_row
from simifeat.review.opening import open_review
from simifeat.review.views import filter_of


@pytest.fixture
def views(tmp_path):
    with open_review(text_review(tmp_path)) as views:
        yield views


def listed(views, **query):
    return [row["row"] for row in views.rows(filter_of(query), 0, 200)["rows"]]


def test_filters_let_through_what_a_loop_would(views):
    desk, sheet = views.desk, views.desk.sheet
    first, second = sheet.flagged[:2].tolist()
    desk.decide([Answer(first, "keep")], "Ana")
    desk.decide([Answer(second, "drop")], "Ben")
    p = sheet.p_corrupted
    wanted = {
        "given=1": [r for r in range(60) if sheet.is_corrupted[r] and sheet.labels[r] == 1],
        "p_to=0.5 scope=all": [r for r in range(60) if p[r] <= 0.5],
        "states=keep": [first],
        "states=keep+drop": [first, second],
        "by=Ben": [second],
        "words=NUMBER+7, scope=all": [7],
        "words=107 scope=all": [7],  # an id
        "words=cedar scope=all": [
            r
            for r in range(60)
            if "cedar" in (sheet.classes[sheet.labels[r]], sheet.classes[sheet.suggested[r]])
        ],
    }
    for text, rows in wanted.items():
        query = dict(part.split("=") for part in text.split(" "))
        query = {name: value.replace("+", " ") for name, value in query.items()}
        assert sorted(listed(views, **query)) == sorted(rows), text
    falling = listed(views)
    assert falling == sorted(falling, key=lambda r: -p[r])
    assert listed(views, order="row") == sorted(falling)


def test_one_is_led_past_what_is_decided_and_what_others_look_at(views):
    desk, rows = views.desk, views.desk.sheet.flagged.tolist()
    everything = filter_of({})

    def lead(after, how="open", who="Ana"):
        return views.lead(everything, after, how, who)["row"]

    assert lead(None) == rows[0]
    desk.claim(rows[1], "Ben")
    assert lead(rows[0]) == rows[2]
    assert lead(rows[0], who="Ben") == rows[1]
    assert lead(rows[0], "forward") == rows[1]  # in order, nothing is passed over
    assert lead(rows[0], "back") == rows[-1]
    desk.decide([Answer(rows[2], "keep")], "Ana")
    assert lead(rows[0]) == rows[3]
    uncertain = lead(None, "uncertain")
    p = views._calibrated().probability(desk.sheet.p_corrupted)
    free = [r for r in rows if r not in (rows[1], rows[2])]
    assert abs(p[uncertain] - 0.5) == min(abs(p[r] - 0.5) for r in free)
    with pytest.raises(InputError, match="there is no way 'up' to go on"):
        lead(None, "up")


def test_a_filter_by_decision_leads_through_what_it_shows(views):
    desk, rows = views.desk, views.desk.sheet.flagged.tolist()
    desk.decide([Answer(rows[3], "keep")], "Ana")
    desk.decide([Answer(rows[3], "drop")], "Ben")
    found = views.lead(filter_of({"states": "conflict"}), None, "open", "Ana")
    assert found == {"row": rows[3], "total": 1}


def test_next_row_goes_round():
    rows = np.array([5, 2, 9])
    assert [next_row(rows, after) for after in (None, 5, 2, 9)] == [5, 2, 9, 5]
    assert [next_row(rows, after, step=-1) for after in (5, 2, 9)] == [9, 5, 2]
    assert next_row(rows, 4) == 5  # no longer among them
    assert next_row(np.array([5]), 5) is None


def test_the_errors_left_follow_the_decisions():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 4000).astype(np.float32)
    before = calibrate(p[:0], np.zeros(0, bool))
    np.testing.assert_array_equal(before.probability(p), p)
    truth = rng.random(4000) < p / 2  # the detector is twice too sure
    after = calibrate(p[:1000], truth[:1000])
    left = after.expected_errors(p[1000:])
    assert left.low <= truth[1000:].sum() <= left.high
    assert before.expected_errors(p[1000:]).expected > 1.8 * left.expected
    few = calibrate(p[:2], np.zeros(2, bool))  # two decisions overturn little
    assert few.expected_errors(p).expected > 0.6 * p.sum()
    order = np.argsort(p)
    assert (np.diff(after.probability(p)[order]) >= 0).all()


def test_progress_counts_what_stands(views):
    desk, rows = views.desk, views.desk.sheet.flagged.tolist()
    desk.decide([Answer(rows[0], "keep"), Answer(rows[1], "drop")], "Ana")
    desk.decide([Answer(rows[2], "skip")], "Ana")
    desk.decide([Answer(rows[3], "relabel", 0)], "Ben")
    desk.claim(rows[5], "Ben")
    found = views.progress("Ana")
    assert found["n_answered"] == 3
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["states"]["skip"] == 1
    assert found["states"]["undecided"] == len(rows) - 4
    assert found["looking"] == ["Ben"]
    assert (found["can_undo"], found["can_redo"]) == (True, False)
    open_rows = [r for r in rows if desk.state[r] in (State.UNDECIDED, State.SKIP)]
    expected = views._calibrated().expected_errors(desk.sheet.p_corrupted[open_rows])
    assert found["errors_left"]["expected"] == pytest.approx(expected.expected)


def test_agreement_is_cohens(views):
    desk, rows = views.desk, views.desk.sheet.flagged.tolist()[:10]
    first = ["keep"] * 6 + ["drop"] * 4
    second = ["keep"] * 5 + ["drop"] * 3 + ["keep"] * 2
    for row, one, two in zip(rows, first, second, strict=True):
        desk.decide([Answer(row, one)], "Ana")
        desk.decide([Answer(row, two, kind="check")], "Ben")
    [found] = agreements(desk)
    n_agreed = sum(a == b for a, b in zip(first, second, strict=True))
    chance = (6 * 7 + 4 * 3) / 100
    assert (found.first, found.second, found.compared, found.agreed) == ("Ana", "Ben", 10, n_agreed)
    assert found.kappa == pytest.approx((n_agreed / 10 - chance) / (1 - chance))
    assert found.low < n_agreed / 10 < found.high


def test_the_sample_to_check_grows_and_keeps_what_was_in_it(views):
    desk, rows = views.desk, views.desk.sheet.flagged.tolist()
    desk.decide([Answer(row, "keep") for row in rows], "Ana")
    some = views.check("Ben", 0.3)
    assert some["left"] == int(np.ceil(0.3 * len(rows)))
    desk.decide([Answer(some["row"], "keep", kind="check")], "Ben")
    assert views.check("Ben", 0.3)["left"] == some["left"] - 1
    assert views.check("Cem", 0.3)["row"] == some["row"]  # the same sample for everybody
    assert views.check("Ben", 1.0)["left"] == len(rows) - 1
    with pytest.raises(InputError, match="the share to double-check is 0"):
        views.check("Ben", 0)


def test_blind_hides_what_was_decided(views):
    row = int(views.desk.sheet.flagged[0])
    views.desk.decide([Answer(row, "drop")], "Ana")
    seen, blind = views.row(row), views.row(row, blind=True)
    assert (seen["state"], len(seen["voices"])) == ("drop", 1)
    assert (blind["state"], blind["voices"]) == ("undecided", [])
