"""Branches through singular configurations, to the order that decides: textbook cases and their copies."""

from fractions import Fraction

import numpy as np
import pytest

import sarrus
from branch_cases import (
    apart,
    bars_in_line,
    crank_at_rest,
    isosceles_slider_crank,
    kite,
    rounded,
    three_rrr,
)
from builders import bricard, n_four_bar
from degenerate_linkages import disturbed
from linkages import (
    bennett,
    copy_of,
    dixon_lines,
    double_watt,
    flat_parallelograms,
    framework,
    sarrus_linkage,
    sarrus_stack,
    scissors,
    slider_crank,
    spherical_chain,
    three_upu,
    triangle,
    watt_in_slots,
    wedges,
    wunderlich,
)
from sarrus.verdict.local.polygon import find_half_branches, real_roots
from sarrus.verdict.local.reduced_system import find_factors, split_system
from sarrus.verdict.local.taylor import blow_up, monomials, reduce_equations


def half_branches(equation, order=12):
    """Exponents and leading coefficients of the half-branches of one equation for s > 0, sorted."""
    found = find_half_branches([equation], order, 1e-9).found
    return sorted(
        (tuple((e, round(float(c[0]), 9)) for e, c in h.terms), h.ramification, h.multiplicity)
        for h in found
    )


POLYGONS = {
    # c^2 = s^2: two lines
    "node": ({(0, 2): 1.0, (2, 0): -1.0}, [(((1, -1.0),), 1, 1), (((1, 1.0),), 1, 1)]),
    # c^2 = s: the two ends of a cusp
    "cusp": (
        {(0, 2): 1.0, (1, 0): -1.0},
        [(((Fraction(1, 2), -1.0),), 2, 1), (((Fraction(1, 2), 1.0),), 2, 1)],
    ),
    # c^2 + s^2: isolated
    "isolated": ({(0, 2): 1.0, (2, 0): 1.0}, []),
    # c (c - s^3): tangency of order three
    "contact": ({(0, 2): 1.0, (3, 1): -1.0}, [((), 1, 1), (((3, 1.0),), 1, 1)]),
    # (c - s)^2 = s^3: a cusp about a line, found by the second polygon
    "second polygon": (
        {(0, 2): 1.0, (1, 1): -2.0, (2, 0): 1.0, (3, 0): -1.0},
        [(((1, 1.0), (Fraction(3, 2), -1.0)), 2, 1), (((1, 1.0), (Fraction(3, 2), 1.0)), 2, 1)],
    ),
    # (c - s)^2 (1 + s): a double line
    "double": (
        {(0, 2): 1.0, (1, 1): -2.0, (2, 0): 1.0, (1, 2): 1.0, (2, 1): -2.0, (3, 0): 1.0},
        [(((1, 1.0),), 1, 2)],
    ),
    # c^3 = s^2: one branch with ramification three goes both ways
    "ramified": ({(0, 3): 1.0, (2, 0): -1.0}, [(((Fraction(2, 3), 1.0),), 3, 1)]),
}


@pytest.mark.parametrize("name", POLYGONS)
def test_newton_polygons(name):
    """Exponents, coefficients, ramification and multiplicity of curves that are known by hand."""
    equation, expected = POLYGONS[name]
    found = half_branches(equation)
    assert len(found) == len(expected)
    for one, other in zip(found, sorted(expected), strict=True):
        assert [e for e, _ in one[0]] == [Fraction(e) for e, _ in other[0]]
        np.testing.assert_allclose([c for _, c in one[0]], [c for _, c in other[0]], atol=1e-6)
        assert one[1:] == other[1:]


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_multiple_roots_are_one(noise):
    """(x - 2)^3 (x + 1): a triple root, exact to the noise though the single roots are off by its third root."""
    p = np.polynomial.polynomial.polyfromroots([2.0, 2.0, 2.0, -1.0])
    found = real_roots(p + noise * np.array([1.0, -1.0, 1.0, -1.0, 1.0]))
    assert [n for _, n in found] == [1, 3]
    np.testing.assert_allclose([x for x, _ in found], [-1.0, 2.0], atol=1e-7)


