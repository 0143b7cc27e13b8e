"""Random degenerate configurations of many kinds, with what is known of them, and copies that must not differ."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from branch_cases import (
    bars_in_line,
    crank_at_rest,
    isosceles_slider_crank,
    kite,
    polygon_in_line,
    powers,
    three_rrr,
)
from builders import n_four_bar, rotation
from linkages import (
    bennett,
    bricard_by_symmetry,
    closed_chain,
    copy_of,
    dixon_lines,
    double_watt,
    flat_parallelograms,
    flexible_octahedron,
    framework,
    goldberg,
    griffis_duffy,
    sarrus_linkage,
    scissors,
    spherical_chain,
    stewart,
    three_upu,
    watt_in_slots,
    wunderlich,
)
from sarrus import Mechanism


class Known(NamedTuple):
    """What is known by hand: dimensions of the branches, classification, gap; None where it is not."""

    dimensions: tuple[int, ...] | None = None
    word: str | None = None
    gap: int | None = None


CROSSING, TANGENTIAL, CUSP, SHAKY = (
    "transversal crossing", "tangential bifurcation", "cusp", "infinitesimally mobile",
)  # fmt: skip
UNKNOWN = Known()
TWO = Known((1, 1), CROSSING, 0)


def windows(rng):
    n = int(rng.integers(1, 5))
    return flat_parallelograms(rng.uniform(1.1, 2.5, n), rng.uniform(0.6, 1.0)), Known(
        (1,) * 2**n, CROSSING, 0
    )


def equal_windows(rng):
    n = int(rng.integers(2, 5))
    return n_four_bar(n, speed=0.0, lean=np.pi / 2), Known((1,) * (n + 1))


def some_kite(rng):
    a, b = rng.uniform(0.5, 2.0, 2)
    return kite(a, a + b), TWO


def line_of_bars(rng):
    right, left = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    a, b = rng.uniform(0.5, 2.0, right), rng.uniform(0.5, 2.0, left)
    sides = rng.permutation([*a, *(-b * a.sum() / b.sum())])
    count = 0 if left == 1 else 2 if (right, left) == (2, 2) else 1
    word = SHAKY if count == 0 else CROSSING
    return polygon_in_line(*sides), Known((right + left - 3,) * count, word)


def line_of_equal_bars(rng):
    n = 2 * int(rng.integers(2, 4))
    signs = rng.permutation([1.0, -1.0] * (n // 2))
    return polygon_in_line(*signs), Known((n - 3,) * (2 if n == 4 else 1), CROSSING)


def dead_slider_crank(rng):
    return isosceles_slider_crank(rng.uniform(0.3, 2.0)), TWO


def tarnai(rng):
    n = int(rng.integers(1, 5))
    return bars_in_line(n), Known((), SHAKY, 2**n)


def some_powers(rng):
    n = int(rng.integers(2, 4))
    exponents = tuple(int(p) for p in rng.choice((2, -2, 3, -3, 4, -4, 8), n))
    half = 0
    for side in (1, -1):
        ways = [1 if p % 2 else 1 + side * int(np.sign(p)) for p in exponents]
        half += int(np.prod(ways))
    return powers(*exponents), Known((1,) * (half // 2))


def watts(rng):
    kind = str(rng.choice(("tangency", "cusp", "uneven")))
    word, count = {"tangency": (TANGENTIAL, 2), "cusp": (CUSP, 1), "uneven": (None, None)}[kind]
    return double_watt(rng, kind), UNKNOWN if word is None else Known((1,) * count, word)


def slots(rng):
    return watt_in_slots(rng, int(rng.integers(1, 3))), Known((), SHAKY, 5)


def cranks(rng):
    return crank_at_rest(rng.uniform(-2.0, 2.0)), Known((1,), SHAKY, 2)


def flat_spherical(rng):
    """Hinges through one point whose axes lie in a plane: as a closed chain in line, on the sphere."""
    n = int(rng.integers(4, 7))
    t = np.cumsum(rng.uniform(0.2, 0.6, n) * rng.permutation([1.0, -1.0, 1.0, -1.0, 1.0, 1.0][:n]))
    u = np.column_stack([np.cos(t), np.sin(t), 0.0 * t])
    return closed_chain("flat spherical", u, u), UNKNOWN


def flat_sarrus(rng):
    return sarrus_linkage(float(rng.choice((0.0, 1.0 - 1e-16)))), UNKNOWN


def stretched_sarrus(rng):
    return sarrus_linkage(0.0), UNKNOWN


def regular_overconstrained(rng):
    kind = int(rng.integers(0, 6))
    if kind == 0:
        return bennett(rng.uniform(0.6, 2.2)), Known((1,), "regular")
    if kind == 1:
        return goldberg(rng.uniform(0.8, 1.3), rng.uniform(1.7, 2.2)), Known((1,), "regular")
    if kind == 2:
        return bricard_by_symmetry(rng, bool(rng.integers(2))), Known((1,), "regular")
    if kind == 3:
        return sarrus_linkage(rng.uniform(0.2, 0.8)), Known((1,), "regular")
    if kind == 4:
        return flexible_octahedron(rng, bool(rng.integers(2))), Known((1,), "regular")
    return spherical_chain(int(rng.integers(4, 6)), rng), UNKNOWN


def platform(rng, kind=None):
    """A plate on three bars: concurrent, parallel and unequal, or parallel and equal."""
    kind = kind or str(rng.choice(("concurrent", "parallel", "equal", "affine")))
    feet = np.array(
        [
            [0.0, 0.0],
            [rng.uniform(1, 2), rng.uniform(-0.3, 0.3)],
            [rng.uniform(2.5, 4), rng.uniform(-0.3, 0.3)],
        ]
    )
    lengths = rng.uniform(0.8, 2.0, 3)
    up = np.tile([0.0, 1.0], (3, 1))
    if kind == "concurrent":
        top = np.array([rng.uniform(0, 3), rng.uniform(3, 5)])
        up = top - feet
        up /= np.linalg.norm(up, axis=1)[:, None]
    if kind == "equal":
        lengths[:] = lengths[0]
    if kind == "affine":
        # 1 / length is affine across the bars: the platform turns with the second order
        x = feet[:, 0]
        inverse = 0.5 + rng.uniform(0.05, 0.2) * x
        lengths = 1.0 / inverse
    heads = feet + lengths[:, None] * up
    m = Mechanism(f"platform {kind}")
    m.body("plate", 1.0, heads.mean(axis=0), 0.1)
    for k in range(3):
        m.rod(f"leg{k}", feet[k], heads[k], mass=1.0)
        m.revolute(f"A{k}", m.ground, f"leg{k}", at=feet[k])
        m.revolute(f"B{k}", f"leg{k}", "plate", at=heads[k])
    known = {
        "concurrent": Known((), SHAKY, 2),
        "parallel": Known((), SHAKY, 2),
        "equal": Known((1,), "regular"),
        "affine": UNKNOWN,
    }
    return m, known[kind]


def rrr_held(rng):
    return three_rrr(tuple(rng.uniform(-0.3, 0.3, 2))), Known((), SHAKY, 2)


def seoul(rng):
    return three_upu(True, base=rng.uniform(0.9, 1.4), top=rng.uniform(0.4, 0.7)), Known(
        (3, 3), CROSSING
    )


def tsai(rng):
    return three_upu(False, base=rng.uniform(0.9, 1.4), top=rng.uniform(0.4, 0.7)), UNKNOWN


def boxes(rng):
    sides = [(9.0, 6.0, 3.0), (3.0, 2.0, 1.0), (5.0, 4.0, 1.0), (7.0, 5.0, 1.0)][
        int(rng.integers(4))
    ]
    return wunderlich(sides, np.zeros(3), int(rng.integers(12))), UNKNOWN


def fichter(rng):
    return stewart(
        np.pi / 2, rng.uniform(0.8, 1.6), rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9)
    ), UNKNOWN


def flat_scissors(rng):
    return scissors(int(rng.integers(2, 4)), 0.0), UNKNOWN


def dixon(rng):
    return dixon_lines(rng), Known((1,), "regular")


def _path(rng, m, k, at, across):
    """A point `at` that moves along `across`, on a circle, a line or an ellipse; returns its body."""
    kind = str(rng.choice(("crank", "slider", "trammel")))
    along = np.array([-across[1], across[0]])
    if kind == "crank":
        center = at + rng.choice((-1.0, 1.0)) * rng.uniform(0.6, 1.5) * along
        m.rod(f"crank{k}", center, at, mass=1.0)
        m.revolute(f"C{k}", m.ground, f"crank{k}", at=center)
        return f"crank{k}"
    if kind == "slider":
        m.body(f"slider{k}", 1.0, at, 0.1)
        m.prismatic(f"S{k}", m.ground, f"slider{k}", at=at, axis=across)
        return f"slider{k}"
    # a vertex of the ellipse: the trammel's bar lies along the normal
    a, b = rng.uniform(0.4, 1.5, 2) * rng.choice((-1.0, 1.0), 2)
    m.body(f"bar{k}", 1.0, at, 0.1)
    m.point_on_line(f"U{k}", m.ground, f"bar{k}", at=at + a * along, axis=along)
    m.point_on_line(f"V{k}", m.ground, f"bar{k}", at=at + b * along, axis=across)
    return f"bar{k}"


def two_paths(rng):
    """Two points whose paths are at right angles to the bar between them."""
    m = Mechanism("two paths")
    length = rng.uniform(0.5, 1.5)
    t = rng.uniform(0.0, 6.0)
    along, across = np.array([np.cos(t), np.sin(t)]), np.array([-np.sin(t), np.cos(t)])
    bodies = [_path(rng, m, k, k * length * along, across) for k in range(2)]
    m.rod("bar", (0.0, 0.0), length * along, mass=1.0)
    for k, b in enumerate(bodies):
        m.revolute(f"E{k}", b, "bar", at=k * length * along)
    return m, UNKNOWN


def concentric(rng, even=None):
    """A crank and a trammel on one bar with one centre of curvature: to second order it turns about that."""
    a, b = rng.uniform(0.5, 1.2), rng.uniform(0.3, 1.4)
    even = bool(rng.integers(2)) if even is None else even
    phi = 0.0 if even else rng.uniform(0.3, 1.2)
    # ellipse (a cos t, b sin t) at t = phi
    P = np.array([a * np.cos(phi), b * np.sin(phi)])
    d1, d2 = np.array([-a * np.sin(phi), b * np.cos(phi)]), -P
    speed = np.linalg.norm(d1)
    normal = np.array([-d1[1], d1[0]]) / speed
    curvature = (d1[0] * d2[1] - d1[1] * d2[0]) / speed**3
    center = P + normal / curvature
    radius = 1.0 / curvature
    length = float(rng.choice((-0.7, -0.3, 0.4, 0.8))) * radius
    Q = P + length * normal
    m = Mechanism("concentric " + ("even" if even else "odd"))
    # the trammel: a bar of a - b .. whose ends run along the axes; P is on it
    m.body("trammel", 1.0, P, 0.1)
    X, Y = np.array([(a - b) * np.cos(phi), 0.0]), np.array([0.0, (b - a) * np.sin(phi)])
    m.point_on_line("X", m.ground, "trammel", at=X, axis=(1.0, 0.0))
    m.point_on_line("Y", m.ground, "trammel", at=Y, axis=(0.0, 1.0))
    m.rod("bar", P, Q, mass=1.0)
    m.rod("crank", center, Q, mass=1.0)
    m.revolute("P", "trammel", "bar", at=P)
    m.revolute("Q", "bar", "crank", at=Q)
    m.revolute("C", m.ground, "crank", at=center)
    return m, UNKNOWN if even else Known((1,), CUSP)


def kite_with_dyad(rng):
    """Two equal bars between the joints of a kite that coincide: a free turn in one mode, none in the other."""
    special = bool(rng.integers(2))
    a, b = rng.uniform(0.8, 1.2), rng.uniform(1.5, 2.0)
    t = np.pi / 2 if not special else 0.0
    t = rng.uniform(0.3, 1.2) if not special else t
    c = 0.7
    apex = np.array([a, 0.0]) + c * np.array([np.cos(t), np.sin(t)])
    places = np.array([(0.0, 0.0), (a, 0.0), (a + b, 0.0), (a, 0.0), apex])
    bars = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 3)]
    return framework(
        "kite with dyad " + ("special" if special else "generic"), places, bars
    ), UNKNOWN


def lines_of_nodes(rng):
    """A random framework with all nodes on a line."""
    n = int(rng.integers(4, 7))
    x = np.sort(rng.uniform(0.0, 4.0, n))[rng.permutation(n)]
    pairs = [(i, j) for i in range(n) for j in range(i)]
    count = int(rng.integers(n, 2 * n - 2))
    bars = {(i, i - 1) for i in range(1, n)} | {(n - 1, 0)}
    while len(bars) < count:
        bars.add(pairs[int(rng.integers(len(pairs)))])
    return framework("nodes in line", np.column_stack([x, 0 * x]), sorted(bars)), UNKNOWN


def desargues(rng):
    """Two triangles in perspective: the three bars between them meet in a point."""
    top = rng.uniform(-0.5, 0.5, 2)
    t = np.sort(rng.uniform(0.0, 6.28, 3))
    rays = np.column_stack([np.cos(t), np.sin(t)])
    places = np.concatenate(
        [top + rays * rng.uniform(0.8, 1.2, (3, 1)), top + rays * rng.uniform(1.8, 2.5, (3, 1))]
    )
    bars = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
    return framework("Desargues", places, bars), Known((), SHAKY, 2)


def conic(rng):
    """K33 with its nodes on an ellipse: infinitesimally mobile."""
    t = rng.uniform(0.0, 6.28, 6)
    places = np.column_stack([2.0 * np.cos(t), np.sin(t)])
    bars = [(i, 3 + j) for i in range(3) for j in range(3)]
    return framework("K33 on a conic", places, bars), Known((), SHAKY, 2)


def flat_octahedron_like(rng):
    """A spatial closed chain of hinges in one plane: axes in the plane, points in it."""
    n = int(rng.integers(5, 7))
    t = np.sort(rng.uniform(0.0, 6.28, n))
    points = np.column_stack([np.cos(t), np.sin(t), 0 * t]) * rng.uniform(0.8, 1.2, (n, 1))
    a = rng.uniform(0.0, 3.14, n)
    axes = np.column_stack([np.cos(a), np.sin(a), 0 * a])
    return closed_chain("flat chain", points, axes), UNKNOWN


def duffy(rng):
    return griffis_duffy(rng.uniform(0.2, 1.0), rng.uniform(0.8, 1.3)), UNKNOWN


def three_cranks(rng):
    """A coupler on three or four equal cranks in line: a parallelogram that cannot cross over."""
    x = np.cumsum(rng.uniform(0.6, 1.5, int(rng.integers(3, 5))))
    crank = rng.uniform(0.5, 1.0)
    m = Mechanism("three cranks")
    m.body("coupler", 1.0, (x.mean() + crank, 0.0), 0.1)
    for k, at in enumerate(x):
        m.rod(f"crank{k}", (at, 0.0), (at + crank, 0.0), mass=1.0)
        m.revolute(f"A{k}", m.ground, f"crank{k}", at=(at, 0.0))
        m.revolute(f"B{k}", f"crank{k}", "coupler", at=(at + crank, 0.0))
    return m, Known((1,))


def folded_sarrus(rng):
    """Sarrus' linkage with its platform on the ground: both legs swing, or the platform rises."""
    return sarrus_linkage(1.0), Known((1, 2), CROSSING)


