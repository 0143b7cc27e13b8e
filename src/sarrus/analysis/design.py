"""Design quantities of a driven mechanism over one cycle of its drive.

With x the coordinate of the drive and x' its rate, T the kinetic energy, and a, alpha the accelerations of a body:

    reflected inertia   2 T / x'^2
    shaking force       - sum m a                 inertia force of the moving bodies on the frame
    shaking moment      - sum (r x m a + I alpha + w x I w)      about a point
    mechanical advantage of an output y           x' / y'

Reflected inertia and mechanical advantage depend on the configuration alone. If the speed of the drive varies,
they are read in a sweep over the same configurations at constant speed: where the drive is at rest, both formulas
are 0 / 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..kinematics.configuration import read_turns
from ..mechanism import Joint, Mechanism, MechanismError, Polynomial
from ..names import all_suggest, pick, suggests, unknown
from ..notebook_display import Sentences
from ..quantities import (
    clip_unbounded,
    scale_of_forces,
    scales_of,
    shaking_force,
    show_number,
    without_noise,
    without_own_noise,
)
from ..scene import notebook_view
from ..thresholds import CURVE_NOISE
from .driven import POSITIONS, cycle_times, find_period, kinematics
from .four_bars import (
    FourBar,
    InvertedSliderCrank,
    SliderCrank,
    SpatialFourBar,
    find_four_bars,
    find_inverted_slider_cranks,
    find_slider_cranks,
    find_spatial_four_bars,
)

if TYPE_CHECKING:
    from ..result import Result

Loop = FourBar | SliderCrank | InvertedSliderCrank | SpatialFourBar

# share of the largest rate of an output: at a smaller rate the output is at rest
STANDS = 1e-9
# share of the largest speed: a speed that varies less is constant
CONSTANT = 1e-9
# Newton steps from a sample to a limit position
REFINEMENTS = 3
# repetitions of the search for the least transmission angle, each around the smallest value found so far, and
# positions in each: the distance of 0.5 degrees between samples becomes 1e-8 degrees
NARROWINGS, WITHIN = 8, 21
# rad: a smaller transmission angle counts as zero, which it passes between two positions of that search
LEAST_ANGLE = 1e-7
# natural coordinates, which are of the order of one: bodies that are this close to where they began have returned
RETURNS = 1e-6
# turns of the drive after which a mechanism must have returned to have a cycle, and positions over a cycle
MOST_TURNS, MOST_POSITIONS = 100, 7200


@dataclass(frozen=True)
class Limit:
    """A limit position of an output: time [s], coordinates of the drive and of the output [rad or m], and whether
    the output coordinate has a maximum there.
    """

    time: float
    drive: float
    output: float
    largest: bool


@dataclass(frozen=True, eq=False)
class DesignOutput:
    """A body connected to the ground by a revolute or prismatic joint; without joint: a coordinate of a point.

    body: name of the body or point; direction: the axis of the joint, or the coordinate axis.
    """

    joint: Joint | None
    body: str
    direction: tuple[float, ...]

    @property
    def turns(self) -> bool:
        """Whether the output coordinate is an angle."""
        return self.joint is not None and self.joint.kind.row.coordinate == "angle"

    @property
    def axis(self) -> Floats:
        """Unit vector along the direction."""
        axis = np.array(self.direction, dtype=float)
        return np.asarray(axis / np.linalg.norm(axis))


@all_suggest
@dataclass(frozen=True, eq=False)
class Design(Sentences):
    """Quantities of one driven mechanism over its cycle; made by `sarrus.design`.

    Attributes
    ----------
    result : Result
        Kinematics of the mechanism.
    drive : str
        Name of the drive.
    period : float or None
        Duration of a cycle [s]; None if the drive has no cycle, or if the mechanism does not complete it.
    """

    result: Result = field(repr=False)
    drive: str
    period: float | None

    # input

    @property
    def times(self) -> Floats:
        """Times of the samples [s], shape (n,)."""
        return self.result.times

    @cached_property
    def _pieces(self) -> Any:
        return self.result.model.readings.drives[self.drive].pieces

    @property
    def joint(self) -> str:
        """Name of the driven joint."""
        return str(self.result.model.readings.drives[self.drive].joint)

    @property
    def turns(self) -> bool:
        """Whether the driven coordinate is an angle."""
        return bool(self.result.model.readings.drives[self.drive].turns)

    @cached_property
    def input(self) -> Floats:
        """Coordinate of the drive: angle [rad] or travel [m], shape (n,)."""
        return np.array([self._pieces.value(t) for t in self.times])

    @cached_property
    def speed(self) -> Floats:
        """Rate of the drive coordinate [rad/s or m/s], shape (n,)."""
        return np.array([self._pieces.rate(t) for t in self.times])

    # the motor

    @cached_property
    def torque(self) -> Floats:
        """Torque [N m] or force [N] of the drive, shape (n,)."""
        scale = self._force_scale * (self._size if self.turns else 1.0)
        return without_noise(self.result.drive_force(self.drive), scale, "N")

    @property
    def _size(self) -> float:
        """Size of the mechanism [m]."""
        return scales_of(self.result)["m"]

    @cached_property
    def _force_scale(self) -> float:
        """Scale of forces [N]: values that are rounding relative to it count as zero."""
        return scale_of_forces(self.result)

    @property
    def power(self) -> Floats:
        """Power of the drive [W], shape (n,)."""
        return self.torque * self.speed

    @property
    def peak_torque(self) -> float:
        """Largest absolute torque or force of the drive."""
        return _peak(self.torque)

    @property
    def rms_torque(self) -> float:
        """Root mean square of the drive torque or force over the cycle; it determines the motor's heating."""
        return float(np.sqrt(_mean(self.times, self.torque**2)))

    @property
    def peak_power(self) -> float:
        """Largest power that the drive must deliver [W]."""
        return float(np.nanmax(self.power, initial=0.0))

    @property
    def peak_braking_power(self) -> float:
        """Largest power that the mechanism returns to the drive, which then acts as a brake [W]."""
        return float(np.nanmax(-self.power, initial=0.0))

    @property
    def torque_speed(self) -> Floats:
        """Speed and torque at each sample, shape (n, 2); the motor's characteristic must enclose them."""
        return np.column_stack([self.speed, self.torque])

    @cached_property
    def reflected_inertia(self) -> Floats:
        """Inertia of all bodies reflected to the drive [kg m^2], or [kg] for a travel, shape (n,)."""
        return self._per_speed(lambda result: 2.0 * result.kinetic_energy, 2)

    @cached_property
    def _sweeps(self) -> tuple[tuple[Floats, Result, float], ...]:
        """Runs at constant speed through the configurations of the samples.

        For each: the sample that its outputs belong to, as numbers of outputs (NaN: none), the run, and its speed.
        """
        top = float(np.abs(self.speed).max(initial=0.0))
        if np.ptp(self.speed) <= CONSTANT * top:
            return ((np.arange(float(len(self.times))), self.result, float(self.speed[0])),)
        return tuple(self._sweep(sign) for sign in (1.0, -1.0))

    def _sweep(self, sign: float) -> tuple[Floats, Result, float]:
        """The run from the initial configuration to the largest or smallest coordinate of the drive."""
        start = float(self.input[0])
        way = sign * (self.input - start)
        # within rounding of the start both sweeps are right
        span = float(way.max())
        inside = way >= 0.0
        if not span > 0.0:
            return np.full(len(way), np.nan), self.result, 1.0
        at, number = np.unique(np.append(way[inside], 0.0) / span, return_inverse=True)
        mechanism = self.result.mechanism.copy()
        mechanism.drives.clear()
        mechanism.drive(self.drive, self.joint, Polynomial((start, sign * span)))
        run = kinematics(mechanism, at)
        which = np.full(len(way), np.nan)
        which[inside] = np.where(number[:-1] < len(run.times), number[:-1], np.nan)
        return which, run, sign * span

    def _per_speed(self, read: Callable[[Result], Floats], power: int) -> Floats:
        """A quantity over a power of the drive's speed, which depends on the configuration alone, shape (n,)."""
        out = np.full(len(self.times), np.nan)
        for which, run, speed in self._sweeps:
            known = np.isfinite(which)
            if known.any():
                out[known] = read(run)[which[known].astype(int)] / speed**power
        return without_own_noise(out)

    # the frame

    @cached_property
    def shaking_force(self) -> Floats:
        """Inertia force of the bodies on the frame [N], shape (n, dimension)."""
        parts = shaking_force(self.result).T
        return np.array([without_noise(part, self._force_scale, "N") for part in parts]).T

    def shaking_moment(self, about: ArrayLike | None = None) -> Floats:
        """Inertia moment of the bodies on the frame [N m]: shape (n,) in 2-D, (n, 3) in 3-D.

        Parameters
        ----------
        about : array_like, optional
            Reference point [m]; by default the driven joint at the start, of a distance joint its first end.
        """
        joint = next(j for j in self.result.mechanism.joints if j.name == self.joint)
        place = joint.places[0] if about is None else np.asarray(about, float)
        planar = self.result.model.dimension == 2
        total = np.zeros((len(self.times), 3))
        for body in self._bodies:
            arm, force = (
                _in_space(x)
                for x in (
                    self.result.position(body.name) - place,
                    body.mass * self.result.acceleration(body.name),
                )
            )
            total += np.cross(arm, force)
            if not body.inertia.any():
                continue
            w, alpha = (
                self.result.angular_velocity(body.name),
                self.result.angular_acceleration(body.name),
            )
            if planar:
                total[:, 2] += float(body.inertia) * alpha
            else:
                R = self._turn(body.name)
                inertia = R @ body.inertia @ np.swapaxes(R, 1, 2)
                spin = np.einsum("tij,tj->ti", inertia, w)
                total += np.einsum("tij,tj->ti", inertia, alpha) + np.cross(w, spin)
        scale = self._force_scale * self._size
        total = np.array([without_noise(-part, scale, "N m") for part in total.T]).T
        return total[:, 2] if planar else total

    @property
    def _bodies(self) -> list[Any]:
        return self.result.mechanism.bodies

    # loops

    @cached_property
    def four_bars(self) -> tuple[FourBar, ...]:
        """Four-bar linkages in a planar mechanism."""
        return tuple(find_four_bars(self.result.mechanism))

    @cached_property
    def slider_cranks(self) -> tuple[SliderCrank, ...]:
        """Slider-cranks in a planar mechanism."""
        return tuple(find_slider_cranks(self.result.mechanism))

    @cached_property
    def inverted_slider_cranks(self) -> tuple[InvertedSliderCrank, ...]:
        """Loops of a planar mechanism with a moving slide: crank and slotted lever, or a cylinder on a lever."""
        return tuple(find_inverted_slider_cranks(self.result.mechanism))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Four-bar linkages, then slider-cranks."""
        return (
            *self.four_bars,
            *self.slider_cranks,
            *self.inverted_slider_cranks,
            *self.spatial_four_bars,
        )

    @cached_property
    def spatial_four_bars(self) -> tuple[SpatialFourBar, ...]:
        """Loops in space whose coupler has a ball at each end, such as RSSR; the drive is at their input."""
        return tuple(_find_spatial(self.result.mechanism, self.joint))

    @cached_property
    def transmission_angles(self) -> dict[str, Floats]:
        """Transmission angle [rad], 0 to pi/2, of each four-bar and slider-crank whose base is the ground, in the
        plane and in space, keyed by its joints ("A-B-C-D"). Other loops are omitted: which of their links is the
        input depends on the other loops.
        """
        return {
            loop.name: loop.measure_transmission(self.result)
            for loop in self.loops
            if loop.bodies[0] == Mechanism.GROUND
        }

    def least_transmission_angle(self, loop: str) -> float:
        """Smallest transmission angle of a loop [rad], also between the samples; 0 where it passes zero.

        Parameters
        ----------
        loop : str
            Name of a loop: its joints, "A-B-C-D".
        """
        angles = pick(self.transmission_angles, loop, "loop")
        found = next(x for x in self.loops if x.name == loop)
        times = self.times
        for _ in range(NARROWINGS):
            i = int(np.argmin(angles))
            first, last = times[max(i - 1, 0)], times[min(i + 1, len(times) - 1)]
            # the interval is as small as the rounding of times
            if not last - first > 1e-12 * self.times[-1]:
                break
            times = np.linspace(first, last, WITHIN)
            angles = found.measure_transmission(self.result.at(times))
        least = float(angles.min())
        return least if least > LEAST_ANGLE else 0.0

    # outputs

    @cached_property
    def outputs(self) -> dict[str, DesignOutput]:
        """Bodies connected to the ground by undriven revolute or prismatic joints, keyed by the name of the joint.

        A joint that connects several bodies has one output per body: "B on knee".
        """
        return _find_outputs(self.result.mechanism, self.joint)

    def _find_output(self, name: str) -> DesignOutput:
        """An output by its name, or a coordinate of a joint, point or body: "platform.y"."""
        point, _, letter = name.rpartition(".")
        axes = "xyz"[: self.result.model.dimension]
        if name not in self.outputs and point in self.result.model.points and letter in axes:
            return DesignOutput(None, point, tuple(float(letter == axis) for axis in axes))
        return pick(self.outputs, name, "output")

    def output_rates(self, output: str, result: Result | None = None) -> tuple[Floats, Floats]:
        """First and second time derivative of an output [rad/s or m/s, and per second], shape (n,)."""
        result = self.result if result is None else result
        found = self._find_output(output)
        if not found.turns:
            axis = found.axis
            return result.velocity(found.body) @ axis, result.acceleration(found.body) @ axis
        rates = result.angular_velocity(found.body), result.angular_acceleration(found.body)
        if result.model.dimension == 2:
            return rates
        return rates[0] @ found.axis, rates[1] @ found.axis

    def output_values(self, output: str, result: Result | None = None) -> Floats:
        """Coordinate of an output [rad or m], 0 at the start, shape (n,)."""
        result = self.result if result is None else result
        found = self._find_output(output)
        if found.joint is not None and found.turns:
            return result.angle(found.joint.name, Mechanism.GROUND, found.body)
        moved = result.position(found.body) - result.model.origin(found.body)
        return np.asarray(moved @ found.axis)

    def mechanical_advantage(self, output: str) -> Floats:
        """Output force or torque over that of the drive, without losses and inertia, shape (n,).

        It equals the rate of the drive over that of the output: infinite at limit positions of the output, 0 where
        the drive is at a dead centre. The output is one of `outputs`, or a coordinate of a joint, point or body:
        "platform.y".

        Parameters
        ----------
        output : str
            Name of an output: a joint on the ground that is not driven, such as "D".
        """
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self._ratio(output))

    def advantage_unit(self, output: str) -> str:
        """Unit of the mechanical advantage of an output: 1, or a force over a torque and the reverse."""
        if self._find_output(output).turns == self.turns:
            return "1"
        return "1/m" if self.turns else "m"

    def _ratio(self, output: str) -> Floats:
        """Derivative of an output with respect to the coordinate of the drive, shape (n,)."""
        return self._per_speed(lambda result: self.output_rates(output, result)[0], 1)

    def limits(self, output: str) -> tuple[Limit, ...]:
        """Limit positions of an output, where it reverses while the drive goes on, in order of time.

        They are dead centres if the output becomes the input. The output is as in `mechanical_advantage`.

        Parameters
        ----------
        output : str
            Name of an output: a joint on the ground that is not driven, such as "D".

        Returns
        -------
        tuple of Limit
            Time, coordinate of the drive and of the output at each limit position.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("crank-rocker")
        >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
        >>> len(sarrus.design(m, joint="A", speed=10.0).limits("D"))
        2
        """
        ratio = self._ratio(output)
        near = ~(np.abs(ratio) > STANDS * np.nanmax(np.abs(ratio), initial=0.0))
        if self.period is not None:
            # both ends of a cycle are one configuration
            near[[0, -1]] = near[0] or near[-1]
        sign = np.sign(np.where(near, 0.0, ratio))
        if not sign.any():
            return ()
        # a sample at rest takes the sign of the next moving sample
        for i in range(len(sign) - 2, -1, -1):
            sign[i] = sign[i] or sign[i + 1]
        found = np.flatnonzero(sign[:-1] * sign[1:] < 0)
        if near[-1] and self.period is not None and sign[-2] * sign[0] < 0:
            found = np.append(0, found)
        if not len(found):
            return ()
        t, h = self.times, np.diff(self.times)
        size = np.where(near, 0.0, np.abs(ratio))
        share = size[found] / (size[found] + size[found + 1])
        moments = t[found] + h[found] * share
        for _ in range(REFINEMENTS):
            there = self.result.at(moments)
            first, second = self.output_rates(output, there)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.nan_to_num(first / second)
            moments = np.clip(moments - step, t[found], t[found + 1])
        # a limit position at the start is found there only up to rounding
        moments[moments <= 1e-12 * t[-1]] = 0.0
        there = self.result.at(moments)
        values = self.output_values(output, there)
        second = self.output_rates(output, there)[1]
        return tuple(
            Limit(float(moment), float(self._pieces.value(moment)), float(value), bool(curve < 0))
            for moment, value, curve in zip(moments, values, second, strict=True)
        )

    def time_ratio(self, output: str) -> float:
        """Duration of the longer over that of the shorter stroke of an output in a cycle; 1 if they are equal.

        Raises
        ------
        ValueError
            If the output does not have exactly one limit position at each end.

        Parameters
        ----------
        output : str
            Name of an output: a joint on the ground that is not driven, such as "D".
        """
        limits = self.limits(output)
        if not self._has_two_ends(limits) or self.period is None:
            raise ValueError(
                f"output '{output}' has {len(limits)} limit positions in a cycle; a time ratio needs one at "
                "each end"
            )
        stroke = limits[1].time - limits[0].time
        return float(max(stroke, self.period - stroke) / min(stroke, self.period - stroke))

    @staticmethod
    def _has_two_ends(limits: tuple[Limit, ...]) -> bool:
        """Whether there is one limit position at each end of the motion."""
        return sorted(limit.largest for limit in limits) == [False, True]

    # points

    def coupler_curve(self, body: str, at: ArrayLike) -> Floats:
        """Path of the body point that is at the given coordinates [m] at the start, shape (n, dimension).

        Parameters
        ----------
        body : str
            A body.
        at : array_like
            Initial coordinates of the point [m].

        Returns
        -------
        array
            Positions of the point [m], shape (n, dimension).
        """
        result = self.result
        known = {b.name: b for b in result.mechanism.bodies}
        arm = np.asarray(at, float) - pick(known, body, "body").center
        d = result.model.dimension
        return np.asarray(result.position(body) + self._turn(body)[:, :d, :d] @ arm)

    def _turn(self, body: str) -> Floats:
        """Rotation matrices of a body relative to the start, (n, 3, 3).

        A thin rod in 3-D has zero spin about its own axis, which moves none of its points.
        """
        return read_turns(self.result.model.body_rows.only(body), self.result.coordinates)[:, 0]

    def instant_centre(self, first: str, second: str = Mechanism.GROUND) -> Floats:
        """Instant centre of the motion of one body relative to another [m], shape (n, 2); planar mechanisms only.

        NaN where the relative motion is a pure translation: the centre is at infinity.

        Parameters
        ----------
        first : str
            A body.
        second : str, optional
            The body relative to which it moves. Default: the ground.
        """
        if self.result.model.dimension != 2:
            raise MechanismError("instant centres are points of planar mechanisms")
        (p1, v1, w1), (p2, v2, w2) = (self._motion(body) for body in (first, second))
        spin = w1 - w2
        # solve v1 + w1 k x (x - p1) = v2 + w2 k x (x - p2) for x
        right = v2 - v1 + w1[:, None] * _quarter(p1) - w2[:, None] * _quarter(p2)
        # all points of a body without spin have the same velocity: this velocity over the mechanism's size is the
        # scale
        speed = np.abs(np.concatenate([v1, v2])).max(initial=0.0) / self.result.mechanism.size
        size = max(float(np.abs(np.concatenate([w1, w2])).max(initial=0.0)), float(speed))
        with np.errstate(divide="ignore", invalid="ignore"):
            place = -_quarter(right) / spin[:, None]
        place[np.abs(spin) <= STANDS * size] = np.nan
        return np.asarray(place)

    def _motion(self, body: str) -> tuple[Floats, Floats, Floats]:
        """Centre of mass, its velocity, and the angular velocity of a body of a planar mechanism."""
        n = len(self.times)
        if body == Mechanism.GROUND:
            return np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n)
        result = self.result
        return result.position(body), result.velocity(body), result.angular_velocity(body)

    # summaries

    def columns(self) -> dict[str, Floats]:
        """All quantities over time, keyed by name with unit."""
        unit, rate = ("rad", "rad/s") if self.turns else ("m", "m/s")
        force, inertia = ("N m", "kg m^2") if self.turns else ("N", "kg")
        word = "torque" if self.turns else "force"
        out = {
            "t [s]": self.times,
            f"input [{unit}]": self.input,
            f"speed [{rate}]": self.speed,
            f"drive {word} [{force}]": self.torque,
            "drive power [W]": self.power,
            f"reflected inertia [{inertia}]": self.reflected_inertia,
        }
        for name, values in self.transmission_angles.items():
            out[f"{name}.transmission angle [rad]"] = values
        for name in self.outputs:
            label = f"{name}.mechanical advantage [{self.advantage_unit(name)}]"
            out[label] = self.mechanical_advantage(name)
        for axis, values in zip("xyz", self.shaking_force.T, strict=False):
            out[f"shaking force {axis} [N]"] = values
        moment = np.atleast_2d(self.shaking_moment().T)
        for axis, values in zip("z" if len(moment) == 1 else "xyz", moment, strict=True):
            out[f"shaking moment {axis} [N m]"] = values
        return out

    def plot(self, *names: str, over: str = "input", degrees: bool = True, ax: Any = None) -> Any:
        """A matplotlib figure of columns over another one, the coordinate of the drive if left out.

        Parameters
        ----------
        names
            Columns without unit ("drive torque", "D.mechanical advantage"), or their last words, which select all
            columns that end with them ("transmission angle"). By default the drive torque, transmission angles and
            mechanical advantages.
        over
            The column of the horizontal axis: "input", "t", "speed", ...
        degrees
            Whether angles are drawn in degrees.
        ax
            Matplotlib axes to draw into, instead of a new figure; they are returned.
        """
        columns = {_bare(name): name for name in self.columns()}
        values = self.columns()
        panels: dict[str, dict[str, Floats]] = {}
        for name in names or _DRAWN:
            mine = [c for c in columns if c == name or c.endswith(f".{name}")]
            if not mine and names:
                raise unknown(f"'{name}' is not a column of the design", name, columns)
            for c in mine:
                label, drawn = _shown(columns[c], values[columns[c]], degrees)
                owner, _, word = label.rpartition(".")
                panels.setdefault(word, {})[owner] = drawn
        label, x = _shown(*_item(columns, values, over), degrees)
        side = notebook_view.ResultCurves(self.result.name, label, x, panels)
        if ax is not None:
            return notebook_view.draw_into(ax, [side])
        return notebook_view.make_figure(self.result.scene, [side])

    def numbers(self) -> dict[str, float]:
        """The numbers of the summary keyed by name with unit, also for studies."""
        force, inertia = ("N m", "kg m^2") if self.turns else ("N", "kg")
        word = "torque" if self.turns else "force"
        out = {
            f"peak {word} [{force}]": self.peak_torque,
            f"RMS {word} [{force}]": self.rms_torque,
            "peak power [W]": self.peak_power,
            "peak braking power [W]": self.peak_braking_power,
            f"largest reflected inertia [{inertia}]": _peak(self.reflected_inertia),
            "peak shaking force [N]": _peak(np.linalg.norm(self.shaking_force, axis=1)),
            "peak shaking moment [N m]": _peak(self.shaking_moment()),
        }
        if not self.result.success:
            # they grow without bound towards the dead centre: peaks would depend on the choice of times
            out = dict.fromkeys(out, np.nan)
        for name in self.transmission_angles:
            out[f"{name}.least transmission angle [rad]"] = self.least_transmission_angle(name)
        for name, output in self.outputs.items():
            unit = "rad" if output.turns else "m"
            # limit positions lie between the samples
            ends = [limit.output for limit in self.limits(name)]
            out[f"{name}.range [{unit}]"] = float(np.ptp([*self.output_values(name), *ends]))
            advantage = np.abs(self.mechanical_advantage(name))
            label = f"{name}.least mechanical advantage [{self.advantage_unit(name)}]"
            # it is zero at a dead centre, and next to it depends on the choice of times
            least = float(np.nanmin(advantage, initial=np.inf))
            out[label] = least if self.result.success and np.isfinite(least) else np.nan
            if self.period is not None and self._has_two_ends(self.limits(name)):
                out[f"{name}.time ratio [1]"] = self.time_ratio(name)
        return out

    def number(self, name: str) -> float:
        """One number of the summary by its name without unit: "peak torque", "D.time ratio".

        Parameters
        ----------
        name : str
            Name without unit, such as "peak torque" or "D.time ratio".

        Returns
        -------
        float
            The number in SI units.
        """
        return pick({_bare(key): value for key, value in self.numbers().items()}, name, "quantity")

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        kind = "turned" if self.turns else "moved"
        cycle = f"a cycle of {self.period:.6g} s" if self.period else f"{self.times[-1]:.6g} s"
        turns = (
            round(float(np.ptp(self.input)) / (2.0 * np.pi)) if self.period and self.turns else 1
        )
        cycle += f" ({turns} turns)" if turns > 1 else ""
        yield (
            f"{self.result.name}: joint '{self.joint}' is {kind} by drive '{self.drive}', {cycle}, "
            f"{len(self.times)} positions."
        )
        if not self.result.success:
            yield f"{self.result.message}."
            yield "Torque and forces grow without bound towards a dead centre: they have no peaks."
        for loop in self.four_bars:
            lengths = ", ".join(f"{x:.4g}" for x in loop.lengths)
            yield f"Four-bar {loop.name} ({lengths} m): {loop.kind}{self._input_range(loop)}."
        for spatial in self.spatial_four_bars:
            yield f"S{spatial.kind[1:]} {spatial.name}."
        for text in (x.describe() for x in self.slider_cranks):
            yield f"{text}."
        for text in (x.describe() for x in self.inverted_slider_cranks):
            yield f"{text}."
        for name, output in self.outputs.items():
            where = ", ".join(self._show(limit, output.turns) for limit in self.limits(name))
            if where:
                yield f"Output {name} turns back at {where}."
        for quantity, value in self.numbers().items():
            if np.isnan(value):
                continue
            label, _, unit = quantity.rpartition(" [")
            shown = (
                f"{np.degrees(value):.4g} degrees"
                if unit == "rad]"
                else f"{show_number(value, 4)} {unit[:-1]}"
            )
            yield f"{label.replace('.', ': ', 1)}: {shown.removesuffix(' 1')}"

    def _input_range(self, loop: FourBar) -> str:
        """Rotation range of the input of a four-bar with the ground as base, in words."""
        if loop.bodies[0] != Mechanism.GROUND:
            return f", base '{loop.bodies[0]}'"
        if loop.input_limits is None:
            return "; its input turns fully"
        # rounding must not show as an angle
        low, high = np.round(np.degrees(loop.input_limits), 6)
        return f"; its input is between {low:.4g} and {high:.4g} degrees from the ground line"

    def _show(self, limit: Limit, degrees: bool) -> str:
        value, given = (
            _show_coordinate(x, turns, self._size)
            for x, turns in ((limit.output, degrees), (limit.drive, self.turns))
        )
        return f"{value} (drive at {given}, t = {limit.time:.6g} s)"


@suggests
def design(
    mechanism: Mechanism,
    times: ArrayLike | None = None,
    *,
    joint: str | None = None,
    speed: float | str = 2.0 * np.pi,
) -> Design:
    """Quantities that a designer needs of a mechanism with one drive, over a cycle.

    Parameters
    ----------
    mechanism
        A mechanism with one degree of freedom, and a drive for it unless `joint` is given.
    times
        Increasing times [s] starting at 0; by default one cycle in steps of half a degree, or the whole motion
        of a drive without a cycle.
    joint
        A joint to drive at constant speed, for a mechanism without a drive.
    speed
        Speed of that joint [rad/s or m/s], or text with a unit: "60 rpm".

    Returns
    -------
    Design
        Torque, power, reflected inertia, shaking force and moment, four-bars with Grashof class and transmission
        angles, limit positions, time ratios, mechanical advantage, instant centres and coupler curves. It prints
        as sentences.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> found = sarrus.design(m, joint="A", speed=10.0)
    >>> found.four_bars[0].kind
    'crank-rocker'
    >>> f"{found.peak_torque:.2f} N m"
    '1.87 N m'
    """
    if joint is not None:
        mechanism = mechanism.copy()
        mechanism.drives.clear()
        # text with a unit is read by the drive
        rate: Any = speed if isinstance(speed, str) else float(speed)
        mechanism.drive("drive", joint, Polynomial((_start_of(mechanism, joint), rate)))
    check_one_drive(mechanism)
    drive = mechanism.drives[0].name
    period = find_period(mechanism, drive)
    moments = cycle_times(mechanism, POSITIONS) if times is None else times
    result = kinematics(mechanism, moments)
    if len(result.times) < 2:
        raise MechanismError(f"mechanism '{mechanism.name}' cannot be driven: {result.message}")
    if times is None and period is not None and result.success and not _returns(result):
        # gears, and change points, repeat after several turns of the drive
        turns = _count_turns(mechanism, period)
        if turns is None:
            period = None
        else:
            period *= turns
            count = min(turns * (POSITIONS - 1), MOST_POSITIONS)
            result = kinematics(mechanism, np.linspace(0.0, period, count + 1))
    return Design(result, drive, period if result.success else None)


def _returns(result: Result, sample: int = -1) -> bool:
    """Whether all bodies are where they began, at a sample."""
    return bool(np.abs(result.coordinates[sample] - result.coordinates[0]).max() <= RETURNS)


def _count_turns(mechanism: Mechanism, period: float) -> int | None:
    """Turns of the drive after which all bodies have returned to their initial positions; None if too many."""
    result = kinematics(mechanism, period * np.arange(MOST_TURNS + 1.0))
    return next((k for k in range(1, len(result.times)) if _returns(result, k)), None)


def check_one_drive(mechanism: Mechanism) -> None:
    """Raise an error unless a mechanism has one drive."""
    if len(mechanism.drives) > 1:
        names = ", ".join(f"'{drive.name}'" for drive in mechanism.drives)
        raise MechanismError(
            f"mechanism '{mechanism.name}' has {len(mechanism.drives)} drives ({names}); design() needs "
            "exactly one. Remove the others, or read force and power of each drive from kinematics() or simulate()"
        )
    if not mechanism.drives:
        pins = ", ".join(
            f"'{j.name}'"
            for j in mechanism.joints
            if Mechanism.GROUND in j.bodies and j.kind.row.coordinate and len(j.bodies) == 2
        )
        raise MechanismError(
            f"mechanism '{mechanism.name}' has 0 drives; design() needs one: add a drive, or "
            f"give joint=, one of {pins or 'its joints'}"
        )


def list_numbers(mechanism: Mechanism) -> list[str]:
    """Names without unit of the numbers that a design of a mechanism with one drive can have; nothing is run."""
    check_one_drive(mechanism)
    driven = mechanism.drives[0].joint
    joint = next(j for j in mechanism.joints if j.name == driven)
    word = "torque" if joint.kind.row.coordinate == "angle" else "force"
    names = [f"peak {word}", f"RMS {word}", "peak power", "peak braking power"]
    names += ["largest reflected inertia"]
    names += ["peak shaking force", "peak shaking moment"]
    loops: tuple[Loop, ...] = (
        *find_four_bars(mechanism),
        *find_slider_cranks(mechanism),
        *find_inverted_slider_cranks(mechanism),
        *_find_spatial(mechanism, driven),
    )
    names += [
        f"{loop.name}.least transmission angle"
        for loop in loops
        if loop.bodies[0] == Mechanism.GROUND
    ]
    words = ("range", "least mechanical advantage", "time ratio")
    return names + [f"{name}.{x}" for name in _find_outputs(mechanism, driven) for x in words]


def unit_of_number(name: str) -> str:
    """Unit of a number of the summary, by its name without unit; empty if it depends on the mechanism."""
    word = name.rpartition(".")[2]
    return {
        "peak torque": "N m",
        "RMS torque": "N m",
        "peak force": "N",
        "RMS force": "N",
        "peak power": "W",
        "peak braking power": "W",
        "peak shaking force": "N",
        "peak shaking moment": "N m",
        "least transmission angle": "rad",
    }.get(word, "")


# columns drawn by default
_DRAWN = ("drive torque", "drive force", "transmission angle", "mechanical advantage")


def _show_coordinate(value: float, turns: bool, size: float) -> str:
    """An angle in degrees or a travel in metres; rounding relative to the mechanism's size is shown as zero."""
    exact = 0.0 if abs(value) <= CURVE_NOISE * (1.0 if turns else size) else value
    return f"{np.degrees(exact):.4g} degrees" if turns else f"{exact:.4g} m"


