"""Figures of studies: time, overhead and memory of 20,000 double four-bars on two workers (or fewer: argument)."""

import sys
import tempfile
import time
from pathlib import Path

import psutil

from sarrus.studies.session import read, run_in_folder

RUNS = 20_000


def make_study(runs):
    """Random masses of all cranks, 10 s each."""
    masses = {f"bodies.crank {i}.mass": {"uniform": [0.5, 2.0]} for i in range(3)}
    return {
        "problem": "double-four-bar",
        "vary": masses,
        "samples": runs,
        "seed": 7,
        "simulate": {"duration": 10, "output_step": 0.1},
        "record": ["energy_drift", {"maximum": "B0.x"}, "steps"],
    }


class Memory:
    """Resident memory of this process and its workers [MB], in tenths of the study."""

    def __init__(self):
        self.seen = {}

    def __call__(self, state):
        """Look once in each tenth."""
        me = psutil.Process()
        workers = [p for p in me.children() if "spawn_main" in " ".join(p.cmdline())]
        tenth = 10 * state.done // state.runs
        if tenth not in self.seen and workers:
            sizes = [p.memory_info().rss / 1e6 for p in (me, *workers)]
            self.seen[tenth] = (state.seconds, sizes)


def main(runs=RUNS):
    """Run the study in a temporary folder and print its figures."""
    memory = Memory()
    begin, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_in_folder(
            read(make_study(runs)), Path(folder) / "out", workers=2, progress=memory
        )
    wall = time.perf_counter() - begin
    print(f"{outcome.ran} runs, {outcome.failed} failed: {wall:.1f} s, {runs / wall:.0f} runs/s")
    print(
        f"overhead {1e3 * outcome.overhead:.2f} ms a run; client {time.process_time() - cpu:.1f} s CPU"
    )
    print("done    after    client and workers [MB]")
    for tenth, (seconds, sizes) in memory.seen.items():
        print(f"{10 * tenth:3d} %  {seconds:6.1f} s   {'  '.join(f'{s:.0f}' for s in sizes)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
