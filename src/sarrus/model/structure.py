"""Structure and numbers: a second mechanism of a topology that was seen before is built by its numbers alone.

`describe` splits a mechanism: names, kinds, who is joined to whom; and all its numbers in a row. A model built
over the numbers of a tape gives blueprint and replay for all mechanisms that are described alike. Where numbers
decide something otherwise (places that coincide, axes that are parallel, pivots, what is zero), the replay says
so, and the model is built anew: to the same bits in either way.

A tape of a large mechanism would take longer than to build many. The model of one that was seen before with the
same numbers is kept instead: who simulates it does so again, for longer, or from another velocity.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from ..mechanism import Mechanism
from ..mechanism.columns import Columns, read_columns
from ..mechanism.forces import LOADS, Coupling
from ..mechanism.joints import End, Joint
from ..mechanism.motion import DriveMotion, Polynomial, Sine, SmoothStep, Table
from ..tape import Replay, Tape, UntracedError
from .build import Blueprint, make_blueprint
from .model import Model

# topologies that are kept, and structures of each
MOST_KEPT, MOST_STRUCTURES = 64, 8
# bodies and joints up to which a tape pays: it is some twenty times as long to write as to build without
MOST_PARTS = 200

# large mechanisms whose models are kept
MOST_LARGE = 2

Key = tuple[Any, ...]


@dataclass
class Known:
    """What is kept of a topology: how often it was seen, and its structures, the latest used first."""

    seen: int = 0
    structures: tuple[tuple[Blueprint, Replay], ...] = ()


_KNOWN: dict[Key, Known] = {}
_LARGE: dict[Key, tuple[Blueprint, Any]] = {}
_KEEPING = Lock()


def find_model(mechanism: Mechanism, columns: Columns | None = None) -> Model:
    """The model of a mechanism, by a known structure if there is one; columns: if they were read just now."""
    described = describe(mechanism)
    if described is None:
        if not is_large(mechanism):
            return build_anew(mechanism)
        return _find_large(mechanism, columns or read_columns(mechanism))
    key, numbers = described
    known = _remember(key)
    for structure in known.structures:
        blueprint, replay = structure
        found = replay.one(numbers)
        values = None if found is None else np.array(found)
        if values is not None and np.isfinite(values).all():
            if structure is not known.structures[0]:
                others = (x for x in known.structures if x is not structure)
                known.structures = (structure, *others)
            return blueprint.make(mechanism, values)
    model = build_anew(mechanism)
    # who builds one mechanism does not wait for the tape
    if known.seen > 1 and len(known.structures) < MOST_STRUCTURES:
        with suppress(UntracedError):
            known.structures = (trace(mechanism, numbers), *known.structures)
    return model


def is_large(m: Mechanism) -> bool:
    """Whether a tape of it does not pay."""
    return len(m.bodies) + len(m.joints) > MOST_PARTS


def _find_large(mechanism: Mechanism, columns: Columns | None) -> Model:
    """The model of a large mechanism, by the one it was given the last time if all of it is the same."""
    key = None if columns is None else outline(mechanism, columns)
    if key is None:
        return build_anew(mechanism, columns)
    with _KEEPING:
        kept = _LARGE.pop(key, None)
    if kept is None:
        with _no_collection():
            kept = make_blueprint(mechanism, columns)
    with _KEEPING:
        _LARGE[key] = kept
        while len(_LARGE) > MOST_LARGE:
            del _LARGE[next(iter(_LARGE))]
    blueprint, values = kept
    return blueprint.make(mechanism, values)


def outline(mechanism: Mechanism, c: Columns) -> Key | None:
    """All that the model of a checked mechanism is made of, in few pieces; None where more may differ."""
    rest = mechanism.copy()
    rest.bodies, rest.joints = [], []
    described = describe(rest)
    if described is None:
        return None
    whole = c.kind, c.counts, c.body, c.place, c.has_place, c.axis, c.has_axis, c.mass
    return (
        described[0],
        tuple(c.names),
        tuple(c.joint_names),
        *(x.tobytes() for x in (*whole, np.array(described[1]))),
        *c.bits,
    )


def _remember(key: Key) -> Known:
    """What is known of a topology; the latest is the last to be forgotten."""
    with _KEEPING:
        known = _KNOWN.pop(key, None) or Known()
        _KNOWN[key] = known
        if len(_KNOWN) > MOST_KEPT:
            del _KNOWN[next(iter(_KNOWN))]
        known.seen += 1
    return known


def build_anew(mechanism: Mechanism, columns: Columns | None = None) -> Model:
    """The model, whatever was seen before; columns: those of the mechanism, if they were read."""
    with _no_collection():
        blueprint, values = make_blueprint(mechanism, columns)
        return blueprint.make(mechanism, values)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without looking for cycles: a large model is made of millions of small things, and there are none."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def trace(mechanism: Mechanism, numbers: Sequence[float]) -> tuple[Blueprint, Replay]:
    """Build once more, and write down how the numbers of the model follow from those of the mechanism."""
    tape = Tape()
    inputs = iter([tape.number(x) for x in numbers])
    blueprint, values = make_blueprint(with_numbers(mechanism, inputs))
    return blueprint, tape.replay(values.tolist())


def describe(mechanism: Mechanism) -> tuple[Key, list[float]] | None:
    """What a mechanism is but for its numbers, and these; None where more than numbers may differ, or it is large.

    Users' functions are not described; a table decides by its numbers.
    """
    m = mechanism
    if is_large(m):
        return None
    key: list[Any] = [m.dimension, *(name for name, _ in m.angular_velocities)]
    numbers: list[float] = m.gravity.tolist()
    for body in m.bodies:
        key += (body.name, body.inertia.ndim)
        numbers.append(body.mass)
        numbers += body.center.tolist()
        numbers += body.inertia.ravel().tolist()
    for joint in m.joints:
        key += (joint.name, joint.kind)
        for end in joint.ends:
            key.append(end.body)
            key += _ways(joint, end)
            for value in _own(joint, end):
                numbers += value.tolist()
    for marker in m.markers:
        key += (marker.name, marker.body)
        numbers += marker.at.tolist()
    for load in m.loads():
        key.append(type(load))
        if isinstance(load, Coupling):
            # its ratio decides which equations there are
            key += vars(load).values()
            continue
        for name, value in vars(load).items():
            if name in load.decides:
                key.append(value)
            elif isinstance(value, float):
                numbers.append(value)
            elif isinstance(value, np.ndarray):
                numbers += value.ravel().tolist()
            elif isinstance(value, str):
                key.append(value)
            elif isinstance(value, tuple) and isinstance(value[0], np.ndarray):
                for x in value:
                    numbers += x.tolist()
            elif isinstance(value, tuple):
                key.append(value)
            elif isinstance(value, DriveMotion):
                own = [float(x) for part in vars(value).values() for x in np.ravel(part).tolist()]
                key += (type(value), len(own))
                if isinstance(value, Table):
                    key += own
                else:
                    numbers += own
            else:
                # a function of the user
                return None
    return tuple(key), numbers


_NONE, _FIRST, _ITS_OWN = 0, 1, 2


def _ways(joint: Joint, end: End) -> tuple[int, int]:
    """Whether an end has no place and axis, those of the first one, or its own."""
    first = joint.ends[0]
    return (
        _NONE if end.place is None else _FIRST if end.place is first.place else _ITS_OWN,
        _NONE if end.axis is None else _FIRST if end.axis is first.axis else _ITS_OWN,
    )


def _own(joint: Joint, end: End) -> Iterator[Any]:
    """The place and axis of an end that are not those of the first."""
    first = joint.ends[0]
    for value, other in ((end.place, first.place), (end.axis, first.axis)):
        if value is not None and (end is first or value is not other):
            yield value


def with_numbers(mechanism: Mechanism, numbers: Iterator[Any]) -> Mechanism:
    """The same mechanism with other numbers, in the order in which `describe` lists them."""

    def array(like: Any) -> Any:
        values = [next(numbers) for _ in range(like.size)]
        out = np.empty(like.size, dtype=object)
        out[:] = values
        return out.reshape(like.shape)

    new = mechanism.copy()
    new.gravity = array(mechanism.gravity)
    new.bodies = [
        replace(b, mass=next(numbers), center=array(b.center), inertia=array(b.inertia))
        for b in mechanism.bodies
    ]
    new.joints = [_joint_with(joint, array) for joint in mechanism.joints]
    new.markers = [replace(m, at=array(m.at)) for m in mechanism.markers]
    for name in LOADS:
        parts = getattr(mechanism, name)
        setattr(new, name, [_load_with(load, array, numbers) for load in parts])
    return new


def _joint_with(joint: Joint, array: Any) -> Joint:
    made: dict[int, Any] = {}
    ends = []
    for end in joint.ends:
        for value in _own(joint, end):
            made[id(value)] = array(value)
        place, axis = (None if x is None else made[id(x)] for x in (end.place, end.axis))
        ends.append(End(end.body, place, axis))
    return replace(joint, ends=tuple(ends))


def _load_with(load: Any, array: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(load, Coupling):
        return load
    new: dict[str, Any] = {}
    for name, value in vars(load).items():
        if name in load.decides:
            continue
        if isinstance(value, float):
            new[name] = next(numbers)
        elif isinstance(value, np.ndarray):
            new[name] = array(value)
        elif isinstance(value, tuple) and isinstance(value[0], np.ndarray):
            new[name] = tuple(map(array, value))
        elif isinstance(value, Polynomial):
            new[name] = Polynomial(tuple(next(numbers) for _ in value.coefficients))
        elif isinstance(value, Sine | SmoothStep):
            new[name] = type(value)(*(next(numbers) for _ in vars(value)))
    return replace(load, **new)
