"""Study files: what is accepted, and the sentence, line and key of what is not."""

import json

import pytest

from sarrus import problems
from sarrus.mechanism import ModelFileError, save, to_data
from sarrus.studies import make_study_schema
from sarrus.studies.study_reader import load_study, make_study

GOOD = """\
sarrus_study: 1
name: masses
mechanism: model.yaml
variables:
  error: [0.1 deg, 1 deg]
vary:
  bodies.crank 0.mass: {uniform: [500 g, 2 kg]}
  bodies.crank 1.mass: [1 kg, 2 kg]
  velocities.B0: [[1 m/s, 0], "[2, 0] m/s"]
samples: 3
simulate: {duration: 1 s}
record:
  drift: energy_drift
  swing: {span: B0.x}
time_limit: 5 s
"""


@pytest.fixture
def folder(tmp_path):
    save(problems.get("double-four-bar").mechanism(), tmp_path / "model.yaml")
    return tmp_path


def load_text(folder, text):
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return load_study(folder / "study.yaml")


def test_a_good_file(folder):
    """Everything is in SI, columns in their order."""
    study = load_text(folder, GOOD)
    assert study.plan.columns == (
        "error",
        "bodies.crank 0.mass",
        "bodies.crank 1.mass",
        "velocities.B0",
    )
    assert study.parameters[1].numbers == (0.5, 2.0)
    assert study.parameters[3].values == ([1.0, 0.0], [2.0, 0.0])
    assert study.plan.settings == {"duration": 1.0}
    assert study.plan.time_limit == 5.0
    assert [r.columns for r in study.plan.records] == [("drift",), ("swing",)]


SLIPS = [
    ("sarrus_study: 1", "sarrus_study: 2", "study.yaml:1: sarrus_study: version 2 is not known"),
    ("sarrus_study: 1", "sarrus: 1", "there is no version"),
    ("name: masses", "nam: masses", "study.yaml:2: nam: unknown key; did you mean 'name'?"),
    ("model.yaml", "modl.yaml", "study.yaml:3: mechanism: .*modl.yaml: cannot be read"),
    ("mechanism: model.yaml\n", "", "give either `mechanism"),
    ("mechanism: model.yaml", "problem: double-fourbar", "did you mean 'double-four-bar'"),
    ("crank 0.mass", "crank 0.mas", "study.yaml:7: .*unknown key; did you mean 'mass'"),
    ("crank 0.mass", "crank 9.mass", "study.yaml:7: .*there is no 'crank 9'"),
    ("[500 g, 2 kg]", "[500 mm, 2 kg]", "study.yaml:7: .*'500 mm' is a length; give a mass"),
    ("[500 g, 2 kg]", "[2 kg, 500 g]", "study.yaml:7: .*give the lower bound first"),
    ("[500 g, 2 kg]", "[2 kg]", "study.yaml:7: .*give lowest and highest value"),
    ("{uniform: [500 g, 2 kg]}", "{triangular: [1, 2]}", "study.yaml:7: .*is not a variation"),
    ("{uniform: [500 g, 2 kg]}", "2 kg", "study.yaml:7: .*is not a variable"),
    ("[1 kg, 2 kg]", "{range: {from: 1 kg, to: 2 kg}}", "study.yaml:8: .*a count or a step"),
    ("[1 kg, 2 kg]", "{normal: [1, -1]}", "study.yaml:8: .*deviation is -1"),
    ("[1 kg, 2 kg]", "{tilt: {normal: [0, error]}}", "study.yaml:8: .*is not a list of numbers"),
    ("[500 g, 2 kg]", "[500 g, error]", "study.yaml:7: .*'0.1 deg' is an angle; give a mass"),
    ("{uniform: [500 g, 2 kg]}", "error", "study.yaml:7: .*'0.1 deg' is an angle; give a mass"),
    ("[0.1 deg, 1 deg]\n", "[[0, 1]]\n  e: {normal: [0, error]}\n", "'error' is not a number"),
    (
        "velocities.B0:",
        "velocities.B0.0: [1]\n  velocities.B0:",
        "9: .*B0.0.*'velocities.B0' gives this",
    ),
    ("bodies.crank 1.mass", "bodies.'crank 0'.mass", "study.yaml:.*gives this number too"),
    ("vary:", "set: {gravity.1: -9, gravity: [0, -8]}\nvary:", "set.*'gravity' gives this number"),
    ("  error:", "  status: [1, 2]\n  error:", "5: variables.status: .*stands there already"),
    ("  swing: {span: B0.x}", "  velocities.B0.1: energy_drift", "'velocities.B0.1' stands there"),
    ("samples: 3", "samples: 0", "study.yaml:10: samples: 0 samples"),
    ("samples: 3", "samples: 2.5", "study.yaml:10: samples: 2.5 is not a whole number"),
    ("samples: 3\n", "", "'bodies.crank 0.mass' is random; say how many samples"),
    ("samples: 3", "samples: 3\ncombine: list\nseed: -1", "seed: -1 is out of range"),
    ("{duration: 1 s}", "{duration: 1 m}", "study.yaml:11: simulate.duration: '1 m' is a length"),
    ("{duration: 1 s}", "{}", "study.yaml:11: simulate: how long"),
    ("samples: 3", f"samples: 3\nseed: {10**40}", "seed: 1e\\+40 has too many digits"),
    ("{duration: 1 s}", "false", "'energy_drift' needs a simulation"),
    ("energy_drift", "energy_drit", "study.yaml:13: record.drift: .*did you mean 'energy_drift'"),
    ("{span: B0.x}", "{span: B9.x}", "there is no joint, point or body 'B9'"),
    ("{span: B0.x}", "{span: B0.z}", "a planar mechanism has no z"),
    ("{span: B0.x}", "{span: B0}", "study.yaml:14: record.swing: 'B0' is not a quantity"),
    ("{span: B0.x}", "{span: crank 0.travel}", "'crank 0' has no travel"),
    ("{span: B0.x}", "{rms: torque}", "nothing has 'torque'"),
    ("{span: B0.x}", "{value: B0.F at crank 0 trvel = 1 mm}", "'crank 0 trvel' is not a quantity"),
    ("{span: B0.x}", "{value: B0.F at crank 0 travel = 1 mm}", "'crank 0' has no travel"),
    ("{span: B0.x}", "{value: B0.F at crank 0 angl = 1 deg}", "did you mean 'crank 0 angle'"),
    ("{span: B0.x}", "{span: crank 0.angular velocty}", "mean 'crank 0.angular velocity'"),
    ("{span: B0.x}", "{spn: B0.x}", "'spn' cannot be recorded; did you mean 'span'"),
    (
        "{span: B0.x}",
        "B0.x",
        "'B0.x' is a quantity over time; give one value of it, such as {maximum: B0.x}",
    ),
    ("{span: B0.x}", "{span: shaking force z}", "not a quantity of a planar mechanism"),
    ("{span: B0.x}", "{design: peak torque}", "has 0 drives; design.. needs one"),
    ("{span: B0.x}", "{reaction_max: Q}", "there is no joint 'Q'"),
    ("{span: B0.x}", "{function: nothing.py:f}", "nothing.py cannot be read"),
    ("  swing: {span: B0.x}", "  status: energy_drift", "column 'status' stands there already"),
    ("time_limit: 5 s", "time_limit: 5 kg", "study.yaml:15: time_limit: '5 kg' is a mass"),
    ("time_limit: 5 s", "trajectory: {points: [Q]}", "trajectory: there is no joint"),
]


