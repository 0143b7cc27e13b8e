"""Parts that a check passes over have nothing to say: many are looked at side by side, to the same words."""

from dataclasses import replace

import numpy as np
import pytest

from builders import n_four_bar
from random_mechanisms import random_mechanism
from sarrus.mechanism import End, quick_checks
from sarrus.mechanism.check import find_gaps, find_problems
from sarrus.thresholds import ON_ROD

NAN = float("nan")


def said(monkeypatch, mechanism, many):
    """All that a check says where so many parts are looked at side by side."""
    monkeypatch.setattr(quick_checks, "MANY", many)
    return find_problems(mechanism) or find_gaps(mechanism)


def damage(rng, m):
    """Something is wrong with some part, or nearly: numbers, shapes, names, places next to rods."""
    if rng.random() < 0.5:
        i = int(rng.integers(len(m.bodies)))
        b, off = m.bodies[i], ON_ROD * rng.choice([0.3, 0.9, 1.1, 100.0])
        far = b.center + off * rng.normal(size=b.center.shape)
        m.bodies[i] = rng.choice(
            [
                replace(b, mass=float(rng.choice([-1.0, 0.0, NAN, np.inf]))),
                replace(b, center=b.center * NAN),
                replace(b, center=np.append(b.center, 0.0), ends=None),
                replace(b, inertia=-b.inertia, ends=None),
                replace(b, inertia=np.ones((2, 2)), ends=None),
                replace(b, ends=(b.center, far)),
                replace(b, ends=(far, far)),
                replace(b, ends=(far, 2.0 * far), section=-1.0),
            ]
        )
        return
    i = int(rng.integers(len(m.joints)))
    joint = m.joints[i]
    if not joint.ends:
        return
    first, *others = joint.ends
    nowhere = replace(first, place=None if first.place is None else NAN * first.place)
    m.joints[i] = rng.choice(
        [
            replace(joint, ends=()),
            replace(joint, ends=(first,)),
            replace(joint, ends=(nowhere, *others)),
            replace(joint, ends=(first, first)),
            replace(joint, ends=(first, *others, *others)),
            replace(joint, ends=(replace(first, body="nobody"), *others)),
            replace(joint, ends=tuple(replace(e, place=None) for e in joint.ends)),
            replace(joint, ends=tuple(End(e.body, e.place, e.place) for e in joint.ends)),
            replace(joint, ends=tuple(End(e.body, e.place, None) for e in joint.ends)),
            replace(joint, ends=tuple(End(e.body, e.place, np.zeros(3)) for e in joint.ends)),
        ]
    )


@pytest.mark.parametrize("seed", range(150))
def test_the_same_is_said_of_many_as_of_each(monkeypatch, seed):
    """Random mechanisms, sound or with up to three parts that are not."""
    rng = np.random.default_rng(seed)
    m = n_four_bar(5) if seed % 5 == 0 else random_mechanism(seed, 2 + seed % 2, seed % 4 == 1)
    for _ in range(int(rng.integers(0, 4))):
        damage(rng, m)
    one_by_one = said(monkeypatch, m, 10**9)
    assert said(monkeypatch, m, 1) == one_by_one


def test_what_is_sound_is_passed_over(monkeypatch):
    """Else the other test would compare each with each: no part of a chain is requested."""
    m, requested = n_four_bar(50), []
    for kind in (type(m.bodies[0]), type(m.joints[0])):
        monkeypatch.setattr(kind, "problems", lambda part, known: requested.append(part) or [])
    assert find_problems(m) == []
    assert not requested
