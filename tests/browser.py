"""A real browser for the tests of pages, and axe-core's verdict on them.

``python tests/browser.py`` installs Debian's chromium where it is missing, or says in one line why
it cannot; ``make test`` runs that first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find_chromium() -> str | None:
    """The browser to run: ``$CHROMIUM``, or the first on the path that is Chromium by name."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    return next((path for path in map(shutil.which, NAMES) if path), None)


def why_missing() -> str | None:
    """What stands in the way of a browser, in one line; None if nothing does."""
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return "playwright is not installed; install it with: pip install 'simifeat[test]'"
    if find_chromium() is None:
        return "no Chromium found; install it (Debian: apt-get install chromium) or set $CHROMIUM"
    return None


@contextmanager
def launched():
    """Chromium, without a window; a playwright ``Browser``."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def listening(page) -> Iterator[list[str]]:
    """What the page complains of while the block runs: script errors, console errors, requests.

    A request for the page itself or for a data: address does not count.
    """
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(f"script: {error}"))
    page.on("console", lambda m: heard.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("request", lambda r: heard.append(f"request: {r.url}") if _is_foreign(r) else None)
    yield heard


def axe_faults(page, impacts: tuple[str, ...] = ("serious", "critical")) -> list[str]:
    """axe-core's complaints about the page as it stands, one line a rule with the first places."""
    import axe_playwright_python

    script = (files(axe_playwright_python) / "axe.min.js").read_text()
    page.evaluate(script)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['impact']} {fault['id']}: {fault['help']}: "
        + "; ".join(node["html"][:200] for node in fault["nodes"][:3])
        for fault in found["violations"]
        if fault["impact"] in impacts
    ]


def _is_foreign(request) -> bool:
    return not request.url.startswith("data:") and not (
        request.is_navigation_request() and request.frame.parent_frame is None
    )


def main() -> int:
    """Install what is missing, quietly; one line where that fails. Never a reason to stop."""
    if find_chromium() is None and shutil.which("apt-get"):
        become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(
                [*become_root, "apt-get", "-qq", *command], check=False, capture_output=True
            )
    missing = why_missing()
    if missing:
        sys.stderr.write(f"browser tests will be skipped: {missing}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
