"""Files of results from strangers: whatever is in them costs little time and memory, and ends in a sentence."""

import json
import re
import subprocess
import sys
import time
from itertools import pairwise

import h5py
import numpy as np
import pytest

import sarrus
from run_folders import save_example
from sarrus import Mechanism, SavedResultError, load_result, simulate, storage
from sarrus.hdf5 import MOST_DEPTH, SEALED, scan
from sarrus.report.run_page import make_report
from sarrus.runs.run_folder import RunFolderError, load_run
from sarrus.stored_types import FIELDS

# seconds of CPU that a file of some kilobytes may take until it is rejected: reading a good one takes 0.03
QUICK = 2.0


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Results with every part that a file may have: loads, drives, crossings, polynomials; and a run's folder."""
    m = Mechanism("machine", gravity=(0, -9.81))
    m.body("block", 2.0, (1, 0), inertia=1.0)
    m.rod("arm", (1, 0), (1, 1), mass=3.0)
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.revolute("hinge", "block", "arm", at=(1, 0))
    m.torsion("coil", "hinge", stiffness=0.5, damping=0.1)
    m.drive("push", "rail", sarrus.Sine(0.1, 1.0))
    folder = tmp_path_factory.mktemp("good")
    simulate(m, 0.5, 0.1, method="multipliers-dop853", dense=True).save(folder / "loads.h5")
    bars = sarrus.problems.get("double-four-bar").mechanism()
    simulate(bars, 1.0, 0.1, dense=True, estimate_error=True).save(folder / "bars.h5")
    save_example(folder / "run", duration=1.0)
    return folder


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    """What the reader itself does; that a child process tries it first is in test_tried_results.py."""
    monkeypatch.setattr(storage, "_read_in_child", lambda path: None)


