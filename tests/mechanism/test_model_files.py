"""Model files: what is saved is loaded to the last bit, and the schema says what the loader does."""

import dataclasses
import json
import math
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import yaml
from everything import assert_same_bits, plane_of_everything, space_of_everything
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, problems, simulate
from sarrus.mechanism import (
    JointKind,
    ModelFileError,
    from_data,
    get_value,
    load,
    load_data,
    save,
    set_value,
    to_data,
)
from sarrus.mechanism.files import make_schema, model_reader, to_text
from sarrus.mechanism.files.mechanism_builder import build_mechanism
from sarrus.mechanism.files.paths import join_path

BAD = Path(__file__).parent / "bad_files"
EVERYTHING = {"plane": plane_of_everything, "space": space_of_everything}
FOUR_BAR = """
sarrus: 1              # comments are fine
name: four-bar
gravity: [0, -9.81]
bodies:
  crank: {rod: [[0, 0], [0, 1000 mm]], mass: 1 kg}
  coupler: {rod: ["[0, 1000] mm", [1, 1]], mass: 1000 g}
  rocker:
    rod:
      - [1, 0]
      - [1, 1]
    mass: 1
joints:
  A0: {revolute: [ground, crank], at: [0, 0]}
  A1: {revolute: [ground, rocker], at: [1, 0]}
  B0: {revolute: [crank, coupler], at: [0, 1]}
  B1: {revolute: [coupler, rocker], at: [1, 1]}
forces:
velocities:
  B0: [1 m/s, 0]
"""


def again(m, tmp_path, check=True):
    """Saved and loaded."""
    path = tmp_path / "m.yaml"
    m.save(path)
    return load(path, check=check)


@pytest.mark.parametrize("make", EVERYTHING.values(), ids=EVERYTHING)
def test_everything_comes_back_to_the_last_bit(make, tmp_path):
    """All joints, forces, motions and start velocities; names that YAML would misread."""
    assert_same_bits(make(), again(make(), tmp_path, check=False))


def test_every_kind_of_joint_is_in_the_tests():
    """A new kind of joint must be added to the files, too."""
    kinds = {j.kind for make in EVERYTHING.values() for j in make().joints}
    assert kinds == set(JointKind)


def test_every_attribute_of_a_mechanism_is_compared():
    """What the class will hold one day must be saved, too."""
    from everything import LISTS

    known = {*LISTS, "name", "gravity", "ground", "assemble", "exact", "defaults", "remarks"}
    # events in tests/events
    known |= {"user_forces", "events", "lockable"}
    # how it was written, not what it is
    calls = {"at_once", "added", "part_arrays", "_known", "_counts", "_former"}
    assert set(vars(Mechanism())) == known | calls


@pytest.mark.parametrize("name", problems.names())
def test_problems_come_back(name, tmp_path):
    """Every problem of the library."""
    m = problems.get(name).mechanism()
    assert_same_bits(m, again(m, tmp_path))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_come_back(seed, dimension, tmp_path):
    """Crowded trees with closed loops: the data twice, the bits once."""
    m = random_mechanism(seed, dimension, crowded=seed % 3 == 1, sliding=seed % 3 == 2)
    loaded = again(m, tmp_path)
    assert_same_bits(m, loaded)
    assert to_data(loaded) == to_data(m)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_simulation_is_the_same_to_the_last_bit(dimension, tmp_path):
    """A loaded mechanism moves exactly like the one that was saved."""
    m = random_mechanism(4, dimension)
    one, two = (simulate(x, 0.2, 0.05) for x in (m, again(m, tmp_path)))
    np.testing.assert_array_equal(one.coordinates, two.coordinates)
    np.testing.assert_array_equal(one.energy_balance, two.energy_balance)


def test_a_file_means_what_python_means(tmp_path):
    """The four-bar of the docs, with units, comments and both styles of YAML."""
    path = tmp_path / "f.yaml"
    path.write_text(FOUR_BAR)
    m = Mechanism("four-bar", gravity=(0, -9.81))
    crank = m.rod("crank", (0, 0), (0, 1), mass=1)
    coupler = m.rod("coupler", (0, 1), (1, 1), mass=1)
    rocker = m.rod("rocker", (1, 0), (1, 1), mass=1)
    m.revolute("A0", m.ground, crank, at=(0, 0))
    m.revolute("A1", m.ground, rocker, at=(1, 0))
    m.revolute("B0", crank, coupler, at=(0, 1))
    m.revolute("B1", coupler, rocker, at=(1, 1))
    m.set_velocity("B0", (1, 0))
    assert_same_bits(m, sarrus.load(path))
    assert_same_bits(m, Mechanism.load(path))


