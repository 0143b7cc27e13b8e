"""Terms of the glossary are linked on every page that uses them."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import pages

TERMS = {
    "singular configuration": r"singular\s+configurations?",
    "redundant constraint": r"redundant\s+constraints?",
    "degree of freedom (DOF)": r"degrees?\s+of\s+freedom",
    "natural coordinates": r"natural\s+coordinates",
    "dead centre": r"dead\s+centres?",
    "transmission angle": r"transmission\s+angles?",
    "overconstrained linkage": r"overconstrained",
    "tangential bifurcation": r"tangential\s+bifurcations?",
    "crossing": r"[Cc]rossings?",
    "SIMD lanes": r"SIMD\s+lanes",
    "self-stress": r"self-stress(?:es)?",
    "misfit": r"misfit",
}
# code, headings, comments, links, formulas, rows of tables, quotations
NOT_PROSE = re.compile(
    r"^```.*?^```$|`[^`\n]*`|^#[^\n]*$|<!--.*?-->|\[[^\]]*\]\([^)]*\)|\$[^$]+\$|^\|[^\n]*$|\"[^\"\n]*\"",
    re.DOTALL | re.MULTILINE,
)
# the glossary itself, and pages that are generated
EXEMPT = ("README", "glossary", "api", "reference", "commands", "thresholds", "index")
PAGES = [page for page in pages.find_pages() if page.stem not in EXEMPT]


def anchor(term):
    """The anchor of an entry, as the site makes it of its heading."""
    return re.sub(r"[^\w -]", "", term.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_terms_are_linked(page):
    """A page that uses a term in its text has a link to its entry."""
    text = page.read_text(encoding="utf-8")
    prose = NOT_PROSE.sub("", text)
    used = [
        t for t, words in TERMS.items() if re.search(rf"(?<![\w/-])(?:{words})(?![\w-])", prose)
    ]
    assert not [t for t in used if f"glossary.md#{anchor(t)}" not in text]


def test_every_term_has_its_entry():
    """The anchors are those of headings of the glossary."""
    text = (pages.ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    headings = {anchor(line[4:]) for line in text.splitlines() if line.startswith("### ")}
    assert {anchor(t) for t in TERMS} <= headings
