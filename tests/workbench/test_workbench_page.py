"""The workbench in a real browser: a slider drag, a hand, a drawing; at both widths and in both themes."""

import numpy as np
import pytest

import sarrus
from browser import pinch, touch
from sarrus.mechanism.files import from_data, to_data
from sarrus.workbench.edit import EMPTY
from workbench_pages import opened

pytestmark = pytest.mark.slow


def four_bar():
    """A four-bar with a spring."""
    return to_data(sarrus.problems.get("four-bar-spring").mechanism())


def test_dragging_a_slider_solves_again(browser):
    """Moving the thumb changes picture and plots before it is let go; then the document has the value."""
    with opened(browser, four_bar()) as seen:
        page = seen.page
        before = page.evaluate("sarrusBench.answer.picture.data")
        slider = page.locator(".slider[data-path='bodies.bar 1.length'] input[type=range]")
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 0.31 * box["width"], y)
        page.mouse.down()
        for k in range(10):
            page.mouse.move(box["x"] + (0.32 + 0.005 * k) * box["width"], y)
        page.wait_for_function("(old) => sarrusBench.answer.picture.data !== old", arg=before)
        assert seen.document()["values"] == {}
        page.mouse.up()
        seen.until("sarrusBench.answer.full && Object.keys(sarrusBench.doc().values).length")
        (value,) = seen.document()["values"].values()
        assert 1.0 < value < 1.3
        assert page.inner_text("#status") == "done"
        assert "1 degree of freedom" in page.inner_text("#messages")
        # the curves are those of the longer bar: its end is as far from A as it is long
        length = page.evaluate(
            "(() => { const v = sarrusBench.player.values;"
            " return Math.hypot(v.at('B.x [m]', 1), v.at('B.y [m]', 1)); })()"
        )
        # between outputs straight lines, in single precision
        assert length == pytest.approx(value, abs=1e-4)
        page.keyboard.press("Control+z")
        page.wait_for_function("(old) => sarrusBench.answer.picture.data === old", arg=before)
        assert seen.document()["values"] == {}


def test_a_typed_error_is_reported_and_mended(browser):
    """A negative mass: a sentence, the last picture stays; a good value makes it run again."""
    with opened(browser, four_bar()) as seen:
        page = seen.page
        field = page.locator(".slider[data-path='bodies.bar 1.mass'] input[type=number]")
        field.fill("-1")
        field.press("Enter")
        page.wait_for_selector("#messages .error")
        assert "mass" in page.inner_text("#messages .error")
        assert page.inner_text("#status") == "cannot run"
        assert page.inner_text("#outdated").startswith("Outdated")
        field.fill("2")
        field.press("Enter")
        seen.until("document.getElementById('status').textContent === 'done'")
        assert page.locator("#messages .error").count() == 0
        assert page.locator("#outdated").is_hidden()


def test_a_pin_follows_the_hand_and_runs_from_there(browser):
    """Dragged to the right, the four-bar is still closed; simulated from there it begins there."""
    with opened(browser, four_bar()) as seen:
        page = seen.page
        page.click("[data-mode=drag]")
        at = four_bar()["joints"]["B"]["at"]
        seen.drag(at, (at[0] + 0.6, at[1]))
        page.wait_for_selector("#posed:not([hidden])")
        # the last pull has been answered
        seen.until("!sarrusBench.way.pull.busy")
        page.click("#from-here")
        seen.until("Object.keys(sarrusBench.doc().values).length === 0 && sarrusBench.answer.full")
        seen.until(f"sarrusBench.doc().data.joints.B.at[0] > {at[0] + 0.3}")
        m = from_data(seen.document()["data"])
        for body in m.bodies:
            # rounding of a few steps
            assert np.linalg.norm(body.ends[1] - body.ends[0]) == pytest.approx(1.0, abs=1e-12)
        assert sarrus.simulate(m, 0.5).success


