"""Which coordinates belong together, and when the energy of a run may be corrected."""

import numpy as np

import sarrus
from builders import n_four_bar
from sarrus.model import make_model
from sarrus.model.connected_parts import find_parts, is_one_part, keeps_energy


def side_by_side(count):
    """Separate pendulums of two rods."""
    m = sarrus.Mechanism("pendulums")
    for k in range(count):
        m.rod(f"upper {k}", (k, 0), (k, -1), mass=1)
        m.rod(f"lower {k}", (k, -1), (k, -2), mass=1)
        m.revolute(f"A{k}", m.ground, f"upper {k}", at=(k, 0))
        m.revolute(f"B{k}", f"upper {k}", f"lower {k}", at=(k, -1))
    return m


def floating():
    """Two rods that no joint connects to the ground."""
    m = sarrus.Mechanism("floating")
    m.rod("one", (0, 0), (1, 0), mass=1)
    m.rod("two", (1, 0), (1, 1), mass=1)
    m.revolute("A", "one", "two", at=(1, 0))
    return m


def test_only_one_part_on_the_ground_keeps_its_energy():
    """A linkage on the ground does; separate linkages, and bodies that float, do not."""
    for m, expected in ((n_four_bar(3), True), (side_by_side(1), True)):
        assert is_one_part(make_model(m).form) == expected
    for m in (side_by_side(2), floating()):
        model = make_model(m)
        assert not is_one_part(model.form)
        assert not keeps_energy(model.form, model.loads)


def test_parts_are_numbered_by_their_first_coordinates():
    """Each equation lies in one part, and the first coordinates of the parts increase with their numbers."""
    form = make_model(side_by_side(4)).form
    parts = find_parts(form)
    assert all(len(set(parts[form.J_col[form.J_eq == k]])) == 1 for k in range(len(form.phi0)))
    firsts = [int(np.flatnonzero(parts == n)[0]) for n in range(parts.max() + 1)]
    assert firsts == sorted(firsts)
    assert (np.bincount(parts) > 0).all()


def test_springs_do_not_keep_energy_exactly():
    """With a spring the energy is not corrected."""
    m = side_by_side(1)
    m.spring("s", "upper 0", "lower 0", start=(0, 0), end=(0, -2), stiffness=10)
    model = make_model(m)
    assert is_one_part(model.form)
    assert not keeps_energy(model.form, model.loads)
