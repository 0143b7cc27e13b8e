"""Dragging: the joints stay closed, the point comes as near as they allow, and the pose can be simulated from."""

import numpy as np
import pytest

import sarrus
from sarrus.assembly.dragging import Hand
from sarrus.mechanism.files import to_data
from sarrus.workbench.answers import Desk

# the longest chain is for the sparse solve; a lone body has no joints
NAMES = [n for n in sarrus.problems.names() if sarrus.problems.get(n).mechanism().joints]


def lengths(mechanism):
    """Distances between all joints of each body, in the order of the joints."""
    found = []
    for body in mechanism.bodies:
        places = [j.at for j in mechanism.joints if body.name in j.bodies and j.at is not None]
        found += [np.linalg.norm(a - b) for k, a in enumerate(places) for b in places[:k]]
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_dragged_mechanism_stays_on_its_joints(name):
    """After ten pulls of random bodies: gaps, and distances within bodies, to 1e-12 of the size."""
    mechanism = sarrus.problems.get(name).mechanism()
    hand, rng = Hand(mechanism), np.random.default_rng(7)
    pose, size, went = hand.start, hand.equations.length, 0.0
    for _ in range(10 if len(mechanism.bodies) < 40 else 3):
        body = mechanism.bodies[rng.integers(len(mechanism.bodies))]
        to = hand.place(pose, body.name, body.center) + 0.2 * size * rng.normal(
            size=mechanism.dimension
        )
        before = np.linalg.norm(hand.place(pose, body.name, body.center) - to)
        new = hand.pull(pose, body.name, body.center, to)
        after = np.linalg.norm(hand.place(new, body.name, body.center) - to)
        assert after <= before
        went, pose = went + before - after, new
        assert hand.ways.size(pose) <= 1e-12
    # it does move
    assert went > 0.05 * size
    moved, _ = hand.written(pose)
    for before, after in zip(mechanism.bodies, moved.bodies, strict=True):
        np.testing.assert_allclose(
            hand.place(pose, before.name, before.center), after.center, atol=1e-12 * size
        )
        back = hand.unplace(pose, before.name, after.center)
        np.testing.assert_allclose(back, before.center, atol=1e-12 * size)
    if all(not joint.kind.row.slides for joint in mechanism.joints):
        np.testing.assert_allclose(lengths(moved), lengths(mechanism), atol=1e-12 * size)
    sarrus.mechanism.check_mechanism(moved)


@pytest.mark.slow
def test_a_crank_follows_the_hand_to_where_the_circle_is_nearest():
    """The end of a rod on a pin is pulled to a place far off: it ends on the line from the pin to that place."""
    m = sarrus.Mechanism("crank", gravity=(0, -9.81))
    m.rod("crank", (0, 0), (0, 1), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    hand = Hand(m)
    for angle in np.linspace(-3, 3, 13):
        to = 2.5 * np.array([np.sin(angle), np.cos(angle)])
        pose = hand.start
        for _ in range(4):
            pose = hand.pull(pose, "crank", np.array([0.0, 1.0]), to)
        # a pull ends where a step comes nearer by less than 1e-9: the distance is flat there, to the root of it
        np.testing.assert_allclose(hand.place(pose, "crank", (0, 1)), to / 2.5, atol=1e-3)


def test_driven_joints_let_go_and_the_drive_counts_from_there():
    """A motor does not hold the hand; from the new pose the crank turns on as it would from the old."""
    m = sarrus.Mechanism("motor", gravity=(0, -9.81))
    m.rod("crank", (0, 0), (0, 1), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.drive("motor", "A", sarrus.Polynomial((0.0, 2.0)))
    desk, question = Desk(), {"data": to_data(m), "values": {}}
    pulled = desk.pull({**question, "body": "crank", "at": [0.0, 1.0], "to": [1.0, 0.2]})
    x, y = pulled["at"]
    assert x > 0.9
    assert np.hypot(x, y) == pytest.approx(1.0, abs=1e-12)
    here = desk.from_here({**question, "pose": pulled["pose"]})
    answer = desk.solve({"data": here["data"], "duration": 1.0})
    assert answer["errors"] == []
    np.testing.assert_allclose(here["data"]["bodies"]["crank"]["rod"][1], [x, y], atol=1e-12)


def test_the_hand_begins_where_the_motion_is():
    """Grabbed at a time of the motion, the linkage stands where the run has it."""
    data = to_data(sarrus.problems.get("double-four-bar").mechanism())
    desk, question = Desk(), {"data": data, "values": {}, "duration": 2.0}
    desk.solve(question)
    result = desk.subject(question).known[2.0]
    at = result.position("B0")[100].tolist()
    body = "crank 0"
    pulled = desk.pull(
        {**question, "time": float(result.times[100]), "body": body, "at": at, "to": at}
    )
    np.testing.assert_allclose(pulled["at"], at, atol=1e-12)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"body": "nobody", "at": [0, 0], "to": [0, 0]}, "nobody"),
        ({"body": "crank 0", "at": [0, 0, 0], "to": [0, 0]}, "2 numbers"),
        ({"body": "crank 0", "at": [0, 0], "to": [0, float("inf")]}, "2 numbers"),
        ({"body": "crank 0", "at": [0, 0], "to": [0, 0], "pose": [1.0]}, "another mechanism"),
    ],
)
def test_pulls_that_mean_nothing_are_rejected(asked, why):
    """A sentence, not a traceback."""
    data = to_data(sarrus.problems.get("double-four-bar").mechanism())
    with pytest.raises(sarrus.MechanismError, match=why):
        Desk().pull({"data": data, **asked})