def system_of(m):
    """The first system of a mechanism at its start, and its first factor."""
    from sarrus.kinematics.constraints import Constraints
    from sarrus.model import make_model

    model = make_model(m)
    joints = Constraints(model.form, joints=True)
    system = split_system(joints, np.zeros(model.coordinates))[0]
    return system, find_factors(system)[0]


def test_reduced_equations_of_two_bars_in_exact_numbers():
    """Two unit bars in line open by y^2 / 2 each, exactly: squares of lengths have no higher terms."""
    _, factor = system_of(bars_in_line(1))
    g = reduce_equations(factor, 4)
    values = [float(part[0, 0]) for part in g]
    assert values[0] == values[1] == values[3] == 0.0
    assert abs(values[2]) > 0.1
    assert abs(values[4]) < 1e-14


@pytest.mark.parametrize("seed", [1, 2])
def test_series_along_a_direction_close_the_joints(seed):
    """Where F vanishes along s, displacements of order n leave gaps of order n + 3: those of a Bennett linkage."""
    _, factor = system_of(bennett(0.8 + 0.3 * seed))
    order = 6
    blown = blow_up(factor, np.ones(1), order)
    gaps = [
        np.abs(factor.system.phi_at(blown.displacement(s, np.zeros(0)))).max() for s in (0.2, 0.1)
    ]
    assert np.log2(gaps[0] / gaps[1]) > order + 1.5


def test_monomials():
    """As many as there are, each once."""
    E = monomials(3, 4)
    assert len(E) == 15
    assert (E.sum(axis=1) == 4).all()
    assert len({tuple(row) for row in E}) == 15


def summary(b):
    """What relabelling, rotating, scaling and rounding must not change."""
    return (
        b.classes,
        b.order,
        b.gap,
        b.count,
        sorted((x.dimension, x.instantaneous, x.two_sided, x.contact) for x in b),
    )


def rng():
    return np.random.default_rng(1)


ONE, BOTH = (1, 1, True, 0.0), [(1, 1, True, 0.0)] * 2
CROSSING, TANGENTIAL, SHAKY = (
    ("transversal crossing",), ("tangential bifurcation",), ("infinitesimally mobile",),
)  # fmt: skip
CASES = {
    "slider-crank": (lambda: slider_crank(0.5), (("regular",), 1, 0, 1, [ONE])),
    "triangle": (triangle, (("isolated",), 1, 0, 0, [])),
    "kite": (kite, (CROSSING, 2, 0, 2, BOTH)),
    "isosceles": (isosceles_slider_crank, (CROSSING, 2, 0, 2, BOTH)),
    "parallelogram": (lambda: flat_parallelograms([1.3], 1.0), (CROSSING, 2, 0, 2, BOTH)),
    "bars 2": (lambda: bars_in_line(1), (SHAKY, 2, 2, 0, [])),
    "bars 4": (lambda: bars_in_line(2), (SHAKY, 4, 4, 0, [])),
    "bars 8": (lambda: bars_in_line(3), (SHAKY, 8, 8, 0, [])),
    "bars 16": (lambda: bars_in_line(4), (SHAKY, 16, 16, 0, [])),
    "slot": (lambda: watt_in_slots(rng(), 1), (SHAKY, 5, 5, 0, [])),
    "tangency": (lambda: double_watt(rng(), "tangency"), (TANGENTIAL, 3, 0, 2, [(1, 1, True, 2.0)] * 2)),
    "cusp": (lambda: double_watt(rng(), "cusp"), (("cusp",), 3, 0, 1, [(1, 1, False, 0.0)])),
    "uneven": (lambda: double_watt(rng(), "uneven"), (TANGENTIAL, 4, 0, 2, [(1, 1, True, 2.0)] * 2)),
    "crank at rest": (lambda: crank_at_rest(0.3), (SHAKY, 2, 2, 1, [(1, 2, True, 0.0)])),
    "couplers 2, 1, 2": (
        lambda: flat_parallelograms([2.0, 1.0, 2.0], 1.0),
        ((*CROSSING, *SHAKY), 2, 0, 6, [ONE] * 4 + [(1, 2, True, 0.0)] * 2),
    ),
    "scissors": (lambda: scissors(3, 0.0), (CROSSING, 2, 0, 2, [ONE, (3, 3, True, 0.0)])),
    "apart": (lambda: apart(kite(), kite()), (CROSSING, 2, 0, 4, [(2, 2, True, 0.0)] * 4)),
}  # fmt: skip
RODS = [name for name in CASES if name not in ("slider-crank", "isosceles", "slot", "scissors")]


