"""The report in a real browser: opens without an error, plots, plays, follows the slider, dark mode."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from browser import Watched, open_browser, pinch, touch
from run_folders import save_example, with_hostile_names
from sarrus import Mechanism, simulate
from sarrus.mechanism.files import from_data
from sarrus.problems.references.n_four_bar import four_bar_reference
from sarrus.report.benchmark_page import make_bench_report
from sarrus.report.engines_page import make_engine_report
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation

pytestmark = pytest.mark.slow

# where B0 is drawn, back in metres
B0 = """(() => {
  const p = sarrusReport.players[0], i = 3 * p.scene.observed;
  p.draw();
  return [0, 1].map((k) => p.motion.points[i + k]);
})()"""


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file."""
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of 10 s of the double four-bar, crossings marked."""
    folder = save_example(tmp_path_factory.mktemp("browser") / "run", duration=10.0)
    path = folder / "report.html"
    path.write_text(make_report([load_run(folder)]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def seen(browser, report):
    """The report opened once, light, 1400 pixels wide."""
    page = Watched(browser, report)
    yield page
    page.page.close()


def test_opens_without_error_and_from_disk_alone(seen):
    """No message on the console, no request but the file itself, all plots drawn, at little cost."""
    spent = seen.cpu_seconds()
    assert seen.errors == []
    assert [r for r in seen.requests if not r.startswith(("file:", "blob:", "data:"))] == []
    assert seen.value("document.querySelectorAll('.plot .main-svg').length") >= 4
    assert seen.value("document.querySelectorAll('.plot .scatterlayer .trace').length") >= 8
    # 2 s to open it, of which none is waiting; cores that are shared take up to twice as long
    assert 0 < spent < 6


# presses pause in the very frame that is 0.3 s after the start, however long frames take
PAUSE = """void (window.paused = new Promise((resolve) => {
  const clock = sarrusReport.clock, start = clock.time;
  let pressed = false;
  clock.onChange(() => {
    if (pressed || clock.time < start + 0.3) return;
    pressed = true;
    if (clock.playing) document.querySelector(".play").click();
    resolve(clock.time);
  });
}))"""
FRAMES = """new Promise((resolve) => {
  let left = 5;
  const step = () => left-- ? requestAnimationFrame(step) : resolve();
  step();
})"""


def test_play_moves_a_link_and_pause_stops_it(seen):
    """Pressing play moves B0 and the pixels; pausing keeps both where they are."""
    before, picture = seen.value(B0), seen.page.locator("canvas").screenshot()
    seen.value(PAUSE)
    seen.page.click(".play")
    at = seen.value("window.paused")
    after = seen.value(B0)
    assert np.linalg.norm(np.subtract(after, before)) > 0.2
    assert seen.page.locator("canvas").screenshot() != picture
    seen.value(FRAMES)
    assert seen.value("sarrusReport.clock.time") == at
    assert seen.value(B0) == after


def test_slider_sets_the_time_everywhere(seen):
    """The clock, the picture and the cursors of the plots follow; B0 is where the exact motion is."""
    seen.page.fill("input[type=range]", "2.5")
    assert "t = 2.50 s" in seen.page.inner_text(".player .clock")
    # frames are 0.02 s apart, cubic between them: better than a pixel
    np.testing.assert_allclose(seen.value(B0), four_bar_reference([2.5], 2)[0, :2], atol=2e-3)
    left = seen.value("document.querySelector('.cursor').getBoundingClientRect().left")
    box = seen.value(
        "(() => { const r = document.querySelector('.plot .nsewdrag').getBoundingClientRect();"
        " return [r.left, r.width]; })()"
    )
    # the line is 2 pixels wide
    assert left == pytest.approx(box[0] + 0.25 * box[1], abs=2.5)


def test_crossings_are_listed_and_lead_there(seen):
    """Ten crossings on the list and on the time line; a click goes to the instant."""
    # a sentence says how many there are, the list is folded
    assert "10 crossings met" in seen.page.inner_text(".said")
    seen.page.click("#rank summary")
    assert seen.page.locator(".crossings button").count() == 10
    assert seen.page.locator(".timeline .mark").count() == 10
    seen.page.locator(".crossings button").nth(2).click()
    x, y = seen.value(B0)
    # flat: B0 at the height of the ground pins; as exact as the playback is
    assert abs(y) < 5e-3
    assert abs(abs(x) - 1) < 5e-3


@pytest.mark.parametrize("width", [1400, 400])
def test_dark_and_light_are_readable_and_nothing_overflows(browser, report, width):
    """Contrast of text and paper at least 4.5 in both themes; no sideways scrolling."""
    contrast = """(() => {
      const light = (c) => c.match(/\\d+/g).slice(0, 3).map((v) => {
        v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; })
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
      const paper = light(getComputedStyle(document.querySelector("section")).backgroundColor);
      return [...document.querySelectorAll("h1, h2, p, td, th, .badge, .note, .tile span, .xtick text")]
        .filter((e) => e.textContent.trim()).map((e) => {
          const s = getComputedStyle(e), ink = light(e.tagName === "text" ? s.fill : s.color);
          const [a, b] = [Math.max(ink, paper), Math.min(ink, paper)];
          return (a + 0.05) / (b + 0.05); });
    })()"""
    seen = Watched(browser, report, width, theme="dark")
    assert seen.value("document.documentElement.dataset.theme") == "dark"
    assert min(seen.value(contrast)) >= 4.5
    seen.page.click("#theme")
    assert seen.value("document.documentElement.dataset.theme") == "light"
    assert min(seen.value(contrast)) >= 4.5
    assert seen.value("document.documentElement.scrollWidth") <= width
    seen.page.close()


def test_hovering_names_joints_and_bodies(seen):
    """The pointer over B0 shows its name and place, over the crank that of the body."""
    seen.page.fill("input[type=range]", "0")
    seen.page.locator("canvas").scroll_into_view_if_needed()
    for names, words in ((["B0"], "B0\nrevolute joint"), (["A0", "B0"], "crank 0\nbody")):
        seen.page.mouse.move(*seen.page.evaluate(PLACE, names))
        seen.page.wait_for_function(
            "(words) => document.querySelector('.tip').innerText.includes(words)", arg=words
        )


# where a point or the middle of two is on the screen
PLACE = """(names) => {
  const p = sarrusReport.players[0], r = p.canvas.getBoundingClientRect();
  p.draw();
  const f = p.flat, of = (n) => p.scene.signs.find((s) => s.name === n).points[0];
  const xs = names.map(of).map((i) => [f[3 * i], f[3 * i + 1]]);
  return [0, 1].map((k) => xs.reduce((sum, x) => sum + x[k], 0) / xs.length + (k ? r.top : r.left));
}"""


def test_a_click_on_a_part_shows_its_curves(seen):
    """B0: its angle, reaction and motion over time; the value at the cursor is that of the exact motion."""
    seen.page.fill("input[type=range]", "2.5")
    seen.page.locator("canvas").scroll_into_view_if_needed()
    seen.page.mouse.click(*seen.page.evaluate(PLACE, ["B0"]))
    seen.page.wait_for_selector("#chosen .plot .scatterlayer .trace")
    assert seen.page.inner_text("#chosen h2") == "B0"
    heads = seen.page.text_content("#chosen .infolayer")
    assert "angle" in heads
    assert "Fx" in heads
    rows = dict(
        row.split(" = ") for row in seen.value("sarrusReport.players[0].values.rows('B0', 2.5)")
    )
    # outputs are 0.01 s apart, straight between them; five digits are shown
    x, y = four_bar_reference([2.5], 2)[0, :2]
    assert float(rows["x"].split()[0]) == pytest.approx(x, abs=1e-3)
    assert float(rows["y"].split()[0]) == pytest.approx(y, abs=1e-3)
    # and back: a click in a plot sets the time
    box = seen.page.locator("#chosen .nsewdrag").first.bounding_box()
    seen.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert seen.value("sarrusReport.clock.time") == pytest.approx(5.0, abs=0.05)
    # so does pointing into it, without a click
    seen.page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
    seen.page.wait_for_function("() => Math.abs(sarrusReport.clock.time - 2.5) < 0.05")
    seen.page.keyboard.press("Escape")
    assert not seen.page.is_visible("#chosen")
    assert seen.errors == []


# whose curves stand out in the plots of the page, and whose are pale
SHADES = """() => {
  const out = { strong: [], pale: [] };
  sarrusReport.plots.list.forEach(({ host, figure }) => {
    host.querySelectorAll(".scatterlayer .trace").forEach((line) => {
      const words = Number(getComputedStyle(line).opacity) < 1 ? out.pale : out.strong;
      words.push(figure.traces[line.__data__[0].trace.index].group);
    });
  });
  return out;
}"""


def test_a_part_and_its_curves_stand_out_together(seen):
    """The pointer at A0: its reaction is strong, those of others are pale; at a curve: its joint stands out."""
    page = seen.page
    page.fill("input[type=range]", "2.5")
    page.mouse.move(2, 2)
    assert page.evaluate(SHADES)["pale"] == []
    page.locator("canvas").scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate(PLACE, ["A0"]))
    page.wait_for_function("() => sarrusReport.plots.owners.has('A0')")
    shades = page.evaluate(SHADES)
    assert "A0" in shades["strong"]
    assert "A0" not in shades["pale"]
    assert {"A1", "A2", "B0"} & set(shades["pale"])
    # at a bar: the curves of its joints
    page.mouse.move(*page.evaluate(PLACE, ["A0", "B0"]))
    page.wait_for_function("() => sarrusReport.plots.owners.has('crank 0')")
    assert {"A0", "B0"}.isdisjoint(page.evaluate(SHADES)["pale"])
    # a click keeps it when the pointer goes
    page.mouse.click(*page.evaluate(PLACE, ["A0"]))
    page.mouse.move(2, 2)
    assert "A1" in page.evaluate(SHADES)["pale"]
    page.keyboard.press("Escape")
    assert page.evaluate(SHADES)["pale"] == []
    # and back, from a plot: the pointer goes to where a curve is
    spot = page.evaluate("""() => {
      const plot = sarrusReport.plots.list.find(({ figure }) => figure.traces.some((t) => t.group === "A0"));
      const k = plot.figure.traces.findIndex((t) => t.group === "A0"), d = plot.host._fullData[k];
      plot.host.scrollIntoView({ block: "center" });
      const { xaxis } = plot.host._fullLayout, r = plot.host.getBoundingClientRect();
      const yaxis = plot.host._fullLayout[d.yaxis.replace("y", "yaxis")], n = Math.floor(0.4 * d.x.length);
      return [r.left + xaxis._offset + xaxis.d2p(d.x[n]), r.top + yaxis._offset + yaxis.d2p(d.y[n])];
    }""")
    page.mouse.move(*spot)
    page.wait_for_function("() => sarrusReport.players[0].hovered !== null")
    # cranks of a parallelogram turn alike: their curves are one
    assert seen.value("sarrusReport.players[0].hovered.item.name") in ("A0", "A1", "A2")
    page.mouse.move(2, 2)
    page.wait_for_function("() => sarrusReport.players[0].hovered === null")
    assert seen.errors == []


def test_fingers_tap_drag_and_pinch(browser, report):
    """On a narrow screen: a tap chooses, a finger sideways moves the view, two of them bring it closer."""
    seen = Watched(browser, report, width=400, fingers=True)
    page = seen.page
    page.locator("canvas").scroll_into_view_if_needed()
    page.touchscreen.tap(*page.evaluate(PLACE, ["A0"]))
    page.wait_for_selector("#chosen:not([hidden]) h2")
    assert page.inner_text("#chosen h2") == "A0"
    page.evaluate("sarrusReport.players[0].choose(null)")
    page.locator("canvas").scroll_into_view_if_needed()
    box = page.locator("canvas").bounding_box()
    middle = box["x"] + 0.5 * box["width"], box["y"] + 0.4 * box["height"]
    view = "(({ shift, scale }) => [...shift, scale])(sarrusReport.players[0])"
    x, _, scale = seen.value(view)
    touch(page, [(middle[0] - 60 + 20 * k, middle[1]) for k in range(6)])
    moved = seen.value(view)
    # what the browser keeps to find out what a finger wants
    assert 50 <= moved[0] - x <= 100
    assert moved[2] == scale
    pinch(page, middle, 30, 90)
    assert seen.value(view)[2] == pytest.approx(3 * scale, rel=0.2)
    pinch(page, middle, 90, 30)
    assert seen.value(view)[2] == pytest.approx(scale, rel=0.2)
    # nothing was chosen by that, and the page did not become wider
    assert page.is_hidden("#chosen")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert seen.errors == []
    page.close()


def test_pictures_tables_and_model_can_be_kept(seen):
    """SVG, PNG, CSV and the model file come out of the page itself, and say what it shows."""
    kept = {}
    for word in ("SVG", "PNG", "CSV", "model"):
        with seen.page.expect_download() as found:
            seen.page.click(f".files button:text-is('{word}')")
        kept[word] = Path(found.value.path()).read_bytes()
    svg = ElementTree.fromstring(kept["SVG"])
    assert svg.tag.endswith("svg")
    assert len(svg) > 20
    assert kept["PNG"][:4] == b"\x89PNG"
    head, *rows = csv.reader(kept["CSV"].decode().splitlines())
    assert len(rows) == 1001
    x = np.array([row[head.index("B0.x [m]")] for row in rows], dtype=float)
    t = np.array([row[0] for row in rows], dtype=float)
    # seven digits
    np.testing.assert_allclose(x, four_bar_reference(t, 2)[:, 0], atol=1e-6)
    assert len(from_data(yaml.safe_load(kept["model"])).bodies) == 5


def test_traces_follow_and_arrows(seen):
    """Another point leaves a trace; a followed one stays in the middle; arrows are drawn and made longer."""
    canvas = seen.page.locator("canvas")
    pictures = {canvas.screenshot()}
    seen.page.select_option("[aria-label='part of the mechanism']", "B1")
    seen.page.click(".options button:text-is('trace')")
    assert seen.value("sarrusReport.players[0].traced.length") == 2
    pictures.add(canvas.screenshot())
    seen.page.check(".options label:has-text('follow') input")
    middle = seen.value(
        "(() => { const p = sarrusReport.players[0], i = p.followed();"
        " return [p.flat[3 * i] / p.w, p.flat[3 * i + 1] / p.h]; })()"
    )
    np.testing.assert_allclose(middle, 0.5, atol=0.03)
    for word in ("velocities", "reactions"):
        seen.page.select_option("[aria-label=arrows]", word)
        pictures.add(canvas.screenshot())
    seen.page.fill("[aria-label='length of the arrows']", "3")
    pictures.add(canvas.screenshot())
    assert len(pictures) == 5
    seen.page.keyboard.press("Escape")
    assert seen.errors == []


def test_picture_stays_near_the_plots(browser, report):
    """At 1400 pixels the picture is still in sight at the end of the page; no button sends anything away."""
    seen = Watched(browser, report, 1400)
    seen.value("void document.querySelector('#made').scrollIntoView()")
    seen.value(FRAMES)
    box = seen.page.locator("canvas").bounding_box()
    assert 0 <= box["y"] < 450
    titles = seen.value(
        "[...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title.toLowerCase())"
    )
    assert titles
    assert not [t for t in titles if "cloud" in t or "edit" in t or "share" in t]
    seen.page.close()


def test_hostile_names_run_no_script(browser, report, tmp_path):
    """Names with scripts in them are shown as text."""
    path = tmp_path / "hostile.html"
    path.write_text(make_report([with_hostile_names(report.parent)]), encoding="utf-8")
    seen = Watched(browser, path)
    assert seen.errors == []
    assert "<img src=x" in seen.page.title()
    assert seen.value("document.images.length") == 0
    seen.page.close()


def test_playback_is_fluent_for_forty_windows(browser, tmp_path):
    """N = 40: a frame is drawn in a fiftieth of a second, and frames follow each other."""
    folder = save_example(tmp_path / "run", "n-four-bar", duration=10.0)
    path = folder / "report.html"
    path.write_text(make_report([load_run(folder)]), encoding="utf-8")
    seen = Watched(browser, path)
    # drawing one frame, whatever else the machine does: the best of many
    seconds = seen.value(
        """(() => { const p = sarrusReport.players[0]; let best = 1e9;
          for (let k = 0; k < 60; k++) { const t = performance.now(); sarrusReport.clock.set(k / 10);
            best = Math.min(best, performance.now() - t); } return best / 1000; })()"""
    )
    assert seconds < 1 / 50
    # thirty more, playing again from the start where the end came before
    drawn = seen.value(
        """new Promise((resolve) => {
          const { clock, players } = sarrusReport, first = players[0].frames;
          clock.onChange(() => {
            if (players[0].frames >= first + 30) resolve(players[0].frames - first);
            else if (!clock.playing) clock.play();
          });
        })"""
    )
    assert drawn >= 30
    seen.page.close()


@pytest.mark.parametrize("kind", ["run", "runs", "benchmark", "engines", "player"])
def test_no_button_sends_anything_anywhere(browser, report, tmp_path, kind):
    """Every button of every kind of page, and what it brings up: no request, no window, no other page."""
    run = load_run(report.parent)
    path, ready = tmp_path / "page.html", "html[data-ready=yes]"
    if kind == "run":
        path = report
    elif kind == "runs":
        path.write_text(make_report([run, run]), encoding="utf-8")
    elif kind == "benchmark":
        path.write_text(make_bench_report([run.record]), encoding="utf-8")
    elif kind == "engines":
        kept = {f"{c:g}": {"classes": [""]} for c in (0.95, 0.98, 1.02, 1.05)}
        engine = {"id": "mujoco", "settings": {}, "why": ""}
        record = {**run.record, "engine": engine, "changed": kept}
        path.write_text(make_engine_report([record]), encoding="utf-8")
    else:
        run.result.animate().save(path)
        ready = "canvas"
    seen = Watched(browser, path, ready=ready)
    words = seen.press_everything()
    # plots have their own buttons: these were among them, and none that shares
    assert kind == "player" or any("png" in word.lower() for word in words)
    assert not [word for word in words if re.search("share|cloud|upload|edit in", word, re.I)]
    assert "form-action 'none'" in path.read_text(encoding="utf-8")
    seen.page.close()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_animation_starts_by_itself_if_its_address_says_so(browser, tmp_path, motion):
    """With #play it moves and starts again after its end, unless the reader prefers reduced motion."""
    m = Mechanism.load(Path(__file__).parents[2] / "examples" / "four_bar.yaml")
    path = tmp_path / "moving.html"
    simulate(m, 0.05).animate("B0").save(path)
    page = browser.new_page(reduced_motion=motion)
    page.goto(f"{path.as_uri()}#play")
    button = page.locator("button.play")
    if motion == "reduce":
        assert "play" in button.inner_text()
    else:
        # the run is short: it ends, and is seen to move again
        for word in ("play", "pause", "play"):
            page.locator("button.play", has_text=word).wait_for()
    page.close()


