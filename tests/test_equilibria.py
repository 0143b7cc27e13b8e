"""Equilibria by what decides: saddles are left, all nearby ones are listed, higher orders are classified."""

import numpy as np
import pytest

import sarrus
from crossing_families import random_swing
from equilibrium_checks import at_equilibrium, check_equilibrium, with_springs
from sarrus import Mechanism, equilibrium, simulate


def between_springs(rng, lean=0.0):
    """A block on a rail across two compressed springs, in the middle; and how far away it rests."""
    half, free, stiffness = rng.uniform(0.5, 1.5), 0.0, rng.uniform(5.0, 50.0)
    free = half * rng.uniform(1.1, 1.6)
    m = Mechanism("between springs", gravity=(0.0, 0.0))
    m.body("block", rng.uniform(0.5, 2.0), (0.0, lean), 0.01)
    m.prismatic("rail", m.ground, "block", at=(0.0, lean), axis=(0.0, 1.0))
    for k, x in enumerate((-half, half)):
        ends = {"start": (x, 0.0), "end": (0.0, lean)}
        m.spring(f"spring {k}", m.ground, "block", **ends, stiffness=stiffness, free_length=free)
    return m, np.sqrt(free**2 - half**2)


def pushed(force, name="pushed"):
    """A body on a rail along x that a function of x pushes."""
    m = Mechanism(name, gravity=(0.0, 0.0))
    m.body("body", 1.0, (0.0, 0.0), 0.01)
    m.prismatic("rail", m.ground, "body", at=(0.0, 0.0), axis=(1.0, 0.0))
    m.user_force("push", ["rail"], lambda t, x, v: np.array([[force(x[0, 0]), 0.0]]))
    return m


@pytest.mark.parametrize("seed", range(5))
def test_compressed_springs(seed):
    """The middle between compressed springs is a saddle: the block rests where they have their free length."""
    m, away = between_springs(np.random.default_rng(seed))
    rest = equilibrium(m)
    assert rest.stable
    assert abs(rest.position("block")[1]) == pytest.approx(away, rel=1e-10)
    found = sarrus.equilibria(m, 2.0)
    places = {round(float(e.position("block")[1]) / away, 6): e.kind for e in found}
    assert places == {0.0: "unstable", 1.0: "stable", -1.0: "stable"}
    assert found[0].kind == "unstable"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "sign", "kind"),
    [
        (3, 1, "unstable"),
        (3, -1, "unstable"),
        (4, 1, "stable"),
        (4, -1, "unstable"),
        (5, 1, "unstable"),
        (6, 1, "stable"),
        (6, -1, "unstable"),
    ],
)
def test_orders_beyond_the_second(order, sign, kind):
    """Of the energy sign x^n + x^10 the order n decides; where it falls the search ends in the minimum beyond."""
    m = pushed(lambda x: -sign * order * x ** (order - 1) - 10 * x**9)
    at_start = next(e for e in sarrus.equilibria(m, 0.1) if abs(e.position("body")[0]) < 0.01)
    assert at_start.kind == kind
    assert at_start.order == order
    rest = equilibrium(m)
    assert rest.stable
    x = rest.position("body")[0]
    if kind == "stable":
        assert abs(x) < 1e-3
    else:
        # n x^(n-1) = 10 x^9 on the side where the energy falls
        assert abs(x) == pytest.approx((order / 10) ** (1 / (10 - order)), rel=1e-8)
        assert -sign * (np.sign(x) ** order) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("share", "kind"), [(1.5, "stable"), (0.5, "unstable")])
