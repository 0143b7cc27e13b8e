"""Any quantity of a result by its name: "motor torque", "B.vx", "C on crank.F", "rocker angle", "total energy".

A name consists of a part (joint, point, body, spring, torsion, drive) and a word, joined by a dot or a space;
energies and the accuracy of a run have no part. Plots and studies use these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .arrays import Floats
from .export import labelled_reactions
from .mechanism import Mechanism
from .names import UnknownNameError, unknown
from .quantity_units import FRAME, GLOBAL, LEVELS, SAME, SHAKING_FORCE, TIME, UNITS
from .thresholds import CURVE_NOISE, RATE_CURVE_NOISE


@dataclass(frozen=True, eq=False, repr=False)
class Quantity:
    """A quantity at the outputs: name, unit, values (n,), and rates (n,) where they are known.

    unbounded: times at which it grows without bound [s]; extremes near them depend only on the choice of outputs.
    """

    name: str
    unit: str
    values: Floats
    rates: Floats | None = None
    unbounded: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """Its name with unit."""
        return f"{self.name} [{self.unit}]"

    def __repr__(self) -> str:
        finite = self.values[np.isfinite(self.values)]
        extent = f", {finite.min():.6g} to {finite.max():.6g}" if len(finite) else ""
        if self.unbounded:
            extent = f", unbounded at t = {', '.join(f'{t:.6g}' for t in self.unbounded)} s"
        return f"<Quantity {self.label}: {len(self.values)} values{extent}>"

    def in_degrees(self) -> Quantity:
        """The same in degrees if it is in radians; otherwise unchanged."""
        if not self.unit.startswith("rad"):
            return self
        rates = None if self.rates is None else np.degrees(self.rates)
        return replace(
            self, unit=self.unit.replace("rad", "deg"), values=np.degrees(self.values), rates=rates
        )


# digits in front of the point up to which a number is written without an exponent
MOST_DIGITS = 6


def show_number(value: float, digits: int) -> str:
    """A number with so many significant digits, as 28160 rather than 2.816e+04."""
    text = f"{value:.{digits}g}"
    rounded = float(text)
    return f"{rounded:.0f}" if "e+" in text and abs(rounded) < 10.0**MOST_DIGITS else text


# units of quantities that contain rounding of derivatives
DERIVED_UNITS = ("m/s", "rad/s", "m/s^2", "rad/s^2", "N", "N m", "W")
# an unbounded quantity is not drawn beyond this multiple of its median
DRAWN_MEDIANS = 10.0


def clip_unbounded(values: Floats) -> Floats:
    """Values without those next to where they are unbounded, which depend only on the choice of outputs."""
    sizes = np.abs(values)
    known = sizes[np.isfinite(sizes)]
    most = DRAWN_MEDIANS * float(np.median(known)) if len(known) else 0.0
    return np.where(sizes <= most, values, np.nan)


# a blocked run ends in a spike: values above this multiple of the value that a tenth of the outputs exceeds
SPIKE, USUAL = 4.0, 0.9


def clip_spike(values: Floats) -> Floats:
    """Values without those that grow without bound, far beyond the typical ones."""
    sizes = np.abs(values[np.isfinite(values)])
    most = SPIKE * float(np.quantile(sizes, USUAL)) if len(sizes) else 0.0
    return np.where(np.abs(values) <= most, values, np.nan) if most > 0 else values


def scales_of(result: Any) -> dict[str, float]:
    """Typical magnitudes in a mechanism, by unit, from its size, masses, gravity and the duration alone."""
    size, time = result.mechanism.size or 1.0, result.duration
    gravity = max(float(np.linalg.norm(result.mechanism.gravity)), size / time**2)
    weight = gravity * float(np.add.reduce([body.mass for body in result.mechanism.bodies]))
    return {
        **{"m": size, "m/s": size / time, "m/s^2": gravity},
        **{"rad": 1.0, "rad/s": 1.0 / time, "rad/s^2": 1.0 / time**2},
        **{"N": weight, "N m": weight * size, "J": weight * size, "W": weight * size / time},
    }


def _scale_of(result: Any, unit: str) -> float:
    """Typical magnitude in a run for a unit: that of `scales_of`, or the largest value of its bodies."""
    scale = scales_of(result).get(unit, 0.0)
    bodies = result.mechanism.bodies
    readers = {
        "m/s": result.velocity,
        "m/s^2": result.acceleration,
        "rad/s": result.angular_velocity,
        "rad/s^2": result.angular_acceleration,
    }
    if unit in readers:
        largest = max((_largest(_size(readers[unit](body.name))) for body in bodies), default=0.0)
        if unit == "rad/s^2":
            # without angular acceleration, rounding is that of the centripetal one
            return max(scale, largest, _scale_of(result, "rad/s") ** 2)
        return max(scale, largest)
    if unit in ("N", "N m", "W"):
        # drives may be unbounded
        acting = [name for name in result.exerting if name not in result.drives]
        pulls = (result.find_reading(name, "force") for name in acting)
        force = max([scale_of_forces(result), *(_largest(read()) for read in pulls if read)])
        speed = _scale_of(result, "m/s") if unit == "W" else 1.0
        size = scales_of(result)["m"] if unit == "N m" else 1.0
        return max(scale, force * size * speed)
    return scale


def scale_of_forces(result: Any) -> float:
    """Typical force in a run [N]: the largest of weight, applied forces, inertia forces, energy over size."""
    mechanism, scales = result.mechanism, scales_of(result)
    inertia = [body.mass * _size(result.acceleration(body.name)) for body in mechanism.bodies]
    applied = [float(np.linalg.norm(force.vector)) for force in mechanism.forces]
    energy = _largest(result.kinetic_energy) / scales["m"]
    return max([scales["N"], energy, _largest(np.add.reduce(inertia)), *applied])


def without_own_noise(values: Floats) -> Floats:
    """Replace values that differ only by rounding of derivatives, relative to their own size, by a constant."""
    return without_noise(values, _largest(values), DERIVED_UNITS[0])


def _largest(values: Floats) -> float:
    """The largest magnitude among finite values."""
    sizes = np.abs(values)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def without_noise(values: Floats, scale: float, unit: str = "") -> Floats:
    """Replace values that differ only by rounding by a constant, and values that are only rounding by zeros.

    unit: that of the values; derivatives and forces have more rounding than positions.
    """
    noise = RATE_CURVE_NOISE if unit in DERIVED_UNITS else CURVE_NOISE
    known, floor = values[np.isfinite(values)], noise * scale
    # an energy that is conserved differs by rounding of its own size
    own = RATE_CURVE_NOISE * _largest(known) if unit == "J" else 0.0
    if not len(known) or np.ptp(known) >= max(floor, own):
        return values
    # the median, since rounding is largest near crossings; two constants that differ by rounding have one level
    level = float(f"{np.median(known):.11g}") if _largest(known) >= floor else 0.0
    return np.where(np.isnan(values), values, level)


def draw_quantity(result: Any, what: str) -> tuple[Quantity, str]:
    """A quantity for a curve, without rounding and spikes, and what was cut, in words."""
    found = read_quantity(result, what)
    values, cut = _drawn_values(result, found)
    return replace(found, values=values), cut


def _drawn_values(result: Any, quantity: Quantity) -> tuple[Floats, str]:
    values, unit = quantity.values, quantity.unit
    if quantity.name not in ACCURACY:
        values = without_noise(values, _scale_of(result, unit), unit)
    if quantity.unbounded:
        times = [f"{t:.4g}" for t in quantity.unbounded]
        more = ", ..." if len(times) > 3 else ""
        return clip_unbounded(values), f"unbounded at t = {', '.join(times[:3])}{more} s"
    if result.status == "blocked" and quantity.name != TIME:
        cut = clip_spike(values)
        if np.isnan(cut).sum() > np.isnan(values).sum():
            return cut, f"grows without bound towards t = {result.times[-1]:.4g} s"
    return values, ""


Reader = Callable[[], tuple[Floats, Floats | None]]

# shown as they are, although they are rounding
ACCURACY = ("energy drift", "violation")
# what `sarrus.design` provides over a cycle of the drive
OF_DESIGN = (
    *("transmission angle", "mechanical advantage", "reflected inertia"),
    *("shaking moment", "instant centre", "time ratio"),
)


def split_quantity(
    what: str, owners: set[str], listed: Callable[[], Iterable[str]] | None = None
) -> tuple[str, str]:
    """Part and word of a quantity; the part is empty if there is none. Raises UnknownNameError.

    owners: the names of all parts; the longest match is used. listed: returns all quantities, for the message.
    """
    text = what.strip()
    if text in GLOBAL or text in FRAME:
        return "", text
    words = {*UNITS, *SAME}
    for owner in sorted(owners, key=len, reverse=True):
        rest = text[len(owner) :]
        if text.startswith(owner) and rest[:1] in (".", " ") and rest[1:].strip() in words:
            return owner, SAME.get(rest[1:].strip(), rest[1:].strip())
    if text in words:
        return "", SAME.get(text, text)
    known = [
        *GLOBAL,
        *(f"{owner}.{word}" for owner in sorted(owners) for word in ("x", "angle", "F")),
    ]
    if listed is not None:
        known = [*listed(), SHAKING_FORCE]
    if text.endswith(OF_DESIGN):
        raise UnknownNameError(
            f"'{what}' is not a quantity of a run, but of a design: sarrus.design(mechanism) has its values in "
            "columns(), plot() draws it, and studies record {design: ...}"
        )
    # parts and words may be joined by a space
    blank = [name.replace(".", " ") for name in known] if "." not in text else known
    raise unknown(f"'{what}' is not a quantity", text, blank)


def read_quantity(result: Any, what: str) -> Quantity:
    """A quantity of a result by its name. Raises UnknownNameError with similar names."""
    owner, word, read = find_quantity(result, what)
    values, rates = read()
    if not owner:
        return Quantity(word, {**GLOBAL, **FRAME}[word], values)
    poles = _find_unbounded(result, owner, word)
    return Quantity(f"{owner}.{word}", UNITS[word], values, rates, poles)


def find_quantity(result: Any, what: str) -> tuple[str, str, Reader]:
    """Part, word and reader of a quantity, of a result or of `QuantityNames`. Raises UnknownNameError."""
    # on either body of a pin of two as well
    bodies = (
        f"{joint.name} on {body}" for joint in result.mechanism.joints for body in joint.bodies
    )
    known = {*list_owners(result), *bodies, *pin_angles(result.mechanism)}
    owner, word = split_quantity(what, known, lambda: list_quantities(result))
    if not owner and word in GLOBAL:
        return "", word, lambda: (_global(result, word), None)
    if not owner and word in FRAME:
        _check_frame(result, word)
        return "", word, lambda: (_of_frame(result, word), None)
    owners = [owner] if owner else [o for o in list_owners(result) if _reader(result, o, word)]
    if len(owners) != 1:
        why = f"'{what}' is of {', '.join(owners[:6])}" if owners else f"nothing has '{what}'"
        raise unknown(f"{why}; name one part", what, [f"{o}.{word}" for o in owners])
    read = _reader(result, owners[0], word)
    if read is None:
        has = [f"{owners[0]}.{w}" for w in UNITS if _reader(result, owners[0], w)]
        known_pairs = pin_angles(result.mechanism).items() if word == "angle" else ()
        pairs = [f"{label}.angle" for label, (joint, *_) in known_pairs if joint == owners[0]]
        why = "joins several bodies, with an angle between each two" if pairs else f"has no {word}"
        raise unknown(f"'{owners[0]}' {why}", f"{owners[0]}.{word}", pairs or has)
    return owners[0], word, read


def list_quantities(result: Any) -> list[str]:
    """The names of all quantities of a result, those of drives and springs first."""
    acting = set(result.exerting)
    owners = sorted(list_owners(result), key=lambda owner: owner not in acting)
    words = dict.fromkeys(word for word in UNITS if word not in SAME)
    found = (
        f"{owner}.{word}" for owner in owners for word in words if _reader(result, owner, word)
    )
    return [*found, *GLOBAL]


def list_owners(result: Any) -> Iterator[str]:
    """Names of all parts, and of reactions on one body of a pin of three or more."""
    yield from dict.fromkeys([*result.points, *result.read_names])
    for joint in result.mechanism.joints:
        if len(joint.bodies) > 2:
            yield from (f"{joint.name} on {body}" for body in joint.bodies)
    yield from (label for label, (_, _, listed) in pin_angles(result.mechanism).items() if listed)


def pin_angles(mechanism: Mechanism) -> dict[str, tuple[str, tuple[str, str], bool]]:
    """Angles between two bodies of a joint of three or more, keyed by "C from crank to coupler".

    Each with joint, bodies, and whether it is listed: those from the first body are.
    """
    return {
        f"{joint.name} from {first} to {second}": (joint.name, (first, second), not n)
        for joint in mechanism.joints
        if len(joint.bodies) > 2 and joint.kind.row.coordinate == "angle"
        for n, first in enumerate(joint.bodies)
        for second in joint.bodies
        if first != second
    }


def _global(result: Any, word: str) -> Floats:
    if word == TIME:
        return result.times
    if word == "violation":
        return result.violation()
    if word == "energy drift":
        return result.energy_balance
    return np.asarray(getattr(result, word.replace(" ", "_")))


def shaking_force(result: Any) -> Floats:
    """Inertia force of the bodies on the frame, - sum m a [N], shape (n, dimension)."""
    forces = [body.mass * result.acceleration(body.name) for body in result.mechanism.bodies]
    return -np.add.reduce(forces)


def _check_frame(result: Any, word: str) -> None:
    if word.endswith(" z") and result.model.dimension == 2:
        raise unknown(f"'{word}' is not a quantity of a planar mechanism", word, list(FRAME)[:3])


def _of_frame(result: Any, word: str) -> Floats:
    force, axis = shaking_force(result), word.removeprefix(SHAKING_FORCE).strip()
    return force[:, "xyz".index(axis)] if axis else _size(force)


def _reader(result: Any, owner: str, word: str) -> Reader | None:
    """The function that reads a quantity; None if this part does not have it."""
    word = SAME.get(word, word)
    for find in (_of_reading, _of_pin, _of_drive, _of_body, _of_reaction, _of_point):
        read = find(result, owner, word)
        if read is not None:
            return read
    return None


def _of_reading(result: Any, owner: str, word: str) -> Reader | None:
    """Readings of joints, drives, springs and torsional springs."""
    read = result.find_reading(owner, word)
    return None if read is None else lambda: (read(), None)


def _of_pin(result: Any, owner: str, word: str) -> Reader | None:
    """The angle between two bodies of a joint of three or more."""
    found = pin_angles(result.mechanism).get(owner) if word == "angle" else None
    return None if found is None else lambda: (result.angle(found[0], *found[1]), None)


def _of_drive(result: Any, owner: str, word: str) -> Reader | None:
    """The motion that a drive prescribes."""
    drive = result.model.readings.drives.get(owner)
    if drive is None or word != ("angle" if drive.turns else "travel"):
        return None
    pieces = drive.pieces
    return lambda: (
        np.array([pieces.value(t) for t in result.times]),
        np.array([pieces.rate(t) for t in result.times]),
    )


def _of_body(result: Any, owner: str, word: str) -> Reader | None:
    if owner not in {body.name for body in result.mechanism.bodies}:
        return None
    planar = result.model.dimension == 2
    if word == "angle" and planar:
        return lambda: (result.orientation(owner), result.angular_velocity(owner))
    if word == "angle":
        # in space, the angle of the hinge that joins it to the ground
        hinges = [j for j in result.mechanism.joints if _is_hinge_of(j, owner)]
        return (lambda: (result.angle(hinges[0].name), None)) if len(hinges) == 1 else None
    if word in ("angular velocity", "angular acceleration"):
        read = result.angular_velocity if word.endswith("velocity") else result.angular_acceleration
        return lambda: (_size(read(owner)), None)
    return None


def _is_hinge_of(joint: Any, body: str) -> bool:
    """Whether a joint of two bodies lets a body rotate about an axis of the ground."""
    pair = set(joint.bodies) == {Mechanism.GROUND, body}
    return pair and joint.kind.row.coordinate == "angle"


def _of_reaction(result: Any, owner: str, word: str) -> Reader | None:
    pin = _find_pin(result, owner, word)
    if pin is None:
        return None

    def read() -> tuple[Floats, None]:
        reaction = _read_pin(result, *pin)
        values = reaction.force if word[0] == "F" else reaction.moment
        if not word[1:]:
            return _size(values), None
        return (values if values.ndim == 1 else values[:, "xyz".index(word[1:])]), None

    return read


def _find_pin(result: Any, owner: str, word: str) -> tuple[str, str] | None:
    """Joint and body of a reaction, "C on crank", the body empty if none is named; None for other quantities."""
    if word[:1] not in ("F", "M"):
        return None
    joints = {joint.name: joint.bodies for joint in result.mechanism.joints}
    name, _, body = owner.partition(" on ") if owner not in joints else (owner, "", "")
    if name not in joints or (body and body not in joints[name]):
        return None
    if word in ("Fz", "Mx", "My") and result.model.dimension == 2:
        return None
    return name, body


def _read_pin(result: Any, name: str, body: str) -> Any:
    """The reaction on a body; if none is named, of a pin of several bodies that with the largest force."""
    if body:
        return result.reactions.of(name, body)
    found = labelled_reactions(result.reactions, name).values()
    return max(found, key=lambda r: float(np.nanmax(r.sizes, initial=0.0)))


def _find_unbounded(result: Any, owner: str, word: str) -> tuple[float, ...]:
    """Times at which a reaction, or the force, torque or power of a drive, grows without bound [s]."""
    if owner in result.model.readings.drives and word in ("force", "torque", "power"):
        return tuple(u.time for u in result.reactions.of(owner).unbounded)
    pin = _find_pin(result, owner, word)
    if pin is None:
        return ()
    part, axis = ("force" if word[0] == "F" else "moment"), word[1:]
    grows = ((u.time, np.atleast_1d(getattr(u, part))) for u in _read_pin(result, *pin).unbounded)
    return tuple(
        time
        for time, size in grows
        if (size[-1 if len(size) == 1 else "xyz".index(axis)] if axis else size.any())
    )


def _of_point(result: Any, owner: str, word: str) -> Reader | None:
    if owner not in result.points:
        return None
    if word == "speed":
        return lambda: (_size(result.velocity(owner)), None)
    if word == "acceleration":
        return lambda: (_size(result.acceleration(owner)), None)
    letter, axis = word[:-1], word[-1:]
    orders = [level for level, (start, _) in LEVELS.items() if start == letter]
    if not orders or axis not in "xyz"[: result.model.dimension]:
        return None
    levels, i = list(LEVELS), "xyz".index(axis)
    order = levels.index(orders[0])

    def read() -> tuple[Floats, Floats | None]:
        found = [getattr(result, level)(owner)[:, i] for level in levels[order : order + 2]]
        return found[0], found[1] if len(found) > 1 else None

    return read


def _size(values: Floats) -> Floats:
    """The values, or the magnitudes of vectors."""
    return values if values.ndim == 1 else np.asarray(np.linalg.norm(values, axis=1))