def test_drawing_a_four_bar(browser):
    """From an empty plane: ground, three bars, ground; a mobility of one, and a document that simulates."""
    with opened(browser, EMPTY) as seen:
        page = seen.page
        assert page.get_attribute("[data-mode=edit]", "aria-pressed") == "true"

        def bodies(count, joints):
            seen.until(
                f"Object.keys(sarrusBench.doc().data.bodies).length === {count} && "
                f"Object.keys(sarrusBench.doc().data.joints || {{}}).length === {joints} && "
                "sarrusBench.player.scene.shapes.length === "
                f"{count} && !sarrusBench.way.edit.busy && !sarrusBench.way.solve.busy"
                " && !sarrusBench.way.full.busy"
            )

        page.click("[data-tool=ground]")
        page.mouse.click(*seen.place(-0.5, -0.3))
        seen.until("Object.keys(sarrusBench.doc().data.points || {}).length === 1")
        seen.until("sarrusBench.player.scene.signs.length === 1 && !sarrusBench.way.solve.busy")
        page.keyboard.press("b")
        for k, (start, end) in enumerate(
            [((-0.5, -0.3), (-0.3, 0.1)), ((-0.3, 0.1), (0.6, 0.3)), ((0.6, 0.3), (0.5, -0.3))]
        ):
            seen.drag(start, end)
            bodies(k + 1, k + 1)
        page.keyboard.press("o")
        page.mouse.click(*seen.place(0.5, -0.3))
        bodies(3, 4)
        seen.until(
            "document.getElementById('messages').textContent.includes('1 degree of freedom')"
        )
        m = from_data(seen.document()["data"])
        assert [len(j.bodies) for j in m.joints] == [2, 2, 2, 2]
        assert sarrus.simulate(m, 1.0).success
        page.keyboard.press("Control+z")
        bodies(3, 3)
        page.keyboard.press("v")
        page.mouse.click(*seen.place(0.15, 0.2))
        page.wait_for_selector("#part:not([hidden])")
        page.keyboard.press("Delete")
        bodies(2, 1)


@pytest.mark.parametrize(("width", "theme"), [(1400, "dark"), (400, "light"), (400, "dark")])
def test_it_fits_and_can_be_read(browser, width, theme):
    """Nothing scrolls sideways; text has a contrast of 4.5; the picture stays in sight while sliders are moved."""
    with opened(browser, four_bar(), width, theme) as seen:
        page = seen.page
        for mode in ("look", "drag", "edit"):
            page.click(f"[data-mode={mode}]")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".slider").last.scroll_into_view_if_needed()
        box = page.locator("#picture canvas").bounding_box()
        assert box["y"] > -60
        contrast = page.evaluate("""() => {
          const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).map((v) => {
            v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
            .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
          const under = (e) => { const c = getComputedStyle(e).backgroundColor;
            return e.parentElement && /, 0\\)$/.test(c) ? under(e.parentElement) : c; };
          return [...document.querySelectorAll("button:not(:disabled), .name, #messages p, h1, summary")]
            .filter((e) => e.offsetParent && e.textContent.trim()).map((e) => {
              const [a, b] = [light(getComputedStyle(e).color), light(under(e))].sort((x, y) => y - x);
              return (a + 0.05) / (b + 0.05); });
        }""")
        assert min(contrast) >= 4.5


def test_fingers_pinch_and_draw(browser):
    """On a narrow screen: two fingers bring the picture closer and draw nothing, one draws a bar, a tap a pin."""
    with opened(browser, four_bar(), 400, fingers=True) as seen:
        page = seen.page
        page.click("[data-mode=edit]")
        page.click("[data-tool=pin]")
        box = page.locator("#picture canvas").bounding_box()
        middle = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
        scale = page.evaluate("sarrusBench.player.scale")
        before = seen.document()
        pinch(page, middle, 30, 60)
        assert page.evaluate("sarrusBench.player.scale") == pytest.approx(2 * scale, rel=0.2)
        pinch(page, middle, 60, 30)
        page.click("[data-tool=bar]")
        pinch(page, middle, 30, 40)
        pinch(page, middle, 40, 30)
        assert seen.document() == before
        start, end = seen.place(0.2, 0.5), seen.place(0.6, 0.7)
        touch(page, [tuple(np.add(start, np.subtract(end, start) * k / 5)) for k in range(6)])
        seen.until("Object.keys(sarrusBench.doc().data.bodies).length === 4")


def test_options_of_a_problem_are_sliders(browser):
    """Four windows instead of two: nine bodies, still with the gravity that was set; undone by one key."""
    data = to_data(sarrus.problems.get("n-four-bar", windows=2).mechanism())
    with opened(browser, data, problem=("n-four-bar", {"windows": 2})) as seen:
        page = seen.page
        for path, value in (("gravity.1", "-3"), ("windows", "4")):
            page.evaluate(
                "document.querySelectorAll('#groups details').forEach((d) => d.open = true)"
            )
            field = page.locator(f".slider[data-path='{path}'] input[type=number]")
            field.fill(value)
            field.press("Enter")
            seen.until(f"JSON.stringify(sarrusBench.doc()).includes('\"{path}\":{value}')")
        seen.until("sarrusBench.player.scene.shapes.length === 9 && sarrusBench.answer.full")
        assert seen.document()["values"] == {"gravity.1": -3}
        assert page.inner_text("#title") == "4 four-bar"
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Control+z")
        seen.until("sarrusBench.player.scene.shapes.length === 5")
