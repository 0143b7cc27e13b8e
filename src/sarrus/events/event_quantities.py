"""Quantities of events whose polynomials follow from those of the coordinates (kernels/event_series.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import event_series as kernels
from ..kernels.elements.spring import numbers_of
from ..kernels.event_series import EventQuantity
from ..kinematics.configuration import cross
from ..mechanism.event_requests import Event
from ..model import Model
from ..names import UnknownNameError, pick
from ..quantity_units import LEVELS

# a direction is expressed by the vectors of a body to this
EXPRESSED = 1e-12


class LinearForms(NamedTuple):
    """Forms x = origin + rows q, dense."""

    rows: Floats
    origin: Floats

    def combined(self, factors: Floats) -> LinearForms:
        """Linear combinations."""
        return LinearForms(factors @ self.rows, factors @ self.origin)


def make_quantity(event: Event, model: Model) -> tuple[EventQuantity, str, str] | None:
    """The quantity of an event, its unit, and the key of its turns; None if it has to be read from states.

    Raises UnknownNameError for unknown names.
    """
    if event.reading in ("function", "drive"):
        return None
    made = model.readings.kept.setdefault("events", {})
    key = event.reading, tuple(event.of.items()) if isinstance(event.of, dict) else event.of
    if key not in made:
        try:
            found = _make_quantity(event, model)
            made[key] = None if found is None else (*found, _turn_key(event, model))
        except UnknownNameError as error:
            raise UnknownNameError(f"event '{event.name}': {error}") from None
    kept: tuple[EventQuantity, str, str] | None = made[key]
    return kept


def _turn_key(event: Event, model: Model) -> str:
    """The name by which turns of its angle are counted; empty for other quantities."""
    if event.reading != "angle":
        return ""
    if isinstance(event.of, str) and event.of not in model.readings.angles:
        return f"body '{event.of}'"
    joint, *two = (event.of,) if isinstance(event.of, str) else event.of
    return " ".join((f"joint '{joint}'", *(two or model.readings.angles[joint].bodies)))


def _make_quantity(event: Event, model: Model) -> tuple[EventQuantity, str] | None:
    of: Any = event.of
    make = {"angle": _angle, "distance": _distance, "travel": _travel, "speed": _speed}
    if event.reading in make:
        return make[event.reading](of, model)
    if event.reading == "energy" and not len(model.loads.torsions.first):
        unit = model.units.energy
        weights = [unit * (of in (kind, "total")) for kind in ("kinetic", "potential")]
        return _packed(model, kernels.ENERGY, [], "J", weights), "J"
    if event.reading == "force" and of not in model.readings.torsions:
        spring, arm = pick(model.readings.springs, of, "spring")
        forms = _in_three(LinearForms(arm.rows.toarray(), arm.start))
        return _packed(model, kernels.TENSION, [forms], "N", numbers_of(spring)), "N"
    if event.reading in ("coordinate", "quantity"):
        return _components(of, model)
    return None


def _packed(
    model: Model, kind: int, forms: Iterable[LinearForms], unit: str, numbers: Iterable[float] = ()
) -> EventQuantity:
    """The arrays of a quantity; unit: decides its usual size."""
    listed = [*forms]
    rows = np.concatenate([f.rows for f in listed]) if listed else np.zeros((0, model.coordinates))
    origin = np.concatenate([f.origin for f in listed]) if listed else np.zeros(0)
    which, col = np.nonzero(rows)
    length, energy = model.units.length, model.units.energy
    usual, factor = {
        "m": (kernels.CONSTANT, length),
        "rad": (kernels.CONSTANT, 1.0),
        "m/s": (kernels.OF_RATES, length),
        "J": (kernels.OF_ENERGY, energy),
        "N": (kernels.OF_ENERGY, energy / length),
    }[unit]
    return EventQuantity(
        np.array([kind, usual], dtype=np.int64),
        np.searchsorted(which, np.arange(len(rows) + 1)).astype(np.int64),
        col.astype(np.int64),
        np.ascontiguousarray(rows[which, col]),
        np.ascontiguousarray(origin, dtype=float),
        np.array([factor, *numbers], dtype=float),
    )


def _point(name: str, model: Model) -> LinearForms:
    return LinearForms(model.rows_of(name).dense(), model.origin(name))


def _in_three(forms: LinearForms) -> LinearForms:
    """Three forms; the third one vanishes in the plane."""
    missing = 3 - len(forms.origin)
    return LinearForms(
        np.pad(forms.rows, ((0, missing), (0, 0))), np.pad(np.asarray(forms.origin), (0, missing))
    )


def _distance(of: Any, model: Model) -> tuple[EventQuantity, str]:
    if isinstance(of, str):
        named = model.readings
        arms = {k: arm for k, (_, arm) in named.springs.items()} | named.lengths
        arm = pick(arms, of, "spring or distance joint")
        forms = LinearForms(arm.rows.toarray(), arm.start)
    else:
        a, b = (_point(name, model) for name in of)
        forms = LinearForms(a.rows - b.rows, a.origin - b.origin)
    return _packed(model, kernels.SQUARE, [forms], "m"), "m"


def _speed(of: str, model: Model) -> tuple[EventQuantity, str]:
    return _packed(model, kernels.SPEED_SQUARE, [_point(of, model)], "m/s"), "m/s"


def _travel(of: str, model: Model) -> tuple[EventQuantity, str] | None:
    what = "prismatic, cylindrical or point-on-line joint"
    rows = pick(model.readings.travels, of, what)
    axis = _direction(rows.body, rows.axis, model)
    if axis is None:
        return None
    arm = _in_three(LinearForms(rows.arm.rows.toarray(), rows.arm.start))
    return _packed(model, kernels.TRAVEL, [arm, axis], "m"), "m"


def _angle(of: Any, model: Model) -> tuple[EventQuantity, str] | None:
    if isinstance(of, str) and of in model.body_rows.names and model.dimension == 2:
        bodies: tuple[str, ...] = ("ground", of)
        u, b = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    else:
        joint, *two = (of,) if isinstance(of, str) else of
        rows = pick(model.readings.angles, joint, "revolute, cylindrical or planar joint")
        if not two and not rows.is_pair:
            return None
        bodies = tuple(two) if two else rows.bodies
        if not {*bodies} <= {*rows.bodies}:
            return None
        _, u, b = rows.triad
    seen = [_direction(bodies[0], x, model) for x in (u, b)]
    mark = _direction(bodies[1], u, model)
    if mark is None or seen[0] is None or seen[1] is None:
        return None
    if any(x.rows.any() for x in seen if x is not None):
        if model.dimension == 2:
            # the angle from u to the mark; in a mirrored plane it has the other sign
            mirror = np.diag([1.0, np.sign(u[0] * b[1] - u[1] * b[0])]) @ np.eye(2, 3)
            return _packed(
                model, kernels.ANGLE, [x.combined(mirror) for x in (seen[0], mark)], "rad"
            ), "rad"
        return _packed(model, kernels.ANGLE, [seen[0], seen[1], mark], "rad"), "rad"
    fixed = np.array([seen[0].origin, seen[1].origin])
    return _packed(model, kernels.ANGLE, [mark.combined(fixed)], "rad"), "rad"


def _direction(body: str, start: Floats, model: Model) -> LinearForms | None:
    """A vector fixed in a body, by its initial direction; None if it is no linear form of the coordinates."""
    nq = model.coordinates
    if body == "ground":
        return LinearForms(np.zeros((3, nq)), np.asarray(start))
    rows = model.body_rows
    own = np.flatnonzero(rows.owner == rows.names.index(body))
    places = np.add.outer(3 * own, np.arange(3)).ravel()
    vectors = rows.vectors[places].toarray().reshape(-1, 3, nq)
    starts = rows.starts[own]
    fixed = [start for start, v in zip(starts, vectors, strict=True) if not v.any()]
    if model.dimension == 2:
        fixed = [np.array([0.0, 0.0, 1.0])]
    # the product of a fixed direction and a vector is linear too
    turned = [np.array([cross(d, v.T).T for v in vectors]) for d in fixed]
    basis = np.concatenate([starts, *(cross(d, starts) for d in fixed), *(d[None] for d in fixed)])
    moving = np.concatenate([vectors, *turned, np.zeros((len(fixed), 3, nq))])
    share = np.linalg.lstsq(basis.T, start, rcond=None)[0]
    if np.abs(share @ basis - start).max() > EXPRESSED:
        return None
    return LinearForms(np.tensordot(share, moving, 1), np.asarray(start))


def _components(of: Any, model: Model) -> tuple[EventQuantity, str] | None:
    """Components of positions or velocities of points, or sums of them with factors."""
    terms = of if isinstance(of, dict) else {of: 1.0}
    found = [(x, component(name, model)) for name, x in terms.items()]
    levels = {c[1] for _, c in found if c is not None}
    if any(c is None for _, c in found) or len(levels) != 1 or "acceleration" in levels:
        return None
    level = levels.pop()
    rows, origin = np.zeros((1, model.coordinates)), np.zeros(1)
    for x, (name, _, axis) in ((x, c) for x, c in found if c is not None):
        forms = _point(name, model)
        rows += x * forms.rows[axis]
        origin += x * forms.origin[axis]
    kind, unit = (kernels.VALUE, "m") if level == "position" else (kernels.VELOCITY, "m/s")
    return _packed(model, kind, [LinearForms(rows, origin)], unit), unit


def component(of: str, model: Model) -> tuple[str, str, int] | None:
    """Point, level and axis of "B0.vx"; None for other names."""
    name, _, word = of.rpartition(".")
    letters = {letter: level for level, (letter, _) in LEVELS.items()}
    axis = "xyz"[: model.dimension].find(word[-1:])
    if name not in model.points or word[:-1] not in letters or axis < 0 or not word:
        return None
    return name, letters[word[:-1]], axis
