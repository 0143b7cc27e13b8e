"""Variants of a mechanism, and the results of many runs: input and output of `simulate_many`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Flags, Floats
from ..lazy import module_on_use
from ..located_events import LocatedEvent
from ..mechanism import Mechanism, MechanismError, from_data, get_value, set_value, to_data
from ..mechanism.files.model_writer import build_plainly
from ..mechanism.files.paths import find_overlap, split_path
from ..mechanism.files.units import shorten
from ..mechanism.motion import is_traced
from ..model.structure import describe
from ..names import all_suggest, pick, warn_renamed
from ..notebook_display import html_table
from ..tracing import PartedError, Tape, TracedNumber, UntracedError, VectorTrace, vector_arithmetic

pandas = module_on_use("pandas")
xarray = module_on_use("xarray")

# largest number of runs that a notebook shows
MOST_SHOWN = 10


@all_suggest
@dataclass(frozen=True, eq=False)
class EnsembleResult:
    """Results of many runs. Arrays have one row per run; what a run did not reach is NaN.

    Attributes
    ----------
    times : array
        Times of the outputs [s].
    points : tuple of str
        Names of the points, in the order of the columns.
    status, message : array of str, list of str
        Status and message of each run, as in a `Result`.
    final, least, largest : array (runs, points, 2, dimension)
        Positions [m] and velocities [m/s] of the points at the end, and their minima and maxima over the outputs.
    energy_drift : array (runs,)
        Largest drift of the energy balance at the outputs [J].
    counters : dict of arrays (runs,)
        Numbers of steps etc. by name.
    fallback : array of bool (runs,)
        Which runs fell back to `simulate`.
    crossings : list of arrays or None
        Times at which the mobility rises [s] in each run; None if they were not requested.
    vary : mapping of arrays
        The varied parameters by path, one row per run.
    events : list of tuples
        The located events of each run, without their states.
    """

    times: Floats
    points: tuple[str, ...]
    dimension: int
    status: np.ndarray
    message: list[str] = field(repr=False)
    run_notes: list[list[str]] = field(repr=False)
    values: Floats | None = field(repr=False)
    balance: Floats | None = field(repr=False)
    final: Floats = field(repr=False)
    least: Floats = field(repr=False)
    largest: Floats = field(repr=False)
    energy_drift: Floats = field(repr=False)
    counters: dict[str, np.ndarray] = field(repr=False)
    fallback: Flags = field(repr=False)
    crossings: list[Floats] | None = field(repr=False, default=None)
    vary: Mapping[str, Floats] = field(repr=False, default_factory=dict)
    events: list[tuple[LocatedEvent, ...]] = field(repr=False, default_factory=list)

    def __len__(self) -> int:
        return len(self.status)

    def of(self, run: int) -> OneRun:
        """Return one of the runs, with the interface of a `Result`.

        Parameters
        ----------
        run : int
            Number of the run.

        Returns
        -------
        OneRun
            The run, with the interface of a `Result`.
        """
        return OneRun(self, run)

    @property
    def parked(self) -> Flags:
        """The older name of `fallback`."""
        warn_renamed("parked", "fallback")
        return self.fallback

    def __repr__(self) -> str:
        done = int(np.sum(self.status == "done"))
        return f"<EnsembleResult: {len(self)} runs, {done} done, {int(self.fallback.sum())} by `simulate`>"

    def _repr_html_(self) -> str:
        paths = {path: values for path, values in self.vary.items() if np.ndim(values) == 1}
        heads = ("run", *paths, "status", "energy drift [J]", "steps")
        steps = self.counters.get("steps", np.zeros(len(self), dtype=int))
        rows = [
            (
                *(run, *(f"{values[run]:.6g}" for values in paths.values()), self.status[run]),
                *(f"{self.energy_drift[run]:.2g}", steps[run]),
            )
            for run in range(min(len(self), MOST_SHOWN))
        ]
        if len(self) > MOST_SHOWN:
            rows.append(("...",))
        return html_table(repr(self).strip("<>"), heads, rows)

    def notes(self, run: int) -> list[str]:
        """Return decisions of a run that a user should know.

        Parameters
        ----------
        run : int
            Number of the run.

        Returns
        -------
        list of str
            Its notes.
        """
        return list(self.run_notes[run])

    def position(self, name: str) -> Floats:
        """Return the position of a point at the outputs [m], shape (runs, n, dimension).

        Parameters
        ----------
        name : str
            A point of these runs.

        Returns
        -------
        array
            Positions [m], shape (runs, n, dimension).
        """
        return self._values[:, :, self._place(name), 0]

    def velocity(self, name: str) -> Floats:
        """Return the velocity of a point at the outputs [m/s], shape (runs, n, dimension).

        Parameters
        ----------
        name : str
            A point of these runs.

        Returns
        -------
        array
            Velocities [m/s], shape (runs, n, dimension).
        """
        return self._values[:, :, self._place(name), 1]

    @property
    def energy_balance(self) -> Floats:
        """Total energy minus work, relative to the start of each run [J], shape (runs, n)."""
        if self.balance is None:
            raise ValueError(_NOT_KEPT)
        return self.balance

    def extremes(self, name: str) -> tuple[Floats, Floats]:
        """Return minimum and maximum position of a point at the outputs [m], each of shape (runs, dimension).

        Parameters
        ----------
        name : str
            A point of these runs.

        Returns
        -------
        tuple of array
            Minimum and maximum [m], each of shape (runs, dimension).
        """
        at = self._place(name)
        return self.least[:, at, 0], self.largest[:, at, 0]

    def columns(self) -> dict[str, Floats]:
        """Return one value per run: parameters, status, final state, extremes, crossings, drift, counters."""
        out: dict[str, Any] = dict(self._varied())
        out |= {"status": self.status, "message": np.array(self.message, dtype=object)}
        for n, name in enumerate(self.points):
            for level, unit in enumerate(("m", "m/s")):
                for c in range(self.dimension):
                    word = f"{name}.{'v' if level else ''}{'xyz'[c]}"
                    out[f"final {word} [{unit}]"] = self.final[:, n, level, c]
                    out[f"least {word} [{unit}]"] = self.least[:, n, level, c]
                    out[f"largest {word} [{unit}]"] = self.largest[:, n, level, c]
        if self.crossings is not None:
            out["crossings"] = np.array([len(times) for times in self.crossings])
            first = [times[0] if len(times) else np.nan for times in self.crossings]
            out["first crossing [s]"] = np.array(first)
        return out | {"energy drift [J]": self.energy_drift, **self.counters}

    def to_dataframe(self) -> Any:
        """Return a pandas data frame with one row per run (extra: sarrus[data])."""
        table = pandas.DataFrame(self.columns()).rename_axis("run")
        if self.crossings is not None:
            table["crossing times [s]"] = pandas.Series(
                [list(x) for x in self.crossings], dtype=object
            )
        return table

    def to_xarray(self) -> Any:
        """Return all outputs as an xarray data set over run, time, point and axis (extra: sarrus[data]).

        Crossings, if requested, have their own dimension; their times are nan where a run has fewer.
        """
        axes = ("run", "time", "point", "axis")
        data = {
            "position": (axes, self._values[:, :, :, 0], {"units": "m"}),
            "velocity": (axes, self._values[:, :, :, 1], {"units": "m/s"}),
            "energy_balance": (axes[:2], self.energy_balance, {"units": "J"}),
            "status": (axes[:1], self.status.astype(str)),
        }
        if self.crossings is not None:
            most = max(len(x) for x in self.crossings)
            times = np.full((len(self), most), np.nan)
            for row, x in zip(times, self.crossings, strict=True):
                row[: len(x)] = x
            data["crossing_time"] = (("run", "crossing"), times, {"units": "s"})
        places = {
            "time": self.times,
            "point": list(self.points),
            "axis": list("xyz"[: self.dimension]),
        }
        varied = {path: (axes[:1], values) for path, values in self._varied()}
        return xarray.Dataset(data, coords=places | varied)

    def _varied(self) -> Iterator[tuple[str, Floats]]:
        """Yield the varied parameters, one column per vector entry."""
        for path, values in self.vary.items():
            for at in np.ndindex(values.shape[1:]):
                yield ".".join([path, *map(str, at)]), values[(slice(None), *at)]

    @property
    def _values(self) -> Floats:
        if self.values is None:
            raise ValueError(_NOT_KEPT)
        return self.values

    def _place(self, name: str) -> int:
        return pick({word: n for n, word in enumerate(self.points)}, name, "point of these runs")


class Moment(NamedTuple):
    """A crossing of one of many runs: its time [s]; `simulate` gives more details."""

    time: float


@dataclass(frozen=True)
class OneRun:
    """One of many runs, with a part of the interface of a `Result`."""

    runs: EnsembleResult
    number: int

    @property
    def status(self) -> str:
        """The status of the run, in one word."""
        return str(self.runs.status[self.number])

    @property
    def message(self) -> str:
        """The status of the run, in one sentence."""
        return self.runs.message[self.number]

    @property
    def notes(self) -> list[str]:
        """Decisions of the run that a user should know."""
        return self.runs.notes(self.number)

    @property
    def times(self) -> Floats:
        """Times of the outputs that the run reached [s]."""
        return self.runs.times[: self._reached]

    @property
    def energy_balance(self) -> Floats:
        """Total energy minus work, relative to the start [J]."""
        return self.runs.energy_balance[self.number, : self._reached]

    @property
    def energy_drift(self) -> float:
        """Largest drift of the energy balance from the start [J]."""
        return float(self.runs.energy_drift[self.number])

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of steps, rejected steps, factorisations etc."""
        return {name: int(x[self.number]) for name, x in self.runs.counters.items()}

    @property
    def crossings(self) -> tuple[Moment, ...]:
        """Times at which the mobility rises [s]."""
        if self.runs.crossings is None:
            raise ValueError("crossings were not requested; give crossings=True")
        return tuple(Moment(float(t)) for t in self.runs.crossings[self.number])

    def position(self, name: str) -> Floats:
        """Return the position of a point at the outputs [m]."""
        return self.runs.position(name)[self.number, : self._reached]

    def velocity(self, name: str) -> Floats:
        """Return the velocity of a point at the outputs [m/s]."""
        return self.runs.velocity(name)[self.number, : self._reached]

    @property
    def _reached(self) -> int:
        return int(np.isfinite(self.runs.energy_balance[self.number]).sum())


