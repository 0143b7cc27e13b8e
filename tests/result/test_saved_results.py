"""A result saved and loaded is the result: every public attribute and method, bit for bit."""

import io
import json
import time
import warnings
from dataclasses import fields, is_dataclass, replace

import h5py
import numpy as np
import pytest
from scipy import sparse

import sarrus
from cpu_time import least
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, Result, SavedResultError, load_result, simulate
from sarrus.hdf5 import SEAL, SEAL_BYTES, SEALED
from sarrus.mechanism import to_data
from sarrus.storage import VERSION


def machine():
    """Every kind of load, drive and reading on a planar mechanism."""
    m = Mechanism('machine, with "quotes" and ß', gravity=(0, -9.81))
    m.body("block", 2.0, (1, 0), inertia=1.0)
    m.rod("arm", (1, 0), (1, 1), mass=3.0)
    m.body("bob", 1.0, (3, 0))
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.revolute("hinge", "block", "arm", at=(1, 0))
    m.distance("rope", m.ground, "bob", start=(3, 1), end=(3, 0))
    m.spring("strut", m.ground, "block", start=(0, 0), end=(1, 0), stiffness=5.0, damping=0.1)
    m.torsion("coil", "hinge", stiffness=0.5, damping=0.1)
    m.force("thrust", "arm", at=(1, 1), vector=(0.1, 0.2), fixed_in="body")
    m.torque("motor", "arm", 0.3)
    m.drive("push", "rail", sarrus.Sine(0.1, 1.0))
    m.point("tip", "arm", (1, 1))
    return m


def four_bar():
    """Two windows: a crossing at 0.71 s."""
    return sarrus.problems.get("double-four-bar").mechanism()


def dragged():
    """A pendulum with a user force."""
    m = Mechanism("dragged")
    m.rod("rod", (0, 0), (1, 0), mass=1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (1, 0))
    m.user_force("drag", ["tip"], lambda t, x, v: -0.3 * v)
    return m


# what holds the model, or needs all forces
BUILT = ("model", "start", "outcome", "record", "reactions", "solve_reactions", "reaction", "at")

CASES = {
    "crossing": lambda: simulate(four_bar(), 1.5, 0.05),
    "branches": lambda: simulate(four_bar(), 1.0, 0.1, at_crossing="branches", dense=True),
    "every load": lambda: simulate(machine(), 1.0, 0.1, dense=True),
    "radau": lambda: simulate(machine(), 0.5, 0.1, method="radau", tolerance=1e-6, dense=True),
    "fixed step": lambda: simulate(four_bar(), 0.5, 0.1, method="ali3", step=0.01, dense=True),
    "penalty": lambda: simulate(four_bar(), 0.2, 0.1, method="penalty", step=1e-3, dense=True),
    "dop853": lambda: simulate(machine(), 0.2, 0.1, method="multipliers-dop853", dense=True),
    "spatial": lambda: simulate(
        sarrus.problems.get("rectangular-bricard").mechanism(), 1.0, outputs=[0.1, 0.5, 0.7]
    ),
    "random": lambda: simulate(random_mechanism(3, 3), 0.5, 0.1),
    "too slow": lambda: simulate(four_bar(), 1.0, 0.1, max_steps=1),
    "skipped": lambda: simulate(dragged(), 0.2, 0.1, method="series"),
}


@pytest.fixture(scope="module", params=list(CASES))
def pair(request, tmp_path_factory):
    """A result, and what comes back from its file."""
    result = CASES[request.param]()
    path = tmp_path_factory.mktemp("saved") / "run.h5"
    assert result.save(path) == path
    return result, load_result(path)


