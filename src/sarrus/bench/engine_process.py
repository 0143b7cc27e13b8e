"""A process for one engine: it receives requests for runs, one line of JSON each, and answers with their records.

The output of engines goes to a file, so that it cannot mix with the answers; its end shows why a process died.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import problems
from ..engines import known_engines, simulate_with
from ..mechanism import MechanismError
from ..problems import Problem
from ..result import Result
from ..runs.benchmark_records import OURS
from .clock import Timing, time_solve
from .judge import judge
from .runner import describe_run, run_problem


def limit_cpu_time(seconds: float) -> None:
    """End this process (SIGXCPU) after this much more CPU time, where the system supports it."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(time.process_time() + seconds)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Run, judge, and return the record; a message under "rejected" if the run is not possible."""
    wanted = question["problem"]
    if wanted["folder"]:
        problem = problems.load_packed(wanted["folder"])
    else:
        problem = problems.get(wanted["id"], **wanted["options"])
    problem = replace(problem, duration=wanted["duration"])
    try:
        result, timing = _run(problem, question)
    except (MechanismError, ValueError, RuntimeError) as error:
        return {"rejected": " ".join(str(error).split())[:500]}
    judged = judge(problem, result)
    record = describe_run(problem, result, judged, timing, question["command"])
    engine = question["engine"]
    if engine != OURS:
        record["versions"][known_engines()[engine].package] = known_engines()[engine].version
    return record


def _run(problem: Problem, question: dict[str, Any]) -> tuple[Result, Timing]:
    repeats, patience = question["repeats"], question["patience"]
    settings = question["settings"]
    if question["engine"] == OURS:
        return run_problem(
            problem,
            method=settings["method"],
            tolerance=question["setting"],
            repeats=repeats,
            patience=patience,
            specialised=True,
        )
    mechanism = problem.mechanism()

    def once() -> Result:
        every = min(problem.output_step, problem.duration)
        step = question["setting"]
        return simulate_with(
            question["engine"],
            mechanism,
            problem.duration,
            step=step,
            output_step=every,
            **settings,
        )

    return time_solve(once, repeats, patience)


def main(log: Path) -> None:
    """Answer requests until the input ends."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as reply:
        printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        for line in sys.stdin:
            question = json.loads(line)
            limit_cpu_time(question["cpu_limit"])
            reply.write(json.dumps(answer(question)) + "\n")
            reply.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