def test_drives_are_read_in_the_unit_of_their_joint():
    """Degrees at a pin, millimetres at a slider; each coefficient per power of time."""
    data = to_data(plane_of_everything())
    data["drives"] = {
        "a": {"joint": "pin", "polynomial": ["90 deg", "30 rpm", "1 rad/s^2", "2 rad/s^3"]},
        "b": {"joint": "slider", "polynomial": ["10 mm", "1 mm/s", 2, "3 cm/s^3"]},
        "c": {"joint": "pin", "sine": {"amplitude": "180 deg", "frequency": "2 Hz"}},
        "d": {"joint": "link", "step": {"from": "1 m", "to": "2 cm", "begin": 0, "end": "3 ms"}},
        "e": {
            "joint": "slider",
            "table": {"times": "[0, 1, 2, 3] ms", "values": "[0, 1, 2, 3] mm"},
        },
    }
    a, b, c, d, e = (drive.motion for drive in from_data(data, check=False).drives)
    assert a.coefficients == (math.pi / 2, math.pi, 1.0, 2.0)
    assert b.coefficients == (0.01, 0.001, 2.0, 0.03)
    assert (c.amplitude, c.frequency, c.offset) == (math.pi, 2.0, 0.0)
    assert dataclasses.astuple(d) == (1.0, 0.02, 0.0, 0.003)
    assert (e.times, e.values) == ((0.0, 0.001, 0.002, 0.003),) * 2


def test_names_that_yaml_would_misread(tmp_path):
    """Words of YAML 1.1, numbers, signs, blanks, colons, other scripts: as key and as reference."""
    names = [
        "no",
        "on",
        "null",
        "~",
        "1",
        "1e3",
        "010",
        "1:30",
        "a: b",
        "- x",
        "#",
        "ünï 世界",
        "'",
        '"',
    ]
    names += [
        "",
        " x ",
        "a\nb",
        "\u2028",
        "\x7f",
        "*a",
        "&a",
        "!x",
        "%",
        "@",
        "{",
        "[",
        "a,b",
        "x" * 2000,
    ]
    m = Mechanism("0x10")
    for name in names:
        m.body(name, 1, (0, 0))
        m.revolute(f"j {name}", m.ground, name, at=(0, 0))
    loaded = again(m, tmp_path)
    assert_same_bits(m, loaded)
    # other readers of YAML 1.1 see the same names
    text = (tmp_path / "m.yaml").read_text(encoding="utf-8")
    assert list(yaml.safe_load(text)["bodies"]) == names


def test_saved_numbers_are_numbers_for_every_reader(tmp_path):
    """1.0e-05 instead of 1e-05, which YAML 1.1 takes for text."""
    m = Mechanism("tiny", gravity=(0, 0))
    m.body("b", 1e-5, (1e22, -1e-300))
    m.save(tmp_path / "m.yaml")
    read = yaml.safe_load((tmp_path / "m.yaml").read_text())
    assert read == to_data(m)


def test_the_text_is_as_a_user_would_write_it():
    """An entry a line, blocks apart, the version first."""
    text = to_text(to_data(from_data(model_reader.read_document(FOUR_BAR, "x").data)))
    lines = text.splitlines()
    assert lines[0].startswith("#")
    assert lines[1:4] == ["sarrus: 1", "name: four-bar", "gravity: [0.0, -9.81]"]
    assert "  crank: {rod: [[0.0, 0.0], [0.0, 1.0]], mass: 1.0}" in lines
    assert "\n\njoints:\n  A0: {revolute: [ground, crank], at: [0.0, 0.0]}\n" in text


