"""Every tutorial of the site as a notebook: the format, the code and the printed results."""

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import pages

TUTORIALS = sorted((pages.ROOT / "docs" / "tutorials").glob("*.md"))
HIDDEN = """# Title

See [there](other.md).

<!-- before: x = sarrus.Mechanism("x") -->
```python
print(x.name)
```

```output
...
```

```console
$ pip install .
```
"""


def join_code(book):
    """All code cells of a notebook, one after the other."""
    return "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code")


def execute(book, folder):
    """Run the code cells in one name space and compare what each prints with its output."""
    space = {}
    with pages.inside(folder):
        for cell in (c for c in book["cells"] if c["cell_type"] == "code"):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec("".join(cell["source"]), space)
            assert out.getvalue() == "".join("".join(o["text"]) for o in cell["outputs"])


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_notebook_of_a_tutorial_is_valid_and_has_all_its_code(page, tmp_path):
    """The keys that nbformat 4.5 requires, every Python block, and no name without its import."""
    text = page.read_text(encoding="utf-8")
    blocks = list(pages.read_blocks(text))
    book = json.loads(json.dumps(pages.make_notebook(text, blocks, tmp_path)))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    for cell in book["cells"]:
        code = {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == {"cell_type", "id", "metadata", "source"} | code
        assert all(isinstance(line, str) for line in cell["source"])
    code = join_code(book)
    assert all(b.text.strip("\n") in code for b in blocks if b.language == "python")
    assert "sarrus." not in code.partition("import sarrus")[0]


@pytest.mark.slow
def test_a_notebook_prints_what_its_outputs_say(tmp_path):
    """The fastest tutorial, cell by cell; its pictures are embedded."""
    page = pages.ROOT / "docs" / "tutorials" / "singular.md"
    pages.run_page(page, tmp_path, notebook=True)
    book = json.loads((tmp_path / "singular.ipynb").read_text(encoding="utf-8"))
    assert sum(len(cell.get("attachments", {})) for cell in book["cells"]) == 2
    assert sum(len(cell.get("outputs", ())) for cell in book["cells"]) == 2
    execute(book, tmp_path)


def test_hidden_lines_are_code_and_commands_are_text(tmp_path):
    """So the notebook runs; what was printed stands in full, and links to other pages are text."""
    page = tmp_path / "page.md"
    page.write_text(HIDDEN, encoding="utf-8")
    pages.run_page(page, tmp_path, notebook=True)
    book = json.loads((tmp_path / "page.ipynb").read_text(encoding="utf-8"))
    assert [c["cell_type"] for c in book["cells"]] == ["markdown", "code", "code", "markdown"]
    assert "".join(book["cells"][0]["source"]) == "# Title\n\nSee there."
    assert "".join(book["cells"][2]["outputs"][0]["text"]) == "x\n"
    assert "".join(book["cells"][3]["source"]) == "```console\n$ pip install .\n```"
    execute(book, tmp_path)
