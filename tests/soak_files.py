"""Every kind of file that sarrus reads, damaged at random and read by the commands, for a given time: `make soak`.

    python tests/soak_files.py [--seconds 600] [--seed 0] [--count N] [--keep FOLDER]

A case changes one or two files of a kind (file_mutations.py) in a folder of its own and runs one command that
reads them (file_kinds.py). A case is a finding if the command prints a traceback, the name of an exception or a
control character, leaves a report file, a temporary file or a half-written one, ends by a signal or with a status
that is not documented, does not end in time or does not stop at Ctrl-C, changes a file that it did not write, or
takes numbers from a damaged result. The cases run in a child process, which is replaced when one of them ends it.
Case N is repeated by `--seed N --count 1`; --keep holds the folders of findings.
"""

import argparse
import hashlib
import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

# a command that takes longer is stopped by Ctrl-C, and must end soon; a busy machine takes long for anything [s]
LIMIT, PATIENCE = 120.0, 60.0
# memory of the process that runs the cases [bytes]
MEMORY = 12 << 30
DOCUMENTED = (0, 1, 2)
NOT_TOLD, STOPPED = 3, 130
# characters of an error's sentences
MOST_PRINTED = 20_000
PRIVATE = ("this is a fault of the program", "Traceback", "this cannot be answered")
EXCEPTIONS = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Warning|Iteration)|struct\.error|zlib\.error|ArrowInvalid)\b(?!\s*=)"
)
# names of exceptions that files of the tests hold themselves, and one that Arrow puts into its sentences
HARMLESS = ("RuntimeError: not the real one", "TProtocolException")


@dataclass
class Tally:
    """What came of the cases: how many, how they ended, and the findings."""

    ran: int = 0
    codes: dict = field(default_factory=dict)
    findings: list = field(default_factory=list)


def look(folder):
    """All files of a folder: what kind, which rights, which bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file() and status.st_size < 1e8:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(folder))] = (
            content,
            status.st_mode,
            path.is_dir() or status.st_size,
        )
    return found


def plant(folder):
    """Files of the user's next to those that are read."""
    (folder / "outside").mkdir()
    (folder / "outside" / "file").write_text("mine, outside")
    for place in [folder, *(path for path in folder.iterdir() if path.is_dir())]:
        (place / "notes.txt").write_text("mine")