def _find_outputs(mechanism: Mechanism, driven: str) -> dict[str, DesignOutput]:
    """Bodies on undriven joints of the ground, keyed by the name of the joint."""
    ground, out = Mechanism.GROUND, {}
    for joint in mechanism.joints:
        if ground not in joint.bodies or joint.name == driven:
            continue
        if joint.kind.row.is_slot and joint.bodies[0] == ground:
            # the body also turns: its point on the line is the output
            out[joint.name] = DesignOutput(
                joint, joint.name, tuple(() if joint.axis is None else joint.axis)
            )
        if joint.kind.row.coordinate not in ("angle", "travel"):
            continue
        for body in (b for b in joint.bodies if b != ground):
            label = joint.name if len(joint.bodies) == 2 else f"{joint.name} on {body}"
            out[label] = DesignOutput(joint, body, tuple(() if joint.axis is None else joint.axis))
    return out


def _find_spatial(mechanism: Mechanism, driven: str) -> Iterator[SpatialFourBar]:
    """Spatial four-bars with the drive at their input."""
    for loop in find_spatial_four_bars(mechanism):
        yield loop.reversed() if loop.joints[3] == driven else loop


def _item(columns: dict[str, str], values: dict[str, Floats], name: str) -> tuple[str, Floats]:
    """A column by its name without unit."""
    found = pick(columns, name, "column")
    return found, values[found]


