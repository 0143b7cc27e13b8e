"""Reads the derivative of any quantity of a run by one parameter, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from ..events.event_readings import bind_reader
from ..events.finder import TANGENT
from ..kernels.dual import RATES
from ..kinematics.constraints import Constraints
from ..mechanism.event_requests import Event
from ..methods import Record
from ..model import Model
from ..model.structure import describe, with_numbers
from ..notebook_display import html_table
from ..quantities import list_owners, read_quantity, split_quantity
from ..quantity_units import GLOBAL, LEVELS
from ..result import Result
from ..tangent_numbers import split_tangents
from .run_parameters import RunParameter
from .validity import (
    ConstraintVariation,
    Validity,
    find_crossing_rates,
)
from .variation import Rates

if TYPE_CHECKING:
    from ..model.readings import DriveRows
    from .run_derivatives import ParameterGroup, RunDerivatives

CROSSING_TIMES = "crossing times"
EXTREMES = ("largest", "smallest")
AXES = "xyz"
# rows of the energies in a record
ENERGIES = {"kinetic energy": [0], "potential energy": [1], "total energy": [0, 1]}
# step along the derivative of the motion for readings, over the mechanism's length: constraints are then violated
# by its square, which forces magnify; the rounding error of the differences is 1e-10
READING = 3e-5
# step of differences in time for the rate of an event's quantity, over the duration
EVENT_STEP = 1e-5
# share of the largest acceleration below which an extreme is flat
FLAT = 1e-8


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of a quantity by a parameter.

    Attributes
    ----------
    quantity, wrt : str
        Names of the quantity and the parameter.
    times : ndarray
        Times of the outputs, of the crossings or of the extreme [s].
    values : ndarray
        The derivative at each time, in the quantity's unit over that of the parameter; NaN from the time on at
        which it does not exist.
    velocity, acceleration : ndarray
        Derivatives of the velocity and acceleration of a point, as `values` are of its position.
    time_rates : ndarray
        For an extreme, the derivative of its time; NaN if the extreme is flat (the coordinate rests there).
    validity : Validity
        Until when the derivative exists, and why not longer.
    convention : str
        What stays fixed.
    energy_error : float
        Drift of the derivative of the energy over the largest derivative of the kinetic energy, a measure of the
        error. It is available if only gravity, constant forces and springs act, else NaN.
    """

    quantity: str
    wrt: str
    times: Floats
    values: Floats
    validity: Validity
    convention: str
    velocity: Floats | None = None
    acceleration: Floats | None = None
    time_rates: Floats | None = None
    tangent: RunTangent | None = field(default=None, repr=False, compare=False)

    @property
    def energy_error(self) -> float:
        """Drift of the derivative of the energy, see above."""
        return np.nan if self.tangent is None else self.tangent.energy_error

    @property
    def position(self) -> Floats:
        """Derivatives of the position of a point [m over the parameter's unit], shape (n, dimension)."""
        if self.velocity is None:
            raise ValueError(f"'{self.quantity}' is not a point; read values")
        return self.values

    def __repr__(self) -> str:
        return f"<Sensitivity of '{self.quantity}' wrt {self.wrt}: {self.validity}>"

    def _repr_html_(self) -> str:
        columns = (
            np.reshape(self.values, (len(self.times), -1)).T if len(self.times) else self.values[:0]
        )
        rows = [
            (
                self.quantity if len(columns) == 1 else f"{self.quantity} {'xyz'[i]}",
                *(f"{x:.6g}" for x in (column[0], np.min(column), np.max(column), column[-1])),
            )
            for i, column in enumerate(columns)
        ]
        title = f"Derivative of '{self.quantity}' with respect to {self.wrt}: {self.validity}"
        return html_table(title, ("", "at the start", "smallest", "largest", "at the end"), rows)


class MovedRecord(Record):
    """Outputs displaced along the derivative of the motion, for finite differences of quantities.

    Displaced states violate the constraints to second order, which redundant equations magnify in forces: energies
    and forces of drives are therefore displaced along their own derivatives.
    """

    origin: tuple[Record, Rates, float]

    @classmethod
    def along(cls, result: Result, rates: Rates, model: Model, h: float) -> MovedRecord:
        """The outputs of a result, displaced by h in the parameter."""
        old = result.record
        # where the derivative does not exist the outputs stay
        q, v, a, angles = map(np.nan_to_num, (rates.q, rates.v, rates.a, rates.angles))
        out = cls(
            model, old.times, old.q + h * q, old.v + h * v, old.angles + h * angles, old.work,
            result.accelerations + h * a, np.ones_like(old.kept), old.restored,
        )  # fmt: skip
        vars(out)["origin"] = old, rates, h
        return out

    @cached_property
    def energies(self) -> Floats:
        """Kinetic and potential energy."""
        old, rates, h = self.origin
        return np.asarray(old.energies + h * np.nan_to_num(rates.energies))

    @cached_property
    def drive_forces(self) -> Floats:
        """Forces of the drives."""
        old, rates, h = self.origin
        return np.asarray(old.drive_forces + h * np.nan_to_num(rates.forces))


