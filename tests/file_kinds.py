"""Every kind of file that sarrus reads, small and valid, and the commands that read it."""

import gzip
import io
import os
import shutil
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sarrus
from asmt_files import crank_slider
from format_files import block, four_bar, mjcf
from mechanism.everything import plane_of_everything, space_of_everything
from sarrus import cache, cli
from sarrus.studies import cluster
from sarrus.studies.runs import run_one
from sarrus.workbench.server import Workbench

MODEL = """\
sarrus: 1
name: slider-crank
gravity: [0, -9.81]
bodies:
  crank: {rod: ["[0, 0] mm", "[0, 100] mm"], mass: 500 g}
  connecting rod: {rod: ["[0, 100] mm", "[300, 0] mm"], mass: 1 kg}
  piston: {mass: 2 kg, center: "[300, 0] mm", inertia: 0.01 kg m^2}
joints:
  O: {revolute: [ground, crank], at: [0, 0]}
  A: {revolute: [crank, connecting rod], at: "[0, 100] mm"}
  B: {revolute: [connecting rod, piston], at: "[300, 0] mm"}
  guide: {prismatic: [ground, piston], at: "[300, 0] mm", axis: [1, 0]}
springs:
  coil: {bodies: [ground, piston], start: "[500, 0] mm", end: "[300, 0] mm", stiffness: 10, damping: 0.1}
angular_velocities: {crank: -300 rpm}
simulate: {duration: 20 ms, output_step: 10 ms}
"""
STUDY = """\
sarrus_study: 1
mechanism: study_model.yaml
vary: {gravity: [[0, -9.8], [0, -9.9]], bodies.crank.mass: {uniform: [0.1 kg, 0.2 kg]}}
samples: 1
simulate: {duration: 20 ms, output_step: 10 ms}
record: [energy_drift, {maximum: A.x}, {function: functions.py:last}]
"""
OPTIMISATION = """\
sarrus_optimize: 1
mechanism: study_model.yaml
variables: {bodies.crank.mass: {from: 0.1 kg, to: 2 kg, start: 0.5 kg}}
minimise: [{final: A.x, weight: 2}, {difference: A.y, to: 1 + 0.1*time}]
constraints: [{largest: A.vx, at_most: 10 m/s}]
duration: 20 ms
output_step: 5 ms
"""
FUNCTIONS = """\
def last(result, mechanism):
    return float(result.position("A")[-1, 0])
"""
METHOD = """\
import sarrus

@sarrus.method("soaked", order=1)
def step(system, state, h):
    a = system.accelerations(state.q, state.v, state.t)[0]
    return state.q + h * state.v, state.v + h * a
"""
MJCF_TAIL = (
    "<equality><connect name='c' body1='b' body2='world' anchor='0.3 0 0'/></equality>"
    "<keyframe><key name='k' qpos='0.1 0.2'/></keyframe>"
)
# 20 ms are enough to read a file; a stiff one may take any number of steps within them
BRIEF = ("--duration", "0.02")
OUT = ("--out", "out")


@dataclass(frozen=True)
class Kind:
    """A kind of files.

    copied: what a command needs, files or folders; harmed: patterns of the files that are changed; commands: each
    with its words; ours: patterns of files that the commands may change; endless: whether a changed file may
    ask for a simulation of any length.
    """

    copied: tuple
    harmed: tuple
    commands: tuple
    ours: tuple = ()
    endless: bool = False


def model_commands(file, *, brief=BRIEF):
    """All that is done with a model."""
    return (
        *(("inspect", file), ("inspect", file, "--json"), ("modes", file), ("view", file)),
        *(("branches", file), ("branches", file, "--json"), ("design", file)),
        ("simulate", file, *brief, "--output-step", "0.01", *OUT),
        *(("export", file, f"exported{ending}") for ending in (".xml", ".urdf", ".osim", ".yaml")),
        ("import", file, "imported.yaml"),
    )


def imported(file):
    """All that is done with a model of another program."""
    return (
        *model_commands(file),
        ("import", file, "i.yaml", "--as-authored"),
        ("import", file, "i.yaml", "--json"),
    )


def judged(file):
    """A table of the pendulum, judged."""
    return (
        ("judge", file, "--problem", "simple-pendulum", *BRIEF),
        ("judge", file, "--problem", "simple-pendulum"),
    )