def sarrus_of_legs(rng, kinds=None):
    """Sarrus' linkage of several planar legs: regular (slope), stretched up (top) or down (bottom), or folded.

    The platform moves along z only. A regular leg follows z, a stretched one bends either way, with z = -+ s^2; a
    folded one follows z, too, or swings with z = 0. So z = 0 with all folded legs swinging is a branch, and the
    others have z = -+ s^2 if no two stretched legs contradict each other.
    """
    if kinds is None:
        kinds = rng.choice(("slope", "top", "bottom", "fold"), int(rng.integers(2, 5))).tolist()
    m = Mechanism("Sarrus " + " ".join(kinds), gravity=(0.0, 0.0, -9.81))
    m.body("platform", 2.0, (0.0, 0.0, 1.0), (0.1, 0.1, 0.2))
    angles = {"top": (0.5, 0.5), "bottom": (-0.5, -0.5), "fold": (0.0, 1.0)}
    for i, (kind, t) in enumerate(
        zip(kinds, np.cumsum(rng.uniform(0.4, 0.8, len(kinds))), strict=True)
    ):
        out, up = np.array([np.cos(t), np.sin(t), 0.0]), np.array([0.0, 0.0, 1.0])
        lengths = rng.uniform(0.5, 1.2, 2)
        if kind == "fold":
            lengths[1] = lengths[0]
        bends = np.pi * np.array(angles.get(kind, (rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9))))
        lower, upper = (
            a * (np.cos(b) * out + np.sin(b) * up) for a, b in zip(lengths, bends, strict=True)
        )
        high = rng.uniform(0.8, 1.4) * out + rng.uniform(0.5, 1.0) * up
        low, knee = high - lower - upper, high - upper
        axis = np.cross(up, out)
        m.body(f"lower{i}", 1.0, (low + knee) / 2, (0.1, 0.1, 0.1))
        m.body(f"upper{i}", 1.0, (high + knee) / 2, (0.1, 0.1, 0.1))
        m.revolute(f"A{i}", m.ground, f"lower{i}", at=low, axis=axis)
        m.revolute(f"K{i}", f"lower{i}", f"upper{i}", at=knee, axis=axis)
        m.revolute(f"B{i}", f"upper{i}", "platform", at=high, axis=axis)
    tops, bottoms, folds = (kinds.count(k) for k in ("top", "bottom", "fold"))
    dimensions = (folds,) if folds else ()
    if not (tops and bottoms):
        dimensions += (1,) * 2 ** max(tops + bottoms - 1, 0)
    return m, Known(dimensions)


