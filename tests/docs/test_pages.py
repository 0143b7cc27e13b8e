"""Pages and gallery are run by the runner of the site; these tests are of all pages and of the runner itself."""

import re
import sys
from pathlib import Path

import pytest
import yaml

import sarrus

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import gallery
import pages


@pytest.mark.slow
@pytest.mark.parametrize("page", pages.find_pages(), ids=lambda page: page.stem)
def test_a_page_is_as_it_says(page, tmp_path):
    """Every block of Python, every command, every printed result, every picture."""
    pages.run_page(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("piece", gallery.find_pieces(), ids=lambda piece: piece.name)
def test_a_mechanism_of_the_gallery_prints_its_line(piece):
    """Each runs to its end and prints what its last comment says."""
    assert gallery.run_piece(piece).success


def test_the_gallery_is_large_and_its_scripts_are_short():
    """Twenty mechanisms, each under 40 lines, each with a sentence about itself."""
    pieces = gallery.find_pieces()
    assert len(pieces) >= 20
    for piece in pieces:
        assert len(piece.path.read_text(encoding="utf-8").splitlines()) < 40, piece.name
        assert piece.title, piece.name
        assert piece.sentence, piece.name
        assert piece.printed not in ("", "x"), piece.name


GOOD = """
```python
print(2 + 2)
```

```output
4
```
"""
COMMAND = """
```yaml title="my.yaml"
sarrus: 2
```

<!-- ends with 2 -->
```console
$ sarrus inspect my.yaml
error: my.yaml:1: sarrus: version 2 ...
```
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD, ""),
        (GOOD.replace("4\n", "4...\n"), ""),
        (GOOD.replace("4\n", "5\n"), "but it is\n\n4"),
        (GOOD.replace("```output\n4\n```", ""), "printed, but the page does not show it"),
        (GOOD.replace("print(2 + 2)", "1 / 0"), "ZeroDivisionError"),
        (GOOD.replace("```python\nprint(2 + 2)\n```", ""), "output of nothing"),
        ("text\n\n    sarrus run\n", "line 3: an indented block has no language"),
        ("```\nx\n```\n", "a block needs a language"),
        ("![picture](none.png)\n", "no block makes the picture none.png"),
        (COMMAND, ""),
        (COMMAND.replace("<!-- ends with 2 -->\n", ""), "ended with 2, not 0"),
        (COMMAND.replace("version 2", "version 3"), "the page says"),
        ("```console\n$ rm -r x\n```\n", "only `sarrus` is run here"),
        ("<!-- not run: harm -->\n```console\n$ rm -r x\n```\n", ""),
        ("<!-- before: x = 1 -->\n```python\nassert x == 1\n```\n", ""),
    ],
)
def test_what_a_page_says_wrongly_is_noticed(text, message, tmp_path):
    """The runner fails where page and program differ, and nowhere else."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    if message:
        with pytest.raises(pages.PageError) as caught:
            pages.run_page(page, tmp_path)
        assert message in str(caught.value)
    else:
        pages.run_page(page, tmp_path)


def test_what_is_printed_now_can_be_written_into_a_page(tmp_path):
    """And then the page is as it says."""
    page = tmp_path / "page.md"
    page.write_text(GOOD.replace("4\n", "5\n"), encoding="utf-8")
    pages.run_page(page, tmp_path, write=True)
    assert page.read_text(encoding="utf-8") == GOOD


def markdown_files():
    """All Markdown files of the project, outside of build folders."""
    folders = ("docs", "paper", "benchmarks", "examples")
    nested = [path for name in folders for path in sorted((pages.ROOT / name).rglob("*.md"))]
    return [*sorted(pages.ROOT.glob("*.md")), *nested]


@pytest.mark.parametrize("path", markdown_files(), ids=lambda path: path.stem)
def test_lines_of_markdown_are_short(path):
    """At most 100 characters, except rows of tables and what is between fences, which cannot be broken."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("|"):
            assert len(line) <= 100, f"{path.name}:{number}"


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("DOF", "glossary"),
        ("Gruebler", "glossary"),
        ("Kutzbach", "verdict"),
        ("Grashof", "design"),
        ("dead centre", "design"),
        ("dead center", "glossary"),
        ("transmission angle", "design"),
        ("mobility", "for-designers"),
    ],
)
def test_the_search_finds_the_terms_of_the_field(words, page):
    """The words of a query are words of the page, as the search of the site separates them."""
    settings = yaml.safe_load((pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    (search,) = (p["search"] for p in settings["plugins"] if "search" in p)
    text = (pages.ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = set(re.split(search["separator"], text.lower()))
    # the search adds a wildcard, so that plurals are found
    for word in words.lower().split():
        assert any(other.startswith(word) for other in found), word


def test_the_citation_is_of_this_version():
    """CITATION.cff and the package agree."""
    text = (pages.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sarrus.__version__}\n" in text