MODELS = ("model.yaml", "plane.yaml", "space.yaml")
RUN = (
    ("report", "run", *OUT),
    ("audit", "run"),
    ("board", "run"),
    ("submit", "run", *OUT),
    ("view", "run"),
    ("movie", "run", "m.png"),
)
SWEEP = ("sweep", "study.yaml", "--out", "study", "--workers", "1")
STUDIED = ("study.yaml", "study_model.yaml", "functions.py")
KINDS = {
    **{name: Kind((name,), (name,), model_commands(name), endless=True) for name in MODELS},
    "packing a model": Kind(
        ("model.yaml",),
        ("model.yaml",),
        (
            ("problem", "model.yaml", *BRIEF, "--output-step", "0.01", *OUT),
            ("judge", "table.txt", "--problem", "model.yaml"),
        ),
        endless=True,
    ),
    "MJCF": Kind(("robot.xml",), ("robot.xml",), imported("robot.xml"), endless=True),
    "URDF": Kind(("bar.urdf", "bar.yaml"), ("bar.*",), imported("bar.urdf"), endless=True),
    "ASMT": Kind(("crank.asmt",), ("crank.asmt",), imported("crank.asmt"), endless=True),
    "specification": Kind(
        ("spec.xml",),
        ("spec.xml",),
        (
            *(("spec", "show", "spec.xml"), ("inspect", "spec.xml"), ("view", "spec.xml")),
            ("run", "spec.xml", *BRIEF, *OUT),
        ),
        endless=True,
    ),
    "run of a problem": Kind(
        ("run",), ("run/run.json", "run/result.h5", "run/results.txt"), RUN, ("run/report.html",)
    ),
    "run of a model": Kind(
        ("own",),
        ("own/run.json", "own/result.h5", "own/model.yaml"),
        (("report", "own", *OUT), ("view", "own"), ("movie", "own", "m.png"), ("report", "own")),
        ("own/.sarrus-files", "own/report.html"),
    ),
    "list of our files": Kind(
        ("own", "model.yaml"),
        ("own/.sarrus-files",),
        (("simulate", "model.yaml", *BRIEF, "--out", "own"), ("report", "own")),
        ("own/*",),
    ),
    "benchmark": Kind(
        ("bench",),
        ("bench/cells/*/*/*.json", "bench/.sarrus-files", "bench/cells/*/*/.sarrus-files"),
        (
            ("report", "bench", *OUT),
            ("report", "bench"),
            (
                "bench",
                "simple-pendulum",
                *BRIEF,
                *("--method", "series", "--tolerances", "1e-3", "--repeat", "1", "--out", "bench"),
            ),
        ),
        ("bench/*", "bench/cells/*/*/*"),
    ),
    "submission": Kind(("packed",), ("packed/*.zip",), (("board", "packed"),)),
    **{
        f"table {ending}": Kind((f"table{ending}",), (f"table{ending}",), judged(f"table{ending}"))
        for ending in (".txt", ".csv", ".sto", ".mot", ".parquet", ".npz", ".txt.gz")
    },
    "problem's folder": Kind(
        ("problem", "table.txt"),
        ("problem/**/problem.json", "problem/**/reference.csv", "problem/**/model.yaml"),
        (
            ("judge", "table.txt", "--problem", "PROBLEM"),
            (
                "bench",
                "PROBLEM",
                "--method",
                "series",
                "--tolerances",
                "1e-3",
                "--repeat",
                "1",
                *OUT,
            ),
        ),
        endless=True,
    ),
    "study": Kind(
        STUDIED, STUDIED, (("sweep", "study.yaml", *OUT, "--workers", "1"),), endless=True
    ),
    "study's folder": Kind(
        ("study", *STUDIED),
        (
            "study/*.json",
            "study/*.parquet",
            "study/parts/*.parquet",
            "study/.sarrus-files",
            "study/lock",
            "study/*.html",
        ),
        (SWEEP, SWEEP, (*SWEEP, "--fresh")),
        ("study/*", "study/parts/*"),
    ),
    "optimisation": Kind(
        ("optimisation.yaml", "study_model.yaml"),
        ("optimisation.yaml",),
        (("optimize", "optimisation.yaml", *OUT),),
        endless=True,
    ),
    "state of an optimisation": Kind(
        ("optimisation.yaml", "study_model.yaml", "state"),
        ("state/state.json",),
        (("optimize", "optimisation.yaml", "--out", "state"),),
        ("state/*",),
    ),
    "method": Kind(
        ("method.py",),
        ("method.py",),
        (("run", "simple-pendulum", *BRIEF, "--method", "method.py", "--step", "0.01", *OUT),),
        endless=True,
    ),
    "neighbours of a method": Kind(
        ("method.py", "numpy.py", "model.yaml"),
        ("numpy.py",),
        (("run", "simple-pendulum", *BRIEF, "--method", "method.py", "--step", "0.01", *OUT),),
    ),
    "cache": Kind(
        ("cache",),
        ("cache/*/*/*", "cache/*/*"),
        (("cache",), ("cache", "--clear")),
        ("cache/*/*/*", "cache/*/*"),
    ),
}


