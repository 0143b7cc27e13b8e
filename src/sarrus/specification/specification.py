"""The content of a specification, with wording, units and bounds, and the problem that it describes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from .. import problems
from ..problems import Limits, Problem
from .safe_xml import SpecificationError

MBSB = "http://lim.ii.udc.es/mbsbenchmark/"
NAMESPACES = {
    "mbsb": MBSB,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "vCard": "http://www.globecom.net/ietf/draft/draft-dawson-vcard-xml-dtd-03",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
# Ids of the library and the corresponding problems here.
LIBRARY = {
    "A01": "simple-pendulum-a01",
    "A02": "n-four-bar",
    "A03": "andrews-squeezer-a03",
    "A04": "a04-bricard",
    "A05": "flyball-governor-a05",
}

# Facts that are options of problems, and their names there.
OPTIONS = {
    "windows": "windows",
    "section": "section",
    "damping": "damping",
    "start_velocity": "speed",
}
# Largest plausible numbers; a larger number is more likely a mistake.
LARGEST = {
    "windows": problems.all_options()["windows"].most,
    "output_steps": 1_000_000.0,
    "duration": 1e6,
}
UNITS = {
    "duration": "s",
    "start_velocity": "m/s",
    "gravity": "N/kg",
    "link_length": "m",
    "link_mass": "kg",
    "section": "m",
    "damping": "N s/m",
    "energy_drift": "J",
    "end_error": "m",
    "path": "m",
    "shown": "s",
}
WORDS = {
    "duration": "duration",
    "windows": "windows N",
    "start_velocity": "start velocity",
    "start_axis": "start velocity along",
    "start_point": "start velocity of point",
    "gravity": "gravity",
    "gravity_direction": "gravity along",
    "link_length": "length of a link",
    "link_mass": "mass of a link",
    "section": "section of a rod",
    "damping": "damping",
    "observed": "observed point",
    "output_steps": "output steps",
    "threshold": "threshold",
    "low": "limit, low precision",
    "high": "limit, high precision",
    "energy_drift": "limit of the energy drift",
    "end_error": "limit of the error at the end",
    "rms": "limit of the error, root mean square",
    "path": "limit of the distance from the path",
    "shown": "part shown, from the start",
}
LIMITS = ("energy_drift", "low", "high", "threshold", "end_error", "rms", "path")


@dataclass(frozen=True)
class Specification:
    """The content of a specification file; None or empty where it states nothing.

    file: its name; duration [s]; windows: N; start_velocity [m/s], with its axis and point; gravity: its magnitude
    [N/kg] and its direction, such as '-y'; link_length [m], link_mass [kg], section [m], damping [N s/m]; model:
    its address and format; reference_files: name and kind; measures: title and text. understood: fact, value and
    place; not_understood: elements, attributes and sentences with numbers that were not read; notes: decisions
    made while reading.
    """

    id: str
    file: str = ""
    type: str = ""
    language: str = ""
    title: str = ""
    date: str = ""
    description: str = ""
    publisher: str = ""
    authors: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    duration: float | None = None
    windows: int | None = None
    output_steps: int | None = None
    limits: Limits = field(default_factory=Limits)
    observed: str | None = None
    start_velocity: float | None = None
    start_axis: str | None = None
    start_point: str | None = None
    gravity: float | None = None
    gravity_direction: str | None = None
    link_length: float | None = None
    link_mass: float | None = None
    section: float | None = None
    damping: float | None = None
    model: tuple[str, str] | None = None
    reference_files: list[tuple[str, str]] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    measures: list[tuple[str, str]] = field(default_factory=list)
    understood: list[tuple[str, str, str]] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def threshold(self) -> float | None:
        """The threshold of the relative error."""
        return self.limits.threshold


def specification_to_problem(specification: Specification) -> Problem:
    """Return the problem that a specification describes, with the numbers of the file."""
    return _resolve(specification)[0]


def specification_notes(specification: Specification) -> list[str]:
    """Return notes on decisions made while reading a specification and converting it to a problem."""
    return [*specification.notes, *_resolve(specification)[1]]


def _resolve(spec: Specification) -> tuple[Problem, list[str]]:
    name = _problem_name(spec)
    given = {option: getattr(spec, fact) for fact, option in OPTIONS.items()}
    known = [option.name for option in problems.options(name)]
    if "speed" not in known:
        # The start velocity is checked against that of the mechanism instead.
        del given["speed"]
    if "section" not in known and not spec.section:
        del given["section"]
    options = {key: value for key, value in given.items() if value is not None}
    try:
        problem = problems.get(name, **options)
    except ValueError as error:
        facts = {option: fact for fact, option in OPTIONS.items()}
        said = next((facts[option] for option in options if option in str(error)), "")
        _reject(spec, WORDS.get(said, ""), str(error))
    _check_same(spec, problem)
    notes = [
        f"{WORDS[fact]}: not in the file, {problem.options[option]:g} is used"
        for fact, option in OPTIONS.items()
        if option in problem.options and option not in options
    ]
    if spec.observed is None:
        notes.append(f"observed point: not in the file, {problem.observed} is used")
    duration, step = problem.duration, problem.output_step
    if spec.duration is not None:
        duration = spec.duration
    else:
        notes.append(f"duration: not in the file, {duration:g} s is used")
    if spec.output_steps is not None:
        step = duration / spec.output_steps
    else:
        notes.append(f"output steps: not in the file, one every {step:g} s is used")
    limits = _resolve_limits(spec.limits, problem.limits, notes)
    return replace(problem, duration=duration, output_step=step, limits=limits), notes


def _reject(spec: Specification, what: str, why: str) -> NoReturn:
    """Raise an error with the file and, if known, the place of the statement."""
    places = (place for said, _, place in spec.understood if said == what)
    raise SpecificationError(": ".join(filter(None, (spec.file, next(places, ""), why))))


def _problem_name(spec: Specification) -> str:
    identifier = spec.id
    known = LIBRARY | {name: name for name in problems.names()}
    for key, name in known.items():
        if identifier.casefold() == key.casefold():
            return name
    _reject(
        spec,
        "id",
        f"no problem here has the id '{identifier[:80]}' of the specification; known: {', '.join(known)}",
    )


def _check_same(spec: Specification, problem: Problem) -> None:
    """Raise an error if the file describes another mechanism or observed point than the problem's."""
    # The options do not change what is compared, and a large N takes long to build.
    mechanism = problems.get(problem.id).mechanism()
    strength = float(np.linalg.norm(mechanism.gravity))
    axis = int(np.argmax(np.abs(mechanism.gravity)))
    direction = ("-" if mechanism.gravity[axis] < 0 else "+") + "xyz"[axis]
    rod = mechanism.bodies[0]
    length = float(np.linalg.norm(rod.ends[1] - rod.ends[0])) if rod.ends else None
    has: dict[str, object] = {
        "observed": problem.observed,
        "gravity": strength,
        "gravity_direction": direction,
        "link_length": length,
        "link_mass": rod.mass,
    }
    if mechanism.velocities:
        point, velocity = mechanism.velocities[0]
        has |= {"start_point": point, "start_axis": "xyz"[int(np.argmax(np.abs(velocity)))]}
    elif spec.start_velocity:
        has["start_velocity"] = 0.0
    for key, value in has.items():
        said = getattr(spec, key)
        if said is None or value is None:
            continue
        if said != value and not (isinstance(value, float) and np.isclose(said, value, rtol=1e-12)):
            shown, ours = (x if isinstance(x, str) else f"{x:g}" for x in (said, value))
            _reject(
                spec,
                WORDS[key],
                f"the specification '{spec.id}' says {WORDS[key]} {shown}, but the problem '{problem.id}' has "
                f"{ours}",
            )


def _resolve_limits(said: Limits, own: Limits, notes: list[str]) -> Limits:
    values: dict[str, float | None] = {}
    for key in LIMITS:
        given, default = getattr(said, key), getattr(own, key)
        values[key] = default if given is None else given
        if given is None and default is not None:
            unit = f" {UNITS[key]}" if key in UNITS else ""
            notes.append(f"{WORDS[key]}: not in the file, {default:g}{unit} is used")
    relative = ("low", "high", "threshold")
    missing = [WORDS[key] for key in relative if values[key] is None]
    if missing and len(missing) < len(relative):
        notes.append(f"the relative error is not judged: the file has no {', no '.join(missing)}")
        values |= dict.fromkeys(relative)
    return Limits(**values)
