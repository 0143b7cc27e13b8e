"""From plain data to a mechanism: every problem named with its key, and its line if it has one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import ValidationError

from ..check import find_problems, find_remarks
from ..elements import MechanismError, ModelFileError
from ..mechanism import Mechanism, resize_rods
from ..motion import DriveMotion, Polynomial, Sine, SmoothStep, Table
from ..snapping import snap_places
from . import model_schema, units
from .model_reader import Document, Where
from .paths import nearest
from .units import UnitError, UnitQuantity, shorten

_KEYS_WITH_TAG = ("bodies", "joints", "build", "drives")


def build_mechanism(document: Document, check: bool = True) -> Mechanism:
    """The mechanism of a document; check: reject what cannot be simulated."""
    if not isinstance(document.data, dict):
        why = f"this is {shorten(document.data)}; begin with 'sarrus: {model_schema.VERSION}', then name, "
        raise ModelFileError(
            document.source, [document.message((), f"{why}gravity, bodies and joints")]
        )
    model = _validate(document)
    problems: list[str] = []
    # numbers near the largest double overflow on the way; the check reports which
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            mechanism = _Builder(document, model, problems).build()
            found = find_problems(mechanism) if check and not problems else []
        except MechanismError as error:
            found = [str(error)]
    problems += [document.message(*place(document.data, line)) for line in found]
    if problems:
        raise ModelFileError(document.source, problems)
    return mechanism


def remarks(document: Document, mechanism: Mechanism) -> list[str]:
    """What a user should know about a good mechanism, with line and key."""
    return [document.message(*place(document.data, line)) for line in find_remarks(mechanism)]


def _validate(document: Document) -> model_schema.ModelFile:
    data = document.data
    version = data.get("sarrus")
    if "sarrus" not in data:
        why = f"there is no version; is this a model file? Begin it with 'sarrus: {model_schema.VERSION}'"
        raise ModelFileError(document.source, [document.message((), why)])
    if version != model_schema.VERSION or isinstance(version, bool):
        why = f"version {shorten(version)} is not known; this program reads version {model_schema.VERSION}"
        raise ModelFileError(document.source, [document.message(("sarrus",), why)])
    if data.get("build"):
        # all bodies may be built from lengths
        data = {"bodies": {}, **data}
    try:
        return model_schema.ModelFile.model_validate(data)
    except ValidationError as error:
        found = [document.message(*_translate(item)) for item in _slips(error)]
        raise ModelFileError(document.source, found) from None


def _slips(error: ValidationError) -> list[Any]:
    """The errors of pydantic; a misspelt key is not reported a second time as a missing one."""
    items = error.errors()
    unknown = [item["loc"] for item in items if item["type"] == "extra_forbidden"]

    def misspelt(loc: Where) -> bool:
        siblings = [str(other[-1]) for other in unknown if other[:-1] == loc[:-1]]
        return any(nearest(word, [str(loc[-1])]).startswith("did") for word in siblings)

    return [item for item in items if item["type"] != "missing" or not misspelt(item["loc"])]


def _translate(error: Any) -> tuple[Where, str]:
    """Path and sentence of one error of pydantic."""
    loc: Where = error["loc"]
    block = str(loc[0]) if loc else ""
    tag = str(loc[2]) if block in _KEYS_WITH_TAG and len(loc) > 2 else None
    where: Where = (*loc[:2], *loc[3:]) if tag else loc
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return where, str(context["error"])
    if kind == "extra_forbidden":
        return where, _unknown(str(where[-1]), block, tag, where)
    if kind == "missing":
        return where[:-1], f"'{where[-1]}' is missing; {_advice(block, tag, where)}"
    if kind == "no_place":
        return where, f"'at' is missing; {_advice(block, tag, (*where, 'at'))}"
    if kind == "union_tag_not_found":
        return where, _no_kind(block, error["input"])
    if kind in ("too_short", "too_long"):
        count, bound = context["actual_length"], "max" if kind == "too_long" else "min"
        entries = "1 entry" if count == 1 else f"{count} entries"
        advice = _advice(block, tag, where)
        return where, f"{entries}, {bound}imum {context[f'{bound}_length']}; {advice}"
    if kind == "literal_error":
        return where, f"{shorten(error['input'])} is not possible; give {context['expected']}"
    if kind == "bool_type":
        return where, f"{shorten(error['input'])} is neither true nor false; give one of them"
    if kind in ("list_type", "dict_type", "model_type"):
        needed = "list" if kind == "list_type" else "mapping of keys and values"
        why = f"{shorten(error['input'])} is not a {needed}"
        return where, f"{why}; {_advice(block, tag, where)}"
    if kind == "string_type" and where:
        return where, f"{shorten(where[-1])} is not a name; put it into quotes"
    return where, f"{shorten(error['input'])} cannot be read: {error['msg']}"


def _unknown(key: str, block: str, tag: str | None, where: Where) -> str:
    if len(where) == 1:
        return f"unknown key; {nearest(key, model_schema.known_keys(model_schema.ModelFile))}"
    if block == "joints" and key in model_schema.JOINTS:
        return f"the joint is {tag} already; a joint has one kind"
    if block == "drives" and key in model_schema.DRIVES:
        return f"the drive has a {tag} already; a drive has one motion"
    return f"unknown key; {nearest(key, model_schema.known_keys(_model(block, tag, where)))}"


def _model(block: str, tag: str | None, where: Where) -> type[model_schema.Section]:
    """The model that holds the last key of a path."""
    if block == "simulate":
        return model_schema.SimulateEntry
    if len(where) == 1:
        return model_schema.ModelFile
    model = model_schema.entry_model(block, tag) or model_schema.ModelFile
    inner: dict[str, type[model_schema.Section]] = {
        "sine": model_schema.SineEntry,
        "step": model_schema.StepEntry,
        "table": model_schema.TableEntry,
        "four-bar": model_schema.FourBarLengths,
        "slider-crank": model_schema.SliderCrankLengths,
    }
    if block == "build" and "points" in where[2:-1]:
        return model_schema.SpotEntry
    return inner[tag] if tag in inner and len(where) > 3 else model


def _advice(block: str, tag: str | None, where: Where) -> str:
    """What to write at a path, by the example of its field."""
    if block in model_schema.BLOCKS and len(where) < 3:
        examples = {
            "bodies": "{crank: {rod: [[0, 0], [0, 1]], mass: 1 kg}}",
            "joints": "{A0: {revolute: [ground, crank], at: [0, 0]}}",
        }
        if len(where) == 1:
            return f"give entries by name, like {examples.get(block, '{name: {...}}')}"
        keys = ", ".join(model_schema.known_keys(_model(block, tag, (*where, ""))))
        return f"give a mapping with the keys {keys}"
    model = _model(block, tag, where)
    # entries of a list stand below their key
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    for name, item in model.model_fields.items():
        if (item.alias or name) == key:
            example = f", like {show_value(item.examples[0])}" if item.examples else ""
            return f"give {item.description or 'it'}{example}"
    return "see docs/model-files.md"


def show_value(value: Any) -> str:
    """An example as a file spells it."""
    if isinstance(value, list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {show_value(item)}' for key, item in value.items())}}}"
    return f'"{value}"' if isinstance(value, str) and value.startswith("[") else str(value)


# blocks whose entries are of several kinds: these, what one entry is, and an example
_SEVERAL: dict[str, tuple[dict[str, type[model_schema.Section]], str, str]] = {
    "joints": (model_schema.JOINTS, "a joint", "{revolute: [ground, crank], at: [0, 0]}"),
    "drives": (model_schema.DRIVES, "a drive", "{joint: A0, polynomial: [0, 60 rpm]}"),
    "build": (
        model_schema.BUILT,
        "an entry of build",
        "{dyad: [coupler, rocker], ends: [B, D], ...}",
    ),
}


def _no_kind(block: str, entry: Any) -> str:
    models, what, example = _SEVERAL[block]
    known = list(models)
    if not isinstance(entry, dict):
        return f"{shorten(entry)} is not {what}; give one like {example}"
    for key in entry:
        meant = nearest(str(key), known)
        if meant.startswith("did"):
            return f"unknown key '{key}'; {meant}"
    return f"{what} needs one of {', '.join(known)}; give it like {example}"


def _singular(block: str) -> str:
    """What one entry of a block is called: force of forces."""
    return block.removesuffix("s")


_BODIES_IN_FILES = {
    "rod() or body()": "rod, or center and inertia, under bodies",
    "body()": "center and inertia instead of rod",
}
# what a sentence of the check begins with, and the block it speaks of
_SUBJECTS = {
    "rod": "bodies",
    "body": "bodies",
    **{_singular(block): block for block in ("joints", *model_schema.ALIKE, "drives")},
    "velocity of point": "velocities",
    "velocity given for": "velocities",
    "angular velocity of body": "angular_velocities",
}


def place(data: dict[str, Any], sentence: str) -> tuple[Where, str]:
    """Path and text of a sentence about a mechanism, found by the name it begins with."""
    sentence = _in_words_of_files(sentence)
    for subject, block in _SUBJECTS.items():
        if not sentence.startswith(f"{subject} '"):
            continue
        rest = sentence[len(subject) + 2 :]
        named = [name for name in data.get(block) or {} if rest.startswith(f"{name}'")]
        if not named:
            continue
        name = max(named, key=len)
        entry = data[block][name]
        # the key it speaks of, if it names one next: "rod 'crank': mass 0 kg"
        word = re.match(r"(?: \([a-z-]+\))?[,:] (\w+)", rest[len(name) + 1 :])
        inside = isinstance(entry, dict) and word is not None and word[1] in entry
        where = (block, name, word[1]) if inside and word else (block, name)
        # the path says already whom the sentence speaks of
        text = re.sub(r"^(?: \([a-z-]+\))?[,:] ", "", rest[len(name) + 1 :])
        return where, sentence if text == rest[len(name) + 1 :] else text
    for name in data.get("points") or {}:
        if sentence.endswith(f"are called '{name}'; give each a different name"):
            return ("points", name), sentence
    if Mechanism.GROUND in (data.get("bodies") or {}) and sentence.startswith("a body is called"):
        return ("bodies", Mechanism.GROUND), sentence
    if ": gravity" in sentence:
        return ("gravity",), sentence
    return (), sentence


def _in_words_of_files(sentence: str) -> str:
    """Advice to write Python, as advice to write a file: axis=(x, y) is axis: [x, y]."""
    sentence = re.sub(r"\b(\w+)=\(([xyz, ]+)\)", r"\1: [\2]", sentence)
    sentence = re.sub(r"\bgive (\w+)=,", r"give \1,", sentence)
    sentence = re.sub(
        r"\b(rod\(\) or body\(\)|body\(\))", lambda found: _BODIES_IN_FILES[found[0]], sentence
    )
    return re.sub(r"\buse (\w+)\(\)", lambda found: f"use {found[1].replace('_', '-')}", sentence)


class _Builder:
    """Writes a mechanism by its own methods, so that files mean what Python means."""

    def __init__(
        self, document: Document, model: model_schema.ModelFile, problems: list[str]
    ) -> None:
        self.document = document
        self.model = model
        self.problems = problems
        self.m = Mechanism(model.name, gravity=model.gravity)
        # every problem of a file is reported, not only the first
        self.m.at_once = False

    def build(self) -> Mechanism:
        m, file = self.m, self.model
        for name, body in file.bodies.items():
            if isinstance(body, model_schema.RodEntry):
                start, end = body.rod
                m.rod(name, start, end, body.mass, body.section)
            elif isinstance(body, model_schema.PlateEntry):
                m.plate(name, body.plate, body.mass)
            else:
                m.body(name, body.mass, body.center, body.inertia)
        for name, joint in file.joints.items():
            self.joint(name, joint)
        self.alike("points")
        for name, entry in file.build.items():
            self.from_lengths(name, entry)
        for block in model_schema.ALIKE:
            if block != "points":
                self.alike(block)
        for name, drive in file.drives.items():
            m.drive(name, drive.joint, self.motion(name, drive))
        for name, vector in file.velocities.items():
            m.set_velocity(name, vector)
        for name, vector in file.angular_velocities.items():
            m.set_angular_velocity(name, vector)
        rods = {n: b for n, b in file.bodies.items() if isinstance(b, model_schema.RodEntry)}
        lengths = {name: rod.length for name, rod in rods.items() if rod.length is not None}
        m.exact = file.exact
        snap_places(m)
        m = resize_rods(m, lengths) if lengths else m
        m.assemble = file.assemble
        m.at_once = True
        given = file.simulate.model_dump()
        m.defaults = {name: value for name, value in given.items() if value is not None}
        return m

    def alike(self, block: str) -> None:
        """The entries of a block that are all made by one call."""
        make: Callable[..., Any] = getattr(self.m, _singular(block))
        for name, entry in getattr(self.model, block).items():
            keys = dict(entry)
            if block == "events":
                # of what may be read an entry has one
                keys = entry.model_dump(exclude_none=True)
            make(name, *keys.pop("bodies", ()), **keys)

    def from_lengths(self, name: str, entry: model_schema.Section) -> None:
        """A crank, dyad, four-bar or slider-crank; what cannot be built is a problem of its entry."""
        keys = {key: value for key, value in _given(entry).items() if value is not None}
        try:
            if isinstance(entry, model_schema.CrankEntry):
                self.m.crank(name, keys.pop("crank"), keys.pop("start"), **keys)
            elif isinstance(entry, model_schema.DyadEntry):
                self.m.dyad(name, keys.pop("dyad"), keys.pop("ends"), **keys)
            elif isinstance(entry, model_schema.FourBarEntry):
                self.m.four_bar(**_given(entry.four_bar))
            elif isinstance(entry, model_schema.SliderCrankEntry):
                self.m.slider_crank(**_given(entry.slider_crank))
        except MechanismError as error:
            why = re.sub(rf"^(crank|dyad) '{re.escape(name)}'[:,] ", "", str(error))
            self.problems.append(self.document.message(("build", name), why))

    def joint(self, name: str, entry: model_schema.Section) -> None:
        word, bodies = (
            model_schema.attribute(model_schema.joint_kind(entry)),
            model_schema.joint_bodies(entry),
        )
        make: Callable[..., Any] = getattr(self.m, word)
        make(name, *bodies, **{key: value for key, value in entry if key != word})

    def motion(self, name: str, drive: Any) -> DriveMotion:
        """The motion of a drive: angles or lengths, as its joint requires."""
        joint_kind = next((j.kind for j in self.m.joints if j.name == drive.joint), None)
        turns = joint_kind is not None and joint_kind.row.coordinate == "angle"
        kind = units.ANGLE if turns else units.LENGTH

        def read(quantity: UnitQuantity, *key: str | int, power: int = 0) -> float:
            # a joint that does not exist is the problem of the check
            if joint_kind is None:
                return quantity.value
            try:
                return units.as_kind(quantity, units.rate_of(kind, power))
            except UnitError as error:
                why = f"joint '{drive.joint}' is {joint_kind.value}, but {error}"
                self.problems.append(self.document.message(("drives", name, *key), why))
                return 0.0

        if isinstance(drive, model_schema.PolynomialDrive):
            given = enumerate(drive.polynomial)
            return Polynomial(tuple(read(q, "polynomial", i, power=i) for i, q in given))
        if isinstance(drive, model_schema.SineDrive):
            sine = drive.sine
            amplitude, offset = (
                read(sine.amplitude, "sine", "amplitude"),
                read(sine.offset, "sine", "offset"),
            )
            return Sine(amplitude, sine.frequency, sine.phase, offset)
        if isinstance(drive, model_schema.StepDrive):
            step = drive.step
            first, last = read(step.first, "step", "from"), read(step.last, "step", "to")
            return SmoothStep(first, last, step.begin, step.end)
        values = enumerate(drive.table.values)
        return Table(
            tuple(drive.table.times), tuple(read(q, "table", "values", i) for i, q in values)
        )


def _given(entry: model_schema.Section) -> dict[str, Any]:
    """The keys of an entry; of points on links only what was given."""
    keys = dict(entry)
    if "points" in keys:
        spots = {name: spot.model_dump(exclude_none=True) for name, spot in keys["points"].items()}
        keys["points"] = spots
    return keys