@pytest.mark.parametrize("name", CASES)
def test_known_configurations(name):
    """Classification, order, and every branch with its dimension, sides and contact."""
    make, expected = CASES[name]
    b = sarrus.branches(make())
    assert summary(b) == expected
    assert b.decided
    assert b.complete
    assert all(x.decided and x.residual < 1e-13 for x in b)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "change",
    [{"length": 1e3, "mass": 1e-3}, {"R": np.array([[0.6, -0.8], [0.8, 0.6]])}, {"seed": 5}],
    ids=["units", "rotation", "order"],
)
def test_the_same_in_other_words(name, change):
    """Units, directions and the order of parts change nothing."""
    make, expected = CASES[name]
    assert summary(sarrus.branches(copy_of(make(), **change))) == expected


@pytest.mark.parametrize("name", RODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_rounding_changes_nothing(name, seed):
    """A configuration with errors of 1e-12 has the branches of the exact one; the misfit is reported."""
    make, expected = CASES[name]
    b = sarrus.branches(rounded(make(), 1e-12, seed))
    assert summary(b) == expected
    assert b.misfit < b.holds_within


@pytest.mark.parametrize("name", ["kite", "bars 4", "couplers 2, 1, 2", "crank at rest"])
def test_a_doubled_mechanism(name):
    """Two copies that share no body: every branch with every one of the other, and the orders stay."""
    make, expected = CASES[name]
    b = sarrus.branches(apart(make(), make()))
    assert (b.classes, b.order, b.gap) == expected[:3]
    assert b.count == expected[3] ** 2
    single = sorted({x[0] for x in expected[4]})
    assert b.dimensions == tuple(2 * d for d in single)


def test_directions_of_the_kite():
    """The symmetric branch, and the one on which the long bars turn as one about the joint that they share."""
    b = sarrus.branches(kite(1.0, 2.0))
    at_rest = [x for x in b if not np.any(x.velocities["N3"])]
    moving = [x for x in b if np.any(x.velocities["N3"])]
    assert len(at_rest) == len(moving) == 1
    # N2 is 2 m from N1, which stands, and from N3: on the mirror branch the diagonal from N0 turns by half
    ratio = moving[0].velocities["N3"][1] / moving[0].velocities["N2"][1]
    assert ratio == pytest.approx(2.0 / 3.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [-2.0, -1.0, -0.3, 0.1, 0.3, 0.7, 1.9])
def test_a_crank_at_rest_has_finite_mobility_one(angle):
    """Two velocities, one degree of freedom, at every angle, also in an inspection."""
    found = sarrus.inspect(crank_at_rest(angle))
    assert (found.mobility_here, found.mobility_motion) == (2, 1)
    assert found.branches.classification == "infinitesimally mobile"


def free_body():
    """A body without any joint."""
    m = sarrus.Mechanism("free")
    m.body("plate", 1.0, (0.0, 0.0), 0.1)
    return m


REGULAR = {
    "free body": (free_body, 3),
    "wedges": (wedges, 1),
    "cart-pole": (lambda: sarrus.problems.get("light-cart-pole").mechanism(), 2),
    "governor": (lambda: sarrus.problems.get("flyball-governor").mechanism(), 4),
    "Bennett": (bennett, 1),
    "Bricard": (bricard, 1),
    "spherical 4R": (lambda: spherical_chain(4, rng()), 1),
    "spherical 5R": (lambda: spherical_chain(5, rng()), 2),
    "Sarrus stack": (lambda: sarrus_stack(3), 3),
    "Dixon": (lambda: dixon_lines(rng()), 1),
    "Wunderlich's box": (lambda: wunderlich((0.8, 1.2, 1.0), (0.1, 0.9, 2.0)), 2),
}


@pytest.mark.parametrize("name", REGULAR)
def test_regular_configurations(name):
    """One branch with all first-order degrees of freedom, also where equations are redundant everywhere or
    none is left.
    """
    make, dof = REGULAR[name]
    b = sarrus.branches(make())
    assert (b.classes, b.dof, b.dimensions, b.decided) == (
        ("regular",),
        dof,
        (dof,),
        True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("held", [0, 5])
def test_wunderlich(held):
    """Its sides 9, 6, 3 in line: eight branches of one dimension and five of two, whichever bar is the ground."""
    b = sarrus.branches(wunderlich((9.0, 6.0, 3.0), np.zeros(3), held))
    assert (b.dof, b.classification) == (6, "transversal crossing")
    assert sorted(x.dimension for x in b) == [1] * 8 + [2] * 5


def test_modes_of_a_kinematotropic_platform():
    """A 3-UPU robot of Seoul type at its singular configuration: two modes with three degrees of freedom each."""
    b = sarrus.branches(three_upu(radial=True))
    assert [x.dimension for x in b] == [3, 3]
    assert b.classification == "transversal crossing"


@pytest.mark.slow
def test_windows_branch_like_powers_of_two():
    """Ten windows have 2^10 branches; with a limit there are at least as many as are listed."""
    widths = 2.0 + 0.1 * np.arange(10)
    m = flat_parallelograms(widths, 1.0)
    b = sarrus.branches(m)
    assert len(b) == b.count == 1024
    assert b.complete
    few = sarrus.branches(m, most=10)
    assert len(few) == 10
    assert not few.complete
    assert "at least 10 branches" in str(few)


@pytest.mark.parametrize("windows", [3, 10])
def test_equal_windows_have_one_branch_for_each_crank(windows):
    """All together, or the first k cranks at rest: the links about their joints move freely to first order."""
    b = sarrus.branches(n_four_bar(windows, speed=0.0, lean=np.pi / 2))
    assert b.decided
    assert {x.dimension for x in b} == {1}
    assert sorted(x.instantaneous for x in b) == [1, *range(1, windows + 1)]


@pytest.mark.slow
def test_ten_independent_loops():
    """Loops that share no body are combined without a search: 2^10 branches, each with ten degrees of freedom."""
    b = sarrus.branches(apart(*[kite()] * 10))
    assert b.count == 1024
    assert {x.dimension for x in b} == {10}
    assert sarrus.branches(apart(*[kite()] * 16), most=4).count == 2**16


def test_loops_that_share_a_body_but_no_degrees_of_freedom():
    """A kite on the moving long bar of another one: each goes on as if alone, two branches each."""
    places = np.array([(0, 0), (1, 0), (3, 0), (1, 0), (4, 0), (3, 0)], dtype=float)
    bars = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 1)]
    b = sarrus.branches(framework("two kites", places, bars))
    assert b.dof == 4
    assert [(x.dimension, x.instantaneous, x.decided) for x in b] == [(2, 2, True)] * 4


