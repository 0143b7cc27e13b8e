"""Design quantities as plots over the coordinate of the drive, for the report and the workbench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..analysis import Design, design
from ..analysis.design import CONSTANT
from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..quantities import clip_spike, clip_unbounded
from .plots import Curve, Plot, stack

NEEDS_A_DRIVE = (
    "One drive is needed that moves the whole mechanism: put one motor on a pin or a slider."
)
SEVERAL_DRIVES = (
    "Only mechanisms with one drive have these; the curves show force and power of each drive."
)
# outputs of a run without a cycle
OUTPUTS = 721


def find_design(mechanism: Mechanism, duration: float) -> Design | str:
    """The design of a mechanism over the cycle or motion of its drive, or a duration [s]; or why it has none."""
    if len(mechanism.drives) > 1:
        return SEVERAL_DRIVES
    if not mechanism.drives:
        return NEEDS_A_DRIVE
    if mechanism.user_forces:
        return "The design quantities of mechanisms with user forces are not computed."
    try:
        return design(mechanism)
    except (MechanismError, ValueError):
        # a drive without a cycle and without an end
        pass
    try:
        return design(mechanism, np.linspace(0.0, duration, OUTPUTS))
    except (MechanismError, ValueError) as error:
        # such as degrees of freedom without a drive
        return f"{error}."


def design_plots(found: Design) -> list[Plot]:
    """Motor, transmission angles, mechanical advantage, outputs, shaking force, torque over speed."""
    over, unit = (np.degrees(found.input), "deg") if found.turns else (found.input, "m")
    axis = f"{found.joint} {'angle' if found.turns else 'travel'} [{unit}]"
    name, drawn = found.drive, list(_figures(found))
    if not found.result.success:
        # near a dead centre forces grow without bound
        drawn = [
            (
                title,
                [(label, {n: clip_spike(x) for n, x in mine.items()}) for label, mine in panels],
            )
            for title, panels in drawn
        ]
    plots = [_over(title, panels, over, axis, name) for title, panels in drawn]
    speed = np.abs(found.speed)
    if np.ptp(speed) > CONSTANT * speed.max(initial=0.0):
        rate = "deg/s" if found.turns else "m/s"
        x = np.degrees(found.speed) if found.turns else found.speed
        panels = [(_torque(found), {"": found.torque})]
        title = "Torque over speed" if found.turns else "Force over speed"
        plots.append(_over(title, panels, x, f"speed [{rate}]", name))
    return plots


Panels = list[tuple[str, dict[str, Floats]]]


def _torque(found: Design) -> str:
    return "drive torque [N m]" if found.turns else "drive force [N]"


def _figures(found: Design) -> Iterator[tuple[str, Panels]]:
    """Titles and panels: a label with unit, and values by owner."""
    inertia = "kg m^2" if found.turns else "kg"
    yield (
        "Motor",
        [
            (_torque(found), {"": found.torque}),
            ("drive power [W]", {"": found.power}),
            (f"reflected inertia [{inertia}]", {"": found.reflected_inertia}),
        ],
    )
    angles = {name: np.degrees(x) for name, x in found.transmission_angles.items()}
    if angles:
        yield "Transmission angles", [("transmission angle [deg]", angles)]
    if found.outputs:
        yield from _of_outputs(found)
    force = dict(zip("xyz", found.shaking_force.T, strict=False))
    moment = np.atleast_2d(found.shaking_moment().T)
    named = dict(zip("z" if len(moment) == 1 else "xyz", moment, strict=True))
    yield "Shaking force and moment", [("force [N]", force), ("moment [N m]", named)]


def _of_outputs(found: Design) -> Iterator[tuple[str, Panels]]:
    panels: Panels = []
    for turns, label in ((True, "angle [deg]"), (False, "travel [m]")):
        mine = {
            name: np.degrees(found.output_values(name)) if turns else found.output_values(name)
            for name, output in found.outputs.items()
            if output.turns == turns
        }
        if mine:
            panels.append((label, mine))
    advantages: dict[str, dict[str, Floats]] = {}
    for name in found.outputs:
        label = f"mechanical advantage [{found.advantage_unit(name)}]"
        advantages.setdefault(label, {})[name] = clip_unbounded(found.mechanical_advantage(name))
    yield "Outputs", [*panels, *advantages.items()]


def _over(title: str, panels: Panels, x: Floats, axis: str, drive: str) -> Plot:
    """Panels over a quantity; values without an owner belong to the drive."""
    owners = list(dict.fromkeys(owner for _, mine in panels for owner in mine))
    curves = [
        Curve(k, owner or drive, x, values, owners.index(owner))
        for k, (_, mine) in enumerate(panels)
        for owner, values in mine.items()
    ]
    heads: Sequence[str] = [label for label, _ in panels]
    top = float(np.nanmax(x, initial=0.0))
    plot = stack(title, heads, [False] * len(heads), curves, np.inf, [], np.inf)
    low = float(np.nanmin(x, initial=0.0))
    layout = {**plot.layout, "xaxis": {**plot.layout["xaxis"], "title": {"text": axis}}}
    layout["xaxis"]["range"] = [low, top]
    return replace(plot, layout=layout, time=False)
