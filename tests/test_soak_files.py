"""A few damaged files through the commands, and whether that notices what it looks for."""

import re
import subprocess
import sys

import numpy as np
import pytest

import soak_files
from file_kinds import KINDS
from file_mutations import TREES, change_content, change_place
from soak_files import Supervisor, judge_files, judge_temporary, judge_words, look

# of the cases in `make test`; `make soak` begins elsewhere each time
SEED = 0


@pytest.mark.slow
def test_some_seconds_of_damaged_files():
    """No finding among the first cases; longer by `python tests/soak_files.py --seconds 600`."""
    done = subprocess.run(
        [sys.executable, soak_files.__file__, "--seconds", "4", "--seed", str(SEED)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    # on any machine: the commands do run
    assert int(re.search(r"(\d+) cases \(", done.stdout)[1]) >= 3


BAD_ENDS = {
    "a traceback": (2, "", "Traceback (most recent call last)", "inspect"),
    "an unexpected error": (2, "", "error: this is a fault of the program (x)", "inspect"),
    "the name of an exception": (2, "", "error: KeyError: 'x'", "inspect"),
    "the name of an exception in a table": (0, "left out: struct.error: 4 bytes", "", "board"),
    "a status that is not documented": (3, "", "error: x", "inspect"),
    "a signal's status": (-11, "", "", "inspect"),
    "no sentence": (2, "", "", "inspect"),
    "control characters": (0, "\x1b[2J", "", "inspect"),
    "a flood": (2, "", "error: " + "9" * 100_000, "inspect"),
}


@pytest.mark.parametrize("case", BAD_ENDS)
def test_a_bad_end_is_a_finding(case):
    """Each of what a command must not do is named."""
    assert list(judge_words(*BAD_ENDS[case], False))


def test_a_good_end_is_none():
    """Sentences, documented statuses and a user's own exception are no findings."""
    good = [(0, "a table", "", "inspect", False), (2, "", "error: line 3: x", "inspect", False)]
    good += [
        (3, "UNDETERMINED", "", "judge", False),
        (2, "", "error: m.py: KeyError: x", "run", True),
    ]
    assert [list(judge_words(*end)) for end in good] == [[]] * len(good)


def test_changed_files_are_findings(tmp_path):
    """A foreign file with other bytes, rights or none, half-written and temporary ones; ours may change."""
    for name in ("mine", "gone", "ours", "rights"):
        (tmp_path / name).write_text(name)
    before = look(tmp_path)
    (tmp_path / "mine").write_text("other")
    (tmp_path / "gone").unlink()
    (tmp_path / "ours").write_text("new")
    (tmp_path / "rights").chmod(0o400)
    (tmp_path / "x.123.unfinished").touch()
    wrong = " ".join(judge_files(before, look(tmp_path), ("ours",)))
    assert all(name in wrong for name in ("mine", "gone", "rights", "unfinished"))
    assert "ours" not in wrong
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / "sarrus-error-x.txt").touch()
    assert list(judge_temporary(tmp_path / "temporary"))
    assert not list(judge_temporary(tmp_path / "temporary"))


CHILD = """
import json, os, signal, sys, time
case = {"case": int(sys.argv[2]), "kind": "x", "ways": [], "words": [], "endless": ENDLESS}
def begin():
    print(json.dumps({**case, "begins": True}), flush=True)
BODY
print(json.dumps({**case, "code": 130, "wrong": []}), flush=True)
"""
WAIT = "try:\n    begin()\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    pass"
DEAF = "signal.signal(signal.SIGINT, signal.SIG_IGN); begin(); time.sleep(1000)"
# what a child does, whether it may simulate for any time, seconds after Ctrl-C, what is found
CHILDREN = {
    "killed": ("begin(); os.kill(os.getpid(), signal.SIGSEGV)", False, 60.0, "SIGSEGV"),
    "left": ("begin(); sys.exit(7)", False, 60.0, "status 7"),
    "hangs": (DEAF, True, 1.0, "Ctrl-C does not stop it"),
    "slow": (WAIT, False, 60.0, "no end after"),
    "long simulation": (WAIT, True, 60.0, None),
}


@pytest.mark.parametrize("case", CHILDREN)
def test_ends_of_the_process_are_findings(case):
    """A signal, a status, a hang; a simulation as long as its file wants that stops at Ctrl-C is none."""
    body, endless, patience, expected = CHILDREN[case]
    code = CHILD.replace("BODY", body).replace("ENDLESS", str(endless))
    # those that end by themselves do so long before
    limit = 60.0 if case in ("killed", "left") else 1.0
    supervisor = Supervisor([sys.executable, "-c", code], 600.0, limits=(limit, patience))
    assert supervisor.watch(41, 42) == 42
    found = "; ".join(why for _, wrong in supervisor.tally.findings for why in wrong)
    assert (expected or "") in found
    assert bool(found) == bool(expected)


@pytest.mark.parametrize("ending", [*TREES, ".txt"])
def test_changes_are_those_of_their_seed(tmp_path, ending):
    """The same seed gives the same bytes, and few seeds leave a file as it was."""
    content = b"".join(b"name: {x: [%d, 2.5e3, 'a']}\n<a b=\"1\"/>\n" % k for k in range(20))
    path = tmp_path / f"file{ending}"
    same = 0
    for seed in range(40):
        results = []
        for _ in range(2):
            path.write_bytes(content)
            change_content(np.random.default_rng(seed), path)
            results.append(path.read_bytes())
        assert results[0] == results[1]
        same += results[0] == content
    assert same < 10


def test_everything_may_stand_at_a_file_s_place(tmp_path):
    """Links, pipes, devices, folders: each is tried."""
    (tmp_path / "outside").write_text("mine")
    kinds = set()
    for seed in range(80):
        path = tmp_path / f"file-{seed}"
        path.write_text("x")
        kinds.add(change_place(np.random.default_rng(seed), path, tmp_path / "outside"))
    assert kinds >= {"nothing", "folder", "link", "loop", "pipe", "device", "large"}
    assert (tmp_path / "outside").read_text() == "mine"


def test_every_kind_of_file_has_its_commands():
    """Each command that reads a file is among them, so that a new one is not forgotten."""
    from sarrus.cli import app

    known = {command.name for command in app.registered_commands}
    known |= {group.name for group in app.registered_groups}
    # they read no file of their own kind
    silent = {"list", "methods", "engines", "schema", "new", "check-method"}
    used = {words[0] for kind in KINDS.values() for words in kind.commands}
    assert used == known - silent
