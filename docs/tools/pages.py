"""Pages are run: every block of Python, every command and every printed result of a Markdown page.

The build of the site and the tests use this one runner. A block says by its language what is done with it:

    python       run; all of a page in one name space that has `sarrus`, in a folder of its own that has examples/
    output       what the Python block before it printed, to the letter; "..." stands for any text
    console      `$ sarrus ...` is run as typed, the lines below it are what it printed; without lines nothing
                 is compared. Commands that install (pip, make, dask) are shown only
    title="F"    of a block in any other language: it is written to the file F
    math         an equation, as in `equations.py`
    others       shown (text: trees, tables)

Comments before a block steer it: `<!-- not run: reason -->`, `<!-- ends with 1 -->` (the exit status of its
commands), and `<!-- before: code -->` is Python that is run but not shown. Pictures that a page shows are made by
its blocks.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import mimetypes
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# what a page shows of it depends on nobody's terminal
TERMINAL = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "MPLBACKEND": "agg"}
INSTALLS = ("pip", "make", "dask", "sudo")
PICTURE = re.compile(
    r'(?:!\[[^\]]*\]\(|\b(?:src|href)=")([\w./-]+\.(?:png|svg|gif|mp4|html))(?:#\w+)?[)"]'
)
# a notebook lies alone: links to other pages become text
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")
COMMENT = re.compile(r"<!-- (not run|before|ends with):? ?(.*?) ?-->", re.DOTALL)


class PageError(AssertionError):
    """A page that does not do what it says: its name, its line, what was printed instead."""


@dataclass
class Block:
    """A block of a page: language, text, first line, title, the comments before it, and what it printed."""

    language: str
    text: str
    line: int
    title: str = ""
    comments: dict[str, str] = field(default_factory=dict)
    printed: str = ""


def find_pages() -> list[Path]:
    """All pages of the project, in order."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_blocks(text: str) -> Iterator[Block]:
    """The blocks of a page; raises PageError for one that does not say its language."""
    lines = text.splitlines()
    comments: dict[str, str] = {}
    blank, listed, i = True, False, 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("<!--"):
            end = next(k for k in range(i, len(lines)) if "-->" in lines[k])
            if match := COMMENT.match("\n".join(lines[i : end + 1])):
                comments[match[1]] = match[2]
            i = end + 1
            continue
        if line.startswith("```"):
            end = next((k for k in range(i + 1, len(lines)) if lines[k].startswith("```")), -1)
            language, _, rest = line[3:].partition(" ")
            if end < 0 or not language:
                raise PageError(f"line {i + 1}: a block needs a language and an end")
            title = re.search(r'title="([^"]+)"', rest)
            text = "\n".join(lines[i + 1 : end]) + "\n"
            yield Block(language, text, i + 1, title[1] if title else "", comments)
            comments, i, blank = {}, end + 1, False
            continue
        if line.startswith("    ") and line.strip() and blank and not listed:
            raise PageError(f"line {i + 1}: an indented block has no language; fence it")
        if line.strip():
            # what is indented below an item belongs to it
            listed = bool(re.match(r"\s*([-*]|\d+\.) ", line)) or (listed and line[0] == " ")
            if comments and not listed:
                comments = {}
        blank = not line.strip()
        i += 1


def run_page(page: Path, folder: Path, *, write: bool = False, notebook: bool = False) -> list[str]:
    """Run all blocks of a page in a folder; returns what was not run, with reasons.

    Raises PageError, with page and line, for the first thing that is not as the page says; write: puts what is
    printed into the page instead; notebook: also writes the executed page to NAME.ipynb in the folder.
    """
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name
    text = page.read_text(encoding="utf-8")
    left_out = []
    try:
        blocks = list(read_blocks(text))
        with inside(folder):
            left_out = _run_blocks(blocks, write)
        if write:
            _write_page(page, text, blocks)
    except PageError as error:
        raise PageError(f"{name}: {error}") from error
    for picture in made_pictures(text):
        there = (folder / picture).is_file() or (page.parent / picture).is_file()
        if not there and not picture.endswith(".html"):
            raise PageError(f"{name}: no block makes the picture {picture}")
    if notebook:
        made = json.dumps(make_notebook(text, blocks, folder), indent=1)
        (folder / f"{page.stem}.ipynb").write_text(made + "\n", encoding="utf-8")
    return [f"{name}:{line}" for line in left_out]


