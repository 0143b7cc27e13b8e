"""From a mechanism to its model: the order of the steps, and the assembly of the arrays.

    groups and shared features   sharing.py
    a frame for each group       frames.py
    linear relations solved      reduce.py
    forms, products, M, Q        here
    elimination order            order.py
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.layout import Form
from ..kernels.solve import EPS
from ..mechanism import Body, Mechanism, MechanismError
from .frames import Frame, Mass, make_frame
from .model import Model, Units
from .order import make_factor
from .reduce import Reduction, Row, component_rows, drop_fixed
from .sharing import GROUND, Group, Sharing, share_features

Vector = NDArray[np.float64]



def make_model(mechanism: Mechanism) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism."""
    turn = _model_directions(mechanism)
    units = _units(mechanism)

    def place(p: Vector) -> Vector:
        return turn @ _in_space(p) / units.length

    sharing = share_features(mechanism, place, lambda d: turn @ _in_space(d))
    wanted = _wanted_points(mechanism)
    further: dict[int, list[Vector]] = defaultdict(list)
    for body, at in wanted.values():
        further[sharing.group_of[body]].append(place(at))
    masses = [_mass(g, turn, units) for g in sharing.groups[1:]]
    frames = [
        make_frame(sharing, group, mass, further[i])
        for i, (group, mass) in enumerate(zip(sharing.groups[1:], masses, strict=True), start=1)
    ]
    reduction, fixed = _reduce(mechanism, sharing, frames)
    nq = len(reduction.columns)

    def rows_of(linear) -> list[Row]:
        return [reduction.coordinates(drop_fixed(r, fixed)) for r in component_rows(linear)]

    gravity = turn @ _in_space(mechanism.gravity) / units.length
    M, Q = _inertia(frames, rows_of, gravity, nq)
    equations = _Equations()
    for frame in frames:
        for i, j in frame.products:
            a, b = frame.vectors[i], frame.vectors[j]
            equations.add(rows_of(a.linear), a.start, rows_of(b.linear), b.start, i == j)
    form = _assemble(equations, M, Q)

    names, blocks, origins = {}, [], []
    back = turn.T[: mechanism.dimension] * units.length
    for n, (name, (body, at)) in enumerate(wanted.items()):
        names[name] = n
        origins.append(at)
        group = sharing.group_of[body]
        rows = [] if group == GROUND else rows_of(frames[group - 1].point(place(at)))
        blocks.append(_dense_times_rows(back, rows))
    places = _sparse([r for block in blocks for r in block], nq)
    return Model(
        name=mechanism.name,
        dimension=mechanism.dimension,
        units=units,
        form=form,
        points=names,
        places=places,
        origins=np.array(origins),
        body_vectors={
            name: _body_vectors(sharing, frames, name, rows_of, turn, nq)
            for name, _ in mechanism.angular_velocities
        },
    )


def _body_vectors(sharing: Sharing, frames: list[Frame], body: str, rows_of, turn: Vector, nq: int):
    """Vectors fixed in a body: rows of their change in world directions, and their unit starts."""
    group = sharing.group_of[body]
    if group == GROUND:
        return _sparse([{}] * 9, nq), np.eye(3)
    frame = frames[group - 1]
    rows: list[Row] = [{} for _ in range(3 * len(frame.directions))]
    starts = list(frame.directions)
    for v in frame.vectors:
        size = float(np.linalg.norm(v.start))
        rows += _dense_times_rows(turn.T / size, rows_of(v.linear))
        starts.append(v.start / size)
    return _sparse(rows, nq), np.array(starts).reshape(-1, 3) @ turn


def _in_space(vector: Vector) -> Vector:
    return np.append(vector, 0.0) if len(vector) == 2 else vector


def _model_directions(mechanism: Mechanism) -> Vector:
    """Rows: the model's axes. A hinge on the ground gives the third, so that mechanisms which
    move in a plane across it keep two coordinates a point, however they stand in space."""
    if mechanism.dimension == 3:
        for joint in mechanism.joints:
            if joint.axis is not None and mechanism.GROUND in joint.bodies:
                z = joint.axis / np.linalg.norm(joint.axis)
                k = int(np.argmax(np.abs(z)))
                if abs(z[k]) == 1.0:
                    # a permutation keeps the user's numbers bit for bit
                    return np.roll(np.eye(3), k + 1, axis=1)[[0, 1, 2]] if k < 2 else np.eye(3)
                x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
                x /= np.linalg.norm(x)
                return np.array([x, np.cross(z, x), z])
    return np.eye(3)


