"""Studies and caches on real processes, disturbed at random moments, for a long time: `make soak`.

    python tests/soak_processes.py [--minutes 15] [--first 0] [--count N]

Each seed harms a cache of compiled kernels, with which the same simulation must give the same numbers; then it
disturbs one study (workers or the program killed or stopped, parts harmed, no room on the disk) and goes on with
it until it is finished: the table must be that of the undisturbed study, byte by byte. Failures print their seed.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import psutil

import sarrus

SOURCE = Path(sarrus.__file__).parents[1]
STUDY = """\
sarrus_study: 1
problem: double-four-bar
vary: {speed: {uniform: [0.5, 2]}, windows: [1, 2, 3]}
samples: 20
seed: 3
simulate: {duration: 2 s, output_step: 0.1 s}
record: [energy_drift, {maximum: B0.x}, crossing_times, {function: functions.py:slow}]
trajectory: {points: [B0]}
"""
# the slower, the more can happen meanwhile
FUNCTIONS = """\
import time

def slow(result, mechanism):
    time.sleep(0.05)
    return float(result.position("B0")[-1, 0])
"""
KERNELS = """
import sarrus
m = sarrus.problems.get("double-four-bar").mechanism()
print(sarrus.simulate(m, 2.0).position("B0").tobytes().hex())
"""
MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sarrus.cli import main
main()
"""
PATIENCE = 600
# how a program may end that was disturbed: by itself, rejected, stopped, killed
ENDS = (0, 1, 2, 130, -signal.SIGKILL, -signal.SIGTERM)


def environment(**more):
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def sweep(folder, out, **more):
    words = ["sweep", str(folder / "study.yaml"), "--out", str(out), "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **more,
    )


def end(program):
    text = program.communicate(timeout=PATIENCE)[0]
    assert program.returncode in ENDS, (program.returncode, text)
    assert "Traceback" not in text, text
    return program.returncode, text


def small():
    # files may not grow beyond this, as on a disk that is full
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def disturb(rng, program, out):
    """One harm at a random moment, once the program has its folder: before that it is Python that is stopped."""
    while not (out / "lock").exists() and program.poll() is None:
        time.sleep(0.02)
    until = time.monotonic() + rng.uniform(0.2, 12.0)
    while time.monotonic() < until and program.poll() is None:
        time.sleep(0.02)
    kind = rng.choice(["worker", "worker", "program", "interrupt", "terminate", "nothing"])
    if program.poll() is not None:
        return
    if kind == "worker":
        children = psutil.Process(program.pid).children(recursive=True)
        workers = [p for p in children if "spawn_main" in " ".join(_words(p))]
        if workers:
            os.kill(rng.choice([p.pid for p in workers]), signal.SIGKILL)
    elif kind == "program":
        program.kill()
    elif kind == "interrupt":
        os.killpg(program.pid, signal.SIGINT)
    elif kind == "terminate":
        program.terminate()


def _words(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def harm_parts(rng, out):
    """Bytes of a part changed or cut, a half-written one, a link."""
    parts = sorted((out / "parts").glob("*.parquet")) if (out / "parts").is_dir() else []
    if not parts or rng.random() < 0.5:
        return
    part = parts[rng.integers(len(parts))]
    content = bytearray(part.read_bytes())
    at = int(rng.integers(len(content)))
    if rng.random() < 0.5:
        content[at] ^= 1 << int(rng.integers(8))
    else:
        del content[at:]
    part.write_bytes(content)
    link = out / "parts" / f"run-0-1-{'0' * 16}.parquet.{'0' * 12}.unfinished"
    if not link.is_symlink():
        link.symlink_to(out.parent / "outside")


def check_study(seed, folder, wanted):
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        (Path(place) / "outside").write_text("mine")
        for _ in range(int(rng.integers(1, 6))):
            program = sweep(folder, out, preexec_fn=small if rng.random() < 0.1 else None)
            disturb(rng, program, out)
            end(program)
            harm_parts(rng, out)
        for _ in range(5):
            code, text = end(sweep(folder, out))
            if code == 0:
                break
        assert code == 0, text
        assert (out / "results.parquet").read_bytes() == wanted
        assert (Path(place) / "outside").read_text() == "mine"


def simulate(cache):
    done = subprocess.run(
        [sys.executable, "-c", KERNELS],
        env=environment(SARRUS_CACHE_DIR=str(cache)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def check_cache(seed, cache, wanted):
    rng = np.random.default_rng(seed)
    entries = sorted(p for p in cache.rglob("*") if p.is_file() and p.stat().st_size)
    path = entries[rng.integers(len(entries))]
    content = bytearray(path.read_bytes())
    at, kind = int(rng.integers(len(content))), rng.integers(4)
    if kind == 0:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del content[at:]
    elif kind == 2:
        content[at:] = bytes(len(content) - at)
    else:
        path.chmod(0o666)
    path.write_bytes(content)
    assert simulate(cache) == wanted


def main():
    """Seed after seed; returns how many failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    given = parser.parse_args()
    failed = ran = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "study.yaml").write_text(STUDY)
        (folder / "functions.py").write_text(FUNCTIONS)
        code, text = end(sweep(folder, folder / "undisturbed"))
        assert code == 0, text
        table = (folder / "undisturbed" / "results.parquet").read_bytes()
        numbers = simulate(folder / "cache")
        # compiling takes its time
        until = time.monotonic() + 60 * given.minutes
        for seed in range(given.first, given.first + given.count):
            if time.monotonic() > until:
                break
            ran += 1
            try:
                check_cache(seed, folder / "cache", numbers)
                check_study(seed, folder, table)
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"seed {seed} failed", flush=True)
                shutil.rmtree(folder / "cache", ignore_errors=True)
                simulate(folder / "cache")
    print(f"{ran} seeds, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