@contextmanager
def in_folder(folder):
    """Words, paths and temporary files are those of a folder, until afterwards."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def call(*words):
    """A command in this process: exit status, and what it printed on both streams."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["sarrus", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
    except SystemExit as ended:
        return ended.code or 0, out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("main always ends by SystemExit")


def succeed(*words):
    """A command that must succeed."""
    code, _, err = call(*words)
    assert code == 0, (words, err)


def simplify_commands():
    """Servers answer one question and end; the runs of a study are run here, without a cluster."""

    def serve(bench):
        question = {"page": "p", "number": 1, "data": bench.data, "duration": 0.02, "full": True}
        bench.page()
        answer = bench.answer("/solve", question)
        print("\n".join(answer.get("errors", ())), file=sys.stderr)

    @contextmanager
    def connect(scheduler, workers):
        yield SimpleNamespace(nthreads=lambda: {"here": 1})

    def run_study(client, work, local):
        plan = work.study.plan
        for number in work.pending:
            row, kept = run_one(plan, number, work.samples.row(plan.columns, number))
            if "KeyboardInterrupt" in row["message"]:
                # workers never hear Ctrl-C, so a run takes it for its own failure
                raise KeyboardInterrupt
            work.write([row], [] if kept is None else [kept])

    Workbench.serve = serve
    cluster.connect, cluster.run_study = connect, run_study
    # a browser is not part of it
    os.environ["BROWSER"] = "true"


def make_desk(folder):
    """Write a valid file of every kind."""
    folder.mkdir()
    with in_folder(folder):
        Path("model.yaml").write_text(MODEL)
        Path("study.yaml").write_text(STUDY)
        shutil.copy("model.yaml", "study_model.yaml")
        Path("optimisation.yaml").write_text(OPTIMISATION)
        succeed("optimize", "optimisation.yaml", "--out", "state")
        Path("method.py").write_text(METHOD)
        Path("functions.py").write_text(FUNCTIONS)
        Path("numpy.py").write_text("raise RuntimeError('not the real one')\n")
        plane_of_everything().save("plane.yaml")
        space_of_everything().save("space.yaml")
        bodies = block("a", inside=block("b", pos="0.15 0 0"))
        mjcf(folder, bodies, MJCF_TAIL, name="robot")
        four_bar(folder)
        Path("crank.asmt").write_text(crank_slider())
        succeed("spec", "write", "double-four-bar", "--out", "spec.xml")
        succeed("run", "simple-pendulum", "--out", "runs")
        shutil.move("runs/simple-pendulum", "run")
        succeed("submit", "run", "--out", "packed")
        write_tables(Path("run/results.txt"))
        succeed("simulate", "model.yaml", *BRIEF, "--out", "own")
        succeed("problem", "model.yaml", *BRIEF, "--output-step", "0.01", "--out", "problem")
        succeed(
            *("bench", "simple-pendulum", "--method", "series", "--tolerances", "1e-3"),
            *("--repeat", "1", "--out", "bench", *BRIEF),
        )
        succeed(*SWEEP)
        for number in range(3):
            keep_entry(folder / "cache", f"entry-{number}")


def keep_entry(folder, name):
    """An entry of compiled code in a cache of its own."""
    before = os.environ.get("SARRUS_CACHE_DIR")
    os.environ["SARRUS_CACHE_DIR"] = str(folder)
    try:
        cache.Store("soaked").write(name, bytes(1000))
    finally:
        os.environ.pop("SARRUS_CACHE_DIR")
        if before is not None:
            os.environ["SARRUS_CACHE_DIR"] = before


def write_tables(results):
    """The motion of a run in all formats of tables."""
    lines = [line for line in results.read_text().splitlines() if line and line[0] not in "#%"]
    rows = [line.split() for line in lines]
    rows = rows if is_number(rows[0][0]) else rows[1:]
    names = list(sarrus.problems.get("simple-pendulum").columns)
    shutil.copy(results, "table.txt")
    Path("table.csv").write_text(
        "\n".join([",".join(names), *(",".join(row) for row in rows)]) + "\n"
    )
    head = f"table\nversion=1\nnRows={len(rows)}\nnColumns={len(names)}\ninDegrees=no\nendheader\n"
    body = "\n".join(["\t".join(["time", *names[1:]]), *("\t".join(row) for row in rows)]) + "\n"
    for ending in (".sto", ".mot"):
        Path(f"table{ending}").write_text(head + body)
    Path("table.txt.gz").write_bytes(gzip.compress(Path("table.txt").read_bytes()))
    columns = [[float(x) for x in column] for column in zip(*rows, strict=True)]
    named = dict(zip(names, columns, strict=True))
    np.savez(Path("table.npz"), **{name: np.array(column) for name, column in named.items()})
    pq.write_table(pa.table(named), "table.parquet")


def is_number(word):
    """Whether a word is one."""
    try:
        float(word)
    except ValueError:
        return False
    return True