def _units(mechanism: Mechanism) -> Units:
    """Typical distance from a body's centre to its joints, and typical mass."""
    at = defaultdict(list)
    for joint in mechanism.joints:
        if joint.at is not None:
            for b in joint.bodies:
                at[b].append(joint.at)
    arms = []
    for body in mechanism.bodies:
        arms += [float(np.linalg.norm(p - body.center)) for p in at[body.name]]
    if not any(arms):
        # no joint away from a centre: how far the mass spreads, or a metre for a point
        arms = [float(np.sqrt(np.max(b.inertia) / b.mass)) for b in mechanism.bodies]
    arms = [a for a in arms if a > 0]
    # a link between two joints is about twice the arm from its centre
    length = 2.0 * float(np.mean(arms)) if arms else 1.0
    return Units(length, float(np.mean([b.mass for b in mechanism.bodies])))


def _wanted_points(mechanism: Mechanism) -> dict[str, tuple[str, Vector]]:
    """Readable points: joints, markers, centres of bodies; a joint's name wins over a body's."""
    points: dict[str, tuple[str, Vector]] = {b.name: (b.name, b.center) for b in mechanism.bodies}
    for marker in mechanism.markers:
        points[marker.name] = (marker.body, marker.at)
    for joint in mechanism.joints:
        if joint.at is not None:
            body = next((b for b in joint.bodies if b == mechanism.GROUND), joint.bodies[0])
            points[joint.name] = (body, joint.at)
    return points


def _mass(group: Group, turn: Vector, units: Units) -> Mass:
    """Mass, centre and second moments of all bodies of a group."""
    mass = sum(b.mass for b in group.bodies)
    center = sum((b.mass * _in_space(b.center) for b in group.bodies), np.zeros(3)) / mass
    moments = np.zeros((3, 3))
    for body in group.bodies:
        arm = _in_space(body.center) - center
        moments += _moments(body) + body.mass * np.outer(arm, arm)
    moments = turn @ moments @ turn.T / units.energy
    return Mass(mass / units.mass, turn @ center / units.length, 0.5 * (moments + moments.T))


def _moments(body: Body) -> Vector:
    """Second moments of mass about the centre, from the inertia."""
    if body.inertia.ndim == 0:
        return np.diag([0.5, 0.5, 0.0]) * float(body.inertia)
    return 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia


def _reduce(
    mechanism: Mechanism, sharing: Sharing, frames: list[Frame]
) -> tuple[Reduction, set[int]]:
    """Solve all linear relations between the features."""
    fixed = {3 * k + c for k, f in enumerate(sharing.features) if f.fixed for c in range(3)}
    if mechanism.dimension == 2:
        fixed |= {3 * k + 2 for k in range(len(sharing.features))}
    reduction = Reduction(3 * len(sharing.features))
    for frame in frames:
        for linear, solve_for in frame.relations:
            for row in component_rows(linear):
                prefer = (3 * solve_for, 3 * solve_for + 1, 3 * solve_for + 2)
                reduction.eliminate(drop_fixed(row, fixed), prefer)
    used = {
        i
        for frame in frames
        for linear in ({frame.origin: np.eye(3)}, *(v.linear for v in frame.vectors))
        for row in component_rows(linear)
        for i in reduction.substitute(drop_fixed(row, fixed))
    }
    reduction.number(fixed | (set(range(3 * len(sharing.features))) - used))
    return reduction, fixed


def _inertia(
    frames: list[Frame], rows_of, gravity: Vector, nq: int
) -> tuple[sparse.csr_array, Vector]:
    """Mass matrix and weight: T = 1/2 sum G_ij f_i' f_j' over the features f of each frame."""
    entries: dict[tuple[int, int], float] = defaultdict(float)
    Q = np.zeros(nq)
    for frame in frames:
        features = [rows_of({frame.origin: np.eye(3)}), *(rows_of(v.linear) for v in frame.vectors)]
        for i, rows_i in enumerate(features):
            for c in range(3):
                for a, x in rows_i[c].items():
                    Q[a] += frame.gram[0, i] * gravity[c] * x
                    for j, rows_j in enumerate(features):
                        if frame.gram[i, j] != 0.0:
                            for b, y in rows_j[c].items():
                                entries[a, b] += frame.gram[i, j] * x * y
    return _sparse_entries(entries, (nq, nq)), Q