def same(one, two, what=""):
    """Whether two values are the same in every bit, and of the same kind."""
    assert type(one) is type(two), what
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (two.dtype, two.shape), what
        assert one.tobytes() == two.tobytes(), what
    elif sparse.issparse(one):
        same(one.toarray(), two.toarray(), what)
    elif isinstance(one, Mechanism):
        plain = [m.copy() for m in (one, two)]
        for m in plain:
            same(
                [(f.name, f.points) for f in m.user_forces],
                [(f.name, f.points) for f in one.user_forces],
            )
            m.user_forces = []
        assert to_data(plain[0]) == to_data(plain[1]), what
    elif is_dataclass(one):
        for field in fields(one):
            same(getattr(one, field.name), getattr(two, field.name), f"{what}.{field.name}")
    elif isinstance(one, dict):
        assert list(one) == list(two), what
        for key in one:
            same(one[key], two[key], f"{what}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), what
        for i, (a, b) in enumerate(zip(one, two, strict=True)):
            same(a, b, f"{what}[{i}]")
    elif isinstance(one, float):
        assert one == two or (one != one and two != two), what
    elif hasattr(one, "__dict__") and not isinstance(one, str | int):
        same(vars(one), vars(two), what)
    else:
        assert one == two, what


def answer(result, name, arguments, folder):
    """What a method or attribute says; an error is an answer as well."""
    try:
        thing = getattr(result, name)
        value = thing(*arguments) if callable(thing) else thing
    except (ValueError, KeyError) as error:
        return f"{type(error).__name__}: {error}"
    if name == "plot":
        image = io.BytesIO()
        value.savefig(image, format="png", dpi=30)
        return image.getvalue()
    if name == "animate":
        return value._repr_html_()
    if name in ("save_csv", "save_drawing", "save_gltf"):
        return value.read_bytes()
    if name == "sensitivity":
        # the run that it was read from has clock readings; everything that users read is compared
        return replace(value, tangent=None), value.energy_error
    if name in ("save", "save_parquet", "save_hdf5"):
        return None
    if name == "to_dataframe":
        return {column: value[column].to_numpy() for column in value}
    if name == "to_xarray":
        return {key: value[key].to_numpy() for key in value.variables}
    return value


def questions(result, folder):
    """Every public name of a result, with all arguments that make sense."""
    m = result.mechanism
    points = [(name,) for name in result.points]
    joints = [(j.name,) for j in m.joints]
    bodies = [(b.name,) for b in m.bodies]
    path = (folder / "file",)
    arguments = {
        **dict.fromkeys(
            ("position", "velocity", "acceleration", "columns", "to_dataframe", "to_xarray"), points
        ),
        **dict.fromkeys(("angle", "travel", "reaction"), joints),
        **dict.fromkeys(("orientation", "angular_velocity", "angular_acceleration"), bodies),
        "quantity": [("total energy",), *((f"{name}.speed",) for (name,) in points)],
        "save_drawing": [(folder / "linkage.svg",)],
        "save_gltf": [(folder / "motion.gltf",)],
        # what is found is a function; readings() states what it gives
        "find_reading": [("nothing", "angle")],
        "length": [(s.name,) for s in m.springs] + joints,
        "force": [(s.name,) for s in m.springs],
        "torque": [(t.name,) for t in m.torsions],
        "drive_force": [(d.name,) for d in m.drives],
        "drive_power": [(d.name,) for d in m.drives],
        "check_names": [(list(result.points),)],
        "violation": [("position",), ("velocity",), ("acceleration",)],
        "at": [(0.05,), ([0.0, 0.11, 0.13],)],
        "sensitivity": [(points[0][0], f"bodies.{bodies[0][0]}.mass"), ("nothing", "gravity.1")],
        **{
            key: [()] for key in ("plot", "animate", "readings", "solve_reactions", "moving_points")
        },
        **{key: [path] for key in ("save", "save_csv", "save_parquet", "save_hdf5")},
    }
    for name in sorted({*dir(Result), *(f.name for f in fields(Result))}):
        if name.startswith("_"):
            continue
        if callable(getattr(Result, name, None)):
            assert name in arguments, f"no arguments for {name}: the test has to know every method"
        for given in arguments.get(name, [()]):
            yield name, given


@pytest.mark.slow
def test_everything_that_can_be_requested_is_the_same(pair, tmp_path):
    """Every attribute, and every method for every name there is."""
    one, two = pair
    settings = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name, given in questions(one, tmp_path):
            if name in BUILT and one.mechanism.user_forces:
                # addresses of functions, and functions that no file holds
                continue
            first, second = (answer(r, name, given, tmp_path) for r in (one, two))
            same(first, second, f"{name}{given}")
            settings += 1
    assert settings > 60
    assert repr(one) == repr(two)
    assert str(one.verdict) == str(two.verdict)


@pytest.mark.slow
def test_a_loaded_result_can_be_saved_again(pair, tmp_path):
    """The second file holds what the first held."""
    _, two = pair
    again = load_result(two.save(tmp_path / "again.h5"))
    same(again.outcome.record.q, two.outcome.record.q)
    same(again.outcome.steps, two.outcome.steps)
    same(again.settings, two.settings)


# user forces


@pytest.mark.slow
def test_user_forces_are_kept_by_name_and_say_so(tmp_path):
    """What was recorded is there; what needs the function again says in a sentence that it is not."""
    r = simulate(dragged(), 0.5, 0.1, dense=True)
    path = r.save(tmp_path / "drag.h5")
    again = load_result(path)
    assert [f.name for f in again.mechanism.user_forces] == ["drag"]
    for name in ("accelerations", "norms", "work", "energy_balance", "kinetic_energy"):
        same(getattr(r, name), getattr(again, name), name)
    same(r.columns("tip"), again.columns("tip"))
    assert str(r.verdict) == str(again.verdict)
    for ask in (lambda: again.reaction("pin"), lambda: again.at(0.05)):
        with pytest.raises(
            MechanismError, match=r"user force 'drag' is a Python function, which .*drag\.h5"
        ):
            ask()


# files


def test_the_file_is_plain(tmp_path):
    """Text, arrays and JSON under names: no object of Python is in it."""
    path = simulate(four_bar(), 1.0, 0.1).save(tmp_path / "run.h5")
    with h5py.File(path) as file:
        assert file.attrs["format"] == "sarrus result"
        assert file.attrs["version"] == VERSION
        assert "double four-bar" in file["mechanism"].asstr()[()]
        kinds = set()
        file.visititems(lambda name, item: kinds.add(getattr(item, "dtype", None)))
        settings = json.loads(file["settings/duration"].asstr()[()])
    assert settings == 1.0
    # variable-length text is the only kind of object
    assert {str(k) for k in kinds if k is not None} <= {"float64", "int64", "object", "bool"}


def test_two_files_of_one_result_are_the_same_bytes(tmp_path):
    """Nothing of the moment of writing is in it."""
    r = simulate(four_bar(), 0.5, 0.1)
    one, two = (r.save(tmp_path / name).read_bytes() for name in ("a.h5", "b.h5"))
    assert one == two


def spoil(path, change):
    """Change a saved file, and leave no digest, as files of earlier versions have none."""
    with h5py.File(path, "r+") as file:
        del file.attrs[SEALED]
        change(file)


SPOILT = {
    "foreign": (lambda f: f.attrs.pop("format"), "is not a result written by `Result.save`"),
    "newer": (
        lambda f: f.attrs.__setitem__("version", VERSION + 1),
        f"has version {VERSION + 1}, this program reads {VERSION}",
    ),
    "no outcome": (lambda f: f.pop("outcome"), "'/outcome' is missing"),
    "odd class": (lambda f: f["outcome"].attrs.__setitem__("class", "os.system"), "is damaged"),
    "no mechanism": (lambda f: f.pop("mechanism"), "'/mechanism' is missing"),
    "bad status": (
        lambda f: f["outcome/status"].write_direct(np.array('"well"', object)),
        "is damaged",
    ),
    "other model": (
        lambda f: f["model"].write_direct(f["model"][()] + 0.1),
        "in other coordinates than this program",
    ),
    "link elsewhere": (
        lambda f: put(f, "mechanism", h5py.ExternalLink("other.h5", "/x")),
        "'/mechanism' is a link to another place",
    ),
    "link inside": (
        lambda f: put(f, "settings", h5py.SoftLink("/outcome")),
        "'/settings' is a link to another place",
    ),
    "another's bytes": (
        lambda f: replace_array(f, "model", (8,), external=[("/proc/self/environ", 0, 64)]),
        "takes its numbers from another file",
    ),
    "a terabyte of nothing": (
        lambda f: replace_array(f, "model", (10**11,), chunks=(10**6,)),
        "more than the file can hold",
    ),
    "words": (lambda f: put(f, "model", np.array([b"a", b"b"])), "holds no plain numbers"),
    "a loop": (
        lambda f: put(f, "outcome/record/again", f["outcome"]),
        "'/outcome/record/again' is also found under another name",
    ),
}


def put(file, name, value):
    """Something else of a name."""
    if name in file:
        del file[name]
    file[name] = value


def replace_array(file, name, shape, **how):
    del file[name]
    file.create_dataset(name, shape, float, **how)


@pytest.mark.slow
@pytest.mark.parametrize("case", list(SPOILT))
def test_a_spoilt_file_is_reported_in_a_sentence(case, tmp_path):
    """Which file, and what is wrong with it."""
    path = simulate(four_bar(), 0.2, 0.1).save(tmp_path / "run.h5")
    change, sentence = SPOILT[case]
    spoil(path, change)
    with pytest.raises(SavedResultError) as caught:
        load_result(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"not a result", bytes(5000)], ids=["empty", "text", "zeros"]
)
def test_no_hdf5_file_is_reported_in_a_sentence(content, tmp_path):
    """Some other file, and none at all."""
    path = tmp_path / "run.h5"
    path.write_bytes(content)
    with pytest.raises(SavedResultError, match="cannot be read: it is not an HDF5 file"):
        load_result(path)
    with pytest.raises(SavedResultError, match="there is no file"):
        load_result(tmp_path / "nothing.h5")


