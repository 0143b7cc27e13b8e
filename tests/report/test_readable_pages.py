"""All pages in a real browser: every text has enough contrast, nothing overflows, all controls work by keys."""

import pytest

from browser import Watched, open_browser
from page_checks import find_faults, find_unreachable
from run_folders import save_example
from sarrus import Mechanism, Polynomial, simulate, sweep
from sarrus.mechanism import to_data
from sarrus.report.benchmark_page import make_bench_report
from sarrus.report.engines_page import make_engine_report
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run, save_simulation
from workbench_pages import opened

pytestmark = pytest.mark.slow

WIDTHS = (1400, 400)


def four_bar():
    """A driven four-bar, with all of the designer's quantities."""
    m = Mechanism("crank-rocker", gravity=(0, -9.81))
    m.four_bar(
        ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0, points={"P": (0.2, 0.25)}
    )
    m.drive("motor", "A", Polynomial([0, "60 rpm"]))
    return m


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of all pages that are files: a run, a benchmark, other engines, a study with long names."""
    folder = tmp_path_factory.mktemp("pages")
    m = four_bar()
    save_simulation(folder / "run", m, simulate(m, 1, output_step=0.02), ["P"], "crank-rocker", "x")
    record = load_run(save_example(folder / "example", duration=1.0)).record
    kept = {f"{c:g}": {"classes": [""]} for c in (0.95, 0.98, 1.02, 1.05)}
    engine = {**record, "engine": {"id": "mujoco", "settings": {}, "why": ""}, "changed": kept}
    texts = {
        "run": make_report([load_run(folder / "run")]),
        "benchmark": make_bench_report([record]),
        "engines": make_engine_report([engine]),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    records = [{"design": "peak shaking force"}, {"design": "A-B-C-D.least transmission angle"}]
    vary = {"build.first.four-bar.crank": [0.08, 0.1, 0.5]}
    build = {
        "four-bar": {"ground": 0.4, "crank": 0.1, "coupler": 0.35, "rocker": 0.3, "angle": 1.0}
    }
    data = {"sarrus": 1, "gravity": [0, -9.81], "build": {"first": build}}
    data["drives"] = {"motor": {"joint": "A", "polynomial": [0, 6.28]}}
    sweep(
        mechanism=data, vary=vary, simulate=False, record=records, out=folder / "study", workers=1
    )
    return {
        **{name: folder / f"{name}.html" for name in texts},
        "study": folder / "study" / "overview.html",
    }


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file."""
    with open_browser() as found:
        yield found


def check(page, width):
    """No fault in either theme, and by keys where there is room for everything."""
    assert find_faults(page) == []
    page.click("#theme")
    assert find_faults(page) == []
    if width == WIDTHS[0]:
        assert find_unreachable(page) == ([], 0)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["run", "benchmark", "engines", "study"])
def test_pages(browser, pages, name, width):
    """Contrast of 4.5 (large text 3) by WCAG AA, no sideways scrolling, names and keys for all controls."""
    seen = Watched(browser, pages[name], width=width)
    check(seen.page, width)
    assert seen.errors == []
    seen.page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_workbench(browser, width):
    """The same of the workbench, looking and editing."""
    with opened(browser, to_data(four_bar()), width=width) as bench:
        check(bench.page, width)
        bench.page.keyboard.press("e")
        assert find_faults(bench.page) == []


def test_axes_of_a_study_work_by_keys(browser, pages):
    """Up on an axis keeps the upper runs, Escape all of them; an arrow on a name moves its axis; focus stays."""
    seen = Watched(browser, pages["study"])
    kept = "Number(document.querySelector('#parallel').dataset.kept)"
    titles = "[...document.querySelectorAll('#parallel .axis-title')].map((t) => t.textContent)"
    whole, names = seen.value(kept), seen.value(titles)
    assert whole == 2
    seen.page.locator("#parallel .touch").first.focus()
    seen.page.keyboard.press("ArrowUp")
    assert seen.value(kept) == 1
    seen.page.keyboard.press("Escape")
    assert seen.value(kept) == whole
    seen.page.locator("#parallel .axis-title").first.focus()
    seen.page.keyboard.press("ArrowRight")
    assert seen.value(titles) == [names[1], names[0], *names[2:]]
    seen.page.keyboard.press("ArrowLeft")
    assert seen.value(titles) == names
    seen.page.close()


FAULTY = """<!doctype html><html data-ready="yes"><body style="background:#fff"><p style="color:#999">faint</p>
<div style="background:#000"><p style="color:#333">dark</p></div><p style="opacity:0.4">faded</p>
<p style="width:3000px">wide</p><button></button><button tabindex="-1">no key</button><p>plain</p></body></html>"""


def test_faults_are_found(browser, tmp_path):
    """The checks can fail: faint text, text on a dark ground, faded text, a wide part, a button without a name."""
    (tmp_path / "faulty.html").write_text(FAULTY, encoding="utf-8")
    seen = Watched(browser, tmp_path / "faulty.html")
    found = find_faults(seen.page)
    for word in ("'faint'", "'dark'", "'faded'", "scrolls sideways", "without a name"):
        assert any(word in fault for fault in found), word
    assert not any("plain" in fault for fault in found)
    assert [element for element in find_unreachable(seen.page)[0] if "no key" in element]
    seen.page.close()
