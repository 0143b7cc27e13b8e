"""Locates events of a run on the polynomials of its steps, while the steps are computed.

Every quantity is read at Chebyshev points of each step (interpolants.py), on the polynomial of the step itself. If
its last coefficients are not negligible, it is read at twice as many points, then on halves of the step. All of
its zeros are found there (detection.py), and refined on states sampled as for outputs (projected onto the
constraints), so that the value read there is the wanted one to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import recording as kernels
from ..kernels.applied_forces import make_loads
from ..kernels.layout import make_workspace
from ..mechanism.event_requests import ANY, Event
from ..methods import Motion, Record
from ..methods.outcome import AccelerationRule, LocatedEvents, MotionPart, join_records
from ..methods.recorder import copy_part
from ..model import Model
from ..thresholds import EVENT_BAND, EVENT_ROUNDING
from . import interpolants
from .detection import FALLING, MAXIMUM, MINIMUM, RISING, TANGENT, Crossings, Extremes, Found, Place
from .event_readings import (
    NORMS,
    NOTHING,
    EventStates,
    LinearReading,
    Reader,
    linear_reading,
    make_reader,
    usual_size,
)
from .interpolants import Interpolants

# points per step: initially, and if these do not resolve a quantity
FEW, MANY = 20, 40
# share of the largest coefficient of a polynomial that is left out, and how many terms are kept
NEGLIGIBLE, FEWEST_TERMS = 1e-18, 3
# then the step is halved, up to this many times
MOST_HALVINGS = 10
# last coefficients that decrease by less than this factor on a quarter of an interval do not decrease
NOISE = 0.7
# error of a resolved quantity, over the tolerance
RESOLVED = 0.01
# share of squared norms that may vanish: the band in which they are examined
SQUARED = 1e-11
# share of an interval: largest displacement of a zero by refinement
MOST_MOVED = 0.1
# refinement iterations, and the displacement that ends them, over the time
ROUNDS, SETTLED = 4, 1e-15


class TrackState(NamedTuple):
    """What an event carries over from one segment of a run to the next.

    left: how many occurrences are still of interest, None for all; side: the sign of its function before the
    segment where the segment starts at the value, else 0.
    """

    left: int | None
    side: int = 0


class Track:
    """One event, followed along a run."""

    def __init__(
        self,
        event: Event,
        read: Reader,
        unit: str,
        tolerance: float,
        before: TrackState,
        linear: LinearReading | None = None,
    ) -> None:
        self.event, self.unit, self.linear = event, unit, linear
        self.read_value = read
        self.squares = event.reading in NORMS
        self.detector: Crossings | Extremes = (
            Extremes() if event.extreme else Crossings(before.side)
        )
        self.left = before.left
        # largest size of the quantity so far
        self._size = 0.0
        self._share = max(EVENT_BAND * tolerance, EVENT_ROUNDING)
        self.accuracy = max(RESOLVED * tolerance, EVENT_ROUNDING)
        self._last: tuple[Interpolants, Floats] | None = None
        # starts of intervals on which it could not be resolved [s]
        self.unresolved: list[float] = []

    @property
    def largest(self) -> float:
        """The largest size of the quantity so far."""
        return self._size

    def read(self, states: EventStates) -> Floats:
        """The quantity, or its square."""
        values = self.read_value(states)
        return values * values if self.squares else values

    def sizes(self, values: Floats, states: EventStates) -> Floats:
        """The largest size of the quantity up to each interval; values: as read, (n, points)."""
        sizes = np.sqrt(np.abs(values)) if self.squares else np.abs(values)
        usual = np.broadcast_to(usual_size(self.unit, states), values.size)
        # NaN has no size
        largest = np.fmax.reduce(np.fmax(sizes, usual.reshape(values.shape)), axis=1)
        return np.asarray(np.fmax.accumulate(np.fmax(largest, self._size)))

    def sizes_of_lengths(self, values: Floats, length: float) -> Floats:
        """The same for a coordinate of a point; length: of the mechanism [m]."""
        largest = np.fmax(np.abs(values).max(axis=1), length)
        return np.asarray(np.fmax.accumulate(np.fmax(largest, self._size)))

    def least(self, sizes: Floats) -> Floats:
        """Negligible error of a quantity as read."""
        return self.accuracy * (sizes * sizes if self.squares else sizes)

    def band(self, size: float) -> float:
        """Values of the quantity that are not distinguished."""
        return self._share * size

    def take(self, read: Interpolants, sizes: Floats, last: bool) -> Iterator[Found]:
        """Process the next intervals; the last one waits for its successor, unless the run ends."""
        self._size = float(sizes[-1])
        if self._last is not None:
            read = interpolants.join([self._last[0], read])
            sizes = np.concatenate([self._last[1], sizes])
        upto = len(read) if last else len(read) - 1
        self._last = read.some(slice(len(read) - 1, None)), sizes[-1:]
        yield from self._search(read.close_gaps().some(slice(upto)), sizes[:upto])
        if last:
            yield from self.detector.finish()

    @property
    def since(self) -> float:
        """The earliest time at which an event may still be found [s]."""
        starts = [] if self._last is None else [float(self._last[0].starts[0])]
        open_since = self.detector.since
        return min([*starts, *([] if open_since is None else [open_since])], default=0.0)

    def _shifted(self, read: Interpolants, sizes: Floats) -> tuple[Interpolants, Floats]:
        """The function whose zeros or extremes are searched, and the band around zero."""
        value, bands = self.event.equals, self._share * sizes
        coefficients = read.coefficients.copy()
        if value is None:
            return read, bands * sizes if self.squares else bands
        coefficients[:, 0] -= value * value if self.squares else value
        if self.squares and value > 0.0:
            coefficients /= 2.0 * value
        elif self.squares:
            bands = np.maximum(SQUARED, self._share**2) * sizes**2
        return replace(read, coefficients=coefficients), bands

    def _search(self, read: Interpolants, sizes: Floats) -> Iterator[Found]:
        if not len(read):
            return
        f, bands = self._shifted(read, sizes)
        firsts, lasts = f.at_start.tolist(), f.at_end.tolist()
        rows = np.arange(len(f))
        if not self.event.extreme:
            rows = np.flatnonzero(interpolants.may_vanish(f.coefficients, bands))
        monotone = interpolants.are_monotone(f.coefficients[rows]).tolist()
        starts, ends = f.starts.tolist(), f.ends.tolist()
        for n, plain in zip(rows.tolist(), monotone, strict=True):
            if plain and self.event.extreme and n:
                # no extreme inside: its end shows whether there is one between two intervals
                width = ends[n] - starts[n]
                yield from self.detector.read(Place(ends[n], lasts[n], float(bands[n]), width))
                continue
            # intervals that are left out lie outside the band
            piece = _Piece(f, n, firsts[n], lasts[n], float(bands[n]))
            for place in piece.places(plain, zeros=not self.event.extreme):
                yield from self.detector.read(place)

    def notes(self) -> Iterator[str]:
        """Notes for the user."""
        if self.unresolved:
            more = len(self.unresolved) - 1
            yield (
                f"event '{self.event.name}' is not smooth enough near t = {min(self.unresolved):.9g} s"
                + (f" and at {more} further moments" if more else "")
                + ": zeros and extremes within a step may be missed there"
            )
        if self.detector.settled is not None and self.left != 0:
            yield (
                f"event '{self.event.name}': from t = {self.detector.settled:.9g} s on the quantity stays at "
                f"the value, to {self._share:g} of its size; that is not an event"
            )

    def wants(self, found: Found) -> bool:
        """Whether an event of this kind was requested."""
        event = self.event
        if found.kind in (MAXIMUM, MINIMUM):
            return event.extreme in (ANY, found.kind)
        return event.direction in (0, -found.sign)


@dataclass(frozen=True)
class _Piece:
    """A function on one interval, with its values at both ends and the band."""

    f: Interpolants
    number: int
    first: float
    last: float
    band: float

    def _time(self, x: float) -> float:
        a, b = float(self.f.starts[self.number]), float(self.f.ends[self.number])
        return b if x == 1.0 else a + 0.5 * (x + 1.0) * (b - a)

    def places(self, monotone: bool, zeros: bool) -> Iterator[Place]:
        """Its start, zeros, extremes and end, in order; zeros: whether these are requested."""
        width = float(self.f.ends[self.number] - self.f.starts[self.number])
        yield Place(self._time(-1.0), self.first, self.band, width)
        c = self.f.coefficients[self.number]
        terms = c.tolist()
        inside = [] if monotone else interpolants.critical_points(c).tolist()
        values = [interpolants.clenshaw(terms, x) for x in inside]
        low, before = -1.0, self.first
        for x, value in zip([*inside, 1.0], [*values, self.last], strict=True):
            if zeros and before * value < 0.0:
                zero = interpolants.solve_zero(c, low, x)
                slope = interpolants.derivative(c).tolist()
                rate = interpolants.clenshaw(slope, zero) * 2.0 / max(width, 1e-300)
                yield Place(self._time(zero), 0.0, self.band, width, True, rate)
            yield Place(self._time(x), value, self.band, width)
            low, before = x, value


@dataclass
class _Located:
    """An event with its state, as stored during the run; gap: remaining difference to the wanted value."""

    track: int
    found: Found
    time: float
    value: float
    gap: float
    record: Record = field(repr=False)
    number: int

    @property
    def row(self) -> Record:
        """Its state."""
        return self.record[self.number : self.number + 1]


class EventFinder:
    """Locates the events of a run; `look` processes its steps in order of time. cpu: CPU time used [s]."""

    def __init__(
        self, events: Sequence[Event], model: Model, tracks: list[Track], states: EventStates
    ) -> None:
        self._events, self._model = events, model
        self._tracks, self._states = tracks, states
        self._ws, self._loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
        # earlier steps in which events may still be found
        self._tails: list[MotionPart] = []
        self._found: list[_Located] = []
        self.may_stop = any(event.terminal or event.then for event in events)
        self.reached = ""
        # the number of the event that ended the run
        self.which: int | None = None
        # events after that one, as number and sign before them
        self._later: list[tuple[int, int]] = []
        self.cpu = 0.0

    def look(self, part: MotionPart, law: AccelerationRule | None, *, last: bool) -> Record | None:
        """Process some steps; last: the run ends with them. Returns the state that ends the run, if any."""
        begin = time.thread_time()
        starts = part.pieces.starts
        motion = Motion(self._model, (*self._tails, part), law)
        fresh: list[tuple[int, Found]] = []
        if len(starts) > 1:
            for n, read, sizes in self._sweep(part, law):
                fresh += [(n, found) for found in self._tracks[n].take(read, sizes, last)]
        elif last:
            fresh += [
                (n, f) for n, track in enumerate(self._tracks) for f in track.detector.finish()
            ]
        fresh = [(n, f) for n, f in fresh if self._tracks[n].wants(f)]
        stop = self._keep(self._polish(motion, fresh))
        since = min((track.since for track in self._tracks), default=np.inf)
        first = int(np.searchsorted(starts, since, "right")) - 1
        self._tails = [p for p in self._tails if p.pieces.starts[-1] > since]
        if len(starts) > 1 and not last:
            # the next steps will reuse this memory
            self._tails.append(copy_part(part, min(max(first, 0), len(starts) - 2)))
        self.cpu += time.thread_time() - begin
        return stop

    def _keep(self, located: list[_Located]) -> Record | None:
        """Store events in order of time, up to the first that ends the run; returns its state."""
        for number, event in enumerate(located):
            track = self._tracks[event.track]
            if track.left == 0:
                continue
            track.left = None if track.left is None else track.left - 1
            self._found.append(event)
            if track.event.then or (track.left == 0 and track.event.terminal):
                self.reached, self.which = track.event.name, event.track
                self._later = [(e.track, e.found.sign) for e in located[number + 1 :]]
                return event.row
        return None

    def carry_over(self, state: Record) -> list[TrackState]:
        """What the events carry over into a segment that starts at a state.

        An event whose quantity is at the value there, but which was located after it, still has to come.
        """
        signs = dict(reversed(self._later))
        states = self._of(state)
        return [
            TrackState(
                track.left,
                signs.get(n, 0)
                if abs(self._gap(n, float(track.read_value(states)[0])))
                <= track.band(track.largest)
                else 0,
            )
            for n, track in enumerate(self._tracks)
        ]

    def turns(self, until: float) -> dict[str, tuple[Floats, Floats]]:
        """Angles with their turns counted, up to a time [s]."""
        kept = {key: times <= until for key, (times, _) in self._states.turns.items()}
        return {
            key: (times[kept[key]], angles[kept[key]])
            for key, (times, angles) in self._states.turns.items()
            if kept[key].any()
        }

    @property
    def stop(self) -> LocatedEvents:
        """The event that ended the run."""
        return self._listed(self._found[-1:])

    def _sweep(
        self, part: MotionPart, law: AccelerationRule | None
    ) -> Iterator[tuple[int, Interpolants, Floats]]:
        """All quantities on all steps: index of the event, interpolants, sizes so far."""
        # the next steps will reuse the memory of these
        starts = part.pieces.starts.copy()
        a, b = starts[:-1], starts[1:]
        states: EventStates | None = None
        for n, track in enumerate(self._tracks):
            if track.linear is not None:
                read = Interpolants(a, b, _polynomials(part, track.linear))
                values = read.coefficients @ interpolants.at_points(read.coefficients.shape[1], FEW)
                yield n, read, track.sizes_of_lengths(values, self._model.units.length)
                continue
            # states are sampled only for quantities that need them
            states = states or self._sample(part, law, a, b, FEW)
            values = track.read(states).reshape(-1, FEW)
            sizes = track.sizes(values, states)
            read = interpolants.from_values(a, b, values)
            good = interpolants.last_terms(read.coefficients) <= track.least(sizes)
            if not good.all():
                rough = np.flatnonzero(~good)
                parts = [
                    _rows(read, good),
                    *self._refine(part, law, track, a[rough], b[rough], sizes),
                ]
                read = interpolants.join(parts)
                sizes = sizes[np.searchsorted(a, read.starts, "right") - 1]
            if len(read):
                yield n, read, sizes

    def _refine(
        self,
        part: MotionPart,
        law: AccelerationRule | None,
        track: Track,
        a: Floats,
        b: Floats,
        sizes: Floats,
    ) -> Iterator[Interpolants]:
        """Interpolants of intervals that few points do not resolve."""
        least = float(track.least(sizes[-1:])[0])
        before = earlier = np.full(len(a), np.inf)
        for halvings in range(MOST_HALVINGS + 1):
            values = track.read(self._sample(part, law, a, b, MANY)).reshape(-1, MANY)
            read = interpolants.from_values(a, b, values)
            left = interpolants.last_terms(read.coefficients)
            # a remainder that is as large on a quarter of the interval is noise, or a jump
            hopeless = (left > least) & ((left > NOISE * earlier) | (halvings == MOST_HALVINGS))
            track.unresolved += a[hopeless].tolist()
            yield _rows(read, ((left <= least) | hopeless) & np.isfinite(left))
            rough = (left > least) & ~hopeless
            if not rough.any():
                return
            earlier, before = np.repeat(before[rough], 2), np.repeat(left[rough], 2)
            a, b = a[rough], b[rough]
            middle = 0.5 * (a + b)
            a, b = np.column_stack([a, middle]).ravel(), np.column_stack([middle, b]).ravel()

    def _sample(
        self, part: MotionPart, law: AccelerationRule | None, a: Floats, b: Floats, count: int
    ) -> EventStates:
        """States on the polynomials themselves, at the points of some intervals."""
        x = interpolants.points(count)
        times = (0.5 * (a + b)[:, None] + 0.5 * (b - a)[:, None] * x).ravel()
        record = Record.at(self._model, times, law)
        self._ws.reference_pivots[:] = part.reference_pivots
        record.restored[:] = part.put_back(times)
        kernels.sample(
            self._model.form,
            self._ws,
            self._loads,
            None,
            part.sampling._replace(projects=False, same=0.0),
            part.pieces,
            len(part.pieces.orders),
            record.outputs,
        )
        return self._of(record)

    def _of(self, record: Record) -> EventStates:
        states = replace(self._states, outcome=replace(self._states.outcome, record=record))
        states.__dict__["turns"] = self._states.turns
        return states

    def _polish(self, motion: Motion, fresh: list[tuple[int, Found]]) -> list[_Located]:
        """Events with their states; zeros are moved to where the sampled states have the wanted value."""
        if not fresh:
            return []
        times = np.array([found.place.time for _, found in fresh])
        values = np.zeros(len(times))
        low, high = motion.begin, motion.end
        for _ in range(ROUNDS):
            order = np.argsort(times, kind="stable")
            record = motion.at(times[order])
            states = self._of(record)
            moves = np.zeros(len(times))
            for n in {n for n, _ in fresh}:
                read = self._tracks[n].read_value(states)
                for rank, i in enumerate(order.tolist()):
                    if fresh[i][0] == n:
                        values[i] = read[rank]
                        moves[i] = self._move(n, fresh[i][1], values[i])
            if not np.abs(moves).max() > SETTLED * high:
                break
            times = np.clip(times + moves, low, high)
        located = [
            _Located(n, found, float(record.times[rank]), float(values[i]), gap, record, rank)
            for rank, i in enumerate(order.tolist())
            for n, found in [fresh[i]]
            for gap in [self._gap(n, values[i])]
        ]
        return [e for e in located if e.found.kind != TANGENT or self._touches(e.track, e.gap)]

    def _gap(self, n: int, value: float) -> float:
        wanted = self._tracks[n].event.equals
        return 0.0 if wanted is None else float(value - wanted)

    def _touches(self, n: int, gap: float) -> bool:
        """Whether a tangent contact is confirmed; for squares the band is wider."""
        track = self._tracks[n]
        return abs(gap) <= 2.0 * track.band(track.largest)

    def _move(self, n: int, found: Found, value: float) -> float:
        """Displacement of a zero [s]; zero if it is exact to rounding."""
        track, rate = self._tracks[n], found.place.rate
        if found.kind not in (RISING, FALLING) or not rate:
            return 0.0
        off = self._gap(n, value)
        step = -off / rate
        far = abs(step) > MOST_MOVED * found.place.width or abs(off) > 1e3 * track.band(
            track.largest
        )
        return 0.0 if far or abs(off) <= 2e-16 * abs(value) else step

    def located(self, until: float) -> LocatedEvents:
        """All events up to a time [s]."""
        return self._listed(
            sorted((e for e in self._found if e.time <= until), key=lambda e: e.time)
        )

    def _listed(self, found: list[_Located]) -> LocatedEvents:
        record = join_records(self._model, [e.row for e in found])
        return LocatedEvents(
            names=[event.name for event in self._events],
            units=[track.unit for track in self._tracks],
            which=np.array([e.track for e in found], dtype=np.int64),
            kinds=[e.found.kind for e in found],
            values=np.array([e.value for e in found]),
            gaps=np.array([e.gap for e in found]),
            record=record,
        )

    def notes(self) -> list[str]:
        """Notes for the user."""
        return [note for track in self._tracks for note in track.notes()]


def _polynomials(part: MotionPart, linear: LinearReading) -> Floats:
    """Chebyshev coefficients of a linear quantity on all steps: it is a polynomial itself."""
    pieces = part.pieces
    steps = np.diff(pieces.starts)
    orders = pieces.orders[: len(steps)]
    power = np.arange(int(orders.max()) + 1)
    terms = pieces.coefficients[: len(steps), : len(power)][:, :, linear.columns] @ linear.factors
    # coefficients beyond the order of a step were never written
    terms[power[None] > orders[:, None]] = 0.0
    terms *= steps[:, None] ** power
    terms[:, 0] += linear.origin
    found = terms @ interpolants.from_powers(len(power))
    # the last ones are far below rounding, and every evaluation would add them
    sizes = np.abs(found).max(axis=0)
    kept = np.flatnonzero(sizes > NEGLIGIBLE * sizes.max())
    return np.asarray(found[:, : max(int(kept[-1]) + 1 if len(kept) else 0, FEWEST_TERMS)])


def _rows(read: Interpolants, chosen: np.ndarray) -> Interpolants:
    return Interpolants(read.starts[chosen], read.ends[chosen], read.coefficients[chosen])


class EventSearch:
    """The events that a run searches for; each call makes a finder for one run. Names are checked at once.

    idle: units of drives, locks and stops that act in other segments of the run; they exert nothing here.
    """

    def __init__(
        self,
        events: Sequence[Event],
        model: Model,
        start: EventStates,
        tolerance: float,
        idle: Mapping[str, str] = NOTHING,
    ) -> None:
        self._events, self._model = events, model
        self._start, self._tolerance = start, tolerance
        start.__dict__["turns"] = {}
        self._readers = [make_reader(event, start, idle) for event in events]
        self._linear = [linear_reading(event, start) for event in events]
        self._before = [TrackState(event.count) for event in events]
        self._turns: dict[str, tuple[Floats, Floats]] = {}
        # the finder of the latest run
        self.finder: EventFinder | None = None

    def resume(self, before: Sequence[TrackState], turns: dict[str, tuple[Floats, Floats]]) -> None:
        """Let the next run continue after an event."""
        self._before, self._turns = [*before], turns

    def __call__(self) -> EventFinder:
        """A new finder."""
        self._start.turns.clear()
        self._start.turns.update(self._turns)
        tracks = [
            Track(event, *reader, self._tolerance, before, linear)
            for event, reader, before, linear in zip(
                self._events, self._readers, self._before, self._linear, strict=True
            )
        ]
        self.finder = EventFinder(self._events, self._model, tracks, self._start)
        return self.finder
