"""Pages are run: every block of Python, every command and every printed result of a Markdown page.

The build of the site and the tests use this one runner. A block says by its language what is done with it:

    python       run; all of a page in one name space that has `sarrus`, in a folder of its own that has examples/
    output       what the Python block before it printed, to the letter; "..." stands for any text
    console      `$ sarrus ...` is run as typed, the lines below it are what it printed; without lines nothing
                 is compared. Commands that install (pip, make, dask) are shown only
    title="F"    of a block in any other language: it is written to the file F
    others       shown (text: formulas, trees)

Comments before a block steer it: `<!-- not run: reason -->`, `<!-- ends with 1 -->` (the exit status of its
commands), and `<!-- before: code -->` is Python that is run but not shown. Pictures that a page shows are made by
its blocks.
"""

from __future__ import annotations

import contextlib
import io
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

ROOT = Path(__file__).parents[2]
# what a page shows of it depends on nobody's terminal
TERMINAL = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "MPLBACKEND": "agg"}
INSTALLS = ("pip", "make", "dask", "sudo")
PICTURE = re.compile(r'(?:!\[[^\]]*\]\(|\b(?:src|href)=")([\w./-]+\.(?:png|svg|gif|mp4|html))[)"]')
COMMENT = re.compile(r"<!-- (not run|before|ends with):? ?(.*?) ?-->", re.DOTALL)


class PageError(AssertionError):
    """A page that does not do what it says: its name, its line, what was printed instead."""


@dataclass
class Block:
    """A block of a page: its language, text, first line, title, and what the comment before it says."""

    language: str
    text: str
    line: int
    title: str = ""
    comments: dict[str, str] = field(default_factory=dict)


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


def run_page(page: Path, folder: Path, *, write: bool = False) -> list[str]:
    """Run all blocks of a page in a folder; returns what was not run, with reasons.

    Raises PageError, with page and line, for the first thing that is not as the page says; write: puts what is
    printed into the page instead.
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
    return [f"{name}:{line}" for line in left_out]


def made_pictures(text: str) -> list[str]:
    """Names of the pictures that a page shows."""
    return [name for name in PICTURE.findall(text) if "://" not in name]


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
            printed = _run_python(block.text, space, where)
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
        status, out, told = run_command(words, where)
        if status != wanted_status:
            raise PageError(f"{where}: ended with {status}, not {wanted_status}:\n{out}{told}")
        if target:
            Path(target).write_text(out, encoding="utf-8")
        elif wanted.strip():
            text += check(wanted, out + (told if status else ""), where, write)
    block.text = text


def run_command(words: list[str], where: str) -> tuple[int, str, str]:
    """A `sarrus` command as typed, in this process: exit status, what it printed, what it told beside."""
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
    return textwrap.wrap(line, 115, break_on_hyphens=False) if len(line) > 115 else [line.rstrip()]


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