def _shown(column: str, values: Floats, degrees: bool) -> tuple[str, Floats]:
    """A column with its unit, radians converted to degrees on request, without values near infinite ones."""
    finite = clip_unbounded(values) if ".mechanical advantage" in column else values
    if not degrees or "[rad" not in column:
        return column, finite
    return column.replace("[rad", "[deg"), np.degrees(finite)


def _bare(quantity: str) -> str:
    """A name without its unit."""
    return quantity.rpartition(" [")[0]


def _start_of(mechanism: Mechanism, name: str) -> float:
    """Initial value of the motion of a drive: 0, or the length of a distance joint."""
    joint = next((j for j in mechanism.joints if j.name == name), None)
    if joint is None or not joint.kind.row.is_link:
        return 0.0
    return float(np.linalg.norm(joint.places[1] - joint.places[0]))


def _in_space(x: Floats) -> Floats:
    return np.pad(x, ((0, 0), (0, 3 - x.shape[1])))


def _quarter(x: Floats) -> Floats:
    """Planar vectors rotated by 90 degrees counterclockwise."""
    return np.column_stack([-x[:, 1], x[:, 0]])


def _peak(values: Floats) -> float:
    sizes = np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)
    return float(np.nanmax(sizes, initial=0.0))


def _mean(times: Floats, values: Floats) -> float:
    """Mean over time by the trapezoidal rule, which is exact to rounding for smooth periodic values."""
    known = np.isfinite(values)
    t, x = times[known], values[known]
    return float(np.trapezoid(x, t) / (t[-1] - t[0])) if len(t) > 1 else float("nan")
