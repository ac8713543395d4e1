"""Fixtures that several test modules share."""

from __future__ import annotations

import pytest

import browser


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