def test_drives_held_at_a_type_two_singularity():
    """The joints of a 3-RRR are regular; with the drives locked the platform is infinitesimally mobile."""
    m = three_rrr()
    free, held = sarrus.branches(m), sarrus.branches(m, hold_drives=True)
    assert (free.classification, free.dimensions) == ("regular", (3,))
    assert (held.classification, held.dof, held.gap) == ("infinitesimally mobile", 1, 2)
    assert held.self_stress.count == 1
    text = str(sarrus.inspect(m))
    assert "the drives, when locked, leave 1 first-order degree of freedom" in text
    assert "no degree of freedom is left." not in text


def test_prestress():
    """Two bars in line are stiffened by tension; the bars of Tarnai's chain and a braced cross are not, or are."""
    assert sarrus.branches(bars_in_line(1)).self_stress.stiffens
    assert not sarrus.branches(bars_in_line(2)).self_stress.stiffens
    stress = sarrus.branches(bars_in_line(1)).self_stress
    assert stress.count == 1
    # both bars carry the same force
    assert {round(abs(value), 9) for _, value in stress.components} == {1.0}


def test_a_saddle_of_the_stress_does_not_stiffen():
    """Two joints in line between supports: the form of the one stress is definite; with a strut in between not."""
    places = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)])
    m = framework("three bars", places, [(0, 3), (0, 1), (1, 2), (2, 3)])
    b = sarrus.branches(m)
    assert (b.dof, b.gap) == (2, 2)
    assert b.self_stress.stiffens
    # in the order 0, 2, 1, 3 the middle bar is folded back: tension in it presses the others
    folded = framework("folded", places[[0, 2, 1, 3]], [(0, 3), (0, 1), (1, 2), (2, 3)])
    assert len(sarrus.branches(folded)) == 2