class _Equations:
    """Forms and products of the constraint equations; equal forms and equations stand once."""

    def __init__(self) -> None:
        self.forms: list[tuple[Row, float]] = []
        self.products: list[dict[tuple[int, int], float]] = []
        self.values: list[float] = []
        self._form_number: dict[tuple, int] = {}
        self._known: set[tuple] = set()

    def add(
        self, rows_a: list[Row], start_a: Vector, rows_b: list[Row], start_b: Vector, square: bool
    ) -> None:
        """Add the equation a . b = its value at the start, scaled to a length."""
        size = np.sqrt(np.linalg.norm(start_a) * np.linalg.norm(start_b))
        scale = (0.5 if square else 1.0) / size
        products: dict[tuple[int, int], float] = defaultdict(float)
        for ra, xa, rb, xb in zip(rows_a, start_a, rows_b, start_b, strict=True):
            if ra or rb:
                (fa, sa), (fb, sb) = self._form(ra, float(xa)), self._form(rb, float(xb))
                products[min(fa, fb), max(fa, fb)] += scale * sa * sb
        products = {k: c for k, c in sorted(products.items()) if c != 0.0}
        if not products:
            return
        # the same equation from two bodies (the norm of a shared axis) is written once
        first = next(iter(products.values()))
        key = tuple((k, round(c / first, 12)) for k, c in products.items())
        if key not in self._known:
            self._known.add(key)
            self.products.append(products)
            value = sum(c * self.forms[a][1] * self.forms[b][1] for (a, b), c in products.items())
            self.values.append(value)

    def _form(self, row: Row, start: float) -> tuple[int, float]:
        """Number and factor of a form; forms that differ by a factor are one form."""
        factor = next(iter(row.values())) if row else 1.0
        items = tuple((i, c / factor) for i, c in row.items())
        start = start / factor
        key = (tuple((i, round(c, 13)) for i, c in items), round(start, 13))
        if key not in self._form_number:
            self._form_number[key] = len(self.forms)
            self.forms.append((dict(items), start))
        return self._form_number[key], factor


def _assemble(equations: _Equations, M: sparse.csr_array, Q: Vector) -> Form:
    """Flatten forms, products, J, M and the factor into the kernel's arrays."""
    nq, nc = len(Q), len(equations.products)
    squares = [
        (a, k, 2.0 * c)
        for k, eq in enumerate(equations.products)
        for (a, b), c in eq.items()
        if a == b
    ]
    pairs = [
        (a, b, k, c)
        for k, eq in enumerate(equations.products)
        for (a, b), c in eq.items()
        if a != b
    ]
    D = _sparse([row for row, _ in equations.forms], nq)
    e0 = np.array([start for _, start in equations.forms])

    # J is linear in the forms: collect for each entry the forms it is made of
    entries: dict[tuple[int, int], Row] = defaultdict(lambda: defaultdict(float))
    for a, k, c in squares:
        for i, d in equations.forms[a][0].items():
            entries[k, i][a] += c * d
    for a, b, k, c in pairs:
        for one, other in ((a, b), (b, a)):
            for i, d in equations.forms[one][0].items():
                entries[k, i][other] += c * d
    at = sorted(entries)
    parts = _sparse([entries[key] for key in at], len(e0))
    J_eq, J_col = _ints([k for k, _ in at]), _ints([i for _, i in at])
    J0 = sparse.csr_array((parts @ e0, (J_eq, J_col)), shape=(nc, nq))

    rho = _augmented(M, J_eq, J_col, nc)
    neighbours: list[set[int]] = [set() for _ in range(nq + nc)]
    _connect(neighbours, *M.nonzero())
    _connect(neighbours, J_eq + nq, J_col)
    of_eq: dict[int, list[int]] = defaultdict(list)
    for n, k in enumerate(J_eq):
        of_eq[int(k)].append(n)
    augment = [
        (n1, n2)
        for k in np.flatnonzero(rho)
        for n1 in of_eq[int(k)]
        for n2 in of_eq[int(k)]
        if J_col[n1] <= J_col[n2]
    ]
    _connect(neighbours, [J_col[a] for a, _ in augment], [J_col[b] for _, b in augment])
    factor = make_factor(neighbours, nq)

    lower = sparse.tril(M).tocoo()
    augmented = M + J0.T @ sparse.diags_array(rho) @ J0
    diagonal = augmented.diagonal()
    if nq and diagonal.min() <= 0.0:
        raise MechanismError("a coordinate has neither mass nor an equation that holds it")
    size = (J0.multiply(J0) @ (1.0 / diagonal)) if nc else np.zeros(0)
    pos = factor.position
    return Form(
        D_start=_ints(D.indptr), D_col=_ints(D.indices), D_val=D.data, e0=e0,
        sq_form=_ints([s[0] for s in squares]), sq_eq=_ints([s[1] for s in squares]),
        sq_c=np.array([s[2] for s in squares], dtype=float),
        bl_a=_ints([p[0] for p in pairs]), bl_b=_ints([p[1] for p in pairs]),
        bl_eq=_ints([p[2] for p in pairs]), bl_c=np.array([p[3] for p in pairs], dtype=float),
        phi0=np.array(equations.values, dtype=float),
        J_eq=J_eq, J_col=J_col,
        C_start=_ints(parts.indptr), C_form=_ints(parts.indices), C_val=parts.data,
        M_start=_ints(M.indptr), M_col=_ints(M.indices), M_val=M.data, Q=Q,
        pos_q=pos[:nq].copy(), pos_c=pos[nq:].copy(),
        K_M=_ints([factor.entry(i, j) for i, j in zip(*lower.coords, strict=True)]),
        K_M_val=lower.data,
        K_J=_ints([factor.entry(nq + k, i) for k, i in zip(J_eq, J_col, strict=True)]),
        K_A=_ints([factor.entry(J_col[a], J_col[b]) for a, b in augment]),
        K_A_1=_ints([a for a, _ in augment]), K_A_2=_ints([b for _, b in augment]),
        rho=rho, eps=EPS * size,
        L_start=factor.start, L_row=factor.rows, L_target=factor.target,
    )  # fmt: skip


