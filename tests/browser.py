"""A real browser for tests of pages: Chromium from the system or from Playwright, else a reason to skip."""

import shutil
import time
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def open_browser():
    """A headless Chromium; skips the test with a reason if there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    with sync_api.sync_playwright() as playwright:
        try:
            # a container has no sandbox of its own to offer
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}; apt-get install chromium")
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page whose errors and requests are kept."""

    def __init__(self, browser, path, width=1400, theme="light"):
        self.errors, self.requests = [], []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        begin = time.perf_counter()
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
        # until the last plot was drawn
        self.seconds = time.perf_counter() - begin

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def value(self, script):
        """What a script in the page says."""
        return self.page.evaluate(script)
