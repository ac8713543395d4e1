from __future__ import annotations

import io

import pytest

from simifeat.cli import progress as module
from simifeat.cli.progress import progress_line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_nothing_where_nobody_watches():
    stream = io.StringIO()
    with progress_line(stream) as progress:
        assert progress is None
    assert stream.getvalue() == ""


def test_a_line_with_the_time_that_is_left(clock):
    stream = Terminal()
    with progress_line(stream) as progress:
        progress("neighbours", 0, 100)
        clock[0] += 10
        progress("neighbours", 25, 100)
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown == ["", "neighbours   0%", "neighbours  25%, 30 s left", ""]


def test_drawn_a_few_times_a_second(clock):
    stream = Terminal()
    with progress_line(stream) as progress:
        for done in range(1000):
            clock[0] += 0.001
            progress("reading", done, 1000)
        progress("reading", 1000, 1000)
    drawn = stream.getvalue().count("reading")
    assert 8 <= drawn <= 13
    assert "reading 100%" in stream.getvalue()


def test_a_new_stage_starts_its_own_forecast(clock):
    stream = Terminal()
    with progress_line(stream) as progress:
        progress("reading", 0, 10)
        clock[0] += 50
        progress("reading", 10, 10)
        progress("judging", 1, 10)
        clock[0] += 2
        progress("judging", 5, 10)
    assert stream.getvalue().split("\r\x1b[K")[-2] == "judging  50%, 2 s left"


@pytest.mark.parametrize(
    ("elapsed", "text"), [(30, "30 s left"), (600, "10 min left"), (9000, "2.5 h left")]
)
def test_the_unit_suits_the_time(clock, elapsed, text):
    stream = Terminal()
    with progress_line(stream) as progress:
        progress("reading", 0, 2)
        clock[0] += elapsed
        progress("reading", 1, 2)
    assert text in stream.getvalue()


def test_the_line_is_wiped_after_an_error(clock):
    stream = Terminal()

    def fail():
        with progress_line(stream) as progress:
            progress("reading", 1, 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert stream.getvalue().endswith("\r\x1b[K")