_NOT_KEPT = "the outputs were not kept; leave out keep=False"


class Variants:
    """A mechanism with arrays of parameters: one topology, many variants.

    vary: one array per path of the model file ("bodies.crank.mass", "velocities.B0", "gravity"). The first axis is
    the variant; a vector has one more axis. All arrays have the same length.
    """

    def __init__(self, mechanism: Mechanism, vary: Mapping[str, ArrayLike]) -> None:
        if not isinstance(mechanism, Mechanism):
            raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
        if not isinstance(vary, Mapping) or not vary:
            raise ValueError("nothing varies; give vary={'bodies.crank.mass': [...]}")
        # later changes of the mechanism do not affect the variants
        self.base = mechanism.copy()
        plain = mechanism.copy()
        # user functions are not numbers: all variants share them
        plain.user_forces = []
        # a start at rest is written without velocities, but these may vary
        self.data = {"velocities": {}, "angular_velocities": {}} | to_data(plain)
        self.vary = {path: _numbers(path, values) for path, values in vary.items()}
        counts = {path: len(values) for path, values in self.vary.items()}
        if len(set(counts.values())) != 1:
            shown = ", ".join(f"{path}: {n}" for path, n in counts.items())
            raise ValueError(
                f"vary has arrays of different lengths ({shown}); give one value per variant"
            )
        if both := find_overlap(vary):
            raise ValueError(
                f"vary['{both[0]}'] and vary['{both[1]}'] set the same number; give one of them"
            )
        for path, values in self.vary.items():
            self._check_path(path, values[0])

    def _check_path(self, path: str, value: Floats) -> None:
        """Raise an error for paths without numbers, or for values that no file may contain there."""
        block, *inside = split_path(path)
        found = None
        try:
            found = get_value(self.data, path)
        except MechanismError:
            # an optional key of an existing block
            if not inside or block not in self.data:
                raise
        shape = None if found is None else _shape(found)
        if (found is not None and shape is None) or block == "sarrus":
            raise ValueError(
                f"vary['{path}'] is {shorten(found)}, not a number or a list of numbers; give the path of one, "
                "like 'bodies.crank.mass'"
            )
        if shape != value.shape:
            # names of points and bodies can only be checked together with the mechanism
            names = block in ("velocities", "angular_velocities")
            self._built({path: value}, check=names)

    def __len__(self) -> int:
        return len(next(iter(self.vary.values())))

    def __iter__(self) -> Iterator[Mechanism]:
        return (self.mechanism(i) for i in range(len(self)))

    def mechanism(self, i: int) -> Mechanism:
        """Return one of the variants."""
        return self.with_values({path: values[i] for path, values in self.vary.items()})

    def with_values(self, values: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism with these values at their paths."""
        made = self._built(values)
        made.user_forces, made.remarks = list(self.base.user_forces), list(self.base.remarks)
        return made

    def with_numbers(self, values: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism with the numbers of many variants as arrays."""
        mechanism = build_plainly(self._data_with(values))
        lengths = {joint.name for joint in mechanism.joints if joint.kind.row.is_link}
        if any(d.joint in lengths and is_traced(d.motion) for d in mechanism.drives):
            raise UntracedError("how short a driven length becomes depends on each mechanism")
        return mechanism

    def _built(self, values: Mapping[str, Any], check: bool = False) -> Mechanism:
        data = self._data_with(values)
        try:
            return from_data(data, self.base.name, check=check)
        except ModuleNotFoundError:
            # if only the packages for a device are installed, the validator for files is missing
            made = build_plainly(data)
            made.assemble = self.base.assemble
            return made

    def _data_with(self, values: Mapping[str, Any]) -> dict[str, Any]:
        data = self.data
        for path, value in values.items():
            data = set_value(data, path, np.asarray(value))
        return data


class VariantNumbers:
    """The numbers of the mechanisms of many variants, in the order in which a structure takes them.

    base: one of the variants, with the topology of all; values: its own values, one for each path. Raises
    UntracedError if a varied number decides the topology.
    """

    def __init__(self, variants: Variants, base: Mechanism, values: Mapping[str, Floats]) -> None:
        described = describe(base)
        if described is None:
            raise UntracedError("a mechanism without a description")
        self._variants, self._key = variants, described.key
        tape = Tape()
        traced = {path: tape.numbers(np.asarray(x, float)) for path, x in values.items()}
        describe(variants.with_numbers(traced))
        given = [v.ravel() for _, v in (*base.velocities, *base.angular_velocities)]
        self._counts = len(described.numbers), len(np.concatenate([np.zeros(0), *given]))

    def of(self, values: Mapping[str, Floats]) -> tuple[list[Any], list[Any]]:
        """Return the numbers and the start velocities of variants with these values, one array per path.

        Each is an array, (n,), or a float that all variants share; nan where a variant has none.
        """
        n = len(next(iter(values.values())))
        try:
            return self._of_all(values)
        except PartedError as parted:
            which = parted.args[0]
        except FloatingPointError:
            # a division by zero
            if n == 1:
                none = [[np.nan] * count for count in self._counts]
                return none[0], none[1]
            which = np.arange(n) < n // 2
        both = [
            (some, self.of({p: x[some] for p, x in values.items()})) for some in (which, ~which)
        ]
        out = [np.empty((count, n)) for count in self._counts]
        for some, found in both:
            for rows, own in zip(out, found, strict=True):
                for row, x in zip(rows, own, strict=True):
                    row[some] = x
        return list(out[0]), list(out[1])

    def _of_all(self, values: Mapping[str, Floats]) -> tuple[list[Any], list[Any]]:
        """Return the same for variants for which all decisions are equal."""
        side = VectorTrace()
        with vector_arithmetic():
            numbers = {path: side.values(x) for path, x in values.items()}
            mechanism = self._variants.with_numbers(numbers)
            described = describe(mechanism)
        if described is None or described.key != self._key:
            raise UntracedError("another topology")
        given = [*mechanism.velocities, *mechanism.angular_velocities]
        velocities = [x for _, v in given for x in v.ravel().tolist()]
        return _plain(described.numbers), _plain(velocities)


def _plain(scalars: Any) -> list[Any]:
    """Return vectorised numbers as arrays."""
    return [x.value if isinstance(x, TracedNumber) else x for x in scalars]


def _numbers(path: str, values: ArrayLike) -> Floats:
    """Return the values of a path, one row per variant."""
    try:
        array = np.array(values)
        if array.dtype.kind not in "iufO":
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"vary['{path}'] = {shorten(values)} is not an array of numbers; give plain ones in SI units, one "
            "shape for all variants"
        ) from error
    if not array.ndim or not len(array):
        what = "one number" if not array.ndim else "no value"
        raise ValueError(f"vary['{path}'] holds {what}; give an array with one value per variant")
    if not np.isfinite(array).all():
        which = np.argwhere(~np.isfinite(array))[0][0]
        raise ValueError(
            f"vary['{path}'] holds a value that is not a number, of variant {which}; give finite ones"
        )
    return array


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a number or of nested lists of numbers; None for anything else."""
    if isinstance(value, list):
        inside = {_shape(x) for x in value}
        first = inside.pop() if len(inside) == 1 else None
        return None if first is None else (len(value), *first)
    return () if isinstance(value, int | float) and not isinstance(value, bool) else None
