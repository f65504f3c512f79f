"""Pages in a real browser: headless Chromium, of which a page may demand that nothing is fetched and nothing complained of."""

import contextlib
import os
import shutil
from dataclasses import dataclass, field

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
"""CSS pixels: a laptop, and a phone held upright."""
PATIENCE = 30_000
"""Milliseconds that a browser may take for anything."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def chromium():
    """The path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process; missing, it fails tests where everything must run and skips them elsewhere."""
    path = chromium()
    if path is None:
        assert os.environ.get("CI") != "true", "Chromium is missing: install the package chromium"
        pytest.skip("Chromium is missing")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=PATIENCE)
        yield opened
        opened.close()


@dataclass
class Watched:
    """A page, with everything that it complained of or asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def violations(self, rules=RULES, *, within=None, without=(), outside=()):
        """What axe finds, as 'rule: selector' lines; empty where everybody can use the page.

        ``rules`` are tags or single rules, without those in ``without``. Looked at is the page, or the part that the selector
        ``within`` means, but for what selectors in ``outside`` mean.
        """
        options = {"runOnly": rules, "rules": {rule: {"enabled": False} for rule in without}}
        options |= {"resultTypes": ["violations"], "preload": False}  # the rest takes most of the time
        context = {"include": [[within]] if within else [["html"]], "exclude": [[selector] for selector in outside]}
        found = Axe().run(self.page, context=context, options=options).response["violations"]
        return [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]]

    def overflow(self):
        """CSS pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def visit(browser):
    """Open a file in the browser: ``visit(path, size=NARROW, scheme="dark")`` gives a :class:`Watched` page."""
    with contextlib.ExitStack() as ends:

        def opened(path, *, size=WIDE, scheme="light", script=True):
            context = browser.new_context(viewport=size, color_scheme=scheme, java_script_enabled=script)
            ends.callback(context.close)
            watched = Watched(context.new_page())
            watched.page.set_default_timeout(PATIENCE)
            watched.page.on(
                "console", lambda said: watched.complaints.append(said.text) if said.type in {"error", "warning"} else None
            )
            watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
            watched.page.on("request", lambda asked: watched.requests.append(asked.url))
            watched.page.goto(path.as_uri())
            return watched

        yield opened
