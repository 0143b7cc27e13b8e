"""Four-bar linkages and slider-cranks in a mechanism: lengths, Grashof class, limits, transmission angles.

With ground g, input a, coupler b, output c and the input angle x from the ground line, the diagonal is
z^2 = g^2 + a^2 - 2 g a cos x, and the transmission angle m between coupler and output satisfies

    cos m = (b^2 + c^2 - z^2) / (2 b c).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, plain_sum
from ..mechanism import Joint, Mechanism

if TYPE_CHECKING:
    from ..result import Result

# share of the sum of two lengths: a four-bar this close to equality is a change-point mechanism
CHANGE_POINT = 1e-9


@dataclass(frozen=True)
class FourBar:
    """A loop of four links and four pins.

    bodies: base, input, coupler, output; joints: base to input, input to coupler, coupler to output, output to
    base; lengths: distances between the pins of each link [m], in the order of the bodies.
    """

    bodies: tuple[str, str, str, str]
    joints: tuple[str, str, str, str]
    lengths: tuple[float, float, float, float]

    @property
    def name(self) -> str:
        """Names of its joints, as "A-B-C-D"."""
        return "-".join(self.joints)

    @property
    def grashof(self) -> float:
        """Sum of the lengths of the other two links minus those of the shortest and the longest [m]; >= 0 if a
        link can rotate fully.
        """
        s, p, q, longest = sorted(self.lengths)
        return p + q - s - longest

    @property
    def kind(self) -> str:
        """Grashof class, by which link is the shortest."""
        total = plain_sum(self.lengths)
        if abs(self.grashof) <= CHANGE_POINT * total:
            return "change point"
        if self.grashof < 0:
            return "triple rocker (not Grashof)"
        words = ("double crank", "crank-rocker", "double rocker", "rocker-crank")
        return words[int(np.argmin(self.lengths))]

    @property
    def input_limits(self) -> tuple[float, float] | None:
        """Angles of the input from the ground line at its dead centres [rad], 0 to pi; None if it rotates fully.

        At the larger angle coupler and output are extended, at the smaller one they are folded; pi and 0 if there
        is no dead centre on that side.
        """
        g, a, b, c = self.lengths
        folded, stretched = ((g * g + a * a - z * z) / (2 * g * a) for z in (abs(b - c), b + c))
        if folded >= 1 - CHANGE_POINT and stretched <= CHANGE_POINT - 1:
            return None
        low, high = (float(np.arccos(np.clip(x, -1.0, 1.0))) for x in (folded, stretched))
        return low, high

    def transmission(self, angle: Floats | float) -> Floats:
        """Transmission angle [rad], 0 to pi/2, for given angles of the input from the ground line."""
        g, a, b, c = self.lengths
        square = g * g + a * a - 2 * g * a * np.cos(angle)
        return _acute(np.arccos(np.clip((b * b + c * c - square) / (2 * b * c), -1.0, 1.0)))

    def measure_transmission(self, result: Result) -> Floats:
        """Transmission angle at the outputs of a result [rad], 0 to pi/2, shape (n,)."""
        _, start, pin, end = (result.position(joint) for joint in self.joints)
        return _acute(_angle_between(start - pin, end - pin))


@dataclass(frozen=True)
class SliderCrank:
    """A loop of three pins and a slider, or of two pins and the rod's end on a line of the ground.

    bodies: base, crank, rod, slider; joints: base to crank, crank to rod, rod to slider, slider to base; crank
    and rod: lengths [m]; offset: distance of the crank pin from the path of the rod end [m]. Without a slider, the
    rod and its point-on-line joint are given twice.
    """

    bodies: tuple[str, str, str, str]
    joints: tuple[str, str, str, str]
    crank: float
    rod: float
    offset: float

    @property
    def name(self) -> str:
        """Names of its joints, as "O-A-B-guide"."""
        return _join(self.joints)

    @property
    def kind(self) -> str:
        """Whether its crank rotates fully, in words."""
        gap = self.rod - self.crank - abs(self.offset)
        if abs(gap) <= CHANGE_POINT * (self.rod + self.crank):
            return "change point"
        return "its crank turns fully" if gap > 0 else "its crank does not turn fully"

    def describe(self) -> str:
        """Its joints, lengths and kind, in words."""
        lengths = f"crank {self.crank:.4g}, rod {self.rod:.4g}, offset {self.offset:.4g} m"
        return f"Slider-crank {self.name} ({lengths}): {self.kind}"

    @property
    def stroke(self) -> float:
        """Distance between the dead centres of the slider [m], if the crank rotates fully."""
        far, near = self.rod + self.crank, self.rod - self.crank
        return float(np.sqrt(far**2 - self.offset**2) - np.sqrt(near**2 - self.offset**2))

    def measure_transmission(self, result: Result) -> Floats:
        """Angle between the rod and the normal of the slide [rad], 0 to pi/2, shape (n,)."""
        start, end = (result.position(joint) for joint in self.joints[1:3])
        joint = next(j for j in result.mechanism.joints if j.name == self.joints[3])
        axis = np.array(joint.axis, dtype=float)
        turn = _turn_of(result, joint.bodies[0])
        along = np.einsum("tij,j->ti", turn, axis)
        return 0.5 * np.pi - _acute(_angle_between(start - end, along))


@dataclass(frozen=True)
class InvertedSliderCrank:
    """A loop of three pins and a slide between two moving bodies, or of two pins and a pin in a slot.

    bodies: ground, crank, block, lever; joints: ground to crank, crank to block, block to lever (the slide), lever
    to ground; ground and crank: distances between their pins [m]; offset: distance of the lever's ground pin from
    the path of the crank's pin along the lever [m]; driven: the joint of the loop that has a drive, if any.
    Without a block, the crank and its point-on-line joint are given twice.
    """

    bodies: tuple[str, str, str, str]
    joints: tuple[str, str, str, str]
    ground: float
    crank: float
    offset: float
    driven: str

    @property
    def name(self) -> str:
        """Names of its joints, as "O-A-slot-D"."""
        return _join(self.joints)

    @property
    def kind(self) -> str:
        """Its motion, in words: a cylinder, or which of crank and lever turn fully."""
        if self.driven == self.joints[2]:
            return f"cylinder that moves '{self.bodies[1]}'"
        gap = self.ground - self.crank
        if abs(gap) <= CHANGE_POINT * (self.ground + self.crank):
            return "change point"
        if abs(self.offset) > abs(gap):
            return "its crank does not turn fully"
        return "its crank turns fully, its lever " + ("rocks" if gap > 0 else "turns, too")

    def describe(self) -> str:
        """Its joints, lengths and kind, in words."""
        lengths = f"ground {self.ground:.4g}, crank {self.crank:.4g}, offset {self.offset:.4g} m"
        return f"Inverted slider-crank {self.name} ({lengths}): {self.kind}"

    def measure_transmission(self, result: Result) -> Floats:
        """Transmission angle [rad], 0 to pi/2, shape (n,).

        Its sine is the share of the force that moves the output, without inertia: a cylinder pushes along the line
        of its pins, a slot perpendicular to itself. The output is the lever, and the crank if cylinder or lever is
        driven.
        """
        fixed, pin, _, pivot = (result.position(joint) for joint in self.joints)
        if self.driven == self.joints[2]:
            return _acute(_angle_between(pin - pivot, pin - fixed))
        slide = next(j for j in result.mechanism.joints if j.name == self.joints[2])
        along = np.einsum(
            "tij,j->ti", _turn_of(result, self.bodies[3]), np.array(slide.axis, float)
        )
        arm = pin - fixed if self.driven == self.joints[3] else pin - pivot
        return 0.5 * np.pi - _acute(_angle_between(along, arm))


@dataclass(frozen=True)
class SpatialFourBar:
    """A loop in space: two bodies that hinges or slides join to the ground, and a coupler with a ball at each end.

    bodies: ground, input, coupler, output; joints: ground to input, input to coupler, coupler to output, output to
    ground; letters: of the kinds of these joints, as "RSSR".
    """

    bodies: tuple[str, str, str, str]
    joints: tuple[str, str, str, str]
    letters: str

    @property
    def name(self) -> str:
        """Names of its joints, as "A-B-C-D"."""
        return "-".join(self.joints)

    @property
    def kind(self) -> str:
        """Its joints, in words."""
        return f"spatial four-bar {self.letters}"

    def reversed(self) -> SpatialFourBar:
        """The same loop with input and output exchanged."""
        base, first, coupler, last = self.bodies
        a, b, c, d = self.joints
        return SpatialFourBar((base, last, coupler, first), (d, c, b, a), self.letters[::-1])

    def measure_transmission(self, result: Result) -> Floats:
        """Transmission angle [rad], 0 to pi/2, shape (n,).

        Its sine is the share of the force along the coupler that moves the output: the coupler's direction times
        that of the velocity of its ball at the output, as in the plane.
        """
        start, end = (result.position(joint) for joint in self.joints[1:3])
        joint = next(j for j in result.mechanism.joints if j.name == self.joints[3])
        axis = np.array(joint.axis, dtype=float)
        way = np.broadcast_to(axis, end.shape)
        if joint.kind.row.coordinate == "angle":
            way = np.cross(axis, end - result.position(joint.name))
        along = end - start
        sizes = np.linalg.norm(along, axis=1) * np.linalg.norm(way, axis=1)
        sine = np.abs(np.sum(along * way, axis=1)) / sizes
        return np.asarray(np.arcsin(np.minimum(sine, 1.0)))


# letters of the joints at the ground, by their coordinate, and of those that carry only forces
_LETTERS = {"angle": "R", "travel": "P"}
_BALLS = {"spherical": "S", "universal": "U"}


def find_spatial_four_bars(mechanism: Mechanism) -> list[SpatialFourBar]:
    """All loops ground - input - coupler - output of a spatial mechanism whose coupler has a ball at each end."""
    if mechanism.dimension != 3:
        return []
    ground, pairs = mechanism.GROUND, [j for j in mechanism.joints if len(j.bodies) == 2]
    ground_joints = {
        next(b for b in j.bodies if b != ground): j
        for j in pairs
        if ground in j.bodies and j.kind.row.coordinate in _LETTERS and j.axis is not None
    }
    found = []
    for coupler in (b.name for b in mechanism.bodies):
        own = [j for j in mechanism.joints if coupler in j.bodies]
        if len(own) != 2 or not all(j.kind.value in _BALLS and j in pairs for j in own):
            continue
        ends = [next(b for b in j.bodies if b != coupler) for j in own]
        if ends[0] == ends[1] or not all(end in ground_joints for end in ends):
            continue
        first, last = (ground_joints[end] for end in ends)
        joints = (first, *own, last)
        letters = [_BALLS.get(j.kind.value) or _LETTERS[str(j.kind.row.coordinate)] for j in joints]
        a, b, c, d = (j.name for j in joints)
        found.append(
            SpatialFourBar((ground, ends[0], coupler, ends[1]), (a, b, c, d), "".join(letters))
        )
    return found


def find_four_bars(mechanism: Mechanism) -> list[FourBar]:
    """All loops of four links and four pins of a planar mechanism.

    The base is the ground if it is in the loop, else the longest link. The input is the driven link if there is
    one, else the link of the joint that was defined first.
    """
    if mechanism.dimension != 2:
        return []
    pins = {j.name: j for j in mechanism.joints if j.kind.row.coordinate == "angle"}
    found = []
    for bodies, joints in _loops(mechanism, pins):
        places = [_at(pins[name]) for name in joints]
        # link i is between joint i - 1 and joint i
        lengths = [float(np.linalg.norm(places[i] - places[i - 1])) for i in range(4)]
        if min(lengths) > 0:
            found.append(_with_base(mechanism, bodies, joints, lengths))
    return found


def find_slider_cranks(mechanism: Mechanism) -> list[SliderCrank]:
    """All loops of three pins and a slider on the ground of a planar mechanism."""
    if mechanism.dimension != 2:
        return []
    ground = mechanism.GROUND
    pins = [j for j in mechanism.joints if j.kind.row.coordinate == "angle"]
    guides = [
        j
        for j in mechanism.joints
        if j.kind.row.coordinate == "travel" and ground in j.bodies and j.axis is not None
    ]
    found = []
    for guide in guides:
        slider = next(b for b in guide.bodies if b != ground)
        for first, second, third in permutations(pins, 3):
            cranks = set(first.bodies) & set(second.bodies) - {ground, slider}
            rods = set(second.bodies) & set(third.bodies) - {ground, slider}
            if ground not in first.bodies or slider not in third.bodies:
                continue
            for crank, rod in ((c, r) for c in cranks for r in rods if c != r):
                fixed, moving, end = (_at(j) for j in (first, second, third))
                offset = _offset(guide, end - fixed)
                sizes = [float(np.linalg.norm(x)) for x in (moving - fixed, end - moving)]
                bodies = (ground, crank, rod, slider)
                joints = (first.name, second.name, third.name, guide.name)
                found.append(SliderCrank(bodies, joints, sizes[0], sizes[1], offset))
    return [*found, *_find_guided_rods(mechanism, pins)]


def _find_guided_rods(mechanism: Mechanism, pins: list[Joint]) -> Iterator[SliderCrank]:
    """Loops of a crank and a rod whose end stays on a line of the ground."""
    ground = mechanism.GROUND
    for guide in (j for j in _slots(mechanism) if j.bodies[0] == ground):
        rod, end = guide.bodies[1], _point_in(guide)
        for first, second in permutations(pins, 2):
            if ground not in first.bodies or rod not in second.bodies:
                continue
            fixed, moving = _at(first), _at(second)
            sizes = [float(np.linalg.norm(x)) for x in (moving - fixed, end - moving)]
            for crank in sorted(set(first.bodies) & set(second.bodies) - {ground, rod}):
                joints = (first.name, second.name, guide.name, guide.name)
                offset = _offset(guide, end - fixed)
                yield SliderCrank((ground, crank, rod, rod), joints, sizes[0], sizes[1], offset)


def _slots(mechanism: Mechanism) -> list[Joint]:
    """Joints that keep a point of the second body on a line of the first."""
    return [j for j in mechanism.joints if j.kind.row.is_slot and j.axis is not None]


def find_inverted_slider_cranks(mechanism: Mechanism) -> list[InvertedSliderCrank]:
    """All loops ground - crank - block - lever of a planar mechanism: three pins and a slide on the lever."""
    if mechanism.dimension != 2:
        return []
    ground, driven = mechanism.GROUND, {drive.joint for drive in mechanism.drives}
    pins = [j for j in mechanism.joints if j.kind.row.coordinate == "angle"]
    slides = [
        j
        for j in mechanism.joints
        if j.kind.row.coordinate == "travel" and ground not in j.bodies and j.axis is not None
    ]
    found = []
    for slide in slides:
        for block, lever in (slide.bodies, slide.bodies[::-1]):
            for first, second, last in permutations(pins, 3):
                cranks = set(first.bodies) & set(second.bodies) - {ground, block, lever}
                if ground not in first.bodies or not {ground, lever} <= set(last.bodies):
                    continue
                if block not in second.bodies:
                    continue
                fixed, pin, pivot = (_at(j) for j in (first, second, last))
                joints = (first.name, second.name, slide.name, last.name)
                found += [
                    InvertedSliderCrank(
                        (ground, crank, block, lever),
                        joints,
                        float(np.linalg.norm(pivot - fixed)),
                        float(np.linalg.norm(pin - fixed)),
                        _offset(slide, pin - pivot),
                        next((name for name in joints if name in driven), ""),
                    )
                    for crank in sorted(cranks)
                ]
    return [*found, *_find_slotted_levers(mechanism, pins, driven)]


def _find_slotted_levers(
    mechanism: Mechanism, pins: list[Joint], driven: set[str]
) -> Iterator[InvertedSliderCrank]:
    """Loops of a crank whose pin stays in a slot of a lever."""
    ground = mechanism.GROUND
    on_ground = [j for j in pins if ground in j.bodies]
    for slot in (j for j in _slots(mechanism) if ground not in j.bodies):
        (lever, crank), pin = slot.bodies, _point_in(slot)
        for first, last in permutations(on_ground, 2):
            if crank not in first.bodies or lever not in last.bodies:
                continue
            fixed, pivot = _at(first), _at(last)
            joints = (first.name, slot.name, slot.name, last.name)
            yield InvertedSliderCrank(
                (ground, crank, crank, lever),
                joints,
                float(np.linalg.norm(pivot - fixed)),
                float(np.linalg.norm(pin - fixed)),
                _offset(slot, pin - pivot),
                next((name for name in joints if name in driven), ""),
            )


def _offset(slide: Joint, d: Floats) -> float:
    """Component of a vector across the axis of a slide, without the sign of a zero."""
    axis = np.array(slide.axis, dtype=float)
    across = float(axis[0] * d[1] - axis[1] * d[0]) / float(np.linalg.norm(axis))
    # rounding must not show as an offset
    return across if abs(across) > CHANGE_POINT * float(np.linalg.norm(d)) else 0.0


def _loops(
    mechanism: Mechanism, pins: dict[str, Joint]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Bodies and pins of all loops of four; joint i connects body i and body i + 1."""
    between: dict[frozenset[str], list[str]] = {}
    for name, joint in pins.items():
        for two in combinations(dict.fromkeys(joint.bodies), 2):
            between.setdefault(frozenset(two), []).append(name)
    near: dict[str, set[str]] = {}
    for pair in between:
        a, b = sorted(pair)
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    order = {b.name: n for n, b in enumerate(mechanism.bodies)} | {mechanism.GROUND: -1}
    for first in sorted(near, key=order.__getitem__):
        later = sorted((b for b in near[first] if order[b] > order[first]), key=order.__getitem__)
        for second, fourth in combinations(later, 2):
            opposite = (near[second] & near[fourth]) - {first}
            for third in sorted(opposite, key=order.__getitem__):
                if order[third] < order[first]:
                    continue
                bodies = (first, second, third, fourth)
                pairs = [frozenset((bodies[i], bodies[(i + 1) % 4])) for i in range(4)]
                for joints in _choices([between[pair] for pair in pairs]):
                    yield bodies, joints


