"""Equations of the pages: a subset of LaTeX, turned into MathML while the site is built.

Pages write equations as GitHub renders them: `$...$` in a line of text, a fenced block of the language `math` for
displayed ones. The site needs no script and no font of another machine, since browsers draw MathML themselves. The
subset is what the pages use; anything outside of it raises `EquationError`, which ends the build.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|'+|\s+|.", re.DOTALL)
# a formula in a line of text; prices and shell variables have a space or a letter next to the sign
INLINE = r"(?<![\\$\w])\$(?![\s$])((?:[^$\\\n]|\n(?!\n)|\\.)+?)(?<!\s)\$(?![\w$])"
NAMESPACE = "http://www.w3.org/1998/Math/MathML"

LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "varepsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Phi": "Φ", "Psi": "Ψ", "Sigma": "Σ", "Omega": "Ω",
    "infty": "∞", "partial": "∂", "ldots": "…", "cdots": "⋯",
}  # fmt: skip
OPERATORS = {
    "cdot": "⋅", "times": "×", "pm": "±", "mp": "∓", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "in": "∈",
    "to": "→", "leftarrow": "←", "ll": "≪", "gg": "≫", "propto": "∝", "mid": "|", "circ": "∘", "star": "⋆",
    "lvert": "|", "rvert": "|", "lVert": "‖", "rVert": "‖", "{": "{", "}": "}",
}  # fmt: skip
LARGE = {"sum": "∑", "prod": "∏"}
NAMES = (
    "sin",
    "cos",
    "tan",
    "tanh",
    "exp",
    "log",
    "det",
    "min",
    "max",
    "rank",
    "diag",
    "tr",
    "sign",
)
ACCENTS = {"hat": "^", "bar": "¯", "tilde": "~", "dot": "˙", "ddot": "¨", "vec": "→"}
SPACES = {",": "0.17em", ";": "0.28em", " ": "0.28em", "quad": "1em", "qquad": "2em"}
OPENING, CLOSING = ("lvert", "lVert", "{"), ("rvert", "rVert", "}")
FENCES = {
    "matrix": ("", ""),
    "bmatrix": ("[", "]"),
    "pmatrix": ("(", ")"),
    "cases": ("{", ""),
    "aligned": ("", ""),
}
PRIMES = {1: "′", 2: "″", 3: "‴"}


class EquationError(ValueError):
    """An equation that the converter does not understand, with its text."""


def convert(text: str, *, block: bool = False) -> ET.Element:
    """An equation as a MathML element; raises EquationError, with the text, for what is not understood."""
    math = ET.Element("math", {"xmlns": NAMESPACE, "display": "block" if block else "inline"})
    try:
        reader = _Reader(text)
        math.append(_row(reader.read(lambda token: False)))
    except EquationError as error:
        raise EquationError(f"{error} in the equation: {' '.join(text.split())}") from None
    return math


class _Reader:
    """A recursive descent through the tokens of one equation."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        """The next token; spaces do not count."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise EquationError("it ends too early")
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise EquationError(f"{found!r} instead of {token!r}")

    def read(self, ends: Callable[[str], bool]) -> list[ET.Element]:
        """Elements up to a token that ends them, which is not taken."""
        out: list[ET.Element] = []
        while self.peek() and not ends(self.peek()):
            element = self.scripts(self.atom())
            if _is_sign(out[-1] if out else None, element):
                element.set("form", "prefix")
            elif out and _needs_space(out[-1], element):
                out.append(ET.Element("mspace", {"width": SPACES[","]}))
            out.append(element)
        return out

    def group(self) -> ET.Element:
        """What a command or a script applies to: {...}, or one atom."""
        if self.peek()[:1].isdigit():
            # without braces one digit, as in TeX
            number = self.take()
            self.at -= 1
            self.tokens[self.at : self.at + 1] = [number[0], *([number[1:]] if number[1:] else [])]
        if self.peek() != "{":
            return self.atom()
        self.take()
        inside = self.read(lambda token: token == "}")
        self.expect("}")
        return _row(inside)

    def raw(self) -> str:
        """The letters of {...}, as they are written, with their spaces."""
        self.expect("{")
        if "}" not in self.tokens[self.at :]:
            raise EquationError("'{' is not closed")
        end = self.tokens.index("}", self.at)
        words = self.tokens[self.at : end]
        self.at = end + 1
        return "".join(words)

    def scripts(self, base: ET.Element) -> ET.Element:
        """A base with its primes, subscript and superscript."""
        below = above = None
        primes = 0
        while self.peek() and (self.peek() in "^_" or self.peek()[0] == "'"):
            token = self.take()
            if token[0] == "'":
                primes += len(token)
            elif token == "_" and below is None:
                below = self.group()
            elif token == "^" and above is None:
                above = self.group()
            else:
                raise EquationError(f"a second {token!r}")
        if primes:
            prime = _leaf("mo", PRIMES[primes])
            above = prime if above is None else _row([prime, above])
        large = base.tag == "mo" and base.text in (*LARGE.values(), "min", "max")
        names = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
        if below is not None and above is not None:
            return _parent(names[2], base, below, above)
        if below is not None:
            return _parent(names[0], base, below)
        return base if above is None else _parent(names[1], base, above)

    def atom(self) -> ET.Element:
        token = self.take()
        if token == "{":
            self.at -= 1
            return self.group()
        if token[0] == "\\":
            return self.command(token[1:])
        if token == "|":
            inside = self.read(lambda t: t == "|")
            self.expect("|")
            return _fenced("|", inside, "|", stretchy=False)
        if token.isalpha():
            return _leaf("mi", token)
        if token[0].isdigit():
            return _leaf("mn", token)
        if token in "()[]":
            return _leaf("mo", token, stretchy="false")
        if token == "/":
            return _leaf("mo", token, lspace="0.05em", rspace="0.05em")
        if token in "+-=<>,;:.!*":
            return _leaf("mo", {"-": "−", "*": "∗"}.get(token, token))
        raise EquationError(f"{token!r} is not understood")

    def command(self, name: str) -> ET.Element:
        if name in LETTERS:
            return _leaf("mi", LETTERS[name])
        if name in LARGE:
            return _leaf("mo", LARGE[name])
        if name in ("min", "max"):
            return _leaf("mo", name, movablelimits="true")
        if name in NAMES:
            return _leaf("mi", name)
        if name in SPACES:
            return ET.Element("mspace", {"width": SPACES[name]})
        if name in OPERATORS:
            form = (
                {"form": "prefix"}
                if name in OPENING
                else {"form": "postfix"}
                if name in CLOSING
                else {}
            )
            return _leaf("mo", OPERATORS[name], **({"stretchy": "false"} | form if form else {}))
        if name in ACCENTS:
            return _parent(
                "mover", self.group(), _leaf("mo", ACCENTS[name], stretchy="false"), accent="true"
            )
        if name in ("frac", "tfrac"):
            quotient = _parent("mfrac", self.group(), self.group())
            return quotient if name == "frac" else _parent("mstyle", quotient, displaystyle="false")
        if name == "sqrt":
            return _parent("msqrt", self.group())
        if name == "text":
            # spaces at the ends of an element would be dropped
            return _leaf("mtext", self.raw().replace(" ", "\N{NO-BREAK SPACE}"))
        if name in ("mathrm", "operatorname"):
            return _leaf("mi", self.raw(), mathvariant="normal")
        if name == "left":
            first = self.take().removeprefix("\\").replace(".", "")
            inside = self.read(lambda token: token == "\\right")
            self.expect("\\right")
            return _fenced(first, inside, self.take().removeprefix("\\").replace(".", ""))
        if name == "begin":
            return self.table(self.raw())
        raise EquationError(f"the command '\\{name}' is not understood")

    def table(self, kind: str) -> ET.Element:
        """Rows of an environment: a matrix, cases, or lines aligned at their `&`."""
        if kind not in FENCES:
            raise EquationError(f"the environment '{kind}' is not understood")
        table = ET.Element("mtable", {"class": kind})
        if kind == "aligned":
            table.set("displaystyle", "true")
        row = ET.SubElement(table, "mtr")
        while True:
            cell = self.read(lambda token: token in ("&", "\\\\", "\\end"))
            ET.SubElement(row, "mtd").extend(cell)
            end = self.take()
            if end == "\\\\":
                row = ET.SubElement(table, "mtr")
            elif end == "\\end":
                break
        end = self.raw()
        if end != kind:
            raise EquationError(f"'{kind}' is ended by '{end}'")
        first, last = FENCES[kind]
        return _fenced(first, [table], last) if first else table


