"""Equations of the pages as MathML: structure, strictness, and all that the pages contain."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import equations
import pages


def outline(element):
    """An element as nested brackets: its tag, and its text or its children."""
    inside = element.text or " ".join(outline(child) for child in element)
    return f"{element.tag}({inside})"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x", "mi(x)"),
        (r"\lambda_k^2", "msubsup(mi(λ) mi(k) mn(2))"),
        ("q''_{k+1}", "msubsup(mi(q) mrow(mi(k) mo(+) mn(1)) mo(″))"),
        (r"\ddot q", "mover(mi(q) mo(¨))"),
        (r"\tfrac12 x", "mrow(mstyle(mfrac(mn(1) mn(2))) mi(x))"),
        (r"\frac{a+b}{c}", "mfrac(mrow(mi(a) mo(+) mi(b)) mi(c))"),
        ("|B - A|^2", "msup(mrow(mo(|) mi(B) mo(\N{MINUS SIGN}) mi(A) mo(|)) mn(2))"),
        (r"\sum_{j<k} x_j", "mrow(munder(mo(∑) mrow(mi(j) mo(<) mi(k))) msub(mi(x) mi(j)))"),
        (r"\text{if } a", "mrow(mtext(if\N{NO-BREAK SPACE}) mi(a))"),
        (r"\left( a \right)^T", "msup(mrow(mo(() mi(a) mo())) mi(T))"),
        (
            r"\begin{bmatrix} a & b \\ c & 0 \end{bmatrix}",
            "mrow(mo([) mtable(mtr(mtd(mi(a)) mtd(mi(b))) mtr(mtd(mi(c)) mtd(mn(0)))) mo(]))",
        ),
        (
            r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
            "mtable(mtr(mtd(mi(a)) mtd(mo(=) mi(b))) mtr(mtd(mi(c)) mtd(mo(=) mi(d))))",
        ),
        (r"k \sin x", "mrow(mi(k) mspace() mi(sin) mspace() mi(x))"),
        (r"(\sin^2(x))", "mrow(mo(() msup(mi(sin) mn(2)) mo(() mi(x) mo()) mo()))"),
        ("x^12", "mrow(msup(mi(x) mn(1)) mn(2))"),
    ],
)
def test_structure_of_an_equation(text, wanted):
    """Each construct gives the element of MathML that has its meaning."""
    (found,) = equations.convert(text)
    assert outline(found) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"\unknown x", r"'\unknown' is not understood"),
        (r"\frac{a}", "ends too early"),
        ("{a", "ends too early"),
        ("a}", "'}' is not understood"),
        ("|a", "ends too early"),
        ("a^b^c", "a second '^'"),
        (r"\begin{bmatrix} a \end{pmatrix}", "ended by 'pmatrix'"),
        (r"\begin{tabular} a \end{tabular}", "environment 'tabular'"),
        ("a & b", "'&' is not understood"),
        (r"\text{a", "'{' is not closed"),
    ],
)
def test_what_is_not_understood_is_an_error(text, message):
    """Nothing is left out silently; the error quotes the equation."""
    with pytest.raises(equations.EquationError) as caught:
        equations.convert(text)
    assert message in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize("page", pages.find_pages(), ids=lambda page: page.stem)
def test_equations_of_a_page(page):
    """All are understood, are well-formed XML, and no formula of the old plain-text kind is left in a block."""
    text = page.read_text(encoding="utf-8")
    for line, equation in equations.find_equations(text):
        html = equations.write_block(equation)
        assert ET.fromstring(html).find(f"{{{equations.NAMESPACE}}}math") is not None, line
    plain = [b for b in pages.read_blocks(text) if b.language == "text"]
    assert not [b.line for b in plain if any(sign in b.text for sign in ("J^T", "lam", "sum_{"))]


@pytest.mark.parametrize(
    ("text", "forms"), [("-a - b", ["prefix", None]), ("a = -b", [None, "prefix"])]
)
def test_a_sign_is_not_a_difference(text, forms):
    """A minus at the beginning, or after an operator, stands close to what follows."""
    found = [e.get("form") for e in equations.convert(text).iter("mo")]
    assert found == forms


def test_where_equations_are():
    """Blocks and formulas are found with their lines; code, prices and shell variables are not formulas."""
    text = "a $x$ `$y$` costs $5 or $6\n\n```console\n$ sarrus $HOME\n```\n\n```math\nz\n```\nand $a\nb$\n"
    assert list(equations.find_equations(text)) == [(8, "z\n"), (1, "x"), (10, "a\nb")]
