"""Fixtures that several test modules share."""

from __future__ import annotations

import pytest

import browser


def pytest_collection_modifyitems(items):
    """A headless Chromium loses a key now and then; whoever waited for its effect tries again."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["TimeoutError"]))


@pytest.fixture(scope="module")
def chromium():
    """A running Chromium (playwright ``Browser``); skips the test where none can be had.

    One a module: while it runs, playwright's own event loop stands in the way of others.
    """
    missing = browser.why_missing()
    if missing:
        pytest.skip(missing)
    with browser.launched() as running:
        yield running