def parallelogram_in_space(rng):
    """A flat parallelogram of hinges and cylindrical joints with parallel axes: n slides add n - 1."""
    width, crank, slides = rng.uniform(1.1, 2.5), rng.uniform(0.5, 1.0), int(rng.integers(0, 4))
    m = Mechanism("parallelogram in space", gravity=(0.0, 0.0, -9.81))
    at = np.array([(0.0, 0, 0), (crank, 0, 0), (width + crank, 0, 0), (width, 0, 0)])
    names = [m.ground, "left", "coupler", "right"]
    for i, name in enumerate(names[1:]):
        m.body(name, 1.0, (at[i] + at[i + 1]) / 2, (0.1, 0.1, 0.1))
    for i in range(4):
        join = m.cylindrical if i < slides else m.revolute
        join(f"J{i}", names[i], names[(i + 1) % 4], at=at[i], axis=(0.0, 0.0, 1.0))
    return m, Known((1 + max(slides - 1, 0),) * 2, CROSSING, 0)


def regular_hexagon(rng):
    """Hinges at the corners of a regular polygon, along the radii, the sides, or tilted in turn."""
    n, kind = int(rng.integers(4, 7)), int(rng.integers(0, 3))
    t = np.arange(n) * 2.0 * np.pi / n
    points = np.column_stack([np.cos(t), np.sin(t), 0 * t])
    z = np.where(np.arange(n) % 2, 0.5, -0.5)
    axes = [
        points,
        np.column_stack([-np.sin(t), np.cos(t), 0 * t]),
        points + np.outer(z, [0, 0, 1]),
    ][kind]
    return closed_chain("regular polygon", points, axes), UNKNOWN


