"""Events that a run has located, as users read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .methods.outcome import LocatedEvents

# most times listed in a note
LISTED = 3


@dataclass(frozen=True, eq=False)
class LocatedEvent:
    """An event of a run.

    name: of the event; kind: "rising", "falling", "tangent", "maximum" or "minimum"; time [s]; value: of the
    quantity [unit]; gap: the value minus the target, 0 for extremes; state: a `Result` with one output at this
    instant.
    """

    name: str
    kind: str
    time: float
    value: float
    unit: str
    gap: float
    state: Any = field(repr=False)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"event '{self.name}' at t = {self.time:.12g} s: {self.kind}, {self.value:.9g}{unit}"


def list_events(result: Any) -> tuple[LocatedEvent, ...]:
    """All events of a result, in order of time."""
    found = result.outcome.events
    if found is None:
        return ()
    return tuple(
        LocatedEvent(
            name=found.names[n],
            kind=found.kinds[i],
            time=float(found.record.times[i]),
            value=float(found.values[i]),
            unit=found.units[n],
            gap=float(found.gaps[i]),
            state=replace(
                result, outcome=replace(result.outcome, record=found.record[i : i + 1], error=None)
            ),
        )
        for i, n in enumerate(found.which.tolist())
    )


def describe_events(found: LocatedEvents | None) -> Iterator[str]:
    """One sentence per requested event."""
    for n, name in enumerate([] if found is None else found.names):
        assert found is not None
        times = found.record.times[found.which == n].tolist()
        if not times:
            yield f"event '{name}' did not occur"
            continue
        listed = ", ".join(f"{t:.9g}" for t in times[:LISTED])
        often = "once" if len(times) == 1 else f"{len(times)} times"
        more = ", ..." if len(times) > LISTED else ""
        yield f"event '{name}' occurred {often}, at t = {listed}{more} s"