def _augmented(M: sparse.csr_array, J_eq, J_col, nc: int) -> Vector:
    """rho of each equation: the size of M where it touches a coordinate without mass of its own.

    M is only semidefinite where a feature carries no mass (the hinge axes of thin rods). Adding
    rho J^T J of these equations to M, and rho J^T r to the right side, changes no solution.
    """
    rho = np.zeros(nc)
    light = _light_coordinates(M)
    rho[np.unique(J_eq[light[J_col]])] = M.diagonal().max(initial=0.0)
    return rho


def _light_coordinates(M: sparse.csr_array) -> NDArray[np.bool_]:
    """Coordinates whose pivot in a Cholesky factorisation of M vanishes: no mass of their own."""
    nq = M.shape[0]
    neighbours: list[set[int]] = [set() for _ in range(nq)]
    _connect(neighbours, *M.nonzero())
    factor = make_factor(neighbours, nq)
    lower = sparse.tril(M).tocoo()
    values = np.zeros(nq + len(factor.rows))
    values[[factor.entry(i, j) for i, j in zip(*lower.coords, strict=True)]] = lower.data
    whole = values[:nq].copy()
    scale = whole.max(initial=0.0)
    light, done = np.zeros(nq, dtype=bool), 0
    for j in range(nq):
        column = values[nq + factor.start[j] : nq + factor.start[j + 1]].copy()
        pairs = len(column) * (len(column) + 1) // 2
        target = factor.target[done : done + pairs]
        done += pairs
        # what is left of a diagonal entry after cancellation is rounding below this
        light[j] = values[j] <= 1e-12 * whole[j] + 1e-14 * scale
        if not light[j]:
            a, b = np.triu_indices(len(column))
            values[target] -= column[a] * column[b] / values[j]
    return light[factor.position]


def _connect(neighbours: list[set[int]], rows, cols) -> None:
    for a, b in zip(rows, cols, strict=True):
        if a != b:
            neighbours[int(a)].add(int(b))
            neighbours[int(b)].add(int(a))


def _ints(values) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, dtype=np.int64)


def _sparse(rows: list[Row], columns: int) -> sparse.csr_array:
    start = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    col = np.array([i for r in rows for i in r], dtype=np.int64)
    val = np.array([c for r in rows for c in r.values()], dtype=float)
    return sparse.csr_array((val, col, start), shape=(len(rows), columns))


def _sparse_entries(entries: dict[tuple[int, int], float], shape) -> sparse.csr_array:
    rows, cols = _ints([a for a, _ in entries]), _ints([b for _, b in entries])
    val = np.array(list(entries.values()), dtype=float)
    return sparse.csr_array((val, (rows, cols)), shape=shape)


def _dense_times_rows(matrix: Vector, rows: list[Row]) -> list[Row]:
    out: list[Row] = [{} for _ in range(matrix.shape[0])]
    for c, row in enumerate(rows):
        for target, factor in zip(out, matrix[:, c], strict=True):
            if factor != 0.0:
                for i, x in row.items():
                    target[i] = target.get(i, 0.0) + factor * x
    return out
