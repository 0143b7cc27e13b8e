"""Specifications of the MBS Benchmark library: XML files whose numbers stand in prose, read and written.

Nothing is decided silently: what was read is listed with its place, what was not read is listed too, and
where a file is silent and the problem's own number is used, a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from .. import problems
from ..problems import Limits, Problem
from .prose import BLOCKS, Finding, find_facts, sentences_of
from .safe_xml import Document, Node, SpecificationError, clip, load_xml, one_line

__all__ = [
    "Specification",
    "SpecificationError",
    "load_specification",
    "specification_notes",
    "specification_to_problem",
    "write_specification",
]

MBSB = "http://lim.ii.udc.es/mbsbenchmark/"
NAMESPACES = {
    "mbsb": MBSB,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "vCard": "http://www.globecom.net/ietf/draft/draft-dawson-vcard-xml-dtd-03",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
PREFIXES = {uri: prefix for prefix, uri in NAMESPACES.items()} | {
    "": "",
    "http://www.w3.org/1999/xhtml": "",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
PROSE = ("mechanismDescription", "analysisDescription", "referenceSolution")
# ids of the library and of the problems here
LIBRARY = {
    "A01": "simple-pendulum-a01",
    "A02": "n-four-bar",
    "A03": "andrews-squeezer-a03",
    "A04": "a04-bricard",
    "A05": "flyball-governor-a05",
}

# largest numbers that are believed; beyond them a file is rather wrong than large
LARGEST = {"windows": 10_000.0, "output_steps": 1_000_000.0, "duration": 1e6}
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
WHOLE = ("windows", "output_steps")
SIGNED = ("start_velocity", "gravity")
ZERO_ALLOWED = ("section", "damping")

KINDS = {
    "data": ("txt", "csv", "dat", "tab", "npz"),
    "movie": ("avi", "mpg", "mpeg", "mp4", "mov", "webm"),
    "plot": ("gif", "png", "jpg", "jpeg", "svg", "eps", "pdf"),
}
# what a stylesheet needs and a reader does not
LAYOUT = BLOCKS | {"em", "i", "b", "u", "strong", "sub", "sup", "span", "font", "tt", "code"}
LAYOUT |= {"br", "a", "img"}
LAYOUT_ATTRIBUTES = {"src", "href", "alt", "title", "width", "height", "align", "valign", "border"}
LAYOUT_ATTRIBUTES |= {"class", "style", "id", "name", "lang", "xml:lang", "target", "size", "color"}
LAYOUT_ATTRIBUTES |= {"colspan", "rowspan"}
KNOWN_ATTRIBUTES = {
    "mbsb:benchmark": ("id", "type", "lang", "schemaVersion", "xsi:schemaLocation"),
    "mbsb:mbsModel": ("format", "url"),
    "mbsb:measure": ("title",),
    "rdf:Description": ("rdf:about",),
}


@dataclass(frozen=True)
class Specification:
    """What a specification file says; None or empty where it says nothing.

    duration [s]; windows: N; start_velocity [m/s], with its axis and point; gravity: its size [N/kg] and
    its direction, as '-y'; link_length [m], link_mass [kg], section [m], damping [N s/m]; model: its
    address and format;
    reference_files: name and kind; measures: title and text. understood: what, value and place;
    not_understood: elements, attributes and sentences with numbers that were not read; notes: what was
    decided while reading.
    """

    id: str
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


def load_specification(path: str | Path) -> Specification:
    """Read a specification; whatever is wrong with the file is one SpecificationError."""
    document = load_xml(path, PREFIXES)
    root = document.root
    if root.name != "mbsb:benchmark":
        document.refuse(root.line, f"the root is '{root.name}', not 'benchmark' of {MBSB}")
    identifier = one_line(root.attributes.get("id", ""))
    if not identifier:
        document.refuse(root.line, "the root has no id")
    reader = _Reader(document)
    reader.understand("id", identifier, root.line)
    facts: dict[str, Any] = {"id": identifier}
    for key, name in (("type", "type"), ("language", "lang")):
        facts[key] = one_line(root.attributes.get(name, ""))
        if facts[key]:
            reader.understand(key, facts[key], root.line)
    reader.check_names()
    facts |= reader.read_metadata()
    facts |= reader.read_files()
    facts |= reader.read_prose()
    return Specification(
        **facts,
        understood=reader.understood,
        not_understood=reader.not_understood,
        notes=document.notes,
    )


class _Reader:
    """Collects what a document says, and what of it was not understood."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.understood: list[tuple[str, str, str]] = []
        self.not_understood: list[str] = []
        self.nodes = list(document.root.walk())

    def understand(self, what: str, value: str, line: int, section: str = "") -> None:
        place = f"{section}, line {line}" if section else f"line {line}"
        self.understood.append((what, clip(value, 300), place))

    def named(self, name: str) -> list[Node]:
        return list(self.document.root.outermost(name))

    def check_names(self) -> None:
        """List elements and attributes that have no meaning here."""
        contact: list[str] = []
        read = {"mbsb:benchmark", "mbsb:mbsModel", "mbsb:measures", "mbsb:measure"}
        read |= {"rdf:RDF", "rdf:Description"} | {f"mbsb:{name}" for name in PROSE}
        read |= {f"dc:{name}" for name in ("title", "date", "description", "publisher", "creator")}
        for node in self.nodes:
            if node.name.startswith("vCard:"):
                local = node.name.removeprefix("vCard:")
                if local.lower() not in ("vcardset", "vcard", "fn", "email"):
                    contact.append(local)
                continue
            if node.name not in read and node.name not in LAYOUT:
                self.not_understood.append(clip(f"line {node.line}: element {node.name}", 200))
                continue
            known = LAYOUT_ATTRIBUTES if node.name in LAYOUT else set()
            for name, value in node.attributes.items():
                if name not in known and name not in KNOWN_ATTRIBUTES.get(node.name, ()):
                    text = (
                        f"line {node.line}: attribute {name} = '{clip(value, 80)}' of {node.name}"
                    )
                    self.not_understood.append(clip(text, 200))
        if contact:
            names = ", ".join(dict.fromkeys(contact))
            self.not_understood.append(clip(f"contact data that is not kept: {names}", 300))
        version = clip(self.document.root.attributes.get("schemaVersion", "0.1"), 40)
        if version != "0.1":
            self.not_understood.append(f"line {self.document.root.line}: schemaVersion {version}")

    def read_metadata(self) -> dict[str, Any]:
        """Title, date, description, publisher, authors and their addresses."""
        facts: dict[str, Any] = {}
        for key in ("title", "date", "description", "publisher"):
            for node in self.named(f"dc:{key}"):
                text = node.text
                if text and key not in facts:
                    facts[key] = text
                    self.understand(key, text, node.line, "metadata")
                elif text and text != facts[key]:
                    second = f"line {node.line}: a second {key}, '{text}'"
                    self.not_understood.append(clip(second, 200))
        for key, names in (("authors", ("dc:creator", "vCard:fn")), ("emails", ("vCard:email",))):
            found: dict[str, int] = {}
            for node in (n for name in names for n in self.named(name)):
                text = node.text
                if text and text not in found:
                    found[text] = node.line
                    self.understand(key.removesuffix("s"), text, node.line, "metadata")
            facts[key] = list(found)
        return facts

    def read_files(self) -> dict[str, Any]:
        """The model file, the files of the reference solution, the pictures, and the measures."""
        facts: dict[str, Any] = {"reference_files": [], "figures": [], "measures": []}
        for node in self.named("mbsb:mbsModel"):
            model = (_attribute(node, "url"), _attribute(node, "format"))
            if facts.setdefault("model", model) != model:
                self.document.refuse(node.line, "there is a second model file")
            self.understand("model file", f"{model[0]} ({model[1] or 'no format'})", node.line)
        for section in PROSE:
            for node in (n for top in self.named(f"mbsb:{section}") for n in top.walk()):
                name = _attribute(node, {"a": "href", "img": "src"}.get(node.name, ""))
                if not name:
                    continue
                if section == "referenceSolution":
                    entry = (name, _kind(name))
                    facts["reference_files"].append(entry)
                    self.understand("reference file", f"{name} ({entry[1]})", node.line, section)
                else:
                    facts["figures"].append(name)
                    self.understand("figure", name, node.line, section)
        for node in self.named("mbsb:measure"):
            entry = (_attribute(node, "title"), node.text)
            facts["measures"].append(entry)
            self.understand("measure", ": ".join(filter(None, entry)), node.line)
        return facts

    def read_prose(self) -> dict[str, Any]:
        """The numbers of the paragraphs."""
        sections = {"description": self.named("dc:description")}
        sections |= {name: self.named(f"mbsb:{name}") for name in PROSE}
        findings, left = find_facts(self.document, sentences_of(self.document, sections))
        self.not_understood += left
        facts: dict[str, Any] = {}
        for key in WORDS:
            # a number may be said several times, but only one number
            found = [f for f in findings if f.key == key]
            for finding in found:
                value = self.check_value(finding)
                if key == "shown":
                    self.show([finding], value)
                elif facts.setdefault(key, value) != value:
                    self.document.refuse(
                        finding.line,
                        f"the {WORDS[key]} is {value} here but {facts[key]} in line {found[0].line}",
                    )
            if key in facts:
                self.show(found, facts[key])
        for finding in findings:
            if finding.key == "listed_point" and finding.value != facts.get("observed"):
                self.not_understood.append(
                    f"{finding.section}, line {finding.line}: the list names point {finding.value}, "
                    f"the text names {facts.get('observed', 'none')}"
                )
        limits = Limits(**{key: facts.pop(key, None) for key in LIMITS})
        if limits.low is not None and limits.high is not None and limits.low < limits.high:
            line = next(f.line for f in findings if f.key == "low")
            self.document.refuse(
                line, f"the low precision {limits.low:g} is finer than the high one {limits.high:g}"
            )
        return {**facts, "limits": limits}

    def show(self, findings: list[Finding], value: float | str) -> None:
        """List a fact with the places that say it, at most three."""
        key = findings[0].key
        text = value if isinstance(value, str) else f"{value!r} {UNITS.get(key, '')}".strip()
        places = dict.fromkeys(f"{f.section}, line {f.line}" for f in findings)
        self.understood.append((WORDS[key], text, "; ".join(list(places)[:3])))

    def check_value(self, finding: Finding) -> float | str:
        """The value of a finding, in its range and kind."""
        value, what = finding.value, WORDS[finding.key]
        if isinstance(value, str):
            return value
        if finding.key == "gravity":
            value = abs(value)
        allowed = value > 0 or (value == 0 and finding.key in ZERO_ALLOWED)
        if not allowed and finding.key not in SIGNED:
            self.document.refuse(finding.line, f"the {what} is {value:g}; it must be positive")
        largest = LARGEST.get(finding.key, 1e6)
        if abs(value) > largest:
            self.document.refuse(finding.line, f"the {what} is {value:g}, above {largest:g}")
        if finding.key in WHOLE:
            if value != int(value):
                self.document.refuse(finding.line, f"the {what} is {value:g}, not a whole number")
            return int(value)
        return value