FAMILIES = (
    windows, equal_windows, some_kite, line_of_bars, line_of_equal_bars, dead_slider_crank, tarnai, some_powers,
    watts, slots, cranks, flat_spherical, stretched_sarrus, regular_overconstrained, platform, rrr_held, seoul,
    tsai,
    boxes, fichter, flat_scissors, dixon, two_paths, concentric, kite_with_dyad, lines_of_nodes, desargues, conic,
    flat_octahedron_like, duffy, three_cranks, folded_sarrus, regular_hexagon,
    sarrus_of_legs, parallelogram_in_space,
)  # fmt: skip


def disturbed(m, size, seed):
    """Every joint off by up to `size` of a link, each by its own error: its place, and in space its axes."""
    rng = np.random.default_rng(seed)
    out = Mechanism(m.name, gravity=m.gravity)
    for b in m.bodies:
        # a rod would have to end at its pins
        out.body(b.name, b.mass, b.center, b.inertia)
    for j in m.joints:
        shift = rng.uniform(-size, size, m.dimension)
        turn = rng.uniform(-size, size, 3)
        ends = []
        for e in j.ends:
            if j.kind.row.is_link:
                shift = rng.uniform(-size, size, m.dimension)
            place = None if e.place is None else np.asarray(e.place) + shift
            axis = e.axis
            if axis is not None and m.dimension == 3:
                axis = np.asarray(axis) + np.cross(turn, axis)
            ends.append(replace(e, place=place, axis=axis))
        out.joints.append(replace(j, ends=tuple(ends)))
    out.drives.extend(m.drives)
    return out