@pytest.mark.slow
def test_a_cut_file_is_reported_in_a_sentence(tmp_path):
    """A file that was copied in part."""
    path = simulate(four_bar(), 0.2, 0.1).save(tmp_path / "run.h5")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(SavedResultError):
        load_result(path)


def test_a_failed_write_leaves_the_older_file(tmp_path, monkeypatch):
    """The file appears whole or not at all."""
    path = simulate(four_bar(), 0.2, 0.1).save(tmp_path / "run.h5")
    before = path.read_bytes()
    other = simulate(four_bar(), 0.3, 0.1)
    monkeypatch.setattr(
        "sarrus.storage._write", lambda *a: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(OSError, match="disk full"):
        other.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


# the digest


def flip(content, rng):
    """The bytes with one bit changed."""
    changed = bytearray(content)
    changed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


@pytest.mark.slow
def test_a_flipped_bit_is_an_error(tmp_path):
    """Any bit of many files, in arrays, in HDF5's own bytes, in the digest: never other numbers."""
    rng = np.random.default_rng(25)
    path = tmp_path / "run.h5"
    for make in (CASES["crossing"], CASES["every load"], CASES["spatial"]):
        content = make().save(path).read_bytes()
        for _ in range(300):
            path.write_bytes(flip(content, rng))
            with pytest.raises(SavedResultError, match=r"was changed or damaged|no HDF5 file"):
                load_result(path)
        path.write_bytes(content)
        load_result(path)


@pytest.mark.slow
def test_every_bit_of_the_digest_counts(tmp_path):
    """A digest that is not recognised any more is missed; one byte less or more is noticed as well."""
    path = simulate(four_bar(), 0.2, 0.1).save(tmp_path / "run.h5")
    content = path.read_bytes()
    body, seal = content[:-SEAL_BYTES], content[-SEAL_BYTES:]
    assert seal.startswith(SEAL)
    harmed = [body + bytes([*seal[:i], seal[i] ^ 1, *seal[i + 1 :]]) for i in range(SEAL_BYTES)]
    for bad in (*harmed, body, body + seal[:-1], content + b"x", body + b"x" + seal, content[1:]):
        path.write_bytes(bad)
        with pytest.raises(SavedResultError):
            load_result(path)


@pytest.mark.slow
def test_a_file_without_a_digest_is_read(tmp_path):
    """As earlier versions wrote it; one that was changed on purpose is read with verify=False."""
    result = simulate(four_bar(), 0.2, 0.1)
    old = result.save(tmp_path / "old.h5")
    spoil(old, lambda file: None)
    same(load_result(old).outcome.record.q, result.outcome.record.q)
    noted = result.save(tmp_path / "noted.h5")
    with h5py.File(noted, "a") as file:
        file.attrs["note"] = "mine"
    with pytest.raises(
        SavedResultError, match=r"noted\.h5 cannot be read: it was changed .* verify=False"
    ):
        load_result(noted)
    same(load_result(noted, verify=False).outcome.record.q, result.outcome.record.q)


@pytest.mark.slow
def test_the_digest_costs_little(tmp_path):
    """Of the time that a result of 10,000 outputs takes to be read."""
    path = simulate(four_bar(), 10.0, 0.001).save(tmp_path / "run.h5")

    def spend(verify):
        begin = time.process_time()
        load_result(path, verify=verify)
        return time.process_time() - begin

    bare = min(spend(verify=False) for _ in range(5))
    # SHA-256 takes 2 to 7 % of it, and some times that on processors without instructions for it
    bound = 1.25 * bare
    assert least(lambda: spend(verify=True), bound) < bound
