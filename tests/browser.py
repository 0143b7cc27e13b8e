"""A real browser for tests of pages: Chromium from the system or from Playwright, else a reason to skip."""

import shutil
from contextlib import contextmanager

import pytest

# ends a test that hangs; a loaded machine may take long for anything [ms]
PATIENCE = 600_000
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def open_browser():
    """A headless Chromium; skips the test with a reason if there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    with sync_api.sync_playwright() as playwright:
        try:
            # a container has no sandbox of its own to offer
            browser = playwright.chromium.launch(
                executable_path=path, args=["--no-sandbox"], timeout=PATIENCE
            )
        except sync_api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}; apt-get install chromium")
        try:
            yield browser
        finally:
            browser.close()


# three times, since a button may bring up others
PRESS = """() => {
  const words = new Set();
  for (let round = 0; round < 3; round++) {
    const found = "button, a, summary, form, input[type=submit], [role=button], .modebar-btn, [class*=dialog] *";
    for (const element of document.querySelectorAll(found)) {
      words.add(element.dataset.title || element.getAttribute("aria-label") || element.textContent.trim());
      if (element.tagName === "FORM") element.requestSubmit();
      else element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    }
  }
  return [...words];
}"""


def touch(page, *ways):
    """Fingers on the screen, each along its own way: lists of places, as many each."""
    session = page.context.new_cdp_session(page)

    def send(kind, places):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", [way[0] for way in ways])
    for places in list(zip(*ways, strict=True))[1:]:
        send("touchMove", places)
    send("touchEnd", [])


def pinch(page, middle, near, far, steps=6):
    """Two fingers next to a place go apart, or together."""
    x, y = middle
    reach = [near + (far - near) * k / steps for k in range(steps + 1)]
    touch(page, [(x - r, y) for r in reach], [(x + r, y) for r in reach])


class Watched:
    """A page whose errors and requests are kept."""

    def __init__(
        self, browser, path, width=1400, theme="light", ready="html[data-ready=yes]", fingers=False
    ):
        self.errors, self.requests, self.opened = [], [], []
        self.page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, has_touch=fingers
        )
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("popup", lambda page: self.opened.append(page.url))
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(path.resolve().as_uri())
        # until the last plot was drawn
        self.page.wait_for_selector(ready, state="attached")

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def value(self, script):
        """What an expression in the page says, or its promise when it is kept."""
        late = f"new Promise((_, no) => setTimeout(() => no('nothing happened'), {PATIENCE}))"
        return self.page.evaluate(f"Promise.race([{script}, {late}])")

    def press_everything(self):
        """Click whatever can be clicked, also what that brings up; returns the words of it.

        Nothing may be requested, opened or left by that.
        """
        place = self.page.url
        words = self.page.evaluate(PRESS)
        # what was sent is reported before what is requested afterwards
        self.value("new Promise((go) => setTimeout(go, 0))")
        assert self.page.url == place
        assert self.opened == []
        assert [r for r in self.requests if not r.startswith(("file:", "blob:", "data:"))] == []
        return words

    def cpu_seconds(self):
        """What the page has cost so far, whatever else the machine does."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable")
        found = session.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in found if m["name"] == "ProcessTime")