def test_ends_of_a_cusp_lie_on_one_side():
    """Both configurations nearby are ahead along the direction, and both close."""
    (b,) = sarrus.branches(double_watt(rng(), "cusp"))
    assert b.ahead @ b.direction > 0.0
    assert b.behind @ b.direction > 0.0
    assert np.abs(b.ahead - b.behind).max() > 1e-3 * np.abs(b.ahead).max()


def test_branches_of_a_run_and_of_the_same_configuration():
    """At a crossing of a run there are the branches of the flat configuration, the motion so far first."""
    run = sarrus.simulate(n_four_bar(2), 1.0, 0.1, at_crossing="branches")
    alone = sarrus.branches(n_four_bar(2, speed=0.0, lean=np.pi / 2))
    there = run.branches
    assert there.classes == alone.classes
    assert len(there) == len(alone) == 3
    assert [b.so_far for b in there] == [True, False, False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (kite, "transversal crossing"),
        (isosceles_slider_crank, "transversal crossing"),
        (lambda: double_watt(rng(), "tangency"), "tangential bifurcation"),
    ],
)
def test_fewer_listed_branches_change_no_classification(make, words):
    """What is not listed still crosses or touches what is; the count is a lower bound."""
    few, all_of_them = sarrus.branches(make(), most=1), sarrus.branches(make())
    assert len(few) == 1
    assert not few.complete
    assert few.count <= all_of_them.count
    assert few.classes == all_of_them.classes == (words,)
    assert "1 is listed" in str(few)
    assert repr(few).startswith("<Branches of '")


@pytest.mark.slow
def test_notebooks_show_figures_and_tables():
    """A branch is a table of its velocities, and the figure displays itself as an image."""
    found = sarrus.branches(kite())
    assert "velocity [m/s]" in found[0]._repr_html_()
    page = found.plot()
    assert page._repr_png_().startswith(b"\x89PNG")
    assert [axes.get_xlabel() for axes in page.axes] == ["x [m]", "x [m]", "travel of N2 [m]"]