class RunTangent:
    """Derivatives of a run by one parameter, for every quantity that can be read."""

    def __init__(
        self,
        run: RunDerivatives,
        parameter: RunParameter,
        validity: Validity,
        lane: int,
        group: ParameterGroup,
    ) -> None:
        self.parameter, self.validity = parameter, validity
        self._run, self._lane, self._group = run, lane, group

    @property
    def _rates(self) -> Rates:
        return self._group.rates.lane(self._lane)

    def of(self, quantity: str | Event) -> Sensitivity:
        """The derivative of a quantity, or of the times of an event."""
        result = self._run.result
        if isinstance(quantity, Event):
            return self._sensitivity(f"times of {quantity.name}", *self._of_event(quantity))
        first, _, rest = quantity.partition(" ")
        times, more = result.times, {}
        if quantity in result.model.points:
            values, more["velocity"], more["acceleration"] = self._of_point(quantity)
        elif quantity == CROSSING_TIMES:
            times, values = self._of_crossings()
        elif first in EXTREMES and rest:
            times, values, more["time_rates"] = self._of_extreme(rest, first == EXTREMES[0])
        else:
            values = self._of_state(quantity)
        return self._sensitivity(quantity, times, values, **more)

    def _sensitivity(self, name: str, times: Floats, values: Floats, **more: Floats) -> Sensitivity:
        run = self._run
        if times is run.result.times and run.result is not run.whole:
            # outputs after an event that changes the mechanism
            missing = len(run.whole.times) - len(times)
            values, *others = (_with_nan(x, missing) for x in (values, *more.values()))
            times, more = run.whole.times, dict(zip(more, others, strict=True))
        return Sensitivity(
            name,
            self.parameter.name,
            times,
            values,
            self.validity,
            self.parameter.convention,
            tangent=self,
            **more,
        )

    @cached_property
    def energy_error(self) -> float:
        """Drift of the derivative of the energy, over the largest derivative of the kinetic energy."""
        if self._run.result.record.work.any():
            return np.nan
        kinetic, total = self._of_energy("kinetic energy"), self._of_energy("total energy")
        known = np.isfinite(total)
        if known.sum() < 2:
            return np.nan
        size = np.abs(kinetic[known]).max() + np.abs(total[known]).max()
        return float(np.abs(total[known] - total[0]).max() / size) if size > 0.0 else 0.0

    def _of_point(self, name: str) -> tuple[Floats, Floats, Floats]:
        """Derivatives of position, velocity and acceleration of a point."""
        model, rates = self._run.result.model, self._group.dual.rates[self._lane]
        rows, moved = model.rows_of(name), rates.rows_of(name)
        result = self._run.result
        found = [rows.times(x) for x in (self._rates.q, self._rates.v, self._rates.a)]
        if moved.val.any():
            levels = (result.coordinates, result.rates, result.accelerations)
            found = [x + moved.times(y) for x, y in zip(found, levels, strict=True)]
        return rates.origin(name) + found[0], found[1], found[2]

    def _of_state(self, quantity: str) -> Floats:
        """Derivative of a quantity of the state: exact for energies and drive forces, else by differences."""
        if quantity in ENERGIES:
            return self._of_energy(quantity)
        if quantity in GLOBAL:
            raise ValueError(
                f"'{quantity}' has no derivative here; energies that have: {', '.join(ENERGIES)}"
            )
        owner, word = split_quantity(quantity, set(list_owners(self._run.result)))
        drive = self._run.result.model.readings.drives.get(owner)
        if drive is not None and word == ("torque" if drive.turns else "force"):
            return self._of_drive(drive)
        letter, axis = word[:-1], word[-1:]
        levels = [start for start, _ in LEVELS.values()]
        if owner in self._run.result.model.points and letter in levels and axis in AXES:
            return self._of_point(owner)[levels.index(letter)][:, AXES.index(axis)]
        return self._read(quantity)

    def _of_drive(self, drive: DriveRows) -> Floats:
        """Derivative of the force or torque of a drive."""
        u, du = self._run.result.model.units, self._group.dual.rates[self._lane].units
        unit = du.mass * u.length**2 + 2.0 * u.mass * u.length * du.length
        if not drive.turns:
            unit = du.mass * u.length + u.mass * du.length
        forces = self._run.result.record.drive_forces[:, drive.number]
        return np.asarray(self._rates.forces[:, drive.number] * drive.unit + forces * unit)

    def _of_energy(self, quantity: str) -> Floats:
        """Derivative of kinetic, potential or total energy [J]."""
        record = self._run.result.record
        u, du = self._run.result.model.units, self._group.dual.rates[self._lane].units
        unit = du.mass * u.length**2 + 2.0 * u.mass * u.length * du.length
        each = self._rates.energies * u.energy + record.energies * unit
        return np.asarray(each[ENERGIES[quantity]].sum(axis=0))

    def _read(self, quantity: str) -> Floats:
        """Derivative of any reading of a state, by fourth-order differences along the motion's derivative.

        The derivative of the motion is exact, and so is the state; only the formula of the reading is
        differentiated by differences.
        """
        result = self._run.result
        self._check_unique(quantity)
        out = self._difference(result, self._rates, lambda r: read_quantity(r, quantity).values)
        near = result._near_crossings | (result.record.kept == 2)
        word = quantity.rpartition(".")[2].split()[-1]
        if word[:1] in ("F", "M") or word in ("force", "torque", "power", "reaction"):
            out = np.where(near, np.nan, out)
        return np.asarray(out)

    def _difference(self, result: Result, rates: Rates, read: Callable[[Result], Floats]) -> Floats:
        """Derivative of a reading at the outputs of a result, where the motion has these derivatives."""
        largest = max(np.nanmax(np.abs(rates.q), initial=0.0), 1.0 / self._group.scale(self._lane))
        h = READING / max(largest, 1e-300)
        x = {k: read(self._moved(result, rates, k * h)) for k in (-2, -1, 1, 2)}
        found = (8.0 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12.0 * h)
        return np.where(np.isfinite(rates.q).all(axis=1), found, np.nan)

    def _of_event(self, event: Event) -> tuple[Floats, Floats]:
        """Times of an event, and their derivatives - (dg/dp) / (dg/dt), g the quantity that it reads."""
        if event.equals is None:
            raise ValueError(
                f"event '{event.name}' is an extreme; the time of 'largest B0.x' has a derivative (time_rates)"
            )
        dense = self._run.dense
        until = min(self.validity.until, self._group.reached)
        # an event that changes the mechanism ends the derivatives, and its own time is the last one
        until = until if self._run.cut > until else self._run.cut * (1.0 + 1e-12)
        found = [e for e in self._run.whole.events if e.name == event.name and e.time <= until]
        times = np.minimum([e.time for e in found], self._run.end)
        if not len(times):
            return times, times
        there = dense.at(times)
        rates = self._group.variation.outputs(there.record).lane(self._lane)

        def read(states: Result) -> Floats:
            # readers have the dimensions of one model, and states of neighbours have others
            return bind_reader(event, states)(states)

        slopes = self._difference(there, rates, read)
        speeds = _time_rate(dense, read, times, self._run.end)
        # a tangent event has no derivative
        passes = (np.abs(speeds) > 0.0) & np.array([e.kind != TANGENT for e in found])
        with np.errstate(divide="ignore", invalid="ignore"):
            return times, np.where(passes, -slopes / speeds, np.nan)

    def _check_unique(self, quantity: str) -> None:
        """Reject reactions that are statically indeterminate."""
        result = self._run.result
        owner, _, word = quantity.rpartition(".")
        joints = {joint.name for joint in result.mechanism.joints}
        name, _, body = owner.partition(" on ")
        if name not in joints or word[:1] not in ("F", "M"):
            return
        found = result.reactions.of(name, body or None)
        unique = found.force_unique if word[0] == "F" else found.moment_unique
        if not np.all(unique[~result._near_crossings]):
            raise ValueError(
                f"'{quantity}' is statically indeterminate: rigid bodies do not determine it, and it has no "
                "derivative; read another component, or remove redundant constraints"
            )

    def _moved(self, result: Result, rates: Rates, h: float) -> Result:
        """A result of the run with its states and dimensions displaced along the derivative."""
        dual = self._group.dual
        described = describe(dual.mechanism)
        assert described is not None
        numbers, slopes = split_tangents(described.numbers, len(dual.rates))
        mechanism = with_numbers(
            result.mechanism, iter((numbers + h * slopes[:, self._lane]).tolist())
        )
        model = dual.moved(mechanism, self._lane, h)
        record = MovedRecord.along(result, rates, model, h)
        outcome = replace(result.outcome, record=record, watch=None, motion=None)
        return replace(result, mechanism=mechanism, model=model, outcome=outcome)

    def _of_crossings(self) -> tuple[Floats, Floats]:
        """Derivatives of the times of all crossings at which the derivative exists."""
        found = [
            c
            for c in self._run.crossings
            if c.time <= min(self.validity.until, self._group.reached)
        ]
        times = np.array([c.time for c in found])
        if not len(found):
            return times, times
        (q, v, _), rates = self._group.variation.values(times), self._group.variation.rates(times)
        u = np.zeros((*q.shape, RATES))
        u[..., : len(rates)] = np.moveaxis(rates[:, 0], 0, -1)
        change = ConstraintVariation(self._group.dual)
        J, _, dJ, _ = change.at(times, q, u)
        # J is affine in q, and so is its time derivative in v
        plain = Constraints(self._run.result.model.form)
        rest = plain.jacobian(np.zeros_like(v[0]))
        values = [
            find_crossing_rates(J[k], dJ[k, ..., self._lane], plain.jacobian(v[k]) - rest)
            for k in range(len(times))
        ]
        return times, np.array(values)

    def _of_extreme(self, quantity: str, largest: bool) -> tuple[Floats, Floats, Floats]:
        """Time of the extreme of a coordinate of a point, and derivatives of its value and time."""
        name, _, axis = quantity.rpartition(".")
        result = self._run.dense
        i = "xyz"[: result.model.dimension].find(axis)
        if name not in result.model.points or i < 0 or len(axis) != 1:
            raise ValueError(
                f"'{quantity}': extremes have derivatives for coordinates of points; give one like 'B0.x'"
            )
        whole = self._run.whole
        if self._run.cut < np.inf:
            of_outputs = whole.position(name)[:, i]
            far = float(whole.times[np.argmax(of_outputs) if largest else np.argmin(of_outputs)])
            if far > self._run.cut:
                return np.array([far]), np.full(1, np.nan), np.full(1, np.nan)
        t, is_inside = _find_extreme(result, self._run.sample_times, name, i, largest)
        there = result.at(t)
        at = np.array([min(t, self._group.reached)])
        rates = self._group.variation.rates(at)[self._lane]
        rows = result.model.point_rows(name)
        moved = self._group.dual.rates[self._lane]
        value, rate = (
            (rows @ x.T).T[0, i] + (moved.point_rows(name) @ y.T).T[0, i]
            for x, y in zip(rates[:2], (there.coordinates, there.rates), strict=True)
        )
        value += moved.origin(name)[i]
        if t > min(self.validity.until, self._group.reached):
            value = rate = np.nan
        if not is_inside:
            # an extreme at an end of the run keeps its time
            return at, np.array([value]), np.zeros(1)
        curve, usual = there.acceleration(name)[0, i], result.acceleration(name)[:, i]
        # the time of a flat extreme, as where the mechanism stands still, has no derivative
        is_flat = abs(curve) <= FLAT * np.nanmax(np.abs(usual), initial=0.0)
        return at, np.array([value]), np.array([np.nan if is_flat else -rate / curve])


