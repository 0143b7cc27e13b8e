"""Mechanisms that many tests build: the N four-bar, the Bricard linkage, rotations."""

import numpy as np

from sarrus import Mechanism
from sarrus.mechanism import End

# joints of the rectangular Bricard linkage at the start and their axes (MBS Benchmark A04)
BRICARD_POINTS = np.array(
    [[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float
)
BRICARD_AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]


def ends_of(bodies, at, axis=None):
    """The ends of a joint whose bodies have place and axis in common."""
    return tuple(End(body, at, axis) for body in bodies)


def rotation(seed):
    """A random rotation matrix."""
    Q, R = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    Q *= np.sign(np.diag(R))
    Q[:, 0] *= np.linalg.det(Q)
    return Q


def in_plane_of(R=None, offset=(0.0, 0.0, 0.0)):
    """Return the map that puts the plane into space, turned by R and moved by the offset."""
    R = np.eye(3) if R is None else R
    return lambda p: R @ np.array([p[0], p[1], 0.0]) + offset


def n_four_bar(windows, speed=1.0, plane_to_space=None, lean=0.0, gravity=9.81):
    """N windows of 1 m, 1 kg thin rods; the cranks lean from the upright by an angle [rad].

    plane_to_space: an affine map of planar points into space; left out, the mechanism is planar.
    """
    place = plane_to_space or (lambda p: np.array(p, dtype=float))
    zero = place((0.0, 0.0))

    def direction(d):
        return place(d) - zero

    crank = np.array([np.sin(lean), np.cos(lean)])
    across = np.array([np.cos(lean), -np.sin(lean)])
    axis = {}
    if plane_to_space is not None:
        axis = {"axis": np.cross(direction((1.0, 0.0)), direction((0.0, 1.0)))}
    m = Mechanism(f"{windows} four-bar", gravity=direction((0.0, -gravity)))
    for i in range(windows + 1):
        foot = np.array([i, 0.0])
        m.rod(f"crank{i}", place(foot), place(foot + crank), mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=place(foot), **axis)
    for i in range(windows):
        left = np.array([i, 0.0]) + crank
        m.rod(f"coupler{i}", place(left), place(left + np.array([1.0, 0.0])), mass=1.0)
    for i in range(windows + 1):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < windows]
        top = place(np.array([i, 0.0]) + crank)
        m.revolute(f"B{i}", f"crank{i}", *met, at=top, **axis)
    m.set_velocity("B0", direction(speed * across))
    return m


def bricard(section=0.1, R=None, offset=(0.0, 0.0, 0.0)):
    """Rectangular Bricard linkage of five 1 m, 1 kg rods, turned by R and moved by the offset."""
    R = np.eye(3) if R is None else R
    points, axes = BRICARD_POINTS @ R.T + offset, BRICARD_AXES @ R.T
    m = Mechanism("Bricard", gravity=R @ (0.0, -9.81, 0.0))
    rods = [m.rod(f"rod{i}", points[i], points[i + 1], 1.0, section=section) for i in range(5)]
    chain = [m.ground, *rods, m.ground]
    for i in range(6):
        m.revolute(f"P{i}", chain[i], chain[i + 1], at=points[i], axis=axes[i])
    return m


def pendulum(angle=0.7, mass=1.3, length=0.9, inertia=0.0):
    """Planar pendulum of a body at a distance from its pin; angle from the hanging position."""
    m = Mechanism("pendulum")
    m.body("bob", mass, (length * np.sin(angle), -length * np.cos(angle)), inertia)
    m.revolute("pin", m.ground, "bob", at=(0.0, 0.0))
    return m


def dense_jacobian(form, q):
    """J at q as a dense matrix, straight from the products of forms."""
    nq, nc, nf = len(form.Q), len(form.phi0), len(form.e0)
    D = dense_rows(form.D_start, form.D_col, form.D_val, (nf, nq))
    e = form.e0 + D @ q
    J = np.zeros((nc, nq))
    for f, k, c in zip(form.sq_form, form.sq_eq, form.sq_c, strict=True):
        J[k] += c * e[f] * D[f]
    for a, b, k, c in zip(form.bl_a, form.bl_b, form.bl_eq, form.bl_c, strict=True):
        J[k] += c * (e[a] * D[b] + e[b] * D[a])
    return J


def dense_rows(start, col, val, shape):
    """A matrix with compressed rows as a dense one."""
    out = np.zeros(shape)
    for i in range(shape[0]):
        for n in range(start[i], start[i + 1]):
            out[i, col[n]] += val[n]
    return out


def rank_of(J):
    """Rank of J and its singular values; entries are of order one, so 1e-8 is a wide gap."""
    values = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(values > 1e-8)), values


def flat_four_bar(windows, speed=3.0, lift=0.0):
    """Cranks and couplers on one line, every top joint going down: the parallelogram branch.

    lift: the tops this far above the line, by rotation of the cranks.
    """
    m = Mechanism("flat four-bar")
    c, s = np.sqrt((1.0 - lift) * (1.0 + lift)), lift
    for i in range(windows + 1):
        m.rod(f"crank{i}", (i, 0), (i + c, s), mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=(i, 0))
    for i in range(windows):
        m.rod(f"coupler{i}", (i + c, s), (i + 1 + c, s), mass=1.0)
    for i in range(windows + 1):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < windows]
        m.revolute(f"B{i}", f"crank{i}", *met, at=(i + c, s))
        m.set_velocity(f"B{i}", (speed * s, -speed * c))
    return m
