"""Locates events of a run on the polynomials of its steps, while the steps are computed.

On each step a quantity is a polynomial: its Taylor polynomial, which follows from those of the coordinates
(kernels/event_series.py), or, for other quantities, the interpolant of its values at Chebyshev points of the step
(interpolants.py). If the last coefficients are not negligible, it is read at more points, then on halves of the
step. All of its zeros are found there (kernels/event_zeros.py), and refined on states sampled as for outputs
(projected onto the constraints), so that the value read there is the wanted one to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..kernels import event_series as series
from ..kernels import event_zeros as zeros
from ..kernels import recording as kernels
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.event_series import EventIntervals, EventQuantity
from ..kernels.layout import give_spare, make_workspace, take_spare
from ..mechanism.event_requests import ANY, Event
from ..methods import Motion, Record
from ..methods.outcome import (
    AccelerationRule,
    LocatedEvents,
    MotionPart,
    join_records,
    take_records,
)
from ..methods.recorder import copy_part
from ..model import Model
from ..thresholds import EVENT_BAND, EVENT_ROUNDING, SIMULTANEOUS
from . import interpolants
from .event_quantities import make_quantity
from .event_readings import NOTHING, EventStates, Reader, is_norm, make_reader, usual_size
from .interpolants import Interpolants

RISING, FALLING, TANGENT = "rising", "falling", "tangent"
MAXIMUM, MINIMUM = "maximum", "minimum"
# by the code of a kind and the sign before the event: -1, 0, 1
KINDS = (
    (RISING, "", FALLING),
    (TANGENT,) * 3,
    (MAXIMUM,) * 3,
    (MINIMUM,) * 3,
)
# events as rows of a table, see kernels/event_zeros.py; in place of the value, about that of the quantity as read
FoundRows = Floats
# points per step where a quantity is read from states: initially, and if these do not resolve it
FEW, MANY = 20, 40
# then the step is halved, up to this many times
MOST_HALVINGS = 10
# last coefficients that decrease by less than this factor on a quarter of an interval do not decrease
NOISE = 0.7
# error of a resolved quantity, over the tolerance: a hundredth of the band
RESOLVED = 0.1
# share of squared norms that may vanish: the band in which they are examined
SQUARED = 1e-11
# share of an interval: largest displacement of a zero by refinement
MOST_MOVED = 0.1
# refinement iterations, and the displacement that ends them, over the time
ROUNDS, SETTLED = 4, 1e-15
# over the band: differences to the value that are no rounding of a zero
MOST_OFF = 1e3
# name of the work memory
EVENT_SPACE = "events"
# events of a quantity in one buffer of steps for which there is room at first
ROOM = 1024


class TrackState(NamedTuple):
    """What an event carries over from one segment of a run to the next.

    left: how many occurrences are still of interest, None for all; side: the sign of its function before the
    segment where the segment starts at the value, else 0.
    """

    left: int | None
    side: int = 0


class EventSource:
    """How the quantity of an event is obtained: from series, or read from states.

    Raises UnknownNameError or MechanismError for names that do not exist.
    """

    def __init__(
        self, event: Event, model: Model, start: EventStates, idle: Mapping[str, str]
    ) -> None:
        self._event, self._start, self._idle = event, start, idle
        made = make_quantity(event, model)
        self.is_norm = is_norm(event, model.dimension)
        self.quantity: EventQuantity | None = None
        # turn_key: the name by which turns of an angle are counted
        self.unit = self.turn_key = ""
        if made is None:
            self.unit = self._made[1]
        else:
            self.quantity, self.unit, self.turn_key = made

    @cached_property
    def _made(self) -> tuple[Reader, str]:
        return make_reader(self._event, self._start, self._idle)

    @property
    def read(self) -> Reader:
        """Reads the quantity from states."""
        return self._made[0]


class SweptPart(NamedTuple):
    """Some steps of a run, the states at points of them if a quantity needed them, and the model's loads."""

    part: MotionPart
    law: AccelerationRule | None
    loads: Loads | None


