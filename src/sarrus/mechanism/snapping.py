"""Typed coordinates: joints, points and ends that are slightly off their rods are moved onto them.

A point on an inclined rod that is typed with seven digits is off by about 1e-8 of the rod's length. Points P of
joints and ends a, b of rods are moved by the smallest displacement (least squares) after which

    (1 - s) a + s b = P        for each joint on a rod,

where s is free between the ends. Coordinates that were typed consistently have a large weight: they move only
where nothing else can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..thresholds import DROPPED_MOVE, TYPED_GAP
from .bodies import Body, make_rod
from .elements import MechanismError
from .joints import End, Joint

if TYPE_CHECKING:
    from .mechanism import Mechanism

# weight of points that were typed consistently
HEAVY = 1e4
# most incidences of joints and rods solved together; a typed mechanism has tens
MOST = 500
# the equations are bilinear: a gap of 1e-6 leaves 1e-12 after the first solve
ITERATIONS = 3

Node = tuple[str, str, int]


@dataclass(frozen=True)
class Incidence:
    """A joint on a rod: node of the joint, name of the rod, fraction of its length, and distance [m]."""

    node: Node
    rod: str
    share: float
    gap: float


def snap_places(m: Mechanism, names: set[str] | None = None) -> None:
    """Move joints, rods, points, springs and forces that are off by less than the typing error, with notes.

    names: of the joints that may be off; default: all. Raises MechanismError if that is impossible.
    """
    # rods with an end of another dimension stay as they are: the check names them
    shape = (m.dimension,)
    rods = {b.name: b for b in m.bodies if b.ends and all(e.shape == shape for e in b.ends)}
    if not rods or m.exact:
        return
    off = [
        i
        for joint in m.joints
        if names is None or joint.name in names
        for i in _incidences(joint, rods)
        if i.gap
    ]
    if off:
        _move_joints(m, rods, off)
    _move_loads(m)


def _incidences(joint: Joint, rods: dict[str, Body]) -> Iterator[Incidence]:
    """Incidences of a joint with rods, if its points are valid and close enough."""
    row, one = joint.kind.row, all(e.place is joint.ends[0].place for e in joint.ends)
    for k, end in enumerate(joint.ends):
        if end.body not in rods or end.place is None or (row.slides and k == 0):
            continue
        a, b = rods[end.body].ends or (end.place, end.place)
        d = b - a
        square = float(d @ d) if d.shape == end.place.shape else 0.0
        if not (square > 0 and np.isfinite(square) and np.isfinite(end.place).all()):
            continue
        share = float((end.place - a) @ d) / square
        for whole in (0.0, 1.0):
            share = whole if abs(share - whole) <= TYPED_GAP else share
        far = float(np.linalg.norm(end.place - a - share * d))
        if not 0 <= share <= 1 or far > TYPED_GAP * np.sqrt(square):
            continue
        gap, _ = rods[end.body].measure_off_rod(end.place)
        yield Incidence(("joint", joint.name, 0 if one else k), end.body, share, gap)


def _move_joints(m: Mechanism, rods: dict[str, Body], off: list[Incidence]) -> None:
    """The smallest displacement that brings all joints connected to these onto their rods."""
    known = _neighbours(m, rods, off)
    nodes: dict[Node, Floats] = {}
    joints = {joint.name: joint for joint in m.joints}
    for i in known:
        nodes[i.node] = _place(joints[i.node[1]], i.node[2])
        for k, end in enumerate(rods[i.rod].ends or ()):
            nodes["rod", i.rod, k] = end
    light = {i.node for i in off}
    light |= {("rod", i.rod, int(i.share)) for i in known if i.node in light and i.share in (0, 1)}
    order = {node: n for n, node in enumerate(nodes)}
    weights = np.array([1.0 if node in light else HEAVY for node in nodes])
    typed = np.array(list(nodes.values()))
    places = typed.copy()
    for _ in range(ITERATIONS):
        places += _least_move(known, order, places, weights)
    far = np.linalg.norm(places - typed, axis=1)
    size = float(np.ptp(typed, axis=0).max())
    _write(
        m,
        {
            node: places[n]
            for node, n in order.items()
            if far[n] > DROPPED_MOVE * size or node in light
        },
    )
    worst = list(order)[int(np.argmax(far))]
    for i in off:
        m.remarks.append(
            f"joint '{i.node[1]}' was {i.gap:.2g} m off rod '{i.rod}' and was moved onto it; places changed by at "
            f"most {far.max():.2g} m ({worst[0]} '{worst[1]}')"
        )
    _check(m, {i.node[1] for i in known})


def _least_move(
    known: list[Incidence], order: dict[Node, int], places: Floats, weights: Floats
) -> Floats:
    """Displacements of all points, of least weighted norm, that satisfy the equations to first order."""
    n, dimension = places.shape
    rows, wanted = [], []
    for i in known:
        a, b, p = (order[node] for node in (("rod", i.rod, 0), ("rod", i.rod, 1), i.node))
        d = places[b] - places[a]
        share, across = i.share, np.eye(dimension)
        if 0 < share < 1:
            # the joint may be anywhere along the rod
            share = float((places[p] - places[a]) @ d) / float(d @ d)
            across = np.linalg.svd(d[None])[2][1:]
        for normal in across:
            row = np.zeros((n, dimension))
            row[a] += (1 - share) * normal
            row[b] += share * normal
            row[p] -= normal
            rows.append(row.ravel())
            wanted.append(float(normal @ (places[p] - places[a] - share * d)))
    scales = np.repeat(weights, dimension)
    found = np.linalg.lstsq(np.array(rows) / scales, np.array(wanted), rcond=None)[0]
    return np.asarray(found / scales).reshape(n, dimension)


def _neighbours(m: Mechanism, rods: dict[str, Body], off: list[Incidence]) -> list[Incidence]:
    """All joints on rods that are connected to those that are off, nearest first."""
    of_joint = {joint.name: list(_incidences(joint, rods)) for joint in m.joints}
    on_rod: dict[str, list[str]] = {}
    for name, found in of_joint.items():
        for i in found:
            on_rod.setdefault(i.rod, []).append(name)
    out: list[Incidence] = []
    queue = [i.node[1] for i in off]
    seen = set(queue)
    while queue and len(out) < MOST:
        name = queue.pop(0)
        out += of_joint[name]
        for i in of_joint[name]:
            new = [other for other in on_rod[i.rod] if other not in seen]
            queue += dict.fromkeys(new)
            seen |= set(new)
    return out


def _place(joint: Joint, k: int) -> Floats:
    place = joint.ends[k].place
    assert place is not None
    return place


def _write(m: Mechanism, new: dict[Node, Floats]) -> None:
    """Replace the joints and rods that moved."""
    for i, joint in enumerate(m.joints):
        one = all(e.place is joint.ends[0].place for e in joint.ends)
        places = [new.get(("joint", joint.name, 0 if one else k)) for k in range(len(joint.ends))]
        if any(place is not None for place in places):
            ends = [
                End(e.body, e.place if p is None else p, e.axis)
                for e, p in zip(joint.ends, places, strict=True)
            ]
            m.exchange("joints", i, replace(joint, ends=tuple(ends)), check=False)
    for i, body in enumerate(m.bodies):
        if body.ends is not None and any(("rod", body.name, k) in new for k in (0, 1)):
            a, b = (new.get(("rod", body.name, k), body.ends[k]) for k in (0, 1))
            rod = make_rod(body.name, a, b, body.mass, body.section)
            m.exchange("bodies", i, rod, check=False)


def _check(m: Mechanism, names: set[str]) -> None:
    """Raise an error if joints are still off: their rods cannot all pass through them."""
    rods = {b.name: b for b in m.bodies if b.ends is not None}
    for joint in m.joints:
        for i in _incidences(joint, rods) if joint.name in names else ():
            if i.gap:
                raise MechanismError(
                    f"joint '{joint.name}' and rod '{i.rod}' are apart by {i.gap:.6g} m, and no small change of "
                    "places brings all joints onto their rods; give more digits, or along= for places on rods"
                )


def _move_loads(m: Mechanism) -> None:
    """Move points, forces and ends of springs that are slightly off their rods to the nearest point on them."""
    bodies = {b.name: b for b in m.bodies}

    def moved(what: str, body: str, at: Floats) -> Floats:
        if body not in bodies or at.shape != bodies[body].center.shape:
            return at
        gap, nearest = bodies[body].measure_off_rod(at)
        if not gap or gap > TYPED_GAP * bodies[body].length:
            return at
        m.remarks.append(f"{what} was {gap:.2g} m off rod '{body}' and was moved onto it")
        return nearest

    for block in ("markers", "forces", "springs"):
        for i, part in enumerate(getattr(m, block)):
            what = f"{'point' if block == 'markers' else block[:-1]} '{part.name}'"
            new: Any
            if block == "springs":
                pairs = zip(part.bodies, part.ends, strict=True)
                ends = tuple(moved(what, body, at) for body, at in pairs)
                same = all(a is b for a, b in zip(ends, part.ends, strict=True))
                new = part if same else replace(part, ends=ends)
            else:
                at = moved(what, part.body, part.at)
                new = part if at is part.at else replace(part, at=at)
            if new is not part:
                m.exchange(block, i, new, check=False)
