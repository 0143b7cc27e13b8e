"""All pages in a real browser: every text has enough contrast, nothing overflows, all controls work by keys."""

import pytest

from browser import Watched, open_browser
from page_checks import check_page, find_faults, find_unreachable
from run_folders import save_example
from sarrus import Mechanism, Polynomial, simulate
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
    """Files of a run, a benchmark and other engines; that of a study is looked at in tests/studies."""
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
    return {name: folder / f"{name}.html" for name in texts}


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file."""
    with open_browser() as found:
        yield found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["run", "benchmark", "engines"])
def test_pages(browser, pages, name, width):
    """Contrast of 4.5 (large text 3) by WCAG AA, no sideways scrolling, names and keys for all controls."""
    seen = Watched(browser, pages[name], width=width)
    check_page(seen.page, keys=width == WIDTHS[0])
    assert seen.errors == []
    seen.page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_workbench(browser, width):
    """The same of the workbench, looking and editing."""
    with opened(browser, to_data(four_bar()), width=width) as bench:
        check_page(bench.page, keys=width == WIDTHS[0])
        bench.page.keyboard.press("e")
        assert find_faults(bench.page) == []


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
