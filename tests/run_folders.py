"""Folders of runs for tests of what people look at: one success, one failure, one with hostile names."""

from dataclasses import replace

from sarrus import problems, simulate
from sarrus.bench import judge, save_run
from sarrus.bench.runner import run_problem
from sarrus.runs.run_folder import load_run
from sarrus.scene import Mark

HOSTILE = (
    '<img src=x onerror="document.title=1">&\u2028</script><script>document.title=2</script>$x_1$'
)


def save_example(folder, problem="double-four-bar", method="series", duration=3.0, **settings):
    """Run a problem briefly and keep it; returns its folder."""
    options = settings.pop("options", {})
    item = problems.get(problem, **options)
    result, timing = run_problem(item, method=method, duration=duration, repeats=1, **settings)
    save_run(folder, item, result, judge(item, result), timing, f"sarrus run {problem}")
    return folder


def save_stopped(folder):
    """A run that stops at its first crossing, as it was reported to; returns its folder."""
    problem = problems.get("double-four-bar")
    stopped = simulate(problem.mechanism(), 3.0, 0.01, at_crossing="stop")
    _, timing = run_problem(problem, method="series", duration=0.1, repeats=1)
    save_run(folder, problem, stopped, judge(problem, stopped), timing, "a script")
    return folder


def with_hostile_names(folder):
    """A run whose every name and sentence is an attack on the page."""
    run = load_run(folder)
    sketch = run.scene.sketch
    sketch = replace(
        sketch,
        name=HOSTILE,
        shapes=tuple(replace(s, name=HOSTILE) for s in sketch.shapes),
        signs=tuple(replace(s, name=HOSTILE, bodies=(HOSTILE,)) for s in sketch.signs),
    )
    marks = (Mark(0.5, "crossing", HOSTILE),)
    figures = tuple(
        replace(f, title=HOSTILE, panels=tuple(replace(p, label=HOSTILE) for p in f.panels))
        for f in run.figures
    )
    scene = replace(run.scene, sketch=sketch, observed_name=HOSTILE, marks=marks)
    problem = {**run.record["problem"], "title": HOSTILE, "note": HOSTILE, "source": HOSTILE}
    checks = [{**c, "what": HOSTILE, "unit": HOSTILE} for c in run.record["judgement"]["checks"]]
    judged = {"checks": checks, "branch": HOSTILE, "findings": [HOSTILE]}
    record = {
        **run.record,
        "judgement": {**run.record["judgement"], **judged},
        "problem": problem,
        "status": "diverged",
        "message": HOSTILE,
        "command": HOSTILE,
        "notes": [HOSTILE],
        "verdict": {"text": [HOSTILE], "crossings": []},
    }
    return replace(run, record=record, scene=scene, figures=figures)
