"""Drawing from an empty page in a real browser: a scissor lift by mouse, a Jansen leg by keys alone."""

import numpy as np
import pytest
from test_drawn_linkages import jansen, joined

import sarrus
from sarrus.mechanism.files import from_data, to_data
from sarrus.workbench.edit import EMPTY
from workbench_pages import opened

pytestmark = pytest.mark.slow

IDLE = "['edit', 'solve', 'full'].every((word) => !sarrusBench.way[word].busy)"


def settle(seen, count):
    """Wait until the document has so many bodies, joints and points, and is in the picture."""
    seen.until(
        "(({ data }) => ['bodies', 'joints', 'points'].reduce((sum, block) => sum + "
        f"Object.keys(data[block] || {{}}).length, 0))(sarrusBench.doc()) === {count} && {IDLE}"
    )


def parts(seen):
    """How many bodies, joints and points there are."""
    data = seen.document()["data"]
    return sum(len(data.get(block, {})) for block in ("bodies", "joints", "points"))


def test_a_scissor_lift_by_mouse(browser):
    """Bars, pins where they cross though the click is some pixels off, sliders, a cylinder; then it is driven."""
    with opened(browser, EMPTY) as seen:
        page = seen.page

        def click(tool, at, count):
            page.click(f"[data-tool={tool}]")
            page.mouse.click(*seen.place(*at))
            settle(seen, count)

        def drag(tool, start, end, count):
            page.click(f"[data-tool={tool}]")
            seen.drag(start, end)
            settle(seen, count)

        click("ground", (-0.4, -0.6), 1)
        drag("bar", (-0.4, -0.6), (0.4, 0), 3)
        drag("bar", (0.4, -0.6), (-0.4, 0), 4)
        click("pin", (0.01, -0.31), 5)
        click("slider", (0.4, -0.6), 6)
        drag("bar", (-0.4, 0), (0.5, 0), 8)
        click("slider", (0.4, 0), 9)
        click("ground", (-0.2, -0.7), 10)
        drag("cylinder", (-0.2, -0.7), (0.2, -0.15), 15)
        m = from_data(seen.document()["data"])
        assert joined(m)["pin 2"] == ("bar 1", "bar 2")
        assert joined(m)["slider 2"] == ("bar 3", "bar 1")
        seen.until(
            "document.getElementById('messages').textContent.includes(\"driven by 'motor 1'\")"
        )
        assert sarrus.simulate(m, 0.5).success
        # the guide of a slider is turned to a typed angle, and is that of another body
        page.keyboard.press("Control+z")
        settle(seen, 10)
        page.keyboard.press("Control+z")
        settle(seen, 9)
        page.click("[data-tool=select]")
        page.mouse.click(*seen.place(0.4, -0.6))
        angle = page.locator("#part label", has_text="angle").locator("input")
        angle.fill("20")
        angle.press("Enter")
        seen.until(
            "Math.abs(sarrusBench.doc().data.joints['slider 1'].axis[1] - Math.sin(Math.PI / 9)) < 1e-12"
        )
        page.locator("#part label", has_text="slides on").locator("select").select_option("bar 3")
        seen.until("sarrusBench.doc().data.joints['slider 1']['point-on-line'][0] === 'bar 3'")