class Track:
    """One event, followed along a run."""

    def __init__(
        self, event: Event, source: EventSource, tolerance: float, before: TrackState, angle: float
    ) -> None:
        self.event, self.source, self.unit = event, source, source.unit
        self.squares = source.is_norm
        self.extremes = zeros.NONE
        if event.extreme:
            self.extremes = zeros.OF_SQUARES if self.squares else zeros.OF_VALUES
        self.left = before.left
        self._share = max(EVENT_BAND * tolerance, EVENT_ROUNDING)
        self.accuracy = max(RESOLVED * tolerance, EVENT_ROUNDING)
        # largest size of the quantity so far, and its value at the end of the last step
        self._before = np.array([0.0, angle])
        self._detector = zeros.make_detector(before.side, MANY, ROOM, self.accuracy)
        self._work = np.zeros((2, MANY))
        # starts of intervals on which it could not be resolved [s]
        self.unresolved: list[float] = []
        # the latest series, by step, and whether they are whole
        self._swept: tuple[Floats, Floats, NDArray[np.bool_]] | None = None

    @cached_property
    def _wanted(self) -> Floats:
        """Numbers of f = (quantity as read - level) * factor, and of its band."""
        value, share = self.event.equals, self._share
        level, factor, power = 0.0 if value is None else value, 1.0, 1.0
        if self.squares:
            level = level * level
            if value is not None and value > 0.0:
                factor = 0.5 / value
            elif value == 0.0:
                power = 2.0
            if value == 0.0:
                share = max(SQUARED, share**2)
        return np.array([level, factor, share, power, self.accuracy, self.extremes])

    @property
    def largest(self) -> float:
        """The largest size of the quantity so far."""
        return float(self._before[0])

    def read(self, states: EventStates) -> Floats:
        """The quantity as it is interpolated: it, or its square."""
        values = self.source.read(states)
        return values * values if self.squares else values

    def read_value(self, states: EventStates, near: Floats) -> Floats:
        """The quantity at states; near: about its values, for angles."""
        if self.source.quantity is None:
            return self.source.read(states)
        values, record, model = np.zeros(len(states.times)), states.record, states.model
        loads = make_loads(model.loads, 0)
        series.read_states(model.form, loads, self.source.quantity, record.outputs, near, values)
        return values

    def band(self, size: float) -> float:
        """Values of the quantity that are not distinguished."""
        return self._share * size

    def _bands(self, sizes: Floats) -> Floats:
        share, power = self._wanted[series.SHARE], self._wanted[series.POWER]
        return np.asarray(share * (sizes if power == 1.0 else sizes * sizes))

    @property
    def since(self) -> float:
        """The earliest time at which an event may still be found [s]; infinite if none is open."""
        state = self._detector.state
        if self.extremes:
            last = zeros.HIGH if state[zeros.SIDE] > 0.0 else zeros.LOW
            return float(state[last + zeros.TIME]) if state[zeros.SIDE] else np.inf
        return float(self._detector.inside[0, zeros.TIME]) if state[zeros.INSIDE] else np.inf

    # intervals

    def fill(self, model: Model, swept: SweptPart) -> EventIntervals:
        """Its function on all steps."""
        quantity = self.source.quantity
        assert quantity is not None
        pieces = swept.part.pieces
        count, order = len(pieces.starts) - 1, int(pieces.orders[: len(pieces.starts) - 1].max())
        last = series.last_term(int(quantity.codes[series.WHICH]), order)
        # squares of the short polynomials of methods with a fixed step are exact but for rounding
        error = EVENT_ROUNDING if 2 * order <= last else self.accuracy
        self._detector.state[zeros.ERROR] = error
        # only angles are read again between the ends of steps, to count turns
        powers = np.empty((count, last + 1 if self.source.turn_key else 0))
        b, known = np.empty((count, last + 1)), np.zeros(count, np.int64)
        out = EventIntervals(b, powers, known, np.zeros(count))
        series.fill_intervals(
            model.form, swept.loads, quantity, pieces, self._wanted, self._before,
            interpolants.from_powers(last + 1),
            series.make_series_space(model.coordinates, last + 1), out,
        )  # fmt: skip
        if self.source.turn_key:
            self._swept = pieces.starts.copy(), powers, known == series.OPEN
        return out

    def angle_at(self, t: float) -> float:
        """The angle at a time of the latest steps, turns counted."""
        if self._swept is None:
            return float(self._before[1])
        starts, powers, whole = self._swept
        n = min(max(int(np.searchsorted(starts, t, "right")) - 1, 0), len(powers) - 1)
        if not whole[n]:
            return float(powers[n, 0])
        s = (t - starts[n]) / max(starts[n + 1] - starts[n], 1e-300)
        return float(np.polynomial.polynomial.polyval(s, powers[n]))

    def sizes(self, values: Floats, states: EventStates) -> Floats:
        """The largest size of the quantity up to each interval; values: as read, (n, points)."""
        sizes = np.sqrt(np.abs(values)) if self.squares else np.abs(values)
        usual = np.broadcast_to(usual_size(self.unit, states), values.size)
        # NaN has no size
        largest = np.fmax.reduce(np.fmax(sizes, usual.reshape(values.shape)), axis=1)
        found = np.asarray(np.fmax.accumulate(np.fmax(largest, self._before[0])))
        self._before[0] = found[-1]
        return found

    def least(self, sizes: Floats) -> Floats:
        """Negligible error of a quantity as read."""
        return self.accuracy * (sizes * sizes if self.squares else sizes)

    def search(
        self, starts: Floats, ends: Floats, b: Floats, known: Ints, sizes: Floats
    ) -> FoundRows:
        """Events on the next intervals; b: of its function."""
        d, terms = self._detector, b.shape[1]
        if d.stack.shape[1] < terms:
            self._detector = d = d._replace(stack=np.zeros((len(d.stack), terms)))
            self._work = np.zeros((2, terms))
        state, inside = d.state.copy(), d.inside.copy()
        while True:
            count = zeros.search_intervals(
                d, starts, ends, b, known, self._bands(sizes), self.extremes, *self._work
            )
            if count <= len(d.found):
                return self._listed(count)
            # there was no room for all of them
            d.state[:], d.inside[:] = state, inside
            self._detector = d = d._replace(found=np.zeros((count, zeros.FOUND)))

    def search_read(self, read: Interpolants, sizes: Floats) -> FoundRows:
        """Events on the next intervals; read: interpolants of the quantity as read."""
        level, factor = self._wanted[series.LEVEL], self._wanted[series.FACTOR]
        b = (read.bernstein() - level) * factor
        return self.search(read.starts, read.ends, b, np.zeros(len(b), np.int64), sizes)

    def finish(self) -> FoundRows:
        """Events that the end of the run decides."""
        self._detector.state[zeros.COUNT] = 0.0
        power = self._wanted[series.POWER]
        zeros.finish_search(self._detector, self.extremes, EVENT_ROUNDING * self.largest**power)
        return self._listed(int(self._detector.state[zeros.COUNT]))

    def _listed(self, count: int) -> FoundRows:
        """The events found last, of the kinds that were requested."""
        event, found = self.event, self._detector.found[:count].copy()
        if event.extreme and event.extreme != ANY:
            wanted = zeros.MAXIMUM if event.extreme == MAXIMUM else zeros.MINIMUM
            return np.asarray(found[found[:, zeros.KIND] == wanted])
        if event.equals is not None:
            found[:, zeros.VALUE] = event.equals
            if event.direction:
                return np.asarray(found[found[:, zeros.SIGN] == -event.direction])
        return found

    def notes(self) -> Iterator[str]:
        """Notes for the user."""
        if self.unresolved:
            more = len(self.unresolved) - 1
            yield (
                f"event '{self.event.name}' is not smooth enough near t = {min(self.unresolved):.9g} s"
                + (f" and at {more} further moments" if more else "")
                + ": zeros and extremes within a step may be missed there"
            )
        settled = float(self._detector.state[zeros.SETTLED])
        if not np.isnan(settled) and self.left != 0:
            yield (
                f"event '{self.event.name}': from t = {settled:.9g} s on the quantity stays at "
                f"the value, to {self._share:g} of its size; that is not an event"
            )