def made_pictures(text: str) -> list[str]:
    """Names of the pictures that a page shows."""
    return [name for name in PICTURE.findall(text) if "://" not in name]


def make_notebook(text: str, blocks: list[Block], folder: Path) -> dict[str, Any]:
    """A page as a notebook (nbformat 4.5): Python as code with what it printed, all else as Markdown.

    Pictures in the folder are embedded. Commands and files are shown only, as in the page.
    """
    lines, cells, shown, done = text.splitlines(), [], "", 0
    for block in blocks:
        shown += "\n".join(lines[done : block.line - 1]) + "\n"
        done = 1 + next(k for k in range(block.line, len(lines)) if lines[k].startswith("```"))
        before = block.comments.get("before")
        runs = block.language == "python" and "not run" not in block.comments
        if before or runs:
            cells.append(_markdown_cell(shown, folder))
            shown = ""
        if before:
            # pages are run in a name space that has sarrus
            cells.append(_code_cell(f"import sarrus\n\n{before}", ""))
        if runs:
            cells.append(_code_cell(block.text, block.printed))
        elif block.language == "math":
            shown += f"$$\n{block.text}$$\n"
        elif block.language != "output":
            title = f"File `{block.title}`:\n\n" if block.title else ""
            shown += f"{title}```{block.language}\n{block.text}```\n"
    cells.append(_markdown_cell(shown + "\n".join(lines[done:]), folder))
    cells = [cell for cell in cells if cell["source"]]
    count = 0
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": cells}


def _code_cell(code: str, printed: str) -> dict[str, Any]:
    stream = {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    source = code.strip("\n").splitlines(keepends=True)
    outputs = [stream] if printed else []
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": outputs}


def _markdown_cell(text: str, folder: Path) -> dict[str, Any]:
    text = LINK.sub(r"\1", re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)).strip("\n")
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}}
    for name in made_pictures(text):
        if (folder / name).is_file():
            data = base64.b64encode((folder / name).read_bytes()).decode()
            kind = mimetypes.guess_type(name)[0] or "image/png"
            cell.setdefault("attachments", {})[name] = {kind: data}
            text = text.replace(f"]({name})", f"](attachment:{name})")
    return cell | {"source": text.splitlines(keepends=True)}


@contextlib.contextmanager
def inside(folder: Path, examples: bool = True) -> Iterator[None]:
    """Work in a folder, which holds the examples, at a terminal that is the same for all."""
    before = {key: os.environ.get(key) for key in TERMINAL}
    if examples and not (folder / "examples").exists():
        none = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=none)
    os.environ.update(TERMINAL)
    with contextlib.chdir(folder):
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value


def _write_page(page: Path, text: str, blocks: list[Block]) -> None:
    """Put the blocks back into their page."""
    lines = text.splitlines()
    for block in reversed(blocks):
        end = next(k for k in range(block.line, len(lines)) if lines[k].startswith("```"))
        lines[block.line : end] = block.text.rstrip("\n").split("\n")
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run_blocks(blocks: list[Block], write: bool) -> list[str]:
    import sarrus

    left_out: list[str] = []
    space: dict[str, object] = {"__name__": "page", "sarrus": sarrus}
    printed: str | None = None
    for k, block in enumerate(blocks):
        shows = k + 1 < len(blocks) and blocks[k + 1].language == "output"
        where = f"line {block.line}"
        if before := block.comments.get("before"):
            _run_python(before, space, f"{where}, before it")
        if reason := block.comments.get("not run"):
            left_out.append(f"{block.line}: {reason}")
            printed = None
        elif block.language == "python":
            printed = block.printed = _run_python(block.text, space, where)
            if printed.strip() and not shows:
                raise PageError(f"{where}: printed, but the page does not show it:\n{printed}")
        elif block.language == "output":
            if printed is None and not blocks[k - 1].comments.get("not run"):
                raise PageError(f"{where}: output of nothing: there is no Python block before it")
            if printed is not None:
                block.text = check(block.text, printed, where, write)
            printed = None
        elif block.language == "console":
            _run_console(block, left_out, write)
        elif block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
    return left_out


