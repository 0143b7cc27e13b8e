"""Parts of a large mechanism that are sound for certain, found over arrays: only the others are asked for words.

What is passed over here would have nothing to say itself; whatever is unusual, or close to a limit, is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Flags, Floats
from ..tape import UntracedError
from ..thresholds import ON_ROD
from .elements import GROUND, Element, Known

if TYPE_CHECKING:
    from .bodies import Body
    from .joints import Joint

# an end that a joint without bodies has not
_NOWHERE = SimpleNamespace(place=None, axis=None)
# fewer are asked one by one
MANY = 64
# of what is allowed, how much is sound for certain
SHARE = 0.5


def doubtful(block: str, parts: Sequence[Any], known: Known) -> Sequence[Element]:
    """Parts that may have something to say; block: what they are."""
    screens: dict[str, Callable[[Any, Known], Flags]]
    screens = {"bodies": _sound_bodies, "joints": _sound_joints}
    screen = screens.get(block)
    if screen is None or len(parts) < MANY:
        return parts
    try:
        sound = screen(parts, known)
    except UntracedError:
        # a tape writes down what each of them is asked
        return parts
    return [parts[i] for i in np.flatnonzero(~sound).tolist()]


def _sound_bodies(bodies: Sequence[Body], known: Known) -> Flags:
    """Bodies with a mass, and with two ends or a centre and an inertia."""
    mass, good = _numbers([b.mass for b in bodies])
    good &= mass > 0.0
    is_rod = np.array([b.ends is not None for b in bodies])
    section, finite = _numbers([b.section for b in bodies])
    ends, placed = _rod_ends(bodies, known.dimension)
    apart, size = _size(ends[:, 1] - ends[:, 0]), np.abs(ends).max(axis=(1, 2))
    rods = finite & (section >= 0.0) & placed & (SHARE * apart > 1e-12 * size)
    if is_rod.all():
        return good & rods
    _, placed = _vectors([b.center for b in bodies], known.dimension)
    return good & np.where(is_rod, rods, placed & _sound_inertias(bodies, known.dimension))


def _sound_joints(joints: Sequence[Joint], known: Known) -> Flags:
    """Joints with one place, and one axis or none, on all of their bodies."""
    planar = known.dimension == 2
    kinds = {id(j.kind): j.kind.row for j in joints}
    # kinds whose places and axes are those of all bodies
    plain = {
        kind: row.axis in ("", "common")
        and not (row.slides or row.is_link or (planar and row.in_plane))
        for kind, row in kinds.items()
    }
    good = np.array([plain[id(j.kind)] and _is_closed(j) for j in joints])
    firsts = [j.ends[0] if j.ends else _NOWHERE for j in joints]
    at, placed = _vectors([e.place for e in firsts], known.dimension)
    good &= placed
    turning = {kind: row.axis == "common" for kind, row in kinds.items()}
    turns = np.array([turning[id(j.kind)] for j in joints])
    if planar:
        good &= ~turns | np.array([e.axis is None for e in firsts])
    else:
        axis, given = _vectors([e.axis for e in firsts], known.dimension)
        good &= ~turns | (given & (np.abs(axis).max(axis=1) > 0.0))
    return good & ~_off_body(joints, known, at)


def _is_closed(joint: Joint) -> bool:
    """Whether a joint has one place and axis, and different bodies."""
    ends = joint.ends
    if len(ends) == 2:
        first, second = ends
        same = first.place is second.place and first.axis is second.axis
        return same and first.body != second.body
    return len(ends) > 2 and has_one_place(joint) and len(ends) == len({e.body for e in ends})


def has_one_place(joint: Joint) -> bool:
    """Whether all bodies of a joint have the same place and axis, as they were given."""
    first, *others = joint.ends
    return all(end.place is first.place and end.axis is first.axis for end in others)


def _off_body(joints: Sequence[Joint], known: Known, at: Floats) -> Flags:
    """Joints that may be beside one of their bodies, or have one that is not there."""
    numbers = {name: n for n, name in enumerate(known.bodies)}
    # the ground is behind all of them; what is unknown is -1
    numbers.setdefault(GROUND, len(numbers))
    joint = np.repeat(np.arange(len(joints)), [len(j.ends) for j in joints])
    body = np.array([numbers.get(e.body, -1) for j in joints for e in j.ends], dtype=np.int64)
    bodies = list(known.bodies.values())
    ends, placed = _rod_ends(bodies, known.dimension)
    # bodies that are no rods, and the ground, have no ends to be beside of
    is_rod = np.array([*(b.ends is not None for b in bodies), False, False])
    ends = np.concatenate([ends, np.zeros((2, *ends.shape[1:]))])
    placed = np.append(placed, [True, True])
    a, along = ends[body, 0], ends[body, 1] - ends[body, 0]
    square = _dot(along, along)
    off = at[joint] - a
    share = np.clip(_dot(off, along) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    gap = _size(off - share[:, None] * along)
    allowed = ON_ROD * np.sqrt(square) + 8e-16 * np.abs(at[joint]).max(axis=1)
    near = ~is_rod[body] | (placed[body] & (gap <= SHARE * allowed))
    out = np.zeros(len(joints), bool)
    out[joint[~near | (body < 0)]] = True
    return out


def _sound_inertias(bodies: Sequence[Body], dimension: int) -> Flags:
    """Bodies whose inertia is that of some body; those of rods follow from their ends."""
    if dimension == 2:
        values, good = _numbers([b.inertia for b in bodies])
        return good & (values >= 0.0)
    flat, good = _vectors([b.inertia.ravel() for b in bodies], 9)
    matrix = flat.reshape(-1, 3, 3)
    size = np.abs(flat).max(axis=1)
    skew = np.abs(matrix - np.swapaxes(matrix, 1, 2)).max(axis=(1, 2))
    half = 0.5 * np.trace(matrix, axis1=1, axis2=2)[:, None, None]
    moments = half * np.eye(3) - 0.5 * (matrix + np.swapaxes(matrix, 1, 2))
    least = np.linalg.eigvalsh(moments)[:, 0]
    good &= np.array([b.inertia.ndim == 2 for b in bodies])
    return good & (skew <= SHARE * 1e-9 * size) & (least >= -SHARE * 1e-9 * size)


def _rod_ends(bodies: Sequence[Body], dimension: int) -> tuple[Floats, Flags]:
    """Ends of rods, (n, 2, dimension), and whether there are two good ones; zeros for other bodies."""
    start, one = _vectors([b.ends[0] if b.ends else None for b in bodies], dimension)
    end, other = _vectors([b.ends[1] if b.ends else None for b in bodies], dimension)
    return np.stack([start, end], axis=1), one & other


def _numbers(values: list[Any]) -> tuple[Floats, Flags]:
    """Floats or arrays of one number, and which of them are finite."""
    good = np.array([type(x) is float or getattr(x, "shape", None) == () for x in values])
    found = np.zeros(len(values))
    found[good] = [float(x) for x, is_good in zip(values, good.tolist(), strict=True) if is_good]
    return found, good & np.isfinite(found)


def _vectors(values: list[Any], width: int) -> tuple[Floats, Flags]:
    """Vectors of floats as rows, and which of them are such and finite; zeros for others."""
    shape = (width,)
    good = np.array([x is not None and x.shape == shape for x in values], dtype=bool)
    found = np.zeros((len(values), width))
    some = values if good.all() else [values[i] for i in np.flatnonzero(good).tolist()]
    if some:
        found[good] = np.concatenate(some).astype(float).reshape(-1, width)
    good &= np.isfinite(found).all(axis=1)
    # what is no number would only make noise
    found[~good] = 0.0
    return found, good


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, b)


def _size(a: Floats) -> Floats:
    return np.sqrt(_dot(a, a))