class Worker:
    """The child: runs case after case and reports each by a line."""

    def __init__(self, desk, scratch, keep):
        from sarrus import load_result

        self.desk, self.scratch, self.keep = desk, scratch, keep
        self.load_result = load_result
        self.known = load_result(desk / "run" / "result.h5").outcome.record.q.tobytes()

    def run(self, number):
        """One case: what was done, its status, what is wrong with it."""
        from file_kinds import KINDS, in_folder
        from file_mutations import pick

        rng = np.random.default_rng(number)
        name = pick(rng, list(KINDS))
        kind = KINDS[name]
        folder = self.scratch / f"case-{number}"
        self.prepare(folder, kind)
        ways = self.harm(rng, folder, kind)
        words = [self.word(folder, w) for w in pick(rng, kind.commands)]
        case = {"case": number, "kind": name, "ways": ways, "words": words, "endless": kind.endless}
        print(json.dumps({**case, "begins": True}), flush=True)
        before = look(folder)
        with in_folder(folder):
            code, out, err = self.call(words, folder)
        # exceptions of the user's own Python are the user's
        of_user = any(".py: " in way for way in ways)
        wrong = [*judge_words(code, out, err, words[0], of_user)]
        wrong += judge_files(before, look(folder), kind.ours)
        wrong += judge_temporary(self.scratch / "tmp")
        wrong += self.judge_numbers(folder, kind, ways)
        if wrong:
            self.keep_folder(folder)
        remove(folder)
        said = err[-600:] if wrong else ""
        print(json.dumps({**case, "code": code, "wrong": wrong, "said": said}), flush=True)

    def prepare(self, folder, kind):
        """Valid files in a folder."""
        folder.mkdir()
        for name in {*kind.copied, "table.txt"}:
            source = self.desk / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy(source, folder / name)
        plant(folder)

    def harm(self, rng, folder, kind):
        """Change one or two files; how."""
        from file_mutations import change_content, change_place, pick

        ways = []
        for _ in range(1 if rng.random() < 0.8 else 2):
            found = [
                p for pattern in kind.harmed for p in sorted(folder.glob(pattern)) if is_plain(p)
            ]
            if not found:
                break
            path = pick(rng, found)
            elsewhere = rng.random() < 0.12
            way = (
                change_place(rng, path, folder / "outside" / "file")
                if elsewhere
                else change_content(rng, path)
            )
            ways.append(f"{path.relative_to(folder)}: {way}")
        return ways

    def word(self, folder, word):
        """A word of a command; the folder of a problem is inside of its package."""
        if word != "PROBLEM":
            return word
        found = sorted(folder.glob("problem/**/problem.json"))
        return str((found[0] if found else folder / "problem" / "x").parent.relative_to(folder))

    def call(self, words, folder):
        """The command, with the cache of the case if it has one."""
        from file_kinds import call

        before = os.environ.get("SARRUS_CACHE_DIR", "")
        if (folder / "cache").exists():
            os.environ["SARRUS_CACHE_DIR"] = str(folder / "cache")
        try:
            return call(*words)
        except BaseException as error:
            return f"{type(error).__name__}: {error}", "", ""
        finally:
            os.environ["SARRUS_CACHE_DIR"] = before
            if not before:
                del os.environ["SARRUS_CACHE_DIR"]

    def judge_numbers(self, folder, kind, ways):
        """A result with other bytes gives its numbers or none, unless somebody took its digest away."""
        path = folder / "run" / "result.h5"
        if "run" not in kind.copied or not is_plain(path) or any("hdf5_" in way for way in ways):
            return
        try:
            found = self.load_result(path).outcome.record.q.tobytes()
        except Exception as error:
            if type(error).__name__ != "SavedResultError":
                yield f"load_result raises {type(error).__name__}: {error}"
            return
        if found != self.known:
            yield "a damaged result gives other numbers"

    def keep_folder(self, folder):
        """A finding's folder, to be looked at."""
        if self.keep:
            target = Path(self.keep) / folder.name
            shutil.rmtree(target, ignore_errors=True)
            subprocess.run(["cp", "-a", str(folder), str(target)], check=False)


def is_plain(path):
    """Whether it is a file of moderate size, and no link."""
    return not path.is_symlink() and path.is_file() and path.stat().st_size < 1e8


def remove(folder):
    """Delete the folder of a case."""
    shutil.rmtree(folder, ignore_errors=True)


def judge_words(code, out, err, command, of_user):
    """What is wrong with how a command ended and with what it printed."""
    allowed = (*DOCUMENTED, *((NOT_TOLD,) if command == "judge" else ()), STOPPED)
    if code not in allowed:
        yield f"status {code}"
    if code == 2 and not err.strip():
        yield "status 2 without a sentence"
    for text in PRIVATE:
        if text in out + err:
            yield f"it says '{text}'"
    said = err + out if command in ("board", "report", "sweep") else err
    for harmless in HARMLESS:
        said = said.replace(harmless, "")
    if not of_user and (found := EXCEPTIONS.search(said)):
        yield f"it names {found.group()}"
    if any(not (c.isprintable() or c in "\n\t") for c in out + err):
        yield "it prints control characters"
    if len(err) > MOST_PRINTED:
        yield f"its sentences have {len(err)} characters"


def judge_files(before, after, ours):
    """What happened to files that were there, and what was left unfinished."""
    for name, was in before.items():
        mine = any(Path(name).match(pattern) for pattern in ours) and not name.endswith("notes.txt")
        if not mine and after.get(name) != was:
            yield f"{name} was changed or removed"
    for name in after.keys() - before.keys():
        if ".unfinished" in name:
            yield f"{name} was left"


def judge_temporary(folder):
    """What a command left among temporary files; it is removed."""
    for path in folder.iterdir():
        yield f"{path.name} was left among temporary files"
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def work(desk, scratch, keep, first, count):
    """The child's life."""
    import resource

    from file_kinds import simplify_commands

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    (scratch / "tmp").mkdir(exist_ok=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch / "tmp")
    simplify_commands()
    worker = Worker(desk, scratch, keep)
    for number in range(first, first + count):
        worker.run(number)


