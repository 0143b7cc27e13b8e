"""Policies of pages: no script runs but ours, though a name were written into the page as it is."""

import re
import threading

import pytest

from browser import PATIENCE, open_browser
from run_folders import save_example
from sarrus import problems
from sarrus.mechanism.files import to_data
from sarrus.report.benchmark_page import make_bench_report
from sarrus.report.html_page import render
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import load_run
from sarrus.scene.player import Player, make_policy
from sarrus.studies import overview
from sarrus.workbench import live_page as workbench_page
from sarrus.workbench.saving import OpenedFile
from sarrus.workbench.server import Workbench

# what a name would do if nobody escaped it; void: a link that gives text would replace the page
DEED = "void (document.documentElement.dataset.attacked = 'yes')"
ATTACK = (
    f"<script>{DEED}</script>"
    f'<img src=x onerror="{DEED}"><svg onload="{DEED}"></svg>'
    f'<iframe srcdoc="<script>parent.{DEED.removeprefix("void (")[:-1]}</script>"></iframe>'
    f'<script src="data:text/javascript,{DEED}"></script>'
    f'<a id=link href="javascript:{DEED}">x</a>'
)
TRY = f"""() => {{
  document.getElementById("link").click();
  try {{ eval("{DEED}"); }} catch (error) {{ }}
  try {{ new Function("{DEED}")(); }} catch (error) {{ }}
}}"""


def is_attacked(tab):
    """Whether any of it ran; what a test does itself is not bound by the policy, but a timer of the page is."""
    tab.evaluate(f"new Promise((go) => setTimeout(() => {{ ({TRY})(); setTimeout(go, 0); }}, 0))")
    return tab.locator("html[data-attacked]").count() > 0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return load_run(save_example(tmp_path_factory.mktemp("policies") / "run", duration=0.3))


@pytest.fixture(scope="module")
def pages(run):
    """All kinds of pages that are written to files."""
    script = "\n".join(
        (overview.HERE / name).read_text(encoding="utf-8") for name in overview.SCRIPTS
    )
    study = {
        "columns": {"run": [0]},
        "labels": {"run": "run"},
        "status": ["done"],
        "parameters": [],
    }
    body = [overview.PARALLEL, overview.SCATTER]
    data = {"scenes": [], "marks": [], "figures": [], "study": study}
    return {
        "run": make_report([run]),
        "benchmark": make_bench_report([{**run.record, "compiled": True}]),
        "study": render("study", "", "", body, data, script),
        "player": Player(run.scene).page(),
    }


def policy_of(page):
    return re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]


@pytest.mark.slow
def test_policies_name_our_scripts_alone(pages):
    """By their hashes, each of those in the page: nothing inline besides, and no eval."""
    for name, page in pages.items():
        (allowed,) = [p for p in policy_of(page).split("; ") if p.startswith("script-src")]
        assert "unsafe" not in allowed, name
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert len(scripts) == allowed.count("sha256-") > 0, name
        assert allowed in make_policy(scripts), name
    assert "script-src 'self';" in workbench_page.POLICY


@pytest.mark.slow
def test_no_script_of_a_name_runs(pages, tmp_path):
    """A page that holds an attack as it is, as if escaping had been forgotten, does nothing of it."""
    with open_browser() as browser:
        for name, page in pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(page.replace("<body>", f"<body>{ATTACK}", 1), encoding="utf-8")
            assert ATTACK in path.read_text(encoding="utf-8")
            tab = browser.new_page()
            tab.set_default_timeout(PATIENCE)
            tab.goto(path.as_uri())
            assert not is_attacked(tab), name
            tab.close()


@pytest.mark.slow
def test_no_script_of_a_name_runs_in_the_workbench(monkeypatch):
    """The same of the page that is served: its own scripts run, no other."""
    monkeypatch.setattr(workbench_page, "escape", lambda text, *_: text)
    data = to_data(problems.get("simple-pendulum").mechanism()) | {"name": f"</title>{ATTACK}"}
    bench = Workbench(data, OpenedFile(None), 1.0, port=0)
    thread = threading.Thread(target=bench.serve)
    thread.start()
    try:
        with open_browser() as browser:
            tab = browser.new_page()
            tab.set_default_timeout(PATIENCE)
            tab.goto(bench.guard.make_address())
            tab.wait_for_selector("html[data-ready=yes]", state="attached")
            assert f"<script>{DEED}" in tab.content()
            assert not is_attacked(tab)
    finally:
        bench.stop()
        thread.join()
        bench.close()