def test_a_jansen_leg_by_keys(browser):
    """Tools by their letters, typed places, a bar by length and angle, plates, the motor by a button."""
    m = jansen()
    at = {j.name: j.at for j in m.joints} | {p.name: p.at for p in m.markers}
    with opened(browser, EMPTY) as seen:
        page, keys = seen.page, seen.page.keyboard
        fields = page.locator("#typed input")

        def tool(letter):
            page.evaluate("document.activeElement.blur()")
            keys.press(letter)

        def typed(*names):
            for name in names:
                before = parts(seen)
                for field, value in zip((fields.nth(0), fields.nth(1)), at[name], strict=True):
                    field.fill(f"{value:.9f}")
                fields.nth(1).press("Enter")
            return before

        # Enter shows the cross in the middle before it acts there; another tool leaves it where it is
        page.locator("#picture canvas").focus()
        for key in ("o", "Enter", "b"):
            keys.press(key)
        assert [fields.nth(k).input_value() for k in (0, 1)] == ["0", "0"]
        assert parts(seen) == 0
        tool("o")
        settle(seen, typed("O") + 1)
        settle(seen, typed("B") + 1)
        tool("b")
        typed("O")
        for field, value in ((fields.nth(2), "0.15"), (fields.nth(3), "0")):
            field.fill(value)
        fields.nth(3).press("Enter")
        settle(seen, 4)
        for names, new in ((("X", "C"), 2), (("X", "E"), 1), (("E", "B"), 3)):
            settle(seen, typed(*names) + new)
        tool("a")
        settle(seen, typed("B", "C", "D", "B") + 2)
        tool("b")
        settle(seen, typed("D", "F") + 2)
        tool("a")
        settle(seen, typed("F", "E", "foot", "F") + 2)
        tool("t")
        settle(seen, typed("foot") + 1)
        tool("v")
        page.locator("#picture canvas").focus()
        for _ in range(20):
            keys.press("n")
            keys.press("Enter")
            if page.evaluate("(sarrusBench.player.chosen || {}).name") == "pin 1":
                break
        page.locator("#part button", has_text="motor").press("Enter")
        seen.until("Object.keys(sarrusBench.doc().data.drives || {}).length === 1")
        drawn = sarrus.simulate(from_data(seen.document()["data"]), 6.0, output_step=0.1)
        built = sarrus.simulate(m, 6.0, output_step=0.1)
        # places were typed with nine digits
        np.testing.assert_allclose(drawn.position("P 1"), built.position("foot"), atol=1e-7)


def test_numbers_have_readable_labels_and_sides_have_sliders(browser):
    """Such as "O x" and "knee: C to B"; a typed side keeps the others, and in 3-D numbers are edited, too."""
    with opened(browser, to_data(jansen())) as seen:
        page = seen.page
        labels = page.evaluate(
            "[...document.querySelectorAll('.slider .name')].map((e) => e.textContent)"
        )
        assert {"O x [m]", "B y [m]", "j length [m]", "knee: C to B [m]"} <= set(labels)
        field = page.get_by_label("knee: C to B [m], typed")
        field.fill("0.43")
        field.press("Enter")
        seen.until(
            f"sarrusBench.answer.full && Object.keys(sarrusBench.doc().values).length && {IDLE}"
        )
        assert seen.document()["values"] == {"bodies.knee.sides.C.B": 0.43}
        assert page.inner_text("#status") == "done"
        far = page.evaluate(
            "(() => { const v = sarrusBench.player.values;"
            " return Math.hypot(v.at('C.x [m]', 1), v.at('C.y [m]', 1)); })()"
        )
        # single precision, straight lines between outputs
        assert far == pytest.approx(0.43, abs=1e-5)
    space = to_data(sarrus.problems.get("spatial-slider-crank").mechanism())
    with opened(browser, space) as seen:
        page = seen.page
        assert page.locator("[data-mode=edit]").is_disabled()
        field = page.locator(".slider input[type=number]").first
        field.fill(str(1.01 * float(field.input_value())))
        field.press("Enter")
        seen.until(f"Object.keys(sarrusBench.doc().values).length === 1 && {IDLE}")


def test_curves_over_an_angle_and_the_design(browser):
    """The horizontal axis is the crank's angle in degrees; the sentences are those of `sarrus.design`."""
    m = jansen()
    with opened(browser, to_data(m)) as seen:
        page = seen.page
        page.select_option("#over select", "O.angle [deg]")
        seen.until(
            "document.querySelector('#plots .plot').layout.xaxis.title.text === 'O angle [deg]'"
        )
        x = page.evaluate("[...document.querySelector('#plots .plot').data[0].x].slice(-1)[0]")
        # two seconds at 1 rad/s, in single precision
        assert x == pytest.approx(np.degrees(2.0), rel=1e-6)
        page.click("#design summary")
        page.wait_for_selector("#design .plot .main-svg")
        reported = page.inner_text("#design")
        for line in str(sarrus.design(m)).splitlines():
            assert line in reported