def test_print_is_light_and_without_buttons(browser, report, tmp_path):
    """Printed from a dark page: a PDF of some pages, controls hidden."""
    seen = Watched(browser, report, theme="dark")
    seen.page.emulate_media(media="print")
    assert not seen.page.locator(".transport").is_visible()
    assert not seen.page.locator("#theme").is_visible()
    assert seen.page.pdf(format="A4")[:4] == b"%PDF"
    seen.page.close()


@pytest.fixture(scope="module")
def pins(browser, tmp_path_factory):
    """The report of two bars that carry a third: pin C joins all three of them."""
    m = Mechanism("truss")
    m.rod("left", (-0.6, 0), (0, -0.8), mass=2)
    m.rod("right", (0.6, 0), (0, -0.8), mass=2)
    m.rod("hanger", (0, -0.8), (0.5, -1.8), mass=5)
    m.revolute("A", m.ground, "left", at=(-0.6, 0))
    m.revolute("B", m.ground, "right", at=(0.6, 0))
    m.revolute("C", "left", "right", "hanger", at=(0, -0.8))
    result = simulate(m, duration=1, output_step=0.02)
    folder = tmp_path_factory.mktemp("pins")
    save_simulation(folder, m, result, ["C"], "truss", "a script")
    (folder / "report.html").write_text(make_report([load_run(folder)]), encoding="utf-8")
    page = Watched(browser, folder / "report.html")
    yield page, result
    page.page.close()


def test_pins_of_three_bodies_show_the_force_on_each(pins):
    """Tooltip rows and curves name the bodies with the API's numbers; arrows can be limited to one body."""
    seen, result = pins
    seen.page.select_option("[aria-label='part of the mechanism']", "C")
    rows = seen.value("sarrusReport.players[0].values.rows('C', 0)")
    for reaction in result.reactions.on_each("C"):
        row = next(row for row in rows if row.startswith(f"F on {reaction.body} = "))
        # rows show four digits and more
        assert float(row.split()[-2]) == pytest.approx(reaction.sizes[0], rel=1e-3)
    assert "F on hanger" in seen.page.inner_text("#chosen")
    seen.page.select_option("[aria-label=arrows]", "reactions")
    count = "sarrusReport.players[0].vectors('reactions', 0).length"
    assert seen.value(count) == 5
    seen.page.select_option("[aria-label='body that reactions act on']", "left")
    assert seen.value(count) == 2
    assert seen.errors == []