def _is_function(element: ET.Element) -> bool:
    """Whether an element is the name of a function, also with a power: sin, sin^2."""
    base = element[0] if element.tag in ("msup", "msub", "msubsup") else element
    return base.tag == "mi" and len(base.text or "") > 1


def _is_sign(before: ET.Element | None, element: ET.Element) -> bool:
    """Whether a plus or minus is the sign of what follows: at the beginning, or after an operator or a space."""
    if element.tag != "mo" or element.text not in ("+", "−", "±", "∓"):
        return False
    return (
        before is None
        or before.tag == "mspace"
        or (before.tag == "mo" and before.text not in (")", "]", "}"))
    )


def _needs_space(before: ET.Element, element: ET.Element) -> bool:
    """Whether a thin space separates two elements: k sin x, but not (sin x), sin(x)."""
    if _is_function(before):
        return element.tag not in ("mo", "mspace")
    return _is_function(element) and before.tag not in ("mo", "mspace")


def _leaf(tag: str, text: str, **attributes: str) -> ET.Element:
    out = ET.Element(tag, attributes)
    out.text = text
    return out


def _parent(tag: str, *children: ET.Element, **attributes: str) -> ET.Element:
    out = ET.Element(tag, attributes)
    out.extend(children)
    return out


def _row(children: list[ET.Element]) -> ET.Element:
    return children[0] if len(children) == 1 else _parent("mrow", *children)


def _fenced(
    first: str, inside: list[ET.Element], last: str, *, stretchy: bool = True
) -> ET.Element:
    stretch = "true" if stretchy else "false"
    marks = [
        _leaf("mo", mark, form=form, fence="true", stretchy=stretch) if mark else None
        for mark, form in ((first, "prefix"), (last, "postfix"))
    ]
    return _parent("mrow", *[e for e in (marks[0], *inside, marks[1]) if e is not None])


def write_block(source: str) -> str:
    """A displayed equation as HTML, in a box that scrolls if it is narrow."""
    math = ET.tostring(convert(source, block=True), encoding="unicode")
    # a box that scrolls must be reachable by keyboard
    return f'<div class="equation" tabindex="0">{math}</div>'


def find_equations(text: str) -> Iterator[tuple[int, str]]:
    """All equations of a page with their lines: blocks, and formulas outside of code."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    for found in re.finditer(r"^ *```math\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, found.start(1)) + 1, found[1]
    plain = re.sub(r"^ *```.*?^ *```$", blank, text, flags=re.DOTALL | re.MULTILINE)
    plain = re.sub(r"`[^`]*`", blank, plain)
    for found in re.finditer(INLINE, plain):
        yield plain.count("\n", 0, found.start()) + 1, found[1]