def doubled(m, distance=30.0):
    """Two copies of a mechanism that share no body."""
    out = Mechanism(m.name, gravity=m.gravity)
    for k in range(2):
        right = np.zeros(m.dimension)
        right[0] = distance * k
        for b in m.bodies:
            if b.ends is None:
                out.body(f"{b.name}.{k}", b.mass, b.center + right, b.inertia)
            else:
                out.rod(f"{b.name}.{k}", *(e + right for e in b.ends), mass=b.mass)
        for j in m.joints:
            ends = tuple(
                replace(
                    e,
                    body=e.body if e.body == m.GROUND else f"{e.body}.{k}",
                    place=None if e.place is None else e.place + right,
                )
                for e in j.ends
            )
            out.joints.append(replace(j, name=f"{j.name}.{k}", ends=ends))
        for d in m.drives:
            out.drives.append(replace(d, name=f"{d.name}.{k}", joint=f"{d.joint}.{k}"))
    return out


def copies_of(m, seed):
    """Copies by name: other units, directions, orders, rounding."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 6.0)
    plane = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    R = plane if m.dimension == 2 else rotation(int(rng.integers(1000)))
    return {
        "small": copy_of(m, length=1e-3, mass=1e2),
        "large": copy_of(m, length=1e3, mass=1e-2),
        "turned": copy_of(m, R=R, offset=rng.uniform(-1, 1, m.dimension)),
        "order": copy_of(m, seed=int(rng.integers(1000))),
        "rounded": disturbed(m, 1e-12, int(rng.integers(1000))),
        "twin": copy_of(m, double=m.joints[int(rng.integers(len(m.joints)))].name),
    }


def summary(b):
    """What copies have in common."""
    return (
        b.classes, b.order, b.gap, b.count, b.decided, b.complete,
        tuple(sorted((x.dimension, x.instantaneous, x.two_sided, round(x.contact, 6), x.conical) for x in b)),
    )  # fmt: skip