@dataclass
class _Located:
    """Events with their states, as stored during the run: numbers of their tracks, values."""

    tracks: Ints
    found: FoundRows
    values: Floats
    record: Record

    def some(self, rows: Ints | slice) -> _Located:
        """Some of them, in the given order."""
        return _Located(
            self.tracks[rows], self.found[rows], self.values[rows], take_records(self.record, rows)
        )


def _join(parts: list[_Located]) -> _Located:
    """Some events in order of time."""
    if len(parts) == 1:
        return parts[0]
    record = join_records(parts[0].record.model, [e.record for e in parts])
    joined = _Located(
        np.concatenate([e.tracks for e in parts]),
        np.concatenate([e.found for e in parts]),
        np.concatenate([e.values for e in parts]),
        record,
    )
    return joined.some(np.argsort(record.times, kind="stable"))


class EventFinder:
    """Locates the events of a run; `look` processes its steps in order of time. cpu: CPU time used [s]."""

    def __init__(
        self, events: Sequence[Event], model: Model, tracks: list[Track], states: EventStates
    ) -> None:
        self._events, self._model = events, model
        self._tracks, self._states = tracks, states
        self._loads = make_loads(model.loads, 0)
        self._ws = take_spare(
            model.structure.spare, EVENT_SPACE, lambda: make_workspace(model.form, 0)
        )
        # earlier steps in which events may still be found
        self._tails: list[MotionPart] = []
        self._found: list[_Located] = []
        self.may_stop = any(event.terminal or event.then for event in events)
        # the name of the event that ended the run
        self.reached = ""
        # the numbers of all events that act or end the run at that instant, in the order of request
        self.acting: list[int] = []
        # events after that instant, as number and sign before them
        self._later: list[tuple[int, int]] = []
        self.cpu = 0.0

    def look(self, part: MotionPart, law: AccelerationRule | None, *, last: bool) -> Record | None:
        """Process some steps; last: the run ends with them. Returns the state that ends the run, if any."""
        begin = time.thread_time()
        starts = part.pieces.starts
        swept = SweptPart(part, law, self._loads)
        fresh = [*self._sweep(swept)] if len(starts) > 1 else []
        if last:
            fresh += [(n, track.finish()) for n, track in enumerate(self._tracks)]
        by_track: dict[int, list[FoundRows]] = {}
        for n, found in fresh:
            if len(found):
                by_track.setdefault(n, []).append(found)
        stop = None
        if by_track:
            stop = self._keep(_join([*self._locate(swept, by_track)]))
        if not last:
            since = min((track.since for track in self._tracks), default=np.inf)
            self._tails = [p for p in self._tails if p.pieces.starts[-1] > since]
            if len(starts) > 1 and since <= starts[-1]:
                # the next steps will reuse this memory
                first = int(np.searchsorted(starts, since, "right")) - 1
                self._tails.append(copy_part(part, min(max(first, 0), len(starts) - 2)))
        self.cpu += time.thread_time() - begin
        return stop

    def _keep(self, located: _Located) -> Record | None:
        """Store events in order of time, up to the first that ends the run and those at the same instant.

        Returns the state there.
        """
        if all(track.left is None and not track.event.then for track in self._tracks):
            self._found.append(located)
            return None
        kept: list[int] = []
        instant = np.inf
        times, signs = located.record.times.tolist(), located.found[:, zeros.SIGN].tolist()
        for i, n in enumerate(located.tracks.tolist()):
            track = self._tracks[n]
            # whether a quantity turns back there is decided by the motion after the instant
            turns = bool(self.acting) and located.found[i, zeros.KIND] != zeros.CROSSING
            if times[i] > instant or turns:
                self._later.append((n, int(signs[i])))
                continue
            if track.left == 0:
                continue
            track.left = None if track.left is None else track.left - 1
            kept.append(i)
            if track.event.then or (track.left == 0 and track.event.terminal):
                self.acting.append(n)
                instant = min(instant, times[i] * (1.0 + SIMULTANEOUS))
        if kept:
            self._found.append(located.some(np.array(kept)))
        if not self.acting:
            return None
        self.acting.sort()
        # what has just occurred does not occur again
        now = {
            int(located.tracks[i]) for i in kept if times[i] >= instant - 2 * SIMULTANEOUS * instant
        }
        self._later = [(n, sign) for n, sign in self._later if n not in now]
        self.reached = self._events[self.acting[0]].name
        return self._found[-1].record[-1:]

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
                if abs(self._gap(n, self._value_at(n, states))) <= track.band(track.largest)
                else 0,
            )
            for n, track in enumerate(self._tracks)
        ]

    def _value_at(self, n: int, states: EventStates) -> float:
        wanted = self._tracks[n].event.equals
        near = np.array([np.nan if wanted is None else wanted])
        return float(self._tracks[n].read_value(states, near)[0])

    def turns(self, until: float) -> dict[str, tuple[Floats, Floats]]:
        """Angles with their turns counted, up to a time [s]."""
        kept = {key: times <= until for key, (times, _) in self._states.turns.items()}
        found = {
            key: (times[kept[key]], angles[kept[key]])
            for key, (times, angles) in self._states.turns.items()
            if kept[key].any()
        }
        for track in self._tracks:
            if track.source.turn_key:
                found[track.source.turn_key] = (
                    np.array([until]),
                    np.array([track.angle_at(until)]),
                )
        return found

    @property
    def stop(self) -> LocatedEvents:
        """The last event of the run, at the instant at which it ended."""
        return self._listed([self._found[-1].some(slice(-1, None))])

    def _sweep(self, swept: SweptPart) -> Iterator[tuple[int, FoundRows]]:
        """All events on some steps: index and events."""
        # the next steps will reuse the memory of these
        starts = swept.part.pieces.starts.copy()
        a, b = starts[:-1], starts[1:]
        states: EventStates | None = None
        for n, track in enumerate(self._tracks):
            if track.source.quantity is not None:
                rows, _, known, sizes = track.fill(self._model, swept)
                first = 0
                for k in (*np.flatnonzero(known == series.ROUGH).tolist(), len(a)):
                    if k > first:
                        own = slice(first, k)
                        yield n, track.search(a[own], b[own], rows[own], known[own], sizes[own])
                    if k < len(a):
                        own = slice(k, k + 1)
                        yield n, self._search_halves(swept, track, a[own], b[own], sizes[own])
                    first = k + 1
                continue
            # states are sampled only for quantities that need them
            states = states or self._sample(swept, a, b, FEW)
            values = track.read(states).reshape(-1, FEW)
            sizes = track.sizes(values, states)
            read = interpolants.from_values(a, b, values)
            good = interpolants.last_terms(read.coefficients) <= track.least(sizes)
            parts = [read.some(good)] if good.any() else []
            if not good.all():
                parts += self._refine(swept, track, a[~good], b[~good], float(sizes[-1]))
            if parts:
                read = interpolants.join(parts)
                sizes = sizes[np.searchsorted(a, read.starts, "right") - 1]
                yield n, track.search_read(read, sizes)

    def _search_halves(
        self, swept: SweptPart, track: Track, a: Floats, b: Floats, sizes: Floats
    ) -> FoundRows:
        """Events on a step whose series does not decrease fast enough."""
        if track.source.turn_key:
            # turns are counted on from the start of the step
            self._states.turns[track.source.turn_key] = a, np.array([track.angle_at(float(a[0]))])
        parts = [*self._refine(swept, track, a, b, float(sizes[-1]))]
        if not parts:
            return np.zeros((0, zeros.FOUND))
        read = interpolants.join(parts)
        return track.search_read(read, np.full(len(read), sizes[-1]))

    def _refine(
        self, swept: SweptPart, track: Track, a: Floats, b: Floats, size: float
    ) -> Iterator[Interpolants]:
        """Interpolants of intervals that few points do not resolve."""
        least = float(track.least(np.array([size]))[0])
        before = earlier = np.full(len(a), np.inf)
        for halvings in range(MOST_HALVINGS + 1):
            values = track.read(self._sample(swept, a, b, MANY)).reshape(-1, MANY)
            read = interpolants.from_values(a, b, values)
            left = interpolants.last_terms(read.coefficients)
            # a remainder that is as large on a quarter of the interval is noise, or a jump
            hopeless = (left > least) & ((left > NOISE * earlier) | (halvings == MOST_HALVINGS))
            track.unresolved += a[hopeless].tolist()
            known = ((left <= least) | hopeless) & np.isfinite(left)
            if known.any():
                yield read.some(known)
            rough = (left > least) & ~hopeless
            if not rough.any():
                return
            earlier, before = np.repeat(before[rough], 2), np.repeat(left[rough], 2)
            a, b = a[rough], b[rough]
            middle = 0.5 * (a + b)
            a, b = np.column_stack([a, middle]).ravel(), np.column_stack([middle, b]).ravel()

    def _sample(self, swept: SweptPart, a: Floats, b: Floats, count: int) -> EventStates:
        """States on the polynomials themselves, at the points of some intervals."""
        x, part = interpolants.points(count), swept.part
        times = (0.5 * (a + b)[:, None] + 0.5 * (b - a)[:, None] * x).ravel()
        record = Record.at(self._model, times, swept.law)
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

    def _locate(self, swept: SweptPart, by_track: dict[int, list[FoundRows]]) -> Iterator[_Located]:
        """Events with their states, of each track in order of time."""
        for n, parts in by_track.items():
            found = parts[0] if len(parts) == 1 else np.concatenate(parts)
            located = self._refine_series(swept, n, found) or self._refine_read(swept, n, found)
            kinds = located.found[:, zeros.KIND]
            if (kinds == zeros.TANGENT).any():
                # contacts that the states do not confirm are left out; for squares the band is wider
                track = self._tracks[n]
                gaps = np.abs(located.values - located.found[:, zeros.VALUE])
                far = gaps > 2.0 * track.band(track.largest)
                located = located.some(np.flatnonzero((kinds != zeros.TANGENT) | ~far))
            if len(located.values):
                yield located

    def _refine_series(self, swept: SweptPart, n: int, found: FoundRows) -> _Located | None:
        """Zeros are moved to where the sampled states have the wanted value; None if not in compiled code."""
        track, pieces = self._tracks[n], swept.part.pieces
        quantity, starts = track.source.quantity, pieces.starts
        if quantity is None or found[0, zeros.TIME] < starts[0]:
            return None
        record = Record.at(self._model, found[:, zeros.TIME].copy(), swept.law)
        off = MOST_OFF * track.band(track.largest)
        limits = np.array([MOST_MOVED, off, SETTLED * starts[-1], starts[0], starts[-1]])
        level, values = track.event.equals or 0.0, np.zeros(len(found))
        self._ws.reference_pivots[:] = swept.part.reference_pivots
        if not series.refine_events(
            self._model.form, self._ws, self._loads, swept.part.sampling, pieces, quantity,
            float(level), ROUNDS, limits, found, record.outputs, values,
        ):  # fmt: skip
            return None
        record.restored[:] = swept.part.put_back(record.times)
        return _Located(np.full(len(found), n), found, values, record)

    def _refine_read(self, swept: SweptPart, n: int, found: FoundRows) -> _Located:
        """The same for quantities that are read from states, and for events in earlier steps."""
        track = self._tracks[n]
        motion = Motion(self._model, (*self._tails, swept.part), swept.law)
        times = found[:, zeros.TIME].copy()
        for _ in range(ROUNDS):
            order = np.argsort(times, kind="stable")
            record = motion.at(times[order])
            values = track.read_value(self._of(record), found[order, zeros.VALUE])
            moves = self._moves(n, values[np.argsort(order)], found)
            if not np.abs(moves).max() > SETTLED * motion.end:
                break
            times = np.clip(times + moves, motion.begin, motion.end)
        return _Located(np.full(len(found), n), found[order], values, record)

    def _gap(self, n: int, value: float) -> float:
        wanted = self._tracks[n].event.equals
        return 0.0 if wanted is None else float(value - wanted)

    def _moves(self, n: int, values: Floats, found: FoundRows) -> Floats:
        """Displacements of zeros [s]; zero if they are exact to rounding."""
        track, rates = self._tracks[n], found[:, zeros.RATE]
        if track.event.equals is None:
            return np.zeros(len(values))
        off = values - track.event.equals
        step = -off / np.where(rates == 0.0, np.inf, rates)
        far = np.abs(step) > MOST_MOVED * found[:, zeros.WIDTH]
        far |= np.abs(off) > MOST_OFF * track.band(track.largest)
        stays = (found[:, zeros.KIND] != zeros.CROSSING) | (np.abs(off) <= 2e-16 * np.abs(values))
        return np.where(far | stays, 0.0, step)

    def located(self, until: float) -> LocatedEvents:
        """All events up to a time [s]."""
        return self._listed(self._found, until)

    def _listed(self, chunks: list[_Located], until: float = np.inf) -> LocatedEvents:
        none = np.zeros(0, np.int64), np.zeros((0, zeros.FOUND)), np.zeros(0)
        located = _join(chunks or [_Located(*none, Record.at(self._model, none[2]))])
        if len(located.values) and located.record.times[-1] > until:
            located = located.some(np.flatnonzero(located.record.times <= until))
        levels = np.array([event.equals for event in self._events], dtype=float)[located.tracks]
        codes = located.found[:, [zeros.KIND, zeros.SIGN]].astype(int).tolist()
        return LocatedEvents(
            names=[event.name for event in self._events],
            units=[track.unit for track in self._tracks],
            which=located.tracks,
            kinds=[KINDS[kind][sign + 1] for kind, sign in codes],
            values=located.values,
            gaps=np.where(np.isnan(levels), 0.0, located.values - levels),
            record=located.record,
        )

    def release(self) -> None:
        """Leave the memory to later runs."""
        give_spare(self._model.structure.spare, EVENT_SPACE, self._ws)

    def notes(self) -> list[str]:
        """Notes for the user."""
        return [note for track in self._tracks for note in track.notes()]


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
        self._sources = [EventSource(event, model, start, idle) for event in events]
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
            Track(event, source, self._tolerance, before, self._angle(source.turn_key))
            for event, source, before in zip(self._events, self._sources, self._before, strict=True)
        ]
        self.finder = EventFinder(self._events, self._model, tracks, self._start)
        return self.finder

    def _angle(self, key: str) -> float:
        """The angle of a joint or body at the start, where its turns were counted before."""
        return float(self._turns[key][1][-1]) if key in self._turns else np.nan
