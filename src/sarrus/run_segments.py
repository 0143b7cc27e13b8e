"""Runs whose events change the mechanism: segments between events, each with its own model, joined to one outcome.

All segments have the same coordinates (mechanism/active_parts.py). A segment ends at the first event that acts.
There the velocities change as in an impact (impacts.py), and the next segment starts from that state. Limits of
joints are such events:

    impact     the coordinate reaches a stop: its rate is reversed and multiplied by the restitution
    rest       the next flight would be lower than RESTING times what events distinguish: the rest of the sequence
    of
               ever smaller bounces is left out, and the stop becomes a constraint
    release    the force of a stop changes its sign: the constraint opens
    contact    the coordinate touches a stop without speed

Two stops that are reached at the same time have no unique outcome, unless the impulse at one does not change the
rate of the other: the run then ends, with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .arrays import Floats
from .events.event_readings import EventStates
from .events.finder import EventSearch, TrackState
from .mechanism import Mechanism, MechanismError
from .mechanism.actions import Action
from .mechanism.active_parts import ActiveParts
from .mechanism.event_requests import Event
from .mechanism.limits import LOWER, JointLimit
from .methods import Method, Outcome, Run, Status, skipped
from .methods.method import Start, Stop
from .methods.outcome import Record
from .methods.status import Ending, blocked, crowded, done, simultaneous, stalled
from .model import Model
from .segments.impacts import Contact
from .segments.segment_results import join_outcomes, segment_model
from .settings import RunSettings
from .thresholds import DECOUPLED, EVENT_BAND, EVENT_FIXED_STEP, EVENT_ROUNDING, RESTING

IMPACT, REST, RELEASED, CONTACT = "impact", "rest", "release", "contact"
# kinds of internal actions: a coordinate is at a stop; the force of a stop vanishes
STRIKE, OPEN = "strike", "open"
# most segments of a run, and most in succession without progress
MOST_SEGMENTS, MOST_STALLED = 100_000, 100
# most stops that hold at the same time and are examined in all combinations
MOST_TOGETHER = 6
# angles with their turns counted, by joint or body
Turns = dict[str, tuple[Floats, Floats]]


class Stopper(NamedTuple):
    """One stop of a limit; sign: 1 for a lower, -1 for an upper stop, the direction in which it pushes."""

    limit: JointLimit
    side: str
    coordinate: str

    @property
    def sign(self) -> int:
        """The direction in which it pushes."""
        return 1 if self.side == LOWER else -1

    @property
    def value(self) -> float:
        """Where it is [rad or m]."""
        return self.limit.sides[self.side]

    @property
    def title(self) -> str:
        """Its name among the events."""
        return f"{self.limit.name}, {self.side}"

    @property
    def reached(self) -> Event:
        """The event that its joint reaches it."""
        return Event(
            self.title, self.coordinate, self.limit.joint, self.value, -self.sign, "", False, None,
            (Action(STRIKE, self.title),),
        )  # fmt: skip

    @property
    def opened(self) -> Event:
        """The event that its force changes its sign."""
        return Event(
            self.title, "drive", self.limit.name, 0.0, -self.sign, "", False, None,
            (Action(OPEN, self.title),),
        )  # fmt: skip


@dataclass
class EventEffect:
    """What an event did: the active parts and velocities after it, words for users, or how the run has to end.

    kind: the kind of the event, if it is not that of its quantity; energy: change of the total energy, model
    units; struck: titles of all stops that an impact struck at once.
    """

    parts: ActiveParts
    velocity: Floats
    words: str = ""
    kind: str = ""
    end: Ending | None = None
    energy: float = 0.0
    struck: tuple[str, ...] = ()


class SegmentedRun:
    """Runs a method from event to event.

    base: the mechanism of the run with its model; stop: makes the function that stops a run at crossings.
    """

    def __init__(
        self,
        method: Method,
        base: tuple[Mechanism, Model],
        events: Sequence[Event],
        settings: RunSettings,
        stop: Callable[[Mechanism, Model], Stop | None],
    ) -> None:
        self._method, (self._mechanism, self._model) = method, base
        self._events, self._settings, self._stop = [*events], settings, stop
        kinds = {j.name: j.kind.row.coordinate for j in self._mechanism.joints}
        self._stoppers = [
            Stopper(limit, side, kinds[limit.joint])
            for limit in self._mechanism.limits
            for side in limit.sides
        ]
        turning = {name for name, kind in kinds.items() if kind == "angle"}
        # units of what acts in some segments only
        self._idle = {
            name: "N m" if joint in turning else "N"
            for name, joint in self._mechanism.prescribers.items()
        }
        self._models: dict[str, Model] = {}
        self._searches: dict[str, EventSearch] = {}
        self._tolerance = EVENT_FIXED_STEP if settings.tolerance is None else settings.tolerance
        # share of a quantity that events do not distinguish
        self._share = max(EVENT_BAND * self._tolerance, EVENT_ROUNDING)

    # models and searches of segments

    def model(self, parts: ActiveParts) -> Model:
        """The model of a segment."""
        if parts == ActiveParts():
            return self._model
        if parts.text not in self._models:
            self._models[parts.text] = segment_model(self._model, parts.text)
        return self._models[parts.text]

    def _listed(self, parts: ActiveParts) -> list[Event]:
        """The events of a segment: the user's, then those of all stops in their order."""
        return [
            *self._events,
            *(
                s.opened if parts.stops.get(s.limit.name) == s.side else s.reached
                for s in self._stoppers
            ),
        ]

    def _search(self, parts: ActiveParts, start: Start) -> EventSearch:
        if parts.text not in self._searches:
            states = self._states(parts, start)
            self._searches[parts.text] = EventSearch(
                self._listed(parts), states.model, states, self._tolerance, self._idle
            )
        return self._searches[parts.text]

    def _states(self, parts: ActiveParts, start: Start) -> EventStates:
        """One state, from which quantities are read by name."""
        model = self.model(parts)
        record = Record.at(model, np.array([start.t]))
        record.q[0], record.v[0] = start.q, start.v
        record.angles[0] = start.carried[: record.angles.shape[1]]
        states = EventStates(
            model.mechanism, model, record, self._settings, Outcome(Status.DONE, "", record, {}, {})
        )
        states.__dict__["turns"] = {}
        return states

    # the run

    def run(self, problem: Run) -> Outcome:
        """Simulate from event to event."""
        torsions = len(self._model.loads.torsions.first)
        start = Start(
            0.0, np.zeros(self._model.coordinates), problem.velocity, np.zeros(torsions + 1)
        )
        none = ActiveParts()
        change = self._settle(none, start, {}, EventEffect(none, start.v))
        start, taken, stalls = replace(start, v=change.velocity), 0, 0
        before = [TrackState(event.count) for event in self._events]
        found: list[dict[int, EventEffect]] = []
        segments: list[tuple[ActiveParts, Outcome]] = []
        turns: Turns = {}
        end: Ending | None = change.end
        while end is None:
            parts = change.parts
            search = self._search(parts, start)
            search.resume([*before, *self._sides()], turns)
            outcome = self._method.run(self._segment(problem, parts, start, search, taken))
            segments.append((parts, outcome))
            taken += outcome.counters.get("steps", 0)
            finder = search.finder
            if finder is None or not finder.acting or outcome.status is not Status.STOPPED:
                break
            stop = finder.stop
            if stop.record.times[0] > outcome.record.times[-1]:
                # the run stopped at a crossing before
                break
            progress = float(stop.record.times[0]) - start.t
            stalls = 0 if progress > 1e-12 * problem.duration else stalls + 1
            start, turns = (
                self._start_after(parts, stop.record, start),
                finder.turns(stop.record.times[0]),
            )
            start, change, effects = self._act_together(finder.acting, parts, start, turns)
            found.append(effects)
            left = finder.carry_over(stop.record)
            listed = self._listed(parts)
            if any(listed[n].terminal and left[n].left == 0 for n in finder.acting):
                break
            before, end = left[: len(self._events)], change.end
            if end is None and stalls > MOST_STALLED:
                end = stalled(start.t, finder.reached, stalls)
            if end is None and len(segments) >= MOST_SEGMENTS:
                end = crowded(start.t, len(segments))
            if end is None and start.t >= problem.duration * (1.0 - 1e-15):
                end = done(problem.duration)
        titles = [event.name for event in (*self._events, *(s.reached for s in self._stoppers))]
        if not segments:
            # it ends before it begins: stops that act at the start contradict each other
            assert end is not None
            return replace(skipped(self._model, end.message), status=end.status)
        if not found and end is None:
            return segments[0][1]
        return join_outcomes(problem, titles, segments, found, end)

    def _gained(
        self, before: ActiveParts, start: Start, after: ActiveParts, moving: Start
    ) -> float:
        """Change of kinetic plus potential energy, in model units; 0 if it is rounding."""
        old, new = (
            self._states(parts, at).record.energies[:, 0]
            for parts, at in ((before, start), (after, moving))
        )
        change = float((new - old).sum())
        return change if abs(change) > EVENT_ROUNDING * float(np.abs(old).max()) else 0.0

    def _segment(
        self, problem: Run, parts: ActiveParts, start: Start, search: EventSearch, taken: int
    ) -> Run:
        """The run of one segment; its first output is its start."""
        model, first = self.model(parts), start.t == 0.0 and parts == ActiveParts()
        later = problem.times[problem.times > start.t]
        carried = start.carried if model.loaded else np.zeros(0)
        return replace(
            problem,
            model=model,
            mechanism=model.mechanism,
            velocity=start.v,
            times=problem.times if start.t == 0.0 else np.append(start.t, later),
            max_steps=max(problem.max_steps - taken, 1),
            stop=self._stop(model.mechanism, model),
            events=search,
            start=None if first else replace(start, carried=carried),
        )

    def _start_after(self, parts: ActiveParts, state: Record, before: Start) -> Start:
        """The state at an event; work goes on from what a model without loads cannot count."""
        work = state.work[0] if self.model(parts).loaded else before.carried[-1]
        carried = np.append(state.angles[0], work)
        return Start(float(state.times[0]), state.q[0].copy(), state.v[0].copy(), carried)

    def _sides(self) -> list[TrackState]:
        """On which side the quantities of stops begin."""
        # the coordinate is above a lower stop, and the force of a lower stop is positive
        return [TrackState(None, s.sign) for s in self._stoppers]

    # what events do

    def _act_together(
        self, acting: Sequence[int], parts: ActiveParts, start: Start, turns: Turns
    ) -> tuple[Start, EventEffect, dict[int, EventEffect]]:
        """Apply the events of one instant in the order of request, each to the state after the previous one.

        Returns the last state and effect, and the effect of each.
        """
        listed, effects = self._listed(parts), {}
        change, struck = EventEffect(parts, start.v), set[str]()
        for n in acting:
            event, now = listed[n], change.parts
            if event.name in struck:
                # the impact before this one included it
                effects[n] = replace(change, words=event.name, kind=IMPACT, energy=0.0)
                continue
            if effects and self._is_void(event, now, start):
                effects[n] = replace(change, words="", kind=self._void_kind(event, now), energy=0.0)
                continue
            change = self._act(event, now, start, turns)
            moving = replace(start, v=change.velocity)
            change.energy = self._gained(now, start, change.parts, moving)
            effects[n], start = change, moving
            struck.update(change.struck)
            if change.end:
                break
        return start, change, effects

    def _is_void(self, event: Event, parts: ActiveParts, start: Start) -> bool:
        """Whether an event has no effect after others of the same instant.

        A stop is struck only if its joint moves towards it; the stops that stay in contact were determined again.
        """
        kind = event.then[0].kind if event.then else ""
        if kind != STRIKE:
            return kind in ("", OPEN)
        stopper = next(s for s in self._stoppers if s.title == event.name)
        least = self._share * float(np.abs(start.v).max(initial=0.0))
        return self._rate(stopper, parts, start) * stopper.sign >= -least

    def _void_kind(self, event: Event, parts: ActiveParts) -> str:
        """The kind of such an event."""
        stopper = next((s for s in self._stoppers if event == s.opened), None)
        if stopper is not None and stopper.limit.name not in parts.stops:
            return RELEASED
        return CONTACT if event.then else ""

    def _act(self, event: Event, parts: ActiveParts, start: Start, turns: Turns) -> EventEffect:
        kind = event.then[0].kind if event.then else ""
        by_title = {s.title: s for s in self._stoppers}
        if kind == STRIKE:
            return self._strike(by_title[event.name], parts, start, turns)
        if kind == OPEN:
            opened = by_title[event.name]
            return EventEffect(
                parts.without_stop(opened.limit.name), start.v, f"{opened.title} opens", RELEASED
            )
        return self._change(event, parts, start, turns)

    def _change(self, event: Event, parts: ActiveParts, start: Start, turns: Turns) -> EventEffect:
        """The actions of a user's event, then the impact of new constraints."""
        now, words = parts, "; ".join(map(str, event.then))
        at = self._coordinates(parts, start, turns)
        try:
            for action in event.then:
                now = now.after(action, self._mechanism, at, start.t)
        except MechanismError as error:
            return EventEffect(parts, start.v, words, end=Ending(Status.ERROR, str(error)))
        change = self._impact(now, start, {}, words)
        return change if change.end else self._settle(change.parts, start, turns, change)

    def _coordinates(self, parts: ActiveParts, start: Start, turns: Turns) -> dict[str, float]:
        """Coordinates of all joints that may be fixed [rad or m], full turns counted."""
        m, states = self._mechanism, self._states(parts, start)
        states.turns.update(turns)
        names = {*m.lockable, *(limit.joint for limit in m.limits)}
        kinds = {j.name: j.kind.row.coordinate for j in m.joints if j.name in names}
        read = {"angle": states.angle, "travel": states.travel, "length": states.length}
        return {name: float(read[kind](name)[0]) for name, kind in kinds.items() if kind}

    def _impact(
        self, parts: ActiveParts, start: Start, strikes: dict[Stopper, float], words: str
    ) -> EventEffect:
        """Velocities after constraints appear; strikes: stops and the rates of their coordinates after the impact.

        A stop at which a joint rests only pushes: where the impact would need it to pull, it opens.
        """
        resting = dict(parts.stops)
        while True:
            struck = {s.limit.name: s.side for s in strikes}
            contact = Contact(self.model(replace(parts, stops=resting | struck)), start)
            rates = contact.rates.copy()
            for stopper, rate in strikes.items():
                rates += contact.slopes(stopper.limit.name) * rate
            after = contact.project(start.v, rates)
            if after is None:
                return EventEffect(parts, start.v, words, IMPACT, blocked(start.t, words))
            change = np.abs(contact.mass @ (after - start.v)).max(initial=0.0)
            pushes = {
                s: contact.impulse(s.limit.name, start.v, after) * s.sign
                for s in self._at_rest(resting)
            }
            pulling = [s for s, p in pushes.items() if p < -self._share * change]
            if not pulling:
                return EventEffect(replace(parts, stops=resting), after, words)
            del resting[min(pulling, key=lambda s: pushes[s]).limit.name]

    def _at_rest(self, stops: dict[str, str]) -> list[Stopper]:
        return [s for s in self._stoppers if stops.get(s.limit.name) == s.side]

    def _strike(
        self, stopper: Stopper, parts: ActiveParts, start: Start, turns: Turns
    ) -> EventEffect:
        """A joint reaches a stop: Newton's rule, rest or contact."""
        limit, title = stopper.limit, stopper.title
        active = parts.prescribed_by(limit.joint, self._mechanism)
        if active:
            return EventEffect(
                parts, start.v, title, IMPACT, blocked(start.t, f"{active} and {title}")
            )
        change = EventEffect(parts, start.v, title, CONTACT)
        if self._rate(stopper, parts, start) * stopper.sign < 0.0:
            together = [stopper, *self._also_struck(stopper, parts, start, turns)]
            rates = {s: -s.limit.restitution * self._rate(s, parts, start) for s in together}
            if len(together) > 1 and not self._are_decoupled(rates, parts, start):
                end = simultaneous(start.t, [s.title for s in together])
                return EventEffect(parts, start.v, title, IMPACT, end)
            change = replace(self._impact(parts, start, rates, title), kind=IMPACT)
            change.struck = tuple(s.title for s in together)
        settled = change if change.end else self._settle(change.parts, start, turns, change)
        if limit.name in settled.parts.stops:
            settled.kind = REST
        return settled

    def _rate(self, stopper: Stopper, parts: ActiveParts, start: Start) -> float:
        """The rate of the coordinate of a stop, in model units."""
        touching = parts.with_stop(stopper.limit.name, stopper.side)
        return Contact(self.model(touching), start).rate(stopper.limit.name, start.v)

    def _touching(self, parts: ActiveParts, start: Start, turns: Turns) -> list[Stopper]:
        """Stops that a free joint touches, to what events distinguish."""
        if not self._stoppers:
            return []
        at, found = self._coordinates(parts, start, turns), []
        for s in self._stoppers:
            free = s.limit.name not in parts.stops and not parts.prescribed_by(
                s.limit.joint, self._mechanism
            )
            if free and abs(at[s.limit.joint] - s.value) <= 2.0 * self._band(s):
                found.append(s)
        return found

    def _band(self, stopper: Stopper) -> float:
        """Differences of a joint's coordinate that are not distinguished [rad or m]."""
        size = 1.0 if stopper.coordinate == "angle" else self._model.units.length
        return self._share * max(size, abs(stopper.value))

    def _also_struck(
        self, first: Stopper, parts: ActiveParts, start: Start, turns: Turns
    ) -> list[Stopper]:
        """Other stops that are struck at the same time."""
        others = (s for s in self._touching(parts, start, turns) if s.limit is not first.limit)
        speed = self._share * float(np.abs(start.v).max(initial=0.0))
        return [s for s in others if self._rate(s, parts, start) * s.sign < -speed]

    def _are_decoupled(
        self, strikes: dict[Stopper, float], parts: ActiveParts, start: Start
    ) -> bool:
        """Whether the impact at each of some stops leaves the rates at the others unchanged."""
        for one, rate in strikes.items():
            alone = self._impact(parts, start, {one: rate}, "")
            changed = abs(rate - self._rate(one, parts, start))
            for other in strikes:
                after = self._rate(other, parts, replace(start, v=alone.velocity))
                if (
                    other is not one
                    and abs(after - self._rate(other, parts, start)) > DECOUPLED * changed
                ):
                    return False
        return True

    def _settle(
        self, parts: ActiveParts, start: Start, turns: Turns, before: EventEffect
    ) -> EventEffect:
        """Which stops hold their joints after a change: their forces push, and no other stop would have to.

        The accelerations of frictionless contacts are unique (Gauss' principle), so the first such set is taken.
        """
        start = replace(start, v=before.velocity)
        left_out = {s: self._left_out(s, parts, start) for s in self._touching(parts, start, turns)}
        ready = [s for s, seconds in left_out.items() if seconds is not None]
        both = [*self._at_rest(parts.stops), *ready]
        if len(both) > MOST_TOGETHER:
            return replace(before, end=simultaneous(start.t, [s.title for s in both]))
        for count in range(len(both), -1, -1):
            for chosen in combinations(both, count):
                now = replace(parts, stops={s.limit.name: s.side for s in chosen})
                velocities = self._rest_velocities(now, chosen, start)
                if velocities is None or any(
                    self._rest_velocities(now.with_stop(s.limit.name, s.side), (s,), start)
                    is not None
                    for s in both
                    if s not in chosen
                ):
                    continue
                rests = [
                    f"at rest at {s.title}; the omitted bounces would have lasted {left_out[s]:.2g} s"
                    for s in ready
                    if s in chosen and left_out[s]
                ]
                # the title of the stop that was struck is part of them
                own = [] if any(before.words == s.title for s in ready if rests) else [before.words]
                words = "; ".join(filter(None, (*own, *rests)))
                return replace(before, parts=now, velocity=velocities, words=words)
        return replace(before, end=simultaneous(start.t, [s.title for s in both]))

    def _rest_velocities(
        self, parts: ActiveParts, stoppers: tuple[Stopper, ...], start: Start
    ) -> Floats | None:
        """Velocities if joints rest at stops; None if the force at one of some stops would have to pull."""
        if not stoppers:
            return start.v
        contact = Contact(self.model(parts), start)
        v = contact.project(start.v)
        if v is None:
            return None
        least = -self._share * np.abs(self._model.form.Q).max(initial=0.0)
        forces = [contact.force(s.limit.name, v) * s.sign for s in stoppers]
        # forces at singular configurations are unknown: the joint stays where it is
        return None if any(force < least for force in forces) else v

    def _left_out(self, stopper: Stopper, parts: ActiveParts, start: Start) -> float | None:
        """Duration of the bounces that rest leaves out [s]; None if a joint leaves its stop farther than that."""
        name = stopper.limit.name
        contact = Contact(self.model(parts.with_stop(name, stopper.side)), start)
        v = contact.project(start.v)
        if v is None:
            return None
        least = self._share * float(np.abs(start.v).max(initial=0.0))
        speed, force = (
            x * stopper.sign for x in (contact.rate(name, start.v), contact.force(name, v))
        )
        if speed < -least or not force >= 0.0:
            return None
        if speed <= least or force == 0.0:
            return 0.0 if speed <= least else None
        # a flight with u = p / m and a = F / m: its height u^2 / 2 a, its duration 2 u / a
        impulse = abs(contact.impulse(name, start.v, v))
        unit = 1.0 if stopper.coordinate == "angle" else self._model.units.length
        if 0.5 * speed * impulse / force * unit > RESTING * self._band(stopper):
            return None
        return 2.0 * impulse / force / max(1.0 - stopper.limit.restitution, EVENT_ROUNDING)
