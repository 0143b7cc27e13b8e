"""The rows of joint kinds: complete, consistent, and known in few places."""

import inspect
import re
from pathlib import Path

import pytest

import sarrus
from sarrus import Mechanism
from sarrus.mechanism import JointKind
from sarrus.verdict.joint_frames import JOINT_FRAMES

SOURCE = Path(sarrus.__file__).parent
HOME = {"mechanism/joint_kinds.py", "verdict/joint_frames.py"}
# they recognise kinds in files of other programs by name; a new kind works without them
RECOGNISE = {
    f"formats/{name}.py" for name in ("body_builder", "chains", "compose", "fitting", "parts")
}


def files_with(pattern):
    """The source files in which a pattern occurs."""
    found = {
        str(path.relative_to(SOURCE))
        for suffix in ("py", "js")
        for path in SOURCE.rglob(f"*.{suffix}")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }
    assert len(list(SOURCE.rglob("*.py"))) > 100
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", JointKind, ids=lambda kind: kind.value)
def test_a_kind_is_known_in_two_files(kind):
    """Its row and call, and the judge's own row: no other file names a member of the enum."""
    assert files_with(rf"\bJointKind\.{kind.name}\b") == HOME


def test_the_youngest_kind_is_three_files():
    """The rectangular joint came with its row and call, its frame, and its test mechanism.

    Not its word in any form stands elsewhere in the source: checks, files, model, pictures, exports read the row.
    That two sliders of another program's file are one came later, and is not needed for a kind.
    """
    assert (
        files_with(r"(?i)\brectangular(?!-)(?! bricard)\b")
        - {
            "problems/__init__.py",
            "problems/bricard.py",
            "problems/references/bricard.py",
        }
        - RECOGNISE
        == HOME
    )
    everything = (Path(__file__).parent / "everything.py").read_text(encoding="utf-8")
    assert "m.rectangular(" in everything


def equations_of(kind, dimension):
    """How many equations the row of a kind stands for, two bodies."""
    row = kind.row
    turns = 3 if dimension == 3 else 1
    shared = {
        "point": dimension,
        # in the plane all bodies have the normal in common
        "axis": 2 if dimension == 3 else 0,
        "directions": turns,
        "everything": dimension + turns,
    }
    kept = [dimension - 1 if "across" in pair else 1 for pair in row.keeps]
    return sum(shared[word] for word in row.shares) + sum(kept)


@pytest.mark.parametrize("kind", JointKind, ids=lambda kind: kind.value)
def test_rows_and_the_judge_count_the_same_equations(kind):
    """What a row shares and keeps / the judge's directions along and about, derived apart."""
    for dimension in (2, 3):
        exists = dimension == 3 or not kind.row.in_plane
        assert ((dimension, kind) in JOINT_FRAMES) == exists
        if exists:
            assert len(JOINT_FRAMES[dimension, kind].rows) == equations_of(kind, dimension)


@pytest.mark.parametrize("kind", JointKind, ids=lambda kind: kind.value)
def test_a_row_does_not_contradict_itself(kind):
    """An axis that is shared is common, one that is kept exists, a drive has something to drive."""
    row = kind.row
    words = {word for pair in row.keeps for word in pair}
    assert JointKind(row.word) is kind
    assert kind.value == row.word
    if "axis" in row.shares:
        assert row.axis == "common"
    if words & {"axis", "across"}:
        assert row.axis
    assert ("second axis" in words) == (row.axis == "each")
    assert row.bodies == 2 or not row.keeps
    if row.coordinate == "angle":
        assert "axis" in row.shares
    if row.coordinate == "travel":
        assert row.on_line
    assert (row.coordinate == "length") == row.is_link
    assert (row.glyph == "plane") == row.on_plane
    assert (row.glyph in ("guide", "slider")) == row.on_line
    assert (row.glyph == "link") == row.is_link


@pytest.mark.parametrize("kind", JointKind, ids=lambda kind: kind.value)
def test_every_kind_has_its_call(kind):
    """The call bears the kind's word and takes what the row says."""
    call = getattr(Mechanism, kind.value.replace("-", "_"))
    parameters = inspect.signature(call).parameters
    row = kind.row
    assert ("bodies" in parameters) == (row.bodies == 0)
    assert (row.key in parameters) == bool(row.axis)
    assert ("second_axis" in parameters) == (row.axis == "each")
    assert ("start" in parameters) == row.is_link
    assert call.__doc__


def test_kinds_survive_copies():
    """A kind is itself after a copy or a pickle."""
    import copy
    import pickle

    for kind in JointKind:
        assert copy.deepcopy(kind) is kind
        assert pickle.loads(pickle.dumps(kind)) is kind
