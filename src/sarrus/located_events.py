"""Events that a run has located, as users read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import segments as segment_package
from .names import counted
from .notebook_display import html_table
from .thresholds import SIMULTANEOUS

if TYPE_CHECKING:
    from .methods.outcome import LocatedEvents

# most times listed in a note
LISTED = 3


@dataclass(frozen=True, eq=False)
class LocatedEvent:
    """An event of a run.

    name: of the event; kind: "rising", "falling", "tangent", "maximum" or "minimum", of limits "impact", "rest",
    "release" or "contact"; time [s]; value: of the quantity [unit]; gap: the value minus the target, 0 for
    extremes;
    state: a `Result` with one output at this instant, before the event; after: the same after it, where the event
    changed the mechanism, else None; action: what it did; energy_change: of the total energy [J], negative for a
    loss.
    """

    name: str
    kind: str
    time: float
    value: float
    unit: str
    gap: float
    state: Any = field(repr=False)
    after: Any = field(repr=False, default=None)
    action: str = ""
    energy_change: float = 0.0

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        text = f"event '{self.name}' at t = {self.time:.12g} s: {self.kind}, {self.value:.9g}{unit}"
        if self.action and self.action != self.name:
            text += f"; {self.action}"
        return text + (f"; {_change(self.energy_change)}" if self.energy_change else "")


class ListedEvents(tuple[LocatedEvent, ...]):
    """Events in order of time; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        title = counted(len(self), "event")
        rows = [
            (f"{e.time:.9g}", e.name, e.kind, f"{e.value:.9g} {e.unit}", e.action) for e in self
        ]
        return html_table(title, ("t [s]", "event", "kind", "value", "action"), rows)


def _change(energy: float) -> str:
    return f"{abs(energy):.6g} J {'lost' if energy < 0 else 'gained'}"


def _states(result: Any, found: LocatedEvents, i: int) -> tuple[Any, Any]:
    """Results with the state before an event and after it, None if it changed nothing."""
    row = found.record[i : i + 1]
    segments = result.outcome.segments
    if not segments:
        return replace(result, outcome=replace(result.outcome, record=row, error=None)), None
    number = int(found.segments[i])
    before = segment_package.segment_results.state_at(result, number, row)
    if not found.actions[i] or number + 1 >= len(segments):
        return before, None
    return before, segment_package.segment_results.state_at(
        result, number + 1, segments[number + 1].outcome.record
    )


def _order(found: LocatedEvents) -> list[int]:
    """Rows by time; simultaneous ones, whose times differ by rounding, as they were requested."""
    times = found.record.times
    instants = np.cumsum(np.diff(times, prepend=times[:1]) > SIMULTANEOUS * np.abs(times))
    segments = found.segments if len(found.segments) else np.zeros(len(times))
    return np.lexsort((found.which, segments, instants)).tolist()


def list_events(result: Any) -> tuple[LocatedEvent, ...]:
    """All events of a result, in order of time, simultaneous ones in the order of request."""
    found = result.outcome.events
    if found is None:
        return ListedEvents()
    unit = result.model.units.energy
    return ListedEvents(
        LocatedEvent(
            name=found.names[n],
            kind=found.kinds[i],
            time=float(found.record.times[i]),
            value=float(found.values[i]),
            unit=found.units[n],
            gap=float(found.gaps[i]),
            state=state,
            after=after,
            action=found.actions[i] if found.actions else "",
            energy_change=float(found.energies[i]) * unit if len(found.energies) else 0.0,
        )
        for i in _order(found)
        for n in [int(found.which[i])]
        for state, after in [_states(result, found, i)]
    )


def describe_events(found: LocatedEvents | None, joule: float) -> Iterator[str]:
    """One sentence per requested event; joule: the model's unit of energy [J]."""
    for n, name in enumerate([] if found is None else found.names):
        assert found is not None
        times = found.record.times[found.which == n].tolist()
        if not times:
            yield f"event '{name}' did not occur"
            continue
        listed = ", ".join(f"{t:.9g}" for t in times[:LISTED])
        often = "once" if len(times) == 1 else f"{len(times)} times"
        more = ", ..." if len(times) > LISTED else ""
        text = f"event '{name}' occurred {often}, at t = {listed}{more} s"
        if len(found.energies):
            energy = float(found.energies[found.which == n].sum()) * joule
            did = dict.fromkeys(found.actions[i] for i in np.flatnonzero(found.which == n))
            words = [word for word in did if word and word != name][:LISTED]
            text += "".join(
                f"; {word}" for word in (*words, *([_change(energy)] if energy else []))
            )
        yield text