def test_other_directions_are_relaxed(share, kind):
    """Of 1/2 (y - x^2)^2 + (share - 1) x^4 / 2 the valley y = x^2 decides, not the straight line along x."""

    def push(t, x, v):
        u, w = x[0]
        bent = w - u**2
        return np.array([[2 * u * bent - 2 * (share - 1) * u**3, -bent]])

    m = Mechanism("valley", gravity=(0.0, 0.0))
    m.body("cart", 1.0, (0.0, 0.0), 0.01)
    m.body("block", 1.0, (0.0, 0.0), 0.01)
    m.prismatic("rail", m.ground, "cart", at=(0.0, 0.0), axis=(1.0, 0.0))
    m.prismatic("lift", "cart", "block", at=(0.0, 0.0), axis=(0.0, 1.0))
    m.user_force("push", ["lift"], push)
    found = sarrus.equilibria(m, 0.05)
    start = min(found, key=lambda e: np.abs(e.position("lift")).max())
    assert np.abs(start.position("lift")).max() < 1e-3
    assert (start.kind, start.order) == (kind, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_all_roots_of_a_random_force(seed):
    """Every root of a random polynomial force is listed, stable where the force falls."""
    rng = np.random.default_rng(seed)
    roots = np.cumsum(rng.uniform(0.3, 0.6, 5)) - 1.3
    m = pushed(lambda x: -float(np.prod(x - roots)))
    found = sarrus.equilibria(m, 8.0)
    places = sorted((float(e.position("body")[0]), e.kind) for e in found)
    assert [x for x, _ in places] == pytest.approx(roots.tolist(), abs=1e-7)
    assert [kind for _, kind in places] == ["stable", "unstable"] * 2 + ["stable"]


@pytest.mark.parametrize("seed", range(3))
def test_equilibria_are_those_of_the_simulator(seed):
    """A short run from a small displacement stays at a stable equilibrium, and leaves an unstable one."""
    for lean in (0.0, None):
        rng = np.random.default_rng(seed)
        _, away = between_springs(rng)
        place = 1e-3 + (0.0 if lean == 0.0 else away)
        m, _ = between_springs(np.random.default_rng(seed), lean=place)
        y = simulate(m, 3.0, 0.01).position("block")[:, 1]
        farthest = np.abs(y - (place - 1e-3)).max()
        assert farthest < 2e-3 if lean is None else farthest > 0.1


def test_a_flat_potential_is_indifferent():
    """A cart on a level rail, and a body that nothing pushes near its start, are indifferent."""
    m = Mechanism("cart")
    m.body("cart", 1.0, (0.0, 0.0), 0.01)
    m.prismatic("rail", m.ground, "cart", at=(0.0, 0.0), axis=(1.0, 0.0))
    rest = equilibrium(m)
    assert (rest.found, rest.stable, rest.kind, rest.order) == (True, False, "indifferent", 0)
    assert "indifferent in 1 of 1 degrees of freedom" in rest.message


def leaning(share):
    """A rod upright on a torsion spring, which has a share of the stiffness that holds it up."""
    m = Mechanism("leaning")
    m.rod("rod", (0.0, 0.0), (0.0, 1.0), mass=1.0)
    m.revolute("A", m.ground, "rod", at=(0.0, 0.0))
    m.torsion("spring", "A", stiffness=share * 9.81 / 2)
    return m


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "kinds"),
    [
        (0.9, ["unstable", "stable", "stable"]),
        (0.999, ["unstable", "stable", "stable"]),
        (1.0, ["stable"]),
        (1.0 + 1e-7, ["stable"]),
        (1.1, ["stable"]),
    ],
)
def test_a_flat_equilibrium_is_listed_once(share, kinds):
    """Where the stiffness all but vanishes forces are tiny over a thousandth of a rad: it is one equilibrium."""
    found = sarrus.equilibria(leaning(share), 2.0)
    assert [e.kind for e in found] == kinds
    assert np.abs(found[0].position("rod") - (0.0, 0.5)).max() < 1e-6
    for rest in found[1:]:
        # stiffness times angle = weight times lever
        angle = np.arctan2(abs(rest.position("rod")[0]), rest.position("rod")[1])
        assert share * angle == pytest.approx(np.sin(angle), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("springs", [2, 3, 4])
def test_indifferent_equilibria_are_listed_once(springs):
    """A body whose springs hold its centre may turn: what is connected by such turns is one equilibrium."""
    m = Mechanism("turning", gravity=(0.0, 0.0))
    m.body("body", 1.0, (0.0, 0.0), 0.01)
    for k in range(springs):
        a = 2.0 * np.pi * k / springs
        ends = {"start": (np.cos(a), np.sin(a)), "end": (0.0, 0.0)}
        m.spring(f"spring {k}", m.ground, "body", **ends, stiffness=10.0, free_length=1.3)
    found = sarrus.equilibria(m, 2.0)
    away = np.sqrt(1.3**2 - 1.0) if springs == 2 else 0.0
    places = sorted(round(float(e.position("body")[1]), 6) for e in found)
    # between two compressed springs also the unstable one in the middle
    assert places == pytest.approx([-away, 0.0, away] if springs == 2 else [0.0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds",
    [(109,), pytest.param((109, 113, 119, 138, 142), marks=pytest.mark.slow)],
)
def test_random_equilibria(seeds):
    """Sprung mechanisms: the search ends in no unstable equilibrium, and a push distinguishes the kinds."""
    pushed = set()
    for seed in seeds:
        m = with_springs(seed)
        rest = equilibrium(m)
        assert rest.kind in ("stable", "indifferent", ""), rest.message
        for one in sarrus.equilibria(m, 0.1):
            if check_equilibrium(m, one, seed):
                pushed.add(one.kind)
    assert pushed == {"stable", "unstable"}


@pytest.mark.parametrize("seed", range(3))
def test_a_singular_equilibrium_is_at_rest(seed):
    """Cranks that hang flat rest there up to rounding, which selects no branch: the simulator leaves them."""
    m, _, _ = random_swing(np.random.default_rng([41, seed]), 0.3)
    rest = equilibrium(m)
    assert rest.stable
    assert "singular configuration" in rest.message
    run = simulate(at_equilibrium(m, rest), 2.0, 0.1)
    assert run.status == "done", run.message
    assert np.abs(run.coordinates).max() < 1e-9
