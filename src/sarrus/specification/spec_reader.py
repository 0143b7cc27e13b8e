"""Read specification files: what they state, where, and what was not understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..problems import Limits
from .facts import Fact, find_facts
from .safe_xml import Node, XmlDocument, clip, load_xml, one_line
from .sentence_splitter import BLOCKS, sentences_of
from .specification import LARGEST, LIMITS, MBSB, NAMESPACES, UNITS, WORDS, Specification

PREFIXES = {uri: prefix for prefix, uri in NAMESPACES.items()} | {
    "": "",
    "http://www.w3.org/1999/xhtml": "",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
PROSE = ("mechanismDescription", "analysisDescription", "referenceSolution")
WHOLE = ("windows", "output_steps")
SIGNED = ("start_velocity", "gravity")
ZERO_ALLOWED = ("section", "damping")

KINDS = {
    "data": ("txt", "csv", "dat", "tab", "npz"),
    "movie": ("avi", "mpg", "mpeg", "mp4", "mov", "webm"),
    "plot": ("gif", "png", "jpg", "jpeg", "svg", "eps", "pdf"),
}
# Elements for layout only.
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


def load_specification(path: str | Path) -> Specification:
    """Read a specification; raises SpecificationError if the file is invalid."""
    document = load_xml(path, PREFIXES)
    root = document.root
    if root.name != "mbsb:benchmark":
        document.reject(root.line, f"the root is '{root.name}', not 'benchmark' of {MBSB}")
    identifier = one_line(root.attributes.get("id", ""))
    if not identifier:
        document.reject(root.line, "the root has no id")
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
        file=document.name,
        understood=reader.understood,
        not_understood=reader.not_understood,
        notes=document.notes,
    )


class _Reader:
    """Collects the facts of a document, and the text that was not understood."""

    def __init__(self, document: XmlDocument) -> None:
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
        """List elements and attributes that are not supported."""
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
        """Return title, date, description, publisher, authors and their addresses."""
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
        """Return the model file, the files of the reference solution, the images, and the measures."""
        facts: dict[str, Any] = {"reference_files": [], "figures": [], "measures": []}
        for node in self.named("mbsb:mbsModel"):
            model = (_attribute(node, "url"), _attribute(node, "format"))
            if facts.setdefault("model", model) != model:
                self.document.reject(node.line, "there is a second model file")
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
        """Return the numbers of the paragraphs."""
        sections = {"description": self.named("dc:description")}
        sections |= {name: self.named(f"mbsb:{name}") for name in PROSE}
        findings, left = find_facts(self.document, sentences_of(self.document, sections))
        self.not_understood += left
        facts: dict[str, Any] = {}
        for key in WORDS:
            # A number may be stated several times, but with one value only.
            found = [f for f in findings if f.key == key]
            for finding in found:
                value = self.check_value(finding)
                if key == "shown":
                    self.show([finding], value)
                elif facts.setdefault(key, value) != value:
                    self.document.reject(
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
            self.document.reject(
                line, f"the low precision {limits.low:g} is finer than the high one {limits.high:g}"
            )
        return {**facts, "limits": limits}

    def show(self, findings: list[Fact], value: float | str) -> None:
        """List a fact with at most three places that state it."""
        key = findings[0].key
        text = value if isinstance(value, str) else f"{value!r} {UNITS.get(key, '')}".strip()
        places = dict.fromkeys(f"{f.section}, line {f.line}" for f in findings)
        self.understood.append((WORDS[key], text, "; ".join(list(places)[:3])))

    def check_value(self, finding: Fact) -> float | str:
        """Return the value of a finding after checking its range and type."""
        value, what = finding.value, WORDS[finding.key]
        if isinstance(value, str):
            return value
        if finding.key == "gravity":
            value = abs(value)
        allowed = value > 0 or (value == 0 and finding.key in ZERO_ALLOWED)
        if not allowed and finding.key not in SIGNED:
            self.document.reject(finding.line, f"the {what} is {value:g}; it must be positive")
        largest = LARGEST.get(finding.key, 1e6)
        if abs(value) > largest:
            self.document.reject(finding.line, f"the {what} is {value:g}, above {largest:g}")
        if finding.key in WHOLE:
            if value != int(value):
                self.document.reject(finding.line, f"the {what} is {value:g}, not a whole number")
            return int(value)
        return value


def _attribute(node: Node, name: str) -> str:
    return one_line(node.attributes.get(name, ""))


def _kind(name: str) -> str:
    ending = name.rpartition(".")[2].lower()
    return next((kind for kind, endings in KINDS.items() if ending in endings), "file")