def _time_rate(
    dense: Result, read: Callable[[Result], Floats], times: Floats, end: float
) -> Floats:
    """Time derivatives of a reading, from five states near each time, on one side of it at the ends of the run."""
    h, nodes = EVENT_STEP * dense.times[-1], np.arange(-2.0, 3.0)
    middle = np.clip(times, 2.0 * h, end - 2.0 * h)
    moments = (middle[:, None] + h * nodes).ravel()
    order = np.argsort(moments, kind="stable")
    x = np.empty(len(moments))
    x[order] = read(dense.at(moments[order]))
    # the polynomial through the five values, differentiated at the time itself
    powers = np.linalg.solve(np.vander(nodes, increasing=True), x.reshape(-1, 5).T)
    s = (times - middle) / h
    terms = [k * powers[k] * s ** (k - 1) for k in range(1, 5)]
    return np.asarray(np.add.reduce(terms) / h)


def _with_nan(values: Floats, missing: int) -> Floats:
    """Values at the outputs of a part of a run, and NaN at the outputs after it."""
    return np.concatenate([values, np.full((missing, *values.shape[1:]), np.nan)])


def _find_extreme(
    result: Result, times: Floats, name: str, axis: int, largest: bool
) -> tuple[float, bool]:
    """Time of the extreme of a coordinate of a point, and whether it is inside the run; times: closely spaced."""
    values = result.at(times).position(name)[:, axis]
    k = int(np.argmax(values) if largest else np.argmin(values))
    t = float(times[k])
    if not 0 < k < len(values) - 1:
        return t, False
    low, high = float(times[k - 1]), float(times[k + 1])
    for _ in range(8):
        there = result.at(t)
        speed, curve = there.velocity(name)[0, axis], there.acceleration(name)[0, axis]
        if not abs(speed) < abs(curve) * (high - low):
            break
        t = min(max(t - float(speed / curve), low), high)
        if abs(speed) < 1e-14 * high * abs(curve):
            break
    return t, True
