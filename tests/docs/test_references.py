"""The page of references and the links to it."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import pages
import references

ENTRIES = references.load_entries()


def test_every_entry_is_on_the_page():
    """As many entries as the file begins, each with author, title and no command of TeX left outside formulas."""
    text = references.BIBLIOGRAPHY.read_text(encoding="utf-8")
    assert len(ENTRIES) == len(re.findall(r"^@", text, re.MULTILINE))
    page = references.write_page(ENTRIES)
    for key, entry in ENTRIES.items():
        assert f"### {key}\n" in page
        assert entry["author"]
        assert entry["title"]
    assert not re.search(r"[{}]|\\", re.sub(r"\$[^$]*\$", "", page))
    assert "Müller" in page
    assert "García de Jalón" in page
    assert "Leçons" in page


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[Pryce2001]", "[[Pryce2001](../references.md#pryce2001)]"),
        (
            "[HairerWanner1996, sec. IV.8]",
            "[[HairerWanner1996](../references.md#hairerwanner1996), sec. IV.8]",
        ),
        ("[a link](page.md), [N], `[Pryce2001]`", "[a link](page.md), [N], `[Pryce2001]`"),
        ("```python\nx = [Pryce2001]\n```", "```python\nx = [Pryce2001]\n```"),
    ],
)
def test_keys_become_links(text, wanted):
    """Keys in brackets, with a place in the source, outside of code."""
    assert references.link_citations(text, set(ENTRIES), "../") == wanted


@pytest.mark.parametrize("page", pages.find_pages(), ids=lambda page: page.stem)
def test_cited_keys_exist(page):
    """What looks like a key is one."""
    text = page.read_text(encoding="utf-8")
    cited = re.findall(r"\b[A-Z][A-Za-z]+(?:1[6-9]|20)\d\d\b(?=[^\[\]\n]*\])", text)
    assert set(cited) <= set(ENTRIES)