def is_ready(child, seconds):
    """Whether a child wrote something, or ended, within some seconds."""
    return bool(select.select([child.stdout], [], [], seconds)[0])


class Supervisor:
    """The parent: starts children by a command, waits for their lines, and says what came of it.

    limits: seconds until a case is stopped by Ctrl-C, and until it must have ended after that.
    """

    def __init__(self, command, seconds, limits=(LIMIT, PATIENCE)):
        self.command, self.seconds, self.limits = command, seconds, limits
        # from the first case on: programs take long to begin
        self.until = math.inf
        self.tally = Tally()
        self.current = None

    def soak(self, first, count):
        """Run cases until the time is over."""
        last = first + count
        while first < last and time.monotonic() < self.until:
            first = self.watch(first, last)
        return self.tally

    def watch(self, first, last):
        """One child until it ends; the first case that it did not begin."""
        with subprocess.Popen(
            [*self.command, "--seed", str(first), "--count", str(last - first)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # no line may wait in a buffer, where `select` does not see it
            bufsize=0,
            start_new_session=True,
            # background jobs hand down that SIGINT is ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as child:
            try:
                number = self.follow(child, first)
                ended = child.poll()
            finally:
                child.kill()
            code = child.wait()
        if self.current is not None:
            how = signal.Signals(-code).name if code < 0 else f"status {code}"
            self.find(self.current, [f"the process ended by {how}"])
        elif ended:
            raise RuntimeError(f"the cases cannot be run: status {code}")
        return number

    def follow(self, child, first):
        """Read a child's reports until it or the time ends; the first case that it did not begin."""
        self.current, number = None, first
        while line := self.next_line(child):
            report = json.loads(line)
            number = report["case"] + 1
            self.note(report)
            if self.current is None and time.monotonic() > self.until:
                break
        return number

    def next_line(self, child):
        """The next report of a child; nothing when it has ended, or has to be ended."""
        limit, patience = self.limits
        if is_ready(child, limit if self.current else LIMIT):
            return child.stdout.readline()
        case, self.current = self.current, None
        if case is None:
            raise RuntimeError(f"no case begins for {LIMIT:g} s")
        child.send_signal(signal.SIGINT)
        if not is_ready(child, patience):
            self.find(case, [f"no end after {limit:g} s, and Ctrl-C does not stop it"])
            return b""
        if not case["endless"]:
            self.find(case, [f"no end after {limit:g} s"])
        return child.stdout.readline()

    def note(self, report):
        """Count a report."""
        if report.get("begins"):
            self.current = report
            self.until = min(self.until, time.monotonic() + self.seconds)
            return
        self.current = None
        tally, code = self.tally, report["code"]
        tally.ran += 1
        tally.codes[code] = tally.codes.get(code, 0) + 1
        if report["wrong"]:
            self.find(report, report["wrong"])

    def find(self, report, wrong):
        """Print and keep a finding."""
        self.tally.findings.append((report["case"], wrong))
        print(f"case {report['case']}: {report['kind']}; {'; '.join(report['ways'])}")
        print(f"  sarrus {' '.join(report['words'])}: {'; '.join(wrong)}")
        if report.get("said"):
            print("  | " + report["said"].strip().replace("\n", "\n  | "))
        sys.stdout.flush()


def soak(seconds, first, count=10**9, keep=None):
    """Cases one after the other, for some seconds once the files are made; what came of them."""
    from file_kinds import make_desk, simplify_commands

    simplify_commands()
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        desk, scratch = Path(place) / "desk", Path(place) / "scratch"
        scratch.mkdir()
        make_desk(desk)
        command = [
            sys.executable,
            str(Path(__file__)),
            "--child",
            str(desk),
            str(scratch),
            "--keep",
            keep or "",
        ]
        return Supervisor(command, seconds).soak(first, count)


def main():
    """Soak, and say what was found; returns how many cases are findings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--keep")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        work(*given.child, given.keep, given.seed, given.count)
        return 0
    print(f"cases from {given.seed} on (--seed {given.seed})", flush=True)
    tally = soak(given.seconds, given.seed, given.count, given.keep)
    codes = ", ".join(f"{n} with status {code}" for code, n in sorted(tally.codes.items(), key=str))
    print(f"{tally.ran} cases ({codes}), {len(tally.findings)} findings")
    return len(tally.findings)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
