"""The results of a run as curves: drives, springs, joints, reactions, velocities, energies.

The curves are read from the whole result, at a number of outputs that fits into a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Ints
from ..export import (
    Columns,
    labelled_reactions,
    point_columns,
    reaction_columns,
    split_unit,
)
from ..mechanism import MechanismError
from ..mechanism.files import to_data, to_text
from ..names import UnknownNameError
from ..progress import report
from ..quantities import (
    clip_spike,
    clip_unbounded,
    pin_angles,
    read_quantity,
    scales_of,
    show_number,
    without_noise,
)
from ..result import Result
from ..runs.columns import Figure, Panel
from ..scene.player import pack

if TYPE_CHECKING:
    from ..verdict.reactions import UnboundedReaction

# numbers in a page, least number of outputs, and largest number of quantities
MOST_NUMBERS, LEAST_OUTPUTS, MOST_COLUMNS = 250_000, 200, 1250
# largest number of curves in a panel
MOST_CURVES = 6
# above this number of columns of the joint equations, reactions take seconds
MOST_EQUATIONS = 600
# for points; accelerations only if they fit into the page
KEPT, LEVELS_OF_ALL = ("position", "velocity"), ("position", "velocity", "acceleration")
MOST_ACCELERATED = 60
# for bodies
TURNS = ("angle", "angular velocity", "angular acceleration")


@dataclass(frozen=True)
class Curves:
    """Columns with units over times [s]; items: those of each joint, point, spring and body, by name.

    exerted: labels of the reactions of each joint, "B0" or, at pins of three or more bodies, one for each body, "C
    on crank"; shared: statically indeterminate ones; figures: columns drawn together; notes: what is left out;
    model: the model file as text, if there is one.
    """

    times: Floats
    columns: Columns
    items: dict[str, list[str]]
    exerted: dict[str, list[str]]
    shared: tuple[str, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]
    model: str = ""
    tiles: list[tuple[str, str]] = field(default_factory=list)

    def payload(self) -> dict[str, Any]:
        """The data for the script of the page."""
        return {
            "times": pack(self.times, "<f8"),
            "columns": {
                shown_name(name): pack(in_degrees(name, values))
                for name, values in self.columns.items()
            },
            "items": {
                owner: [shown_name(name) for name in names] for owner, names in self.items.items()
            },
            "exerted": self.exerted,
            "shared": self.shared,
            "model": self.model,
        }


def shown_name(column: str) -> str:
    """The name of a column on pages, where angles are in degrees."""
    quantity, unit = split_unit(column)
    return f"{quantity} [deg{unit[3:]}]" if unit.split("/")[0] == "rad" else column


def in_degrees(column: str, values: Floats) -> Floats:
    """The values of a column as pages show them."""
    return values if shown_name(column) == column else np.degrees(values)


def read_curves(result: Result, reactions: bool = True) -> Curves:
    """The curves of a run; reactions: include joint reactions, which take longest."""
    notes: list[str] = []
    columns, owners = _all_columns(result, accelerations=reactions)
    columns |= {
        "kinetic energy [J]": result.kinetic_energy,
        "potential energy [J]": result.potential_energy,
        "total energy [J]": result.total_energy,
        "work [J]": result.work,
    }
    at = _chosen_outputs(result, min(len(columns) + 4 * len(result.mechanism.joints), MOST_COLUMNS))
    forces = _reactions(result, notes) if reactions else Exerted()
    columns |= forces.columns
    for joint, labels in forces.labels.items():
        mine = [n for n in forces.columns if n.rsplit(".", 1)[0] in labels]
        owners.setdefault(joint, []).extend(mine)
    columns = _without_noise(result, columns)
    spikes: list[str] = []
    if result.status == "blocked":
        columns, spikes = _without_spike(columns, notes)
    for names in owners.values():
        # forces before positions: they are of most interest
        names.sort(key=lambda name: split_unit(name)[1] in ("m", "m/s", "m/s^2"))
    figures = tuple(_figures(result, columns, forces))
    drawn = {name for figure in figures for panel in figure.panels for name in panel.columns}
    if len(columns) > MOST_COLUMNS:
        notes.append(f"Curves of {MOST_COLUMNS} quantities are kept here; the result has all.")
        rest = [name for name in columns if name not in drawn][: MOST_COLUMNS - len(drawn)]
        columns = {name: columns[name] for name in [*drawn, *rest]}
    if len(at) < len(result.times):
        notes.append(f"Curves show {len(at)} of {len(result.times)} outputs.")
    return Curves(
        result.times[at],
        {name: values[at] for name, values in columns.items()},
        {owner: [n for n in names if n in columns] for owner, names in owners.items()},
        forces.labels,
        tuple(forces.shared),
        figures,
        tuple(notes),
        _model_text(result),
        _tiles(result, columns, forces.unbounded, spikes),
    )


def _without_noise(result: Result, columns: Columns) -> Columns:
    """Replace columns of pure rounding by constants: an axis of 5e-16 m would show them as a motion.

    The reference is the largest column of the same unit, or the mechanism's own scale.
    """
    scales = scales_of(result)
    for name, values in columns.items():
        unit = split_unit(name)[1]
        scales[unit] = max(scales.get(unit, 0.0), float(np.nanmax(np.abs(values), initial=0.0)))
    # without angular acceleration, rounding is that of the centripetal one
    scales["rad/s^2"] = max(scales["rad/s^2"], scales["rad/s"] ** 2)
    out = {}
    for name, values in columns.items():
        unit = split_unit(name)[1]
        out[name] = without_noise(values, scales[unit], unit)
    return out


def _without_spike(columns: Columns, notes: list[str]) -> tuple[Columns, list[str]]:
    """Columns of a blocked run without the final values that would flatten all curves; a note says so.

    Also the names of the columns that were cut.
    """
    out, cut = dict(columns), []
    for name, values in columns.items():
        out[name] = clip_spike(values)
        if np.isnan(out[name]).sum() > np.isnan(values).sum():
            cut.append(name)
    if cut:
        shown = ", ".join(split_unit(name)[0] for name in cut[:4])
        shown += " and others" if cut[4:] else ""
        notes.append(
            f"The run was blocked; values that grow without bound towards its end are not drawn ({shown})."
        )
    return out, cut


def _all_columns(result: Result, accelerations: bool) -> tuple[Columns, dict[str, list[str]]]:
    """Results and motions of everything that is drawn, and their owners."""
    columns: Columns = {}
    owners: dict[str, list[str]] = {}
    exerting = set(result.exerting)

    def keep(owner: str, found: Columns) -> None:
        columns.update(found)
        mine = owners.setdefault(owner, [])
        mine += [name for name in found if name not in mine]

    drives, torsions = result.model.readings.drives, result.model.readings.torsions
    bodies = {b.name for b in result.mechanism.bodies}
    # with thousands of parts only some are read: those that exert forces first, and as many positions as angles
    names = sorted(result.read_names, key=lambda name: name not in exerting)[: MOST_COLUMNS // 2]
    places = [*result.drawn_points, *(b.name for b in result.mechanism.bodies)]
    places = places[: MOST_COLUMNS // (2 * result.model.dimension + 1)]
    all_levels = accelerations and len(places) <= MOST_ACCELERATED
    for k, name in enumerate(names):
        report(k, len(names) + len(places))
        found = result.readings(name)
        keep(name, found)
        # a drive or torsion belongs to its joint
        if name in drives:
            keep(drives[name].joint, found)
        elif name in torsions:
            keep(torsions[name][0].joint, found)
    for label, (joint, _, listed) in pin_angles(result.mechanism).items() if all_levels else ():
        if listed:
            keep(joint, {f"{label}.angle [rad]": read_quantity(result, f"{label}.angle").values})
    for k, name in enumerate(places):
        report(len(names) + k, len(names) + len(places))
        if not np.ptp(result.position(name), axis=0).any():
            continue
        found = point_columns(result, [name], LEVELS_OF_ALL if all_levels else KEPT)
        speed = np.linalg.norm(result.velocity(name), axis=1)
        keep(name, {**found, f"{name}.speed [m/s]": speed})
        if all_levels and name in bodies:
            keep(name, _turning(result, name))
    return columns, owners


def _turning(result: Result, body: str) -> Columns:
    """Angle, angular velocity and acceleration of a body; empty for a thin rod in space, which has none."""
    out = {}
    for word in TURNS:
        with suppress(UnknownNameError, ValueError):
            found = read_quantity(result, f"{body}.{word}")
            out[found.label] = found.values
    return out


def _chosen_outputs(result: Result, columns: int) -> Ints:
    """Evenly spaced outputs, as many as fit with all columns."""
    most = max(LEAST_OUTPUTS, MOST_NUMBERS // max(columns, 1))
    n = len(result.times)
    return (
        np.unique(np.round(np.linspace(0, n - 1, min(n, most))).astype(int))
        if n
        else np.zeros(0, int)
    )


# unbounded reactions, by the name of the joint or drive
Unbounded = dict[str, "tuple[UnboundedReaction, ...]"]


@dataclass
class Exerted:
    """Reactions of all joints: columns, labels of each joint, those that are indeterminate or unbounded."""

    columns: Columns = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    unbounded: Unbounded = field(default_factory=dict)


def _reactions(result: Result, notes: list[str]) -> Exerted:
    """The joint reactions; notes state why they cannot be computed, and which are unbounded."""
    equations, out = result.joint_equations, Exerted()
    if not len(result.times):
        return out
    if equations.columns > MOST_EQUATIONS or len(result.times) * equations.columns > 2_000_000:
        notes.append("Reactions of so many bodies are left out here; result.reaction gives them.")
        return out
    try:
        found = result.reactions
    except (MechanismError, ValueError) as error:
        notes.append(f"No reactions: {error}.")
        return out
    unbounded = {drive: found.of(drive).unbounded for drive in equations.drives}
    for joint in equations.joints:
        named = labelled_reactions(found, joint)
        out.labels[joint] = list(named)
        for label, reaction in named.items():
            own = reaction_columns(label, reaction)
            flag = own.pop(f"{label}.shared [1]")
            unbounded[label] = reaction.unbounded
            sizes = clip_unbounded(reaction.sizes) if reaction.unbounded else reaction.sizes
            out.columns |= own | {f"{label}.F [N]": sizes}
            if flag.mean() > 0.5:
                out.shared.append(label)
    out.unbounded = {name: where for name, where in unbounded.items() if where}
    for name, where in out.unbounded.items():
        growth = "; ".join(str(u) for u in where[:3]) + ("; and more" if where[3:] else "")
        notes.append(f"Reaction at {name}: {growth}. Its largest values are left out.")
    return out


def _figures(result: Result, columns: Columns, exerted: Exerted) -> Iterable[Figure]:
    """Figures in the order of their interest."""
    ends = {
        "drives": (".drive torque [N m]", ".drive force [N]", ".drive power [W]"),
        "loads": (".length [m]", ".force [N]", ".torque [N m]"),
        "joints": (".angle [rad]", ".travel [m]"),
    }
    titles = {
        "drives": "Drives",
        "loads": "Springs and lengths",
        "joints": "Joint angles and travels",
    }
    bodies = {body.name for body in result.mechanism.bodies}
    wanted = tuple(e for end in ends.values() for e in end)
    read = [n for n in columns if n.endswith(wanted) and n.rpartition(".")[0] not in bodies]
    for name, endings in ends.items():
        panels = [panel for end in endings if (panel := _panel(end, read, columns))]
        if panels:
            yield Figure(name, titles[name], tuple(panels))
    labels = (label for labels in exerted.labels.values() for label in labels)
    forces = _largest([f"{label}.F [N]" for label in labels], columns)
    if forces:
        yield Figure("reactions", "Reactions at the joints", (Panel("force [N]", tuple(forces)),))
    speeds = [f"{name}.speed [m/s]" for name in result.moving_points()][:MOST_CURVES]
    if speeds:
        yield Figure("velocities", "Velocities", (Panel("speed [m/s]", tuple(speeds)),))
    energies = [n for n in columns if n in ENERGIES and np.abs(columns[n]).max(initial=0.0) > 0]
    if energies:
        yield Figure("energies", "Energies", (Panel("energy [J]", tuple(energies)),))


ENERGIES = ("kinetic energy [J]", "potential energy [J]", "total energy [J]", "work [J]")


def _panel(end: str, names: Sequence[str], columns: Columns) -> Panel | None:
    """The columns with one ending that vary most."""
    found = _largest([name for name in names if name.endswith(end)], columns)
    return Panel(end[1:], tuple(found)) if found else None


def _largest(names: Iterable[str], columns: Columns) -> list[str]:
    """The names with the largest values, as many as a panel shows, in their original order."""
    known = [name for name in names if name in columns]
    sizes = {name: float(np.nanmax(np.abs(columns[name]), initial=0.0)) for name in known}
    kept = set(sorted(known, key=lambda name: -sizes[name])[:MOST_CURVES])
    return [name for name in known if name in kept]


def _tiles(
    result: Result, columns: Columns, unbounded: Unbounded, spikes: list[str]
) -> list[tuple[str, str]]:
    """Peak values of drives and springs, and the largest bounded reaction and speed: number and description.

    spikes: columns that grow without bound towards the end of a blocked run; what was cut has no peak.
    """
    tiles, end = [], f"towards t = {result.times[-1]:.4g} s" if len(result.times) else ""
    for name in result.exerting:
        for column in result.readings(name):
            if not column.endswith(" [m]"):
                quantity, unit = split_unit(column)
                what = quantity.replace(".", ": ", 1)
                if name in unbounded:
                    tiles.append(("unbounded", what))
                elif column in spikes:
                    tiles.append(("unbounded", f"{what}, {end}"))
                else:
                    tiles.append((_range(columns[column], unit), what))
    drives = result.joint_equations.drives
    joints = [name for name in unbounded if name not in drives]
    if joints:
        first = min(u.time for name in joints for u in unbounded[name])
        tiles.append(("unbounded", f"reactions at {_some(joints)}; first at t = {first:.4g} s"))
    kinds = {".F [N]": ("reactions at", "largest reaction, at")}
    kinds[".speed [m/s]"] = ("speeds of", "largest speed, of")
    for word, (several, largest) in kinds.items():
        cut = [n.removesuffix(word) for n in spikes if n.endswith(word)]
        names = [n for n in columns if n.endswith(word)]
        names = [n for n in names if n.removesuffix(word) not in (*joints, *cut)]
        if cut:
            tiles.append(("unbounded", f"{several} {_some(cut)}, {end}"))
        elif names:
            top = max(names, key=lambda name: float(np.nanmax(columns[name], initial=0.0)))
            size = show_number(float(np.nanmax(columns[top], initial=0.0)), 3)
            tiles.append((f"{size} {split_unit(top)[1]}", f"{largest} {top.removesuffix(word)}"))
    return tiles[:6]


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (" and others" if names[4:] else "")


def _range(values: Floats, unit: str) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return "unknown"
    low, high = float(known.min()), float(known.max())
    # values at rounding level are zero, and there is no negative zero
    small = 1e-9 * max(-low, high)
    low, high = (0.0 if abs(x) <= small else x for x in (low, high))
    text = f"{show_number(low, 3)} to {show_number(high, 3)} {unit}"
    return text.replace("-", "\N{MINUS SIGN}")


def _model_text(result: Result) -> str:
    try:
        return to_text(to_data(result.mechanism))
    except (MechanismError, ValueError):
        # user functions cannot be written to a file
        return ""