def test_what_a_file_cannot_hold_is_rejected(tmp_path):
    """Functions, double names, numbers that are not finite, bodies that are no rods."""
    path = tmp_path / "m.yaml"

    def rejected(m, why):
        with pytest.raises(MechanismError, match=why):
            m.save(path)
        assert not path.exists()

    m = plane_of_everything()
    m.user_force("wind", ["tip"], lambda t, p, v: -v)
    rejected(m, "user force 'wind' is a Python function")
    m = plane_of_everything()
    m.body("plate", 1, (0, 0))
    rejected(m, "bodies: 'plate' stands 2 times")
    m = plane_of_everything()
    m.set_velocity("tip", (1, 0))
    rejected(m, "velocities: 'tip' stands 2 times")
    m = Mechanism("m")
    m.at_once = False
    m.body("b", math.nan, (0, 0))
    rejected(m, r"bodies\.b\.mass: nan is not finite")
    m = Mechanism("m")
    m.at_once = False
    m.body("b", 1, (0, 1e51))
    rejected(m, r"bodies\.b\.center\.1: 1e\+51 is larger than 1e\+50")
    m = Mechanism("m")
    m.bodies.append(dataclasses.replace(m.rod("r", (0, 0), (1, 0), 1), inertia=np.array(9.0)))
    m.bodies.pop(0)
    rejected(m, "body 'r' has the ends of a rod but not its centre or inertia")
    m = Mechanism("lone \ud800")
    m.body("b", 1, (0, 0))
    rejected(m, "no file can hold this text")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written(tmp_path):
    """One message; an older file stays as it was."""
    m = plane_of_everything()
    for path in (tmp_path, tmp_path / "no" / "m.yaml", "a\0b"):
        with pytest.raises(MechanismError, match="cannot be written"):
            m.save(path)
    path = tmp_path / "m.yaml"
    m.save(path)
    before = path.read_bytes()
    m.user_force("wind", ["tip"], lambda t, p, v: -v)
    with pytest.raises(MechanismError):
        save(m, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.yaml"]


# values by path


def test_set_value_by_path():
    """A copy with one value changed; the rest and the original stay."""
    data = to_data(space_of_everything())
    before = json.dumps(data)
    new = set_value(data, "bodies.full.mass", "3 t")
    assert from_data(new, check=False).bodies[2].mass == 3000.0
    new = set_value(new, "joints.hinge.axis", np.array([0.0, 0.0, 2.0]))
    assert get_value(new, "joints.hinge.axis") == [0.0, 0.0, 2.0]
    new = set_value(new, "joints.hinge.axis.1", np.float64(7))
    assert get_value(new, "joints.hinge.axis") == [0.0, 7.0, 2.0]
    new = set_value(new, 'bodies."a.b".center.2', 5)
    assert from_data(new, check=False).bodies[1].center[2] == 5.0
    # an optional key that is not there yet
    new = set_value(new, "bodies.1.section", "2 cm")
    assert from_data(new, check=False).bodies[0].section == 0.02
    assert json.dumps(data) == before


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("bodies.crnk.mass", "there is no 'crnk'; did you mean 'crank'?"),
        ("body.crank.mass", "there is no 'body'; did you mean 'bodies'?"),
        ("bodies.crank.mass.kg", "bodies.crank.mass is '1 kg', nothing is below it"),
        ("bodies.crank.rod.2", "'2' is not an entry of a list of 2; count from 0"),
        ("bodies.crank.rod.-1", "'-1' is not an entry of a list of 2"),
        ("bodies.crank.rod.x", "'x' is not an entry of a list of 2"),
        ("bodies..mass", "cannot be read"),
        ("", "cannot be read"),
        (".", "cannot be read"),
        ('bodies."crank', "cannot be read"),
        ('bodies."crank"mass', "put dots between its parts"),
    ],
)
def test_paths_that_lead_nowhere(path, why, tmp_path):
    """Each message names the path, the part and what there is."""
    (tmp_path / "f.yaml").write_text(FOUR_BAR)
    data = load_data(tmp_path / "f.yaml")
    for call in (lambda: set_value(data, path, 1.0), lambda: get_value(data, path)):
        with pytest.raises(MechanismError) as caught:
            call()
        assert why in str(caught.value)


def test_a_misspelt_last_key_is_found_when_the_mechanism_is_made(tmp_path):
    """Setting may add an optional key, so an unknown one shows in from_data."""
    data = set_value(to_data(problems.get("a04-bricard").mechanism()), "bodies.rod 1.mas", 2)
    with pytest.raises(ModelFileError, match=r"rod 1\.mas: unknown key; did you mean 'mass'"):
        from_data(data)


@pytest.mark.parametrize("number", [1e50, -1e50, 5e-324, 1e-160])
def test_extreme_numbers_load_or_are_rejected(number):
    """The largest numbers a file may hold overflow nowhere in the check: no warning, no other error."""
    plain = to_data(random_mechanism(3, 3))
    for path in map(join_path, _mutations(plain)):
        if isinstance(get_value(plain, path), float):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert_clean(lambda p=path: from_data(set_value(plain, p, number)), "data: ")


# the schema


