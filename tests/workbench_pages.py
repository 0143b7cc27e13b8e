"""Pages of a workbench that serves given data, in a real browser."""

import threading
from contextlib import contextmanager

import numpy as np

from browser import PATIENCE
from sarrus.workbench.saving import OpenedFile
from sarrus.workbench.server import Workbench

# the place of a point of the plane on the screen
PLACE = """([x, y]) => {
  const p = sarrusBench.player, r = p.canvas.getBoundingClientRect(), q = p.place([x, y, 0]);
  return [q[0] + r.left, q[1] + r.top];
}"""


class Page:
    """A page of a workbench; errors and requests are kept."""

    def __init__(self, browser, bench, width, theme, fingers):
        self.errors, self.requests = [], []
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, has_touch=fingers
        )
        page.on("console", lambda m: self.errors.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(PATIENCE)
        page.goto(bench.guard.make_address())
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        self.page = page

    def place(self, x, y):
        """Where a place of the plane is on the screen."""
        return self.page.evaluate(PLACE, [x, y])

    def document(self):
        """Data and values as they are now."""
        return self.page.evaluate("sarrusBench.doc()")

    def until(self, script):
        """Wait for something to be true in the page."""
        self.page.wait_for_function(f"() => {script}")

    def drag(self, start, end):
        """Press at one place of the plane and let go at another."""
        self.page.mouse.move(*self.place(*start))
        self.page.mouse.down()
        for share in (0.5, 1.0):
            self.page.mouse.move(*self.place(*(np.add(start, np.subtract(end, start) * share))))
        self.page.mouse.up()


@contextmanager
def opened(browser, data, width=1400, theme="light", fingers=False, problem=None):
    """A page of a workbench that serves these data."""
    bench = Workbench(data, OpenedFile(None), 2.0, port=0, problem=problem)
    thread = threading.Thread(target=bench.serve)
    thread.start()
    try:
        page = Page(browser, bench, width, theme, fingers)
        yield page
        page.page.close()
        own = f"http://127.0.0.1:{bench.port}/"
        assert page.errors == []
        assert [r for r in page.requests if not r.startswith((own, "blob:", "data:"))] == []
    finally:
        bench.stop()
        thread.join()
        bench.close()