def _choices(lists: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """All selections of one pin from each list without repetition."""
    for a in lists[0]:
        for b in lists[1]:
            for c in lists[2]:
                for d in lists[3]:
                    if len({a, b, c, d}) == 4:
                        yield a, b, c, d


def _with_base(
    mechanism: Mechanism, bodies: tuple[str, ...], joints: tuple[str, ...], lengths: list[float]
) -> FourBar:
    """The loop starting at its base, in the direction of its input."""
    ground = mechanism.GROUND
    base = bodies.index(ground) if ground in bodies else int(np.argmax(lengths))
    driven = {drive.joint for drive in mechanism.drives}
    order = {j.name: n for n, j in enumerate(mechanism.joints)}
    # the joints at both ends of the base
    after, before = joints[base], joints[base - 1]
    forward = (after in driven, -order[after]) >= (before in driven, -order[before])
    step = 1 if forward else -1
    at = [(base + step * k) % 4 for k in range(4)]
    pins = [(base + (k if forward else -1 - k)) % 4 for k in range(4)]
    return FourBar(
        tuple(bodies[i] for i in at),  # type: ignore[arg-type]
        tuple(joints[i] for i in pins),  # type: ignore[arg-type]
        tuple(lengths[i] for i in at),  # type: ignore[arg-type]
    )


def _point_in(slot: Joint) -> Floats:
    """The point that stays on a line."""
    place = slot.ends[1].place
    assert place is not None
    return place


def _join(joints: tuple[str, ...]) -> str:
    """Names of the joints of a loop, each once."""
    return "-".join(dict.fromkeys(joints))


def _at(joint: Joint) -> Floats:
    assert joint.at is not None
    return joint.at


def _angle_between(a: Floats, b: Floats) -> Floats:
    """Angles between planar vectors [rad], 0 to pi."""
    cross = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return np.asarray(np.arctan2(np.abs(cross), np.einsum("ti,ti->t", a, b)))


def _acute(angle: Floats) -> Floats:
    return np.asarray(np.minimum(angle, np.pi - angle))


def _turn_of(result: Result, body: str) -> Floats:
    """Rotation matrices of a body in a planar mechanism, (n, 2, 2)."""
    x = np.zeros(len(result.times)) if body == Mechanism.GROUND else result.orientation(body)
    return np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]).transpose(2, 0, 1)
