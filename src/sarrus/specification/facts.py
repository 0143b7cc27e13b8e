"""Extract facts from sentences: match numbers by the words next to them and report the rest.

Each number is either covered by a fact or returned as not understood. The patterns accept English and Spanish,
including common misspellings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from .safe_xml import XmlDocument
from .sentence_splitter import Sentence

# A decimal number, a power of ten, or a non-number word (nan, inf); never a part of a longer token.
NUMBER = (
    r"(?<![\w.,^+-])(?P<number>[-+]?(?:"
    r"(?:[0-9]+(?:[.,][0-9]+)?\s?(?:[x\u00d7·*]|\\times)\s?)?10\s?\^\s?[({]?[-+]?[0-9]{1,4}[)}]?"
    r"|(?:[0-9]+(?:[.,][0-9]+)?|\.[0-9]+)(?:[ed][-+]?[0-9]{1,4})?"
    r"|nan\b|inf(?:inity)?\b))"
    r"(?![0-9^]|[.,][0-9]|-[0-9]|[ed][-+]?[0-9]|\s?\^|\s?[x\u00d7·*]\s?[0-9])"
)
FORMULA = re.compile(r"(?<![0-9A-Za-z])[0-9]*\*?N\s?[-+]\s?[0-9]+")
POINT = r"(?P<point>(?-i:[A-Z][A-Za-z]?_?[0-9]{1,3}|[a-z]_?[0-9]{1,3}|[A-Z]\b))"
PRECISION = r"(?:pre[cs]+i[cs]+i?[oó]n\w*|accuracy|exactitud)"
SECONDS = r"\s?-?(?P<unit>ms|s|secs?|seconds?|seg|segundos?|min|minut[eo]s?)\b(?!\s?[-/^²])"
METRES_A_SECOND = r"\s?(?:m\s?/\s?s(?:ec)?\b(?!\s?[\^²2])|m\s?s\^?-1\b)"
GRAVITY_UNIT = r"\s?(?:N\s?/\s?kg\b|m\s?/\s?s(?:ec)?\s?\^?[({]?2\b|m\s?s\^?-2\b)"
METRES = r"\s?(?:m|metres?|meters?|metros?)\b(?!\s?[/^²])"
FACTORS = {"ms": 1e-3, "mi": 60.0}


@dataclass(frozen=True)
class Fact:
    """One fact: its key, value, section and line, and the character range in the sentence that states it."""

    key: str
    value: float | str
    section: str
    line: int
    covers: tuple[int, int]


@dataclass(frozen=True)
class Pattern:
    """The wording of a fact: sections to search, the pattern, and words that must occur in the same sentence."""

    key: str
    sections: str
    wording: re.Pattern[str]
    context: re.Pattern[str] | None = None
    value: float | None = None
    listed: bool = False


def pattern(
    key: str,
    sections: str,
    *wordings: str,
    context: str | None = None,
    value: float | None = None,
    listed: bool = False,
) -> list[Pattern]:
    """Return the patterns of one fact; `sections` gives the initials of the sections to search."""
    near = None if context is None else re.compile(context, re.I)
    compiled = [re.compile(wording, re.I) for wording in wordings]
    return [Pattern(key, sections, wording, near, value, listed) for wording in compiled]


START = r"\b(?:initial|inicial|start|begin|comienz|empiez|t\s?=\s?0\b)"
LINKS = r"(?:links?|rods?|bars?|cranks?|couplers?|barras?|eslab[oó]n(?:es)?|varillas?)"
OBSERVED = (
    r"\b(?:position|velocit|displacement|coordinate|motion|trajector|posici|velocidad|"
    r"desplazamiento|coordenada|movimiento|trayectoria)\w*\b[^.;]{0,80}?"
    r"\b(?:point|punto)\s+" + POINT + r"(?!\w)"
)

# sections: d = summary, m = mechanism, a = analysis, r = reference solution
PATTERNS = [
    *pattern(
        "duration",
        "ma",
        r"\b(?:duration|(?:simulat(?:ion|ed)|total|final|end)\s+time|duraci[oó]n|"
        r"tiempo\s+(?:total|final|de\s+simulaci[oó]n))\b[^0-9.;]{0,40}?" + NUMBER + SECONDS,
        r"\b(?:lasts?|during|durante|dura|(?:simulat|analy[sz]|integrat)\w*\s+(?:for|of|over)|"
        r"simulaci[oó]n\s+de|(?:from|between|de|desde|entre)\s+(?:t\s?=\s?)?0(?:\s?s)?\s+"
        r"(?:to|and|a|hasta|y))\s+" + NUMBER + SECONDS,
        NUMBER + SECONDS + r"[-\s]+(?:long\s+)?(?:dynamic\s+)?(?:simulation|analysis)\b",
    ),
    *pattern(
        "windows",
        "dma",
        r"(?-i:\bN)\s?(?:=|is|being|equals?|(?:is\s+)?equal\s+to|(?:es\s+)?igual\s+a|vale)\s?"
        + NUMBER,
        NUMBER + r"\s+(?:(?:planar|articulated|identical)\s+)?"
        r"(?:(?:four|4)[-\s]bars?\b|windows?\b|ventanas?\b|(?:mecanismos\s+de\s+)?cuatro\s+barras\b|"
        r"cuadril[aá]teros?\b)",
    ),
    *pattern(
        "start_velocity",
        "ma",
        r"\b(?:velocit(?:y|ies)|speed|velocidad)\b(?P<between>[^.;]{0,100}?)\s?"
        + NUMBER
        + METRES_A_SECOND,
        context=START,
    ),
    *pattern(
        "start_velocity",
        "ma",
        r"\b(?:at|from)\s+rest\b|\ben\s+reposo\b|\bdesde\s+el\s+reposo\b",
        context=START,
        value=0.0,
    ),
    *pattern(
        "gravity",
        "ma",
        NUMBER + GRAVITY_UNIT + r"(?P<after>[^.;]{0,60})",
        context=r"gravit|graved|\bg\s?=",
    ),
    *pattern(
        "link_length",
        "ma",
        # but not the thickness of the links
        r"\b"
        + LINKS
        + r"\b(?:(?!sec|side|lado|radi|diam|thick|wid)[^0-9.;]){0,40}?"
        + NUMBER
        + METRES,
        r"\b(?:length|longitud)\s+(?:(?:of|de)\s+)?" + NUMBER + METRES,
        context=r"\b" + LINKS + r"\b",
    ),
    *pattern(
        "link_mass",
        "ma",
        NUMBER + r"\s?kg\b(?!\s?[*·/]?\s?m)",
        context=r"\b" + LINKS + r"\b",
    ),
    *pattern(
        "section",
        "ma",
        r"\b(?:square\s+(?:cross[-\s]?)?section|secci[oó]n\s+cuadrada)\b[^0-9.;]{0,40}?"
        + NUMBER
        + METRES,
    ),
    *pattern("section", "ma", r"\bthin\s+" + LINKS + r"\b|\bbarras\s+delgadas\b", value=0.0),
    *pattern("damping", "ma", NUMBER + r"\s?N\s?s/m\b", context=r"\bdamp"),
    *pattern("observed", "r", OBSERVED),
    *pattern("listed_point", "r", OBSERVED, listed=True),
    *pattern(
        "output_steps",
        "ar",
        NUMBER + r"\s+(?:(?:equal|uniform|equidistant|equally\s+spaced)\s+)?"
        r"(?:output\s+(?:time[-\s])?(?:steps?|intervals?)|(?:pasos|intervalos)\s+de\s+salida)\b",
        r"\b(?:output\s+(?:steps|intervals)|(?:pasos|intervalos)\s+de\s+salida)"
        r"(?:\s+(?:is|are|es|son)|\s?[:=])\s?" + NUMBER,
    ),
    *pattern(
        "threshold",
        "r",
        r"\b(?:threshold|umbral)(?:\s+(?:value|valor|level|for|the|error|of|de|is|es|equal|to|igual|a))*"
        r"\s?[:=(]?\s?" + NUMBER,
    ),
    *(
        found
        for key, word in (("low", r"(?:low|coarse|baja)"), ("high", r"(?:high|fine|alta)"))
        for found in pattern(
            key,
            "r",
            NUMBER + r"\s?[(\[]?\s?(?:(?:for|in|at|para|en|con)\s+)?(?:the\s+|la\s+)?"
            rf"(?:{word}[-\s]+{PRECISION}|{PRECISION}\s+{word})",
            rf"\b(?:{word}[-\s]+{PRECISION}|{PRECISION}\s+{word})\b"
            r"(?:[\s:=(]|limit|of|is|at|error|de|es)*" + NUMBER,
        )
    ),
    *pattern(
        "energy_drift",
        "r",
        NUMBER + r"\s?(?:J|joules?|julios?)\b",
        context=r"^(?=.*energ)(?=.*(?:drift|deriva|allowed|at\s+most|below|less|exceed|menor|inferior))",
    ),
    *pattern("end_error", "r", NUMBER + METRES, context=r"\bat\s+the\s+end\b|\bal\s+final\b"),
    *pattern("rms", "r", r"\broot\s+mean\s+square\b[^0-9.;]{0,80}?" + NUMBER),
    *pattern("path", "r", NUMBER + METRES, context=r"\bat\s+any\s+time\b|\ben\s+todo\s+momento\b"),
    *pattern(
        "shown",
        "r",
        r"\b(?:first|primeros|primeras)\s+" + NUMBER + SECONDS,
        listed=True,
    ),
]

DIRECTION = re.compile(
    r"(?P<word>\bnegativ|\bpositiv)\w*\W+(?:\w+\W+){0,4}?(?P<axis>[xyz])\b"
    r"|(?<!\w)(?P<sign>[-+]?)(?P<alone>[xyz])(?:\s|-)?(?:direction|axis)"
    r"|(?<!\w)(?P<mark>[-+])\s?(?P<marked>[xyz])\b",
    re.I,
)
BETWEEN_AXIS = re.compile(
    r"\b([xyz])[-\s]+(?:coordinate|component|direction|axis)"
    r"|\b(?:coordenada|componente|direcci[oó]n|eje|along|in)\s+([xyz])\b",
    re.I,
)
BETWEEN_POINT = re.compile(r"\b(?:point|punto)\s+" + POINT + r"(?!\w)", re.I)
# Also matches malformed numbers such as 20-30 or 1.2.3.
ANY_NUMBER = re.compile(
    r"(?<![\w.,^+-])[-+]?\.?[0-9](?:[0-9^]|[ed][-+]?(?=[0-9])|[-.,](?=[0-9]))*", re.I
)


def find_facts(document: XmlDocument, sentences: list[Sentence]) -> tuple[list[Fact], list[str]]:
    """Return the facts that the patterns match, and the sentences with numbers that no pattern matches."""
    facts: list[Fact] = []
    left: list[str] = []
    for sentence in sentences:
        here = [f for p in PATTERNS for f in _match(document, p, sentence)]
        facts += here
        covered = [f.covers for f in here] + [m.span() for m in FORMULA.finditer(sentence.text)]
        open_numbers = [
            m[0][:40]
            for m in ANY_NUMBER.finditer(sentence.text)
            if not any(a <= m.start() < b for a, b in covered)
        ]
        if open_numbers:
            shown = sentence.text if len(sentence.text) <= 160 else sentence.text[:157] + "..."
            left.append(
                f"{sentence.section}, line {sentence.line(0)}: "
                f"{', '.join(open_numbers[:8])} in '{shown}'"
            )
    return facts, left


def _match(document: XmlDocument, p: Pattern, sentence: Sentence) -> Iterator[Fact]:
    if sentence.section[0] not in p.sections or p.listed != sentence.listed:
        return
    if p.context is not None and not p.context.search(sentence.text):
        return
    for m in p.wording.finditer(sentence.text):
        groups = m.groupdict()
        line = sentence.line(m.start("number") if "number" in groups else m.start())

        def fact(
            key: str, value: float | str, span: tuple[int, int] = m.span(), line: int = line
        ) -> Fact:
            return Fact(key, value, sentence.section, line, span)

        if "point" in groups:
            yield fact(p.key, m["point"].replace("_", ""))
            continue
        if p.value is not None:
            yield fact(p.key, p.value)
            continue
        value = read_number(m["number"], partial(document.reject, line))
        if "unit" in groups:
            value *= FACTORS.get(m["unit"].lower()[:2], 1.0)
        yield fact(p.key, value)
        between = groups.get("between") or ""
        if p.key == "start_velocity":
            if axis := BETWEEN_AXIS.search(between):
                yield fact("start_axis", (axis[1] or axis[2]).lower())
            if point := BETWEEN_POINT.search(between):
                yield fact("start_point", point["point"].replace("_", ""))
        if p.key == "gravity" and (way := _direction(groups.get("after") or "", value)):
            yield fact("gravity_direction", way)


def _direction(words: str, value: float) -> str | None:
    """Return the direction stated after a gravity value, such as '-y'; a negative value reverses an axis."""
    way = DIRECTION.search(words)
    if way is None:
        return None
    said = (way["word"] or way["sign"] or way["mark"] or ("-" if value < 0 else "+")).lower()
    axis = way["axis"] or way["alone"] or way["marked"]
    return ("-" if said[0] in "-n" else "+") + axis.lower()


def read_number(text: str, reject: Callable[[str], NoReturn]) -> float:
    """Return the value of a matched number; call `reject` with a message if the text has no value."""
    plain = re.sub(r"\s", "", text).lower().replace("d", "e")
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]{3}", plain):
        reject(f"'{text}' may mean a thousand or a decimal comma; write it with a point")
    plain = plain.replace(",", ".")
    power = re.fullmatch(
        r"([-+]?)(?:([0-9.]+)(?:[x\u00d7·*]|\\times))?10\^[({]?([-+]?[0-9]+)[)}]?", plain
    )
    if power:
        plain = f"{power[1]}{power[2] or '1'}e{power[3]}"
    value = float(plain)
    if not math.isfinite(value):
        reject(f"'{text}' is not a finite number")
    return value