@pytest.fixture(scope="module")
def validator():
    """A validator of the published schema that knows nothing of the loader."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = make_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.slow
def test_schema_accepts_what_the_loader_accepts(validator):
    """Saved mechanisms and the file of the docs."""
    made = [make() for make in EVERYTHING.values()]
    made += [problems.get(name).mechanism() for name in problems.names()]
    data = [to_data(m) for m in made] + [model_reader.read_document(FOUR_BAR, "x").data]
    for item in data:
        assert list(validator.iter_errors(item)) == []


def test_schema_rejects_most_of_the_bad_files(validator):
    """All but what only the whole mechanism states, or what only YAML sees."""
    missed = []
    for path in BAD.glob("*.yaml"):
        try:
            data = model_reader.load_document(path).data
        except ModelFileError:
            continue
        if validator.is_valid(data) and not path.stem.startswith(("check-", "name-", "number-")):
            missed.append(path.stem)
    # counts that belong together, and units of products, are beyond a pattern
    assert sorted(missed) == [
        "key-places-count",
        "several-checks",
        "type-places-ragged",
        "unit-drive-length",
        "unit-drive-table",
        "unit-mixed-vector",
        "unit-torsion-torque",
        "unit-two-ways",
        "unit-vector-twice",
    ]


def test_schema_states_editors_what_things_are():
    """Every key of every entry has a title; blocks and entries a description."""
    schema = make_schema()
    assert schema["properties"]["sarrus"]["const"] == 1
    for entry in (schema, *schema["$defs"].values()):
        assert entry["description"]
        assert entry["additionalProperties"] is False
        for key, field in entry["properties"].items():
            assert "title" in field or "$ref" in field, key


# any file at all


def _mutations(data):
    """Paths of all values of nested data."""
    found = []

    def walk(value, way):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            found.append((*way, key))
            if isinstance(item, dict | list):
                walk(item, (*way, key))

    walk(data, ())
    return found


def assert_clean(make, source):
    """A mechanism, or an error whose every line is printable and begins with its source."""
    try:
        problems_found = ()
        assert isinstance(make(), Mechanism)
    except ModelFileError as error:
        problems_found = error.problems
    assert all(line.isprintable() and line.startswith(source) for line in problems_found)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, math.nan, -math.inf, 1e308, 5e-324, -0.0]),
    st.sampled_from(
        ["", "30 deg", "1 m", "crank", "ground", "[1, 2] mm", "1e3", "no", "x" * 300, "\0"]
    ),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-2, 2), max_size=4),
    st.just([[1, 2], [3, "4 mm"]]),
    st.dictionaries(st.sampled_from(["mass", "at", "revolute", "zzz", "joint"]), st.integers(0, 2)),
)


@pytest.mark.parametrize("length", [{}, {"length": 1.5}], ids=["drawn", "length"])
@pytest.mark.parametrize(
    ("rod", "at", "tip", "where"),
    [
        ([[0, 0, 0], [1, 0]], [0, 0], [1, 0], "bodies.crank"),
        ([[0, 0], [1, 0, 0]], [0, 0], [1, 0], "bodies.crank"),
        ([[0, 0, 0], [1, 0, 0]], [0, 0], [1, 0], "bodies.crank"),
        ([[0, 0], [1, 0]], [0, 0, 0], [1, 0], "joints.A0"),
        ([[0, 0], [1, 0]], [0, 0], [1, 0, 0], "points.tip"),
    ],
)
def test_places_of_another_dimension_are_named(rod, at, tip, where, length):
    """Before they are moved onto rods, or with a rod that gets its length."""
    plain = {
        "sarrus": 1,
        "name": "plane",
        "gravity": [0, -9.81],
        "bodies": {"crank": {"rod": rod, "mass": 1, **length}},
        "joints": {"A0": {"revolute": ["ground", "crank"], "at": at}},
        "points": {"tip": {"body": "crank", "at": tip}},
    }
    with pytest.raises(ModelFileError, match=rf"{where}.* has 3 coordinates; a planar") as caught:
        from_data(plain)
    assert all(line.startswith("data: ") for line in caught.value.problems)


@pytest.mark.slow
@pytest.mark.parametrize("make", EVERYTHING.values(), ids=EVERYTHING)
@settings(max_examples=150)
@given(data=st.data())
def test_mutated_data_load_or_are_rejected(make, data):
    """Values replaced, removed or moved: a mechanism or a ModelFileError, each line printable."""
    plain = to_data(make())
    for _ in range(data.draw(st.integers(1, 3))):
        way = data.draw(st.sampled_from(_mutations(plain)))
        place = plain
        for key in way[:-1]:
            place = place[key]
        action = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del place[way[-1]]
        elif action == "add" and isinstance(place, dict):
            place[data.draw(st.sampled_from(["mass", "zzz", "at", "ground", "axis"]))] = deepcopy(
                data.draw(VALUES)
            )
        else:
            place[way[-1]] = deepcopy(data.draw(VALUES))
    assert_clean(lambda: from_data(plain), "data: ")


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data())
def test_mutated_texts_load_or_are_rejected(data):
    """Pieces of a good file cut out, doubled or replaced by the signs of YAML."""
    text = FOUR_BAR
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(text)))
        j = data.draw(st.integers(i, min(i + 12, len(text))))
        piece = data.draw(
            st.sampled_from([*":-[]{},&*!|>'\"%@`#?~\t\n\0 01e.", "&a", "*a", "<<: ", "---\n"])
        )
        text = text[:i] + piece + text[j:]
    assert_clean(lambda: build_mechanism(model_reader.read_document(text, "f.yaml")), "f.yaml")
