"""The review page as people use it, in a real Chromium: the whole way, and two at once."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

from browser import axe_faults, listening
from reviewing import TOKEN, judged, running, serving, text_review
from simifeat.cli import main
from simifeat.review.answers import State
from simifeat.review.opening import open_review

pytestmark = pytest.mark.browser
LOADED = "main[data-row], main[data-rows], main .empty h2"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def visit(chromium):
    """Opens the page in a browser of its own, as somebody; complaints of the page are kept."""
    contexts = []

    def opened(caller, name="Ana", hash="", **how):
        context = chromium.new_context(**{"viewport": {"width": 1360, "height": 860}, **how})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.goto(f"http://{caller.host}/?token={TOKEN}")
        page.wait_for_url(re.compile(r"/(#.*)?$"))
        page.get_by_label("Your name", exact=True).fill(name)
        page.keyboard.press("Enter")
        page.wait_for_selector(LOADED)
        if hash:
            page.goto(f"http://{caller.host}/#{hash}")
            page.reload()
            page.wait_for_selector(LOADED)
        return page

    yield opened
    for context in contexts:
        context.close()


def press(page, desk, *keys):
    """Press keys that decide or take back, and wait until that is in the log and on the screen."""
    seq = desk.seq
    for key in keys:
        page.keyboard.press(key)
    wait_until(page, lambda: desk.seq > seq)
    page.wait_for_selector("body:not(.busy)")


def wait_until(page, is_so):
    for _ in range(600):
        if is_so():
            return
        page.wait_for_timeout(20)
    raise AssertionError("that never came to be")


def row_on(page):
    return int(page.get_attribute("main", "data-row"))


def standing(desk, row):
    return State(int(desk.state[row]))


def test_fifty_flags_by_keyboard_and_the_cleaned_copy(demo, visit, tmp_path, capsys):
    verdicts, log = demo / "verdicts.parquet", tmp_path / "log.sqlite"
    said = {}
    with open_review(verdicts, decisions=log) as views, running(views) as caller:
        desk, sheet = views.desk, views.desk.sheet
        page = visit(caller)
        with listening(page) as heard:
            for number in range(50):
                row = row_on(page)
                assert row not in said  # led on to what is open
                if number % 5 == 4:
                    page.keyboard.press("l")
                    page.get_by_role("combobox", name="Label").fill("ni")
                    press(page, desk, "Enter")
                    said[row] = "nine"
                else:
                    press(page, desk, "akds"[number % 5])
                    said[row] = ("accept", "keep", "drop", "skip")[number % 5]
                wait_until(page, lambda row=row: row_on(page) != row)
            assert row_on(page) not in said
            page.get_by_text(f"40 of {len(sheet.flagged)} flags decided").wait_for()

            page.reload()
            page.wait_for_selector(LOADED)
            page.get_by_text(f"40 of {len(sheet.flagged)} flags decided").wait_for()
            last = list(said)[-1]
            press(page, desk, "u")
            wait_until(page, lambda: row_on(page) == last)
            assert standing(desk, last) == State.UNDECIDED
            press(page, desk, "r")
            assert standing(desk, last) in (State.RELABEL, State.KEEP)
            press(page, desk, "Control+z")
            press(page, desk, "Control+y")

            page.keyboard.press("e")
            with page.expect_download() as download:
                page.get_by_role("link", name="Patch").click()
            patch = download.value.path().read_text()
            page.keyboard.press("Escape")
            assert [line for line in heard if f"//{caller.host}/" not in line] == []
    words = np.array([str(name) for name in sheet.classes])
    given, suggested = words[sheet.labels], words[sheet.suggested]
    wanted = {}  # row -> new label, None if dropped
    for row, what in said.items():
        if what == "skip":
            continue
        new = {"accept": suggested[row], "keep": given[row], "drop": None}.get(what, what)
        wanted[row] = new
    lines = list(csv.DictReader(io.StringIO(patch)))
    assert {int(line["id"]): line["new"] or None for line in lines} == wanted
    assert {line["who"] for line in lines} == {"Ana"}
    assert all(line["old"] == given[int(line["id"])] for line in lines)

    copy = tmp_path / "cleaned.csv"
    assert main(["clean", str(verdicts), "-o", str(copy), "--decisions", str(log)]) == 0
    n_dropped = sum(new is None for new in wanted.values())
    n_changed = sum(new not in (None, given[row]) for row, new in wanted.items())
    out = capsys.readouterr().out
    assert f"{n_changed:,} labels changed, {n_dropped} rows dropped, " in out
    assert "40 rows were decided by people" in out
    before, after = pd.read_csv(demo / "digits.csv"), pd.read_csv(copy)
    expected = before.copy()
    for row, new in wanted.items():
        expected.loc[row, "label"] = new
    pd.testing.assert_frame_equal(after, expected.dropna().reset_index(drop=True))


def test_two_people_at_once_see_each_other_and_settle(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        desk = caller.views.desk
        ana, ben = visit(caller, "Ana"), visit(caller, "Ben")
        mine, his = row_on(ana), row_on(ben)
        assert mine != his  # nobody is led to what somebody else looks at
        ana.get_by_text("also here: Ben").wait_for()

        ben.goto(f"http://{caller.host}/#view=one&row={mine}")
        ben.reload()
        ben.wait_for_selector(f"main[data-row='{mine}']")
        press(ana, desk, "k")
        voices = ben.get_by_label("Who decided what")
        voices.get_by_text("Ana").wait_for()  # live, without a reload
        assert "kept" in voices.inner_text()

        press(ben, desk, "d")
        assert standing(desk, mine) == State.CONFLICT
        ana.get_by_role("button", name="1 in conflict").click()
        ana.wait_for_selector(f"main[data-row='{mine}']")
        voices = ana.get_by_label("Who decided what")
        assert "Ana" in voices.inner_text()
        assert "Ben" in voices.inner_text()
        ana.get_by_role("button", name="Settle: keep").wait_for()
        press(ana, desk, "k")
        assert standing(desk, mine) == State.KEEP
        wait_until(ben, lambda: "conflict" not in ben.inner_text("#progress"))

        # Each undoes his own only.
        press(ana, desk, "u")
        assert standing(desk, mine) == State.CONFLICT
        press(ben, desk, "u")
        assert standing(desk, mine) == State.KEEP


def test_every_key_of_the_page(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        desk, page = caller.views.desk, visit(caller)
        first = row_on(page)
        for there, back in (("ArrowRight", "ArrowLeft"), ("j", "p")):
            page.keyboard.press(there)
            wait_until(page, lambda: row_on(page) != first)
            page.keyboard.press(back)
            wait_until(page, lambda: row_on(page) == first)
        page.keyboard.press("n")
        wait_until(page, lambda: row_on(page) != first)
        assert "--zoom: 1;" in page.get_attribute("#content", "style")
        page.keyboard.press("z")
        assert "--zoom: 1.5" in page.get_attribute("#content", "style")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "words"
        page.keyboard.type("k")  # writes, and decides nothing
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        assert page.evaluate("document.activeElement.id") == "pair"
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.get_by_role("dialog", name="Keys").wait_for()
        page.keyboard.press("k")  # a dialog is open
        page.keyboard.press("Escape")
        assert desk.seq == 0
        page.keyboard.press("c")
        page.get_by_text("Nothing is decided yet").wait_for()
        page.keyboard.press("g")
        page.wait_for_selector(".card")
        page.keyboard.press("Enter")
        page.wait_for_selector("main[data-row]")
        press(page, desk, "Enter")
        assert desk.seq == 1


def test_many_are_chosen_and_decided_at_once(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        desk, page = caller.views.desk, visit(caller, hash="view=grid")
        rows = [
            int(r) for r in page.eval_on_selector_all(".card", "c => c.map(e => e.dataset.row)")
        ]
        assert rows == desk.sheet.flagged.tolist()
        page.keyboard.press("Space")
        for _ in range(3):
            page.keyboard.press("Shift+ArrowRight")
        page.get_by_text("4 rows chosen").wait_for()
        press(page, desk, "d")
        assert [standing(desk, row) for row in rows[:5]] == [State.DROP] * 4 + [State.UNDECIDED]
        press(page, desk, "u")  # one decision, one undo
        assert {standing(desk, row) for row in rows} == {State.UNDECIDED}
        page.keyboard.press("Control+a")
        page.get_by_text(f"{len(rows)} rows chosen").wait_for()
        press(page, desk, "a")
        assert {standing(desk, row) for row in rows} == {State.RELABEL}


def test_filters_narrow_what_is_gone_through(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        sheet = caller.views.desk.sheet
        page = visit(caller, hash="view=grid")
        total = len(sheet.flagged)
        page.get_by_label("Change").select_option(index=1)
        given, suggested = caller.get("/api/about")["pairs"][0][:2]
        both = (sheet.labels == given) & (sheet.suggested == suggested) & sheet.is_corrupted
        wait_until(page, lambda: page.get_attribute("main", "data-rows") == str(both.sum()))
        page.get_by_role("button", name="Clear filters").click()
        wait_until(page, lambda: page.get_attribute("main", "data-rows") == str(total))
        wanted = int(sheet.flagged[3])
        page.get_by_label("Search").fill(f"text number {wanted},")
        wait_until(page, lambda: page.get_attribute("main", "data-rows") == "1")
        assert page.get_attribute(".card", "data-row") == str(wanted)
        page.reload()  # the filter is in the address
        page.wait_for_selector(LOADED)
        assert page.get_attribute("main", "data-rows") == "1"


def test_a_second_look_is_blind_and_says_how_far_it_agrees(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        desk = caller.views.desk
        rows = desk.sheet.flagged.tolist()
        caller.decide(*([row, "keep", -1, "decide"] for row in rows[:4]), reviewer="Ben")
        page = visit(caller)
        page.keyboard.press("c")
        page.get_by_label("Share of the decided rows").select_option("1")
        page.wait_for_selector("main[data-row]")
        assert "Ben" not in page.inner_text("main")
        assert "kept" not in page.inner_text("main")
        for key in "kkkd":
            press(page, desk, key)
        page.get_by_text("3 of 4").wait_for()
        assert desk.state[rows[:4]].tolist().count(State.CONFLICT) == 1


def test_a_decision_is_tried_again_until_the_server_answers(visit, tmp_path):
    with serving(text_review(tmp_path)) as caller:
        desk, page = caller.views.desk, visit(caller)
        row, lost = row_on(page), []

        def lose(route):
            lost.append(route)
            if len(lost) == 1:
                route.abort()  # never came
            elif len(lost) == 2:
                route.fetch()  # came, but the answer is lost
                route.abort()
            else:
                route.continue_()

        page.route("**/api/decide", lose)
        page.keyboard.press("k")
        page.get_by_text("This is not saved yet").wait_for()
        wait_until(page, lambda: row_on(page) != row)
        assert len(lost) == 3
        assert desk.seq == 1  # once
        assert not page.is_visible("#trouble")


HOSTILE = '<img src=x onerror="document.title=1">'


def test_hostile_labels_and_texts_do_nothing(visit, tmp_path):
    names = np.array([HOSTILE, "a\u202eb\u2066", "x" * 1_000_000], dtype=object)
    texts = [f"{HOSTILE}<script>document.title=2</script>" for _ in range(60)]
    with serving(text_review(tmp_path, texts, names)) as caller:
        page = visit(caller)
        with listening(page) as heard:
            assert HOSTILE in page.inner_text("main")
            page.keyboard.press("g")
            page.wait_for_selector(".card")
            page.keyboard.press("l")
            choice = page.get_by_role("combobox", name="Label")
            choice.fill("img")
            page.keyboard.press("Escape")
            choice.wait_for(state="hidden")
            page.keyboard.press("e")
            page.wait_for_selector("dialog[open]")
            assert page.locator("main img, dialog img").count() == 0
            wide = "cards => cards.filter(card => card.scrollWidth > card.clientWidth).length"
            assert page.eval_on_selector_all(".card", wide) == 0
            assert page.title() == "simifeat review · texts.jsonl"
            assert "\u202e" not in page.content()
        assert [line for line in heard if f"//{caller.host}/" not in line] == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1360), ("dark", 1360), ("light", 390)])
def test_it_is_accessible_and_fits(visit, demo, tmp_path, scheme, width):
    how = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}, "bypass_csp": True}
    with (
        open_review(demo / "verdicts.parquet", decisions=tmp_path / "l.sqlite") as views,
        running(views) as caller,
    ):
        page = visit(caller, **how)
        row = row_on(page)
        caller.decide([row, "drop", -1, "decide"], reviewer="Ben")
        press(page, views.desk, "k")  # a conflict
        page.goto(f"http://{caller.host}/#view=one&row={row}")
        page.reload()
        for view, there in (("one", "[data-row]"), ("grid", ".card"), ("check", "[data-row]")):
            page.get_by_role("navigation").get_by_role("button").nth(
                ["one", "grid", "check"].index(view)
            ).click()
            page.wait_for_selector(there)
            assert axe_faults(page) == [], view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        for key in "?e":
            page.keyboard.press(key)
            page.wait_for_selector("dialog[open]")
            assert axe_faults(page) == [], key
            page.keyboard.press("Escape")
        page.keyboard.press("l")
        page.get_by_role("combobox", name="Label", exact=True).wait_for()
        assert axe_faults(page) == []


def test_nothing_to_look_at_is_said(visit, tmp_path):
    path = tmp_path / "out.parquet"
    judged(path)
    with serving(path) as caller:
        page = visit(caller)
        page.get_by_text("The dataset holds features only").wait_for()