@pytest.mark.parametrize(("old", "new", "words"), SLIPS)
def test_slips_are_named_with_line_and_key(folder, old, new, words):
    """One sentence each, no traceback of the libraries below."""
    assert old in GOOD
    with pytest.raises(ModelFileError, match=words):
        load_text(folder, GOOD.replace(old, new))


def test_all_slips_are_reported_at_once(folder):
    """Two wrong paths, two lines."""
    text = GOOD.replace("crank 0.mass", "crank 0.mas").replace("crank 1.mass", "crank 1.mas")
    with pytest.raises(ModelFileError) as caught:
        load_text(folder, text)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{duration: 1 s}", "{duration: 1 m}"),
        ("{duration: 1 s}", "{duration: 1e300}"),
        ("{duration: 1 s}", "{duration: 1 s, setp: 1 ms}"),
        ("time_limit: 5 s", "trajectory: {pionts: [B0]}"),
        ("time_limit: 5 s", "trajectory: {points: 3}"),
    ],
)
def test_one_slip_is_one_sentence(folder, old, new):
    """Where `false` may stand as well as a mapping, nothing is reported of the alternative that was not
    written.
    """
    with pytest.raises(ModelFileError) as caught:
        load_text(folder, GOOD.replace(old, new))
    assert len(caught.value.problems) == 1, caught.value.problems


def test_functions_of_files_and_of_python(folder):
    """The text of a function belongs to the study; a broken file is reported."""
    (folder / "mine.py").write_text("def peak(result, mechanism):\n    return 1\n")
    study = load_text(folder, GOOD.replace("{span: B0.x}", "{function: mine.py:peak}"))
    assert "def peak" in study.identity["functions"]["mine.py:peak"]
    (folder / "mine.py").write_text("def peak(:\n")
    with pytest.raises(ModelFileError, match=r"mine.py cannot be run: SyntaxError"):
        load_text(folder, GOOD.replace("{span: B0.x}", "{function: mine.py:peak}"))

    def make(factor):
        def mine(result, mechanism):
            return 2 * factor

        keys = {"problem": "double-four-bar", "vary": {"windows": [1]}, "record": [mine]}
        return make_study(keys)

    made = make(1)
    assert made.plan.records[0].columns == ("mine",)
    assert "return 2" in made.identity["functions"]["mine"]
    # the same text, but another value around it
    assert make(2).plan.digest != made.plan.digest == make(1).plan.digest


def test_the_digest_follows_what_matters(folder):
    """Name and attempts do not change the runs; a mass of the model file does."""
    study = load_text(folder, GOOD)
    assert load_text(folder, GOOD.replace("masses", "other")).identity == study.identity
    data = to_data(problems.get("double-four-bar").mechanism())
    data["bodies"]["coupler 0"]["mass"] = 2.0
    from sarrus.mechanism import from_data

    save(from_data(data), folder / "model.yaml")
    changed = load_text(folder, GOOD)
    assert changed.plan.digest != study.plan.digest


def test_the_schema_accepts_the_good_file_and_rejects_slips(folder):
    """What editors check."""
    jsonschema = pytest.importorskip("jsonschema")
    import yaml

    schema = make_study_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert not list(check.iter_errors(yaml.safe_load(GOOD)))
    for old, new in (
        ("name: masses", "nam: masses"),
        ("samples: 3", "samples: 2.5"),
        ("{uniform: [500 g, 2 kg]}", "{triangular: [1, 2]}"),
        ("{duration: 1 s}", "{duration: 1 m}"),
    ):
        assert list(check.iter_errors(yaml.safe_load(GOOD.replace(old, new)))), new
    json.dumps(schema)