def test_records_and_words():
    """The record is plain; the notebook shows a table; arguments are checked."""
    import json

    b = sarrus.branches(double_watt(rng(), "tangency"))
    record = json.loads(json.dumps(b.as_dict()))
    assert record["classification"] == "tangential bifurcation"
    assert len(record["branches"]) == 2
    assert "<table>" in b._repr_html_()
    assert "separate as s^2" in str(b)
    with pytest.raises(sarrus.MechanismError, match="not a mechanism"):
        sarrus.branches("kite")
    with pytest.raises(ValueError, match="most = 0"):
        sarrus.branches(kite(), most=0)


@pytest.mark.parametrize("name", ["kite", "tangency", "cusp", "couplers 2, 1, 2"])
def test_paths_stay_on_their_branch(name):
    """All rows close, the middle is the configuration, neighbours are close, and the ends those of the branch."""
    b = sarrus.branches(CASES[name][0]())
    system, _ = system_of(CASES[name][0]())
    for branch in b:
        path = b.path(branch, 10)
        assert path.shape == (21, len(b.coordinates))
        assert not path[10].any()
        assert max(np.abs(system.phi_at(x)).max() for x in path) < 1e-10
        np.testing.assert_allclose(path[-1], branch.ahead, atol=1e-12)
        np.testing.assert_allclose(path[0], branch.behind, atol=1e-12)
        steps = np.abs(np.diff(path, axis=0)).max(axis=1)
        assert steps.max() < 0.6 * np.abs(path).max()


@pytest.mark.parametrize("points", [(), ("N2",), ("N2", "N3")])
def test_the_figure_has_a_panel_for_each_point(points):
    """With a path for each branch and the configuration itself; two points get a panel of both together."""
    figure = sarrus.branches(kite()).plot(*points)
    expected = list(points or ("N2", "N3"))
    both = [" and ".join(expected)] if len(expected) == 2 else []
    assert [a.get_title() for a in figure.axes] == expected + both
    assert all(len(a.lines) == 3 for a in figure.axes)
    with pytest.raises(sarrus.UnknownNameError, match="nowhere"):
        sarrus.branches(kite()).plot("nowhere")


def test_redundant_equations_next_to_a_chain_of_quadrics():
    """A folded Sarrus linkage with errors of 1e-12: the swing of both legs, and the platform's motion."""
    for m in (sarrus_linkage(1.0), disturbed(sarrus_linkage(1.0), 1e-12, 869)):
        b = sarrus.branches(m)
        assert (b.classification, b.dimensions, b.decided) == ("transversal crossing", (1, 2), True)


