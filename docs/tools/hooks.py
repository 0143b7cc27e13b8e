"""Hooks of MkDocs: run all pages; add pictures, notebooks, gallery, equations and the help of the commands."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import equations
import gallery
import pages
import references

EXAMPLES = re.compile(r"\]\(((?:\.\./)+)examples/")


class _InlineEquation(InlineProcessor):
    """`$...$` in a line of text."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int, int]:  # type: ignore[override]
        math = equations.convert(m[1])
        for element in math.iter():
            if element.text:
                # text that Markdown leaves alone
                element.text = AtomicString(element.text)
        return math, m.start(0), m.end(0)


class _Equations(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        # after code spans, before backslashes and emphasis
        md.inlinePatterns.register(_InlineEquation(equations.INLINE, md), "equation", 185)


def _equation_fence(source: str, *others: Any, **named: Any) -> str:
    return equations.write_block(source)


def on_config(config: Any) -> Any:
    """Teach Markdown the equations."""
    config["markdown_extensions"].append(_Equations())
    fence = {"name": "math", "class": "equation", "format": _equation_fence}
    config["mdx_configs"].setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Run every page and add what it made; the first difference ends the build."""
    for page in pages.find_pages():
        folder = Path(tempfile.mkdtemp(prefix="page-"))
        try:
            left_out = pages.run_page(page, folder, notebook=page.parent.name == "tutorials")
            if page.is_relative_to(config["docs_dir"]):
                _add_pictures(files, config, page, folder)
                _add_notebook(files, config, page, folder)
        except pages.PageError as error:
            raise PluginError(str(error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for line in left_out:
            print(f"not run: {line}")
    _add_gallery(files, config)
    add_references(files, config)
    for path in sorted((pages.ROOT / "examples").rglob("*")):
        if path.suffix in (".py", ".yaml"):
            where = path.relative_to(pages.ROOT).as_posix()
            files.append(File.generated(config, where, content=path.read_bytes()))
    return files


def _add_pictures(files: Files, config: Any, page: Path, folder: Path) -> None:
    """Add the pictures that the blocks of a page made, next to it."""
    folder_of_page = page.parent.relative_to(config["docs_dir"])
    for name in dict.fromkeys(pages.made_pictures(page.read_text(encoding="utf-8"))):
        where = (folder_of_page / name).as_posix()
        if (folder / name).is_file() and files.get_file_from_path(where) is None:
            files.append(File.generated(config, where, content=(folder / name).read_bytes()))


def _add_notebook(files: Files, config: Any, page: Path, folder: Path) -> None:
    """Put the executed notebook of a tutorial next to its page."""
    made = folder / f"{page.stem}.ipynb"
    if made.is_file():
        where = (page.parent.relative_to(config["docs_dir"]) / made.name).as_posix()
        files.append(File.generated(config, where, content=made.read_bytes()))


def _add_gallery(files: Files, config: Any) -> None:
    folder = Path(tempfile.mkdtemp(prefix="gallery-"))
    try:
        for piece in gallery.find_pieces():
            gallery.film(gallery.run_piece(piece), folder, piece.name)
        for path in sorted(folder.iterdir()):
            where = f"gallery/{path.name}"
            files.append(File.generated(config, where, content=path.read_bytes()))
    except pages.PageError as error:
        raise PluginError(str(error)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def add_references(files: Files, config: Any) -> None:
    """Add the page of references, which is made from the bibliography."""
    page = references.write_page(references.load_entries())
    files.append(File.generated(config, "references.md", content=page))


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    """Fill in gallery, help of the commands, links to notebooks and references; examples are next to the pages."""
    if page.file.src_uri.startswith("tutorials/"):
        name = Path(page.file.src_uri).with_suffix(".ipynb").name
        link = f'[Download this tutorial as a notebook]({name}){{ download="{name}" }}'
        title, _, rest = markdown.partition("\n")
        markdown = f"{title}\n\n{link}\n{rest}"
    if "<!-- gallery -->" in markdown:
        shown = "\n".join(gallery.show(piece) for piece in gallery.find_pieces())
        markdown = markdown.replace("<!-- gallery -->", shown)
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", "\n".join(map(_help, _commands())))
    markdown = re.sub(r"^```output", "```text", markdown, flags=re.MULTILINE)
    up = "../" * page.file.src_uri.count("/")
    markdown = references.link_citations(markdown, set(references.load_entries()), up)
    return EXAMPLES.sub(f"]({up}examples/", markdown)


def _commands() -> list[str]:
    from sarrus.cli import app

    names = [command.name for command in app.registered_commands]
    groups = [
        f"{group.name} {command.name}"
        for group in app.registered_groups
        for command in group.typer_instance.registered_commands
    ]
    return sorted([*names, *groups])


def _help(name: str) -> str:
    words = ["sarrus", *name.split(), "--help"]
    with pages.inside(Path(tempfile.gettempdir()), examples=False):
        _, out, _ = pages.run_command(words, name)
    return f"## {name}\n\n```text\n{out.strip()}\n```\n"