@pytest.fixture
def unsealed(good, tmp_path):
    """Copies of these files without a digest, as a stranger may have made them."""
    import shutil

    shutil.copytree(good, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*.h5"):
        with h5py.File(path, "r+") as file:
            del file.attrs[SEALED]
    return tmp_path / "copy"


def rejected(path, change):
    """The sentence with which a changed file is rejected, soon."""
    with h5py.File(path, "r+") as file:
        change(file)
    begin = time.process_time()
    with pytest.raises(SavedResultError) as caught:
        load_result(path)
    assert time.process_time() - begin < QUICK
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def link_all(above, below):
    for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
        above[name] = below


def many_paths(file):
    """Groups that all hold the next one under eight names: more than 10^12 paths."""
    groups = [file["outcome"].create_group("bomb")]
    groups += [file.create_group(f"bomb {i}") for i in range(14)]
    for above, below in pairwise(groups):
        link_all(above, below)


def one_array_often(file):
    """One array of some megabytes under many names."""
    bomb = file["outcome"].create_group("bomb")
    bomb["0"] = np.zeros(10**6)
    for i in range(1, 60):
        bomb[str(i)] = bomb["0"]


def deep(file):
    """Groups in groups."""
    node = file["outcome"]
    for _ in range(500):
        node = node.create_group("x")


def empty_but_large(file):
    """Arrays that claim much and take no room."""
    bomb = file["outcome"].create_group("bomb")
    for i in range(300):
        bomb.create_dataset(str(i), (10**6,), float, chunks=(10**4,))


def packed(file):
    """More than memory, as gzip packs zeros."""
    shape = (10**11,)
    data = file["outcome"].create_dataset("bomb", shape, float, chunks=(10**7,), compression="gzip")
    data[:10] = 1.0


BOMBS = {
    "many paths": (many_paths, "is also found under another name"),
    "one array often": (one_array_often, "is also found under another name"),
    "a group in itself": (lambda f: f["outcome"].__setitem__("x", f["outcome"]), "another name"),
    "the file in itself": (lambda f: f["outcome"].__setitem__("x", f["/"]), "another name"),
    "deep": (deep, f"is nested deeper than {MOST_DEPTH} groups"),
    "empty but large": (empty_but_large, "more than the file can hold"),
    "packed": (packed, "more than the file can hold"),
    "a soft link": (lambda f: f["outcome"].__setitem__("x", h5py.SoftLink("/")), "is a link"),
    "a dangling link": (lambda f: f["outcome"].__setitem__("x", h5py.SoftLink("/no")), "is a link"),
    "another file": (
        lambda f: f["outcome"].__setitem__("x", h5py.ExternalLink("/etc/passwd", "/")),
        "is a link",
    ),
    "a named type": (
        lambda f: f["outcome"].__setitem__("x", np.dtype("f8")),
        "neither a group nor an array",
    ),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_bomb_is_rejected_at_once(unsealed, case):
    """By a sentence, in the time that a good file takes, though the file is whole HDF5."""
    change, sentence = BOMBS[case]
    assert sentence in rejected(unsealed / "bars.h5", change)


@pytest.mark.slow
def test_bombs_take_no_memory(unsealed):
    """A process that may take 300 MB more than it has rejects each of them, and reads a good file."""
    for case in ("many paths", "one array often", "empty but large", "packed"):
        path = unsealed / f"{case}.h5"
        path.write_bytes((unsealed / "bars.h5").read_bytes())
        with h5py.File(path, "r+") as file:
            BOMBS[case][0](file)
    code = f"""
import resource, sys
from pathlib import Path
from sarrus import SavedResultError, load_result
load_result({str(unsealed / "bars.h5")!r})
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + 300_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
load_result({str(unsealed / "bars.h5")!r})
for path in sorted(Path({str(unsealed)!r}).glob("* *.h5")) + [Path({str(unsealed / "packed.h5")!r})]:
    try:
        load_result(path)
    except SavedResultError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4


def test_more_than_memory_is_not_read(unsealed):
    """All arrays together, before the first is read; the sum of what a file stores is no more than the file."""
    path = unsealed / "bars.h5"
    with h5py.File(path, "a") as file:
        file["more"] = np.zeros(10**6)
    with h5py.File(path) as file:
        size = path.stat().st_size
        scan(file, ["outcome", "more"], size, lambda: 1e9)
        with pytest.raises(ValueError, match="more than memory is free"):
            scan(file, ["outcome", "more"], size, lambda: 1e6)
        with pytest.raises(ValueError, match="more than it has"):
            scan(file, ["outcome", "more"], size // 2, lambda: 1e9)


def arrays_of(path):
    """Names of all arrays of numbers in a file."""
    found = []
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.append(name)
                if isinstance(item, h5py.Dataset) and item.dtype.kind in "fi" and item.shape
                else None
            )
        )
    return [name for name in found if not name.startswith("pictures")]


ODD = {
    "int8": lambda x: np.zeros(x.shape, np.int8),
    "float32": lambda x: x.astype(np.float32),
    "the other end first": lambda x: x.astype(x.dtype.newbyteorder()),
    "no rows": lambda x: x[:0],
    "a row less": lambda x: x[:-1],
    "a row more": lambda x: np.concatenate([x, x[-1:]]),
    "another axis": lambda x: x[..., None],
    "a single number": lambda x: x.ravel()[0] if x.size else np.zeros(()),
}


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("which", ["loads.h5", "bars.h5"])
def test_every_array_has_its_type_and_shape(unsealed, which, odd):
    """Each array in turn as another type, or with another shape: rejected, with what it is and should be."""
    path = unsealed / which
    content = path.read_bytes()
    names = arrays_of(path)
    assert len(names) > 25
    changed = 0
    for name in names:
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            before = file[name][()]
            after = ODD[odd](before)
            if after.shape == before.shape and after.dtype == before.dtype:
                continue
            del file[name]
            file[name] = after
        changed += 1
        # methods may keep no pivots
        if name.endswith("steps/pivots") and after.shape == (0,) and after.dtype == before.dtype:
            continue
        with pytest.raises(SavedResultError, match=rf"{re.escape(str(path))}[^\n]*$"):
            load_result(path)
    assert changed > 20


@pytest.mark.slow
def test_other_values_lead_nowhere(unsealed):
    """Indices that point elsewhere, in every integer array: rejected, or nothing that kernels follow."""
    rng = np.random.default_rng(5)
    tried = 0
    for which in ("loads.h5", "bars.h5"):
        path = unsealed / which
        content = path.read_bytes()
        for name in arrays_of(path):
            with h5py.File(path) as file:
                values = file[name][()]
            if values.dtype.kind != "i" or not values.size or name.endswith("steps/orders"):
                # how many terms a step had is only shown
                continue
            for far in (-1, 10**6, 2**62, -(2**62)):
                changed = values.copy()
                changed.flat[rng.integers(values.size)] = far
                path.write_bytes(content)
                with h5py.File(path, "r+") as file:
                    file[name][...] = changed
                with pytest.raises(SavedResultError):
                    load_result(path)
                tried += 1
        path.write_bytes(content)
    assert tried > 20


WRONG = (None, True, -1, 1.5, "word", [], {}, [1], {"a": "b"}, [[[]]], "[" * 100_000)


@pytest.mark.slow
def test_every_word_has_its_type(unsealed):
    """Each value in JSON as something else: rejected, or as good as what was there."""
    path = unsealed / "bars.h5"
    content = path.read_bytes()
    names = []
    with h5py.File(path) as file:
        file.visititems(lambda name, item: names.append(name) if "json" in item.attrs else None)
    kinds = 0
    for name in names:
        for odd in WRONG:
            text = odd if isinstance(odd, str) and len(odd) > 100 else json.dumps(odd)
            path.write_bytes(content)
            with h5py.File(path, "r+") as file:
                del file[name]
                file[name] = text
                file[name].attrs["json"] = True
            try:
                load_result(path)
            except SavedResultError:
                kinds += 1
    # some are as good: null for what may be missing, a number for another
    assert kinds > 0.6 * len(names) * len(WRONG)


def test_a_flag_is_not_a_number(unsealed):
    """A sentence names the field and its type."""
    path = unsealed / "bars.h5"

    def change(file):
        del file["settings/duration"]
        file["settings/duration"] = json.dumps("long")
        file["settings/duration"].attrs["json"] = True

    assert "RunSettings.duration is not of the type float" in rejected(path, change)


@pytest.mark.parametrize("case", ["int8", "empty", "short", "long", "no t", "words"])
def test_columns_of_a_run_have_their_outputs(unsealed, case):
    """As many as run.json says, of float64: a sentence from load_run instead of an error in the page."""
    folder = unsealed / "run"
    with h5py.File(folder / "result.h5", "r+") as file:
        group = file["pictures"]
        for key in list(group):
            if group[key].attrs["name"] != "column_t":
                continue
            values = group[key][()]
            del group[key]
            other = {
                "int8": values.astype(np.int8),
                "empty": values[:0],
                "short": values[:-1],
                "long": np.append(values, 9.0),
                "no t": values,
                "words": np.array([b"a"]),
            }[case]
            group[key] = other
            group[key].attrs["name"] = "column_x" if case == "no t" else "column_t"
    with pytest.raises(RunFolderError, match=r"result\.h5 cannot be read"):
        load_run(folder)


@pytest.mark.slow
def test_pictures_of_strangers_are_rejected_or_drawn(unsealed):
    """Every array of a run's pictures in every odd type and shape: a sentence, or a page."""
    folder = unsealed / "run"
    path = folder / "result.h5"
    content = path.read_bytes()
    with h5py.File(path) as file:
        count = len(file["pictures"])
    said = []
    for key in map(str, range(count)):
        for odd in ODD.values():
            path.write_bytes(content)
            with h5py.File(path, "r+") as file:
                node = file["pictures"][key]
                name, before = node.attrs["name"], node[()]
                if not np.shape(before):
                    continue
                del file["pictures"][key]
                file["pictures"][key] = odd(before)
                file["pictures"][key].attrs["name"] = name
            try:
                make_report([load_run(folder)])
            except ValueError as error:
                said.append(str(error))
    assert len(said) > 4 * count
    assert not any("\n" in sentence for sentence in said)


def test_the_table_of_types_is_complete():
    """Every class that a file may hold has every field of its own in the table."""
    from dataclasses import fields, is_dataclass

    from sarrus.storage import _makers

    for name, kind in _makers().items():
        if is_dataclass(kind):
            assert {f.name for f in fields(kind) if f.init} == set(FIELDS[name]), name
        elif hasattr(kind, "_fields"):
            assert set(kind._fields) == set(FIELDS[name]), name


def test_results_of_earlier_versions_are_read(unsealed):
    """Without a digest, and without fields that have come since and have a default."""
    path = unsealed / "bars.h5"
    with h5py.File(path, "r+") as file:
        for name in ("settings/estimate_error", "outcome/lost", "outcome/error"):
            del file[name]
    assert load_result(path).status == "done"


@pytest.mark.slow
def test_results_of_other_engines_are_read(tmp_path):
    """Their options may be words, and they keep no pivots."""
    pytest.importorskip("sympy", reason="this engine is not installed")
    problem = sarrus.problems.get("simple-pendulum")
    result = sarrus.simulate_with("sympy", problem.mechanism(), 0.2, step=0.01, output_step=0.1)
    again = load_result(result.save(tmp_path / "run.h5"))
    assert again.options == result.options
    np.testing.assert_array_equal(again.outcome.record.q, result.outcome.record.q)