def _attribute(node: Node, name: str) -> str:
    return one_line(node.attributes.get(name, ""))


def _kind(name: str) -> str:
    ending = name.rpartition(".")[2].lower()
    return next((kind for kind, endings in KINDS.items() if ending in endings), "file")


def specification_to_problem(specification: Specification) -> Problem:
    """The problem that a specification means, with the numbers of the file."""
    return _resolve(specification)[0]


def specification_notes(specification: Specification) -> list[str]:
    """What was decided while reading a specification and while turning it into a problem."""
    return [*specification.notes, *_resolve(specification)[1]]


def _resolve(spec: Specification) -> tuple[Problem, list[str]]:
    name = _problem_name(spec.id)
    given = {"windows": spec.windows, "section": spec.section, "damping": spec.damping}
    known = problems.get(name).options
    if "speed" in known:
        given["speed"] = spec.start_velocity
    if "section" not in known and not spec.section:
        del given["section"]
    options = {key: value for key, value in given.items() if value is not None}
    problem = problems.get(name, **options)
    _check_same(spec, problem)
    notes = [
        f"{WORDS[{'speed': 'start_velocity'}.get(key, key)]}: not in the file, {value:g} is used"
        for key, value in problem.options.items()
        if key not in options
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


def _problem_name(identifier: str) -> str:
    known = LIBRARY | {name: name for name in problems.names()}
    for key, name in known.items():
        if identifier.casefold() == key.casefold():
            return name
    raise ValueError(
        f"no problem here has the id '{identifier[:80]}' of the specification; known: {', '.join(known)}"
    )


def _check_same(spec: Specification, problem: Problem) -> None:
    """Raise if the file describes another mechanism or another point than the problem has."""
    # the options do not change what is compared, and a large N takes long to build
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
            raise ValueError(
                f"the specification '{spec.id}' says {WORDS[key]} {shown}, "
                f"but the problem '{problem.id}' has {ours}"
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


def write_specification(problem: Problem) -> str:
    """The specification of a problem, as XML text in UTF-8."""
    steps = round(problem.duration / problem.output_step)
    if steps < 1 or not np.isclose(problem.duration / steps, problem.output_step, rtol=1e-9):
        raise ValueError(
            f"the output step {problem.output_step:g} s of '{problem.id}' does not divide its "
            f"{problem.duration:g} s"
        )
    sizes = {"duration": problem.duration, "output_steps": steps, **problem.options}
    for key, largest in LARGEST.items():
        if sizes.get(key, 0) > largest:
            raise ValueError(f"the {WORDS[key]} of '{problem.id}' is above {largest:g}")
    identifier = next((k for k, v in LIBRARY.items() if v == problem.id), problem.id)
    names = "\n  ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in NAMESPACES.items())
    columns = ", ".join(problem.columns)
    files = [f'Columns {escape(columns)}: <a href="results.txt">results.txt</a>']
    for figure in problem.figures:
        name, title = quoteattr(figure.name + ".png"), quoteattr(figure.title)
        files.append(f"Drawn over time: <img src={name} alt={title}/>")
    items = "\n      ".join(f"<li>{text}</li>" for text in files)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mbsb:benchmark id={quoteattr(identifier)} type="A" lang="en" schemaVersion="0.1"
  {names}>

  <rdf:RDF>
    <rdf:Description rdf:about={quoteattr(identifier + "_specification.xml")}>
      <dc:title>{escape(problem.title)}</dc:title>
      <dc:date>{date.today().isoformat()}</dc:date>
      <dc:description>{escape(f"{problem.title}; {problem.library}")}</dc:description>
      <dc:publisher>Sarrus</dc:publisher>
      <dc:creator>The Sarrus developers</dc:creator>
    </rdf:Description>
  </rdf:RDF>
  <vCard:vCardSet>
    <vCard:vCard version="3.0" lang="en">
      <vCard:fn>The Sarrus developers</vCard:fn>
    </vCard:vCard>
  </vCard:vCardSet>

  <mbsb:mechanismDescription>
    <p>{escape(" ".join(_mechanism_sentences(problem)))}</p>
  </mbsb:mechanismDescription>

  <mbsb:analysisDescription>
    <p>{escape(" ".join(_analysis_sentences(problem)))}</p>
  </mbsb:analysisDescription>

  <mbsb:mbsModel format="Sarrus" url={quoteattr("sarrus:" + problem.id)}/>

  <mbsb:referenceSolution>
    <p>{escape(" ".join(_limit_sentences(problem, steps)))}</p>
    <ol>
      {items}
    </ol>
  </mbsb:referenceSolution>

  <mbsb:measures>
    <mbsb:measure title="Time">Processor time of the solve, in seconds.</mbsb:measure>
  </mbsb:measures>
</mbsb:benchmark>
"""


def _mechanism_sentences(problem: Problem) -> list[str]:
    mechanism = problem.mechanism()
    rod = mechanism.bodies[0]
    length = float(np.linalg.norm(rod.ends[1] - rod.ends[0])) if rod.ends else 0.0
    strength = float(np.linalg.norm(mechanism.gravity))
    axis = int(np.argmax(np.abs(mechanism.gravity)))
    sign = "negative" if mechanism.gravity[axis] < 0 else "positive"
    alike = all(b.ends and b.mass == rod.mass for b in mechanism.bodies) and not mechanism.springs
    if not alike:
        # too much for a sentence
        found = [f"The mechanism is the model {problem.id} of Sarrus."]
    elif "windows" in problem.options:
        found = [f"A row of N windows is built of 2N+1 thin links of {_exact(length)} m"]
    elif problem.options.get("section"):
        found = [f"A closed chain of hinges is built of rods of {_exact(length)} m"]
    else:
        found = [f"A closed chain of hinges is built of thin rods of {_exact(length)} m"]
    if alike:
        found[0] += f", each with a mass of {_exact(rod.mass)} kg."
    if problem.options.get("section"):
        found.append(f"The rods have a square section of {_exact(problem.options['section'])} m.")
    elif "section" in problem.options:
        found.append("It has thin rods.")
    if "damping" in problem.options:
        found.append(f"The damper has a coefficient of {_exact(problem.options['damping'])} N s/m.")
    found.append(f"Gravity is {_exact(strength)} N/kg in the {sign} {'xyz'[axis]} direction.")
    return found


def _analysis_sentences(problem: Problem) -> list[str]:
    found = [f"The motion is computed for a duration of {_exact(problem.duration)} s."]
    if "windows" in problem.options:
        found.append(f"The mechanism has N = {int(problem.options['windows'])}.")
    mechanism = problem.mechanism()
    if mechanism.angular_velocities:
        found.append("Bodies begin to turn as the model says.")
    elif not mechanism.velocities:
        found.append("It starts at rest.")
    for point, velocity in mechanism.velocities:
        axis = int(np.argmax(np.abs(velocity)))
        found.append(
            f"The start velocity, taken at point {point} along {'xyz'[axis]}, is "
            f"{_exact(velocity[axis])} m/s."
        )
    return found


def _limit_sentences(problem: Problem, steps: int) -> list[str]:
    limits = problem.limits
    found = [
        f"Compared is the position and velocity of point {problem.observed}, at {steps} output steps."
    ]
    if limits.low is not None:
        found.append(f"Errors may reach {_exact(limits.low)} (low precision).")
    if limits.high is not None:
        found.append(f"Errors may reach {_exact(limits.high)} (high precision).")
    if limits.threshold is not None:
        found.append(f"Errors are relative, with a threshold of {_exact(limits.threshold)}.")
    if limits.energy_drift is not None:
        found.append(f"The energy may drift by at most {_exact(limits.energy_drift)} J.")
    if limits.end_error is not None:
        found.append(
            f"At the end the point is at most {_exact(limits.end_error)} m from the reference."
        )
    if limits.rms is not None:
        found.append(
            "The root mean square of the errors of place and angle is at most "
            f"{_exact(limits.rms)}."
        )
    if limits.path is not None:
        found.append(f"At any time it is at most {_exact(limits.path)} m from the reference.")
    return found


def _exact(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value))
