"""Limits of joints: stops at the ends of an angle, travel or length, with a coefficient of restitution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..tracing import UNUSABLE, is_usable
from .actions import lockable_problems
from .elements import Element, NameRegistry

LOWER, UPPER = "lower", "upper"


@dataclass(frozen=True, eq=False)
class JointLimit(Element):
    """Stops of a joint: its coordinate stays between `lower` and `upper`; None: no stop on that side.

    The coordinate of a revolute joint is its angle [rad], that of a prismatic or cylindrical joint its travel [m],
    both counted from the initial configuration. restitution: speed after an impact over the speed before it, 0 to
    1.
    """

    joint: str
    lower: float | None
    upper: float | None
    restitution: float

    @property
    def sides(self) -> dict[str, float]:
        """The stops by the word "lower" or "upper"."""
        both = {LOWER: self.lower, UPPER: self.upper}
        return {word: value for word, value in both.items() if value is not None}

    def problems(self, known: NameRegistry) -> Iterator[str]:
        """Problems of its joint and numbers, and whether the initial configuration is within it."""
        what = f"limit '{self.name}'"
        bad = list(lockable_problems(self.joint, what, known.joints))
        yield from bad
        for word, value in (*self.sides.items(), ("restitution", self.restitution)):
            if not is_usable(value):
                bad.append(word)
                yield f"{what}: {word} {value} {UNUSABLE}; give a finite number"
        if bad:
            return
        if not self.sides:
            yield f"{what}: it has no stop; give lower, upper or both"
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            yield f"{what}: lower = {self.lower:g} is not below upper = {self.upper:g}; exchange them"
        if not 0.0 <= self.restitution <= 1.0:
            yield f"{what}: restitution = {self.restitution:g}; give a number from 0 to 1"
        joint = known.joints[self.joint]
        unit = "rad" if joint.kind.row.coordinate == "angle" else "m"
        for word, value in self.sides.items():
            if (value > 1e-12) if word == LOWER else (value < -1e-12):
                yield (
                    f"{what}: the {joint.kind.row.coordinate} of joint '{joint.name}' counts from the initial "
                    f"configuration, which is beyond the {word} stop at {value:.9g} {unit}; move the stop or the "
                    "start"
                )

    def data(self) -> dict[str, Any]:
        """Joint, stops and restitution."""
        return {
            "joint": self.joint,
            **{word: float(value) for word, value in self.sides.items()},
            "restitution": float(self.restitution),
        }