def _run_python(code: str, space: dict[str, object], where: str) -> str:
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"<{where}>", "exec"), space)
    except Exception as error:
        raise PageError(f"{where}: {traceback.format_exc(limit=-3)}") from error
    return out.getvalue()


def _run_console(block: Block, left_out: list[str], write: bool) -> None:
    """Each command of a block, with what it has to print."""
    text = ""
    wanted_status = int(block.comments.get("ends with", "0"))
    for k, part in enumerate(re.split(r"^\$ ", block.text, flags=re.MULTILINE)):
        if k == 0:
            if part.strip():
                raise PageError(f"line {block.line}: a command begins with '$ '")
            continue
        command, _, wanted = part.partition("\n")
        text += f"$ {command}\n"
        words = shlex.split(command, comments=True)
        where = f"line {block.line}, `{shlex.join(words)}`"
        if words[0] in INSTALLS:
            left_out.append(f"{block.line}: `{words[0]}` installs or builds")
            text += wanted
            continue
        target = words[words.index(">") + 1] if ">" in words else ""
        words = words[: words.index(">")] if target else words
        status, out, errors = run_command(words, where)
        if status != wanted_status:
            raise PageError(f"{where}: ended with {status}, not {wanted_status}:\n{out}{errors}")
        if target:
            Path(target).write_text(out, encoding="utf-8")
        elif wanted.strip():
            text += check(wanted, out + (errors if status else ""), where, write)
    block.text = text


def run_command(words: list[str], where: str) -> tuple[int, str, str]:
    """A `sarrus` command as typed, in this process: exit status, what it printed, and its messages on stderr."""
    if words[0] != "sarrus":
        raise PageError(f"{where}: only `sarrus` is run here; say `not run: reason` before it")
    from sarrus.cli import main

    out, err, status = io.StringIO(), io.StringIO(), 0
    before, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        raise PageError(f"{where}: {traceback.format_exc(limit=-3)}") from error
    finally:
        sys.argv = before
    return status, out.getvalue(), err.getvalue()


def check(wanted: str, found: str, where: str, write: bool = False) -> str:
    """The text as it shall stand; raises PageError unless it is as wanted, or may be written.

    "..." stands for anything; how lines are broken and columns are spaced does not count, every other sign does.
    """
    words = [re.escape(w).replace(re.escape("..."), ".*?") for w in wanted.split()]
    pattern = r"\s+".join(words).replace(r"\s+.*?\s+", r"\s.*?").removesuffix(r"\s+.*?")
    pattern += ".*" if words and words[-1] == ".*?" else ""
    wanted, found = wanted.strip("\n"), found.strip("\n").rstrip()
    if re.fullmatch(pattern, found.strip(), flags=re.DOTALL):
        return wanted + "\n"
    if not write:
        raise PageError(f"{where}: the page says\n\n{wanted}\n\nbut it is\n\n{found}\n")
    return "".join(f"{line}\n" for long in found.splitlines() for line in wrap(long) or [""])


def wrap(line: str) -> list[str]:
    """A line of a page, broken where it is wider than the text around it."""
    return textwrap.wrap(line, 100, break_on_hyphens=False) if len(line) > 100 else [line.rstrip()]


def main(names: list[str]) -> int:
    """Run the pages that are named, or all; `--write` puts what is printed now into them."""
    failed, write = 0, "--write" in names
    named = [Path(n).resolve() for n in names if n != "--write"]
    for page in named or find_pages():
        folder = Path(tempfile.mkdtemp(prefix="page-"))
        try:
            left_out = run_page(page, folder, write=write)
            print(f"{page.name}: as it says, in {folder}")
            for line in left_out:
                print(f"  not run: {line}")
        except PageError as error:
            failed += 1
            print(error)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