@pytest.mark.parametrize("seed", range(3))
def test_a_planar_kinematotropic_linkage(seed):
    """Two equal bars between the joints of a kite that coincide: free to turn in one mode, not in the other."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0.8, 1.2), rng.uniform(1.5, 2.0), rng.uniform(0.4, 0.8)
    bars = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 3)]
    places = [(0.0, 0.0), (a, 0.0), (a + b, 0.0), (a, 0.0)]
    in_line = framework("in line", np.array([*places, (a + c, 0.0)]), bars)
    found = sarrus.branches(in_line)
    assert sorted(x.dimension for x in found) == [1, 2]
    # with the bars at another angle the joints cannot separate
    t = rng.uniform(0.3, 1.2)
    turned = framework("turned", np.array([*places, (a + c * np.cos(t), c * np.sin(t))]), bars)
    assert [x.dimension for x in sarrus.branches(turned)] == [2]


def in_line(xs, bars):
    """A framework with all nodes on a line."""
    return framework("in line", np.array([(x, 0.0) for x in xs]), bars)


IN_LINE = {
    # a Peaucellier cell without its crank: with both rhombus joints together two links turn freely
    "inversor": (in_line([0, 1.3, 2, 2, 2.7], [(0, 2), (0, 3), (1, 2), (1, 3), (4, 2), (4, 3)]), [1, 2]),
    # with its crank stretched nothing but the last link turns
    "stretched inversor": (
        in_line(
            [0, 0.65, 1.3, 2, 2, 2.7],
            [(0, 1), (1, 2), (0, 3), (0, 4), (2, 3), (2, 4), (5, 3), (5, 4)],
        ),
        [1],
    ),
    # each of the other middle nodes is on one side or the other of the line between the two ends
    "two dyads": (in_line([0, 3, 1, 2, 2.5], [(i, j) for i in (0, 1) for j in (2, 3, 4)]), [1] * 4),
    "three dyads": (in_line([0, 2, 1, 1, 1, 1], [(i, j) for i in (0, 1) for j in (2, 3, 4, 5)]), [1] * 8),
    # rhombi in a row, each open or folded
    "two rhombi": (
        in_line(
            [0, 1, 1, 2, 3, 3, 4],
            [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)],
        ),
        [3] * 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_LINE)
def test_linkages_in_line(name):
    """Modes that are known by hand, also with errors of 1e-12 and in other directions."""
    m, dimensions = IN_LINE[name]
    for one in (m, rounded(m, 1e-12), copy_of(m, R=np.array([[0.6, -0.8], [0.8, 0.6]]), seed=4)):
        b = sarrus.branches(one)
        assert b.decided
        assert sorted(x.dimension for x in b) == dimensions


# a flat triangle, whose sides add up, is rigid but infinitesimally mobile: dimension and instantaneous mobility
FLAT_TRIANGLES = {
    # N0 N1 N3 is one; the flat four-bar N0 N1 N4 N2 has two modes
    "next to a crossing": (
        in_line([2, 1, 0, 3, 3], [(1, 0), (2, 0), (3, 0), (3, 1), (4, 1), (4, 2)]),
        [(1, 2), (1, 2)],
    ),
    # N1 N2 N3 is one. N5 and N6 leave the line between N1 and N4, where these come nearer, to one side or to both
    "on a cone": (
        in_line(
            [2, 2, 3, 0, 1, 0, 0],
            [(2, 0), (2, 1), (3, 1), (3, 2), (4, 0), (5, 1), (5, 4), (6, 1), (6, 4)],
        ),
        [(2, 3), (2, 3)],
    ),
    # N1 N3 N4 and N0 N4 N6 are. With N2 on N4 two links turn freely; with N2 elsewhere N5 stays on N3
    "two of them": (
        in_line(
            [1, 2, 0, 1, 0, 1, 2],
            [(3, 1), (3, 2), (4, 0), (4, 1), (4, 3), (5, 2), (5, 4), (6, 0), (6, 2), (6, 4)],
        ),
        [(1, 3), (2, 4)],
    ),
    # N1 N3 N4 and N3 N4 N5 are, so N1 stays on N5, at rest between N0 and N2; the bar N3 N4 turns about both
    "four of them": (
        in_line(
            [3, 2, 0, 0, 3, 2, 3],
            [(2, 0), (2, 1), (3, 1), (4, 1), (4, 3), (5, 0), (5, 3), (5, 4), (6, 2), (6, 5)],
        ),
        [(1, 4)],
    ),
    # N0 N4 N5 and N3 N4 N5 are, so N3 stays on N0: N0 N4 N5 turns, and N6 about N0 = N1, or N1 about N2 = N6
    "three of them": (
        in_line(
            [0, 0, 2, 0, 2, 3, 2],
            [(2, 0), (2, 1), (3, 2), (4, 0), (4, 3), (5, 0), (5, 3), (5, 4), (6, 1), (6, 3)],
        ),
        [(2, 3), (2, 3)],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAT_TRIANGLES)
def test_linkages_with_flat_triangles(name):
    """Branches that stay infinitesimally mobile along their whole length, by hand; also in other directions."""
    m, known = FLAT_TRIANGLES[name]
    for one in (m, copy_of(m, R=np.array([[0.6, -0.8], [0.8, 0.6]]), seed=4)):
        b = sarrus.branches(one)
        assert b.decided, str(b)
        assert sorted((x.dimension, x.instantaneous) for x in b) == known
