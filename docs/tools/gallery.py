"""The gallery: scripts of examples/gallery, each run, its printed line compared, its motion filmed."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import ROOT, PageError, check, wrap

GALLERY = ROOT / "examples" / "gallery"
# small pictures that load at once; a film shows about five seconds
SIZE, RATE, SECONDS = (480, 320), 24.0, 5.0


@dataclass
class Piece:
    """A script, what it says of itself, its text without the printed result, and what it prints."""

    path: Path
    title: str
    sentence: str
    code: str
    printed: str

    @property
    def name(self) -> str:
        """Its short name."""
        return self.path.stem


def find_pieces() -> list[Piece]:
    """All scripts of the gallery, by the names they give themselves."""
    return sorted(map(read_piece, GALLERY.glob("*.py")), key=lambda piece: piece.title)


def read_piece(path: Path) -> Piece:
    """A script: its first line is its sentence, the comments at its end are what it prints."""
    lines = path.read_text(encoding="utf-8").rstrip().splitlines()
    end = len(lines)
    while lines[end - 1].startswith("# "):
        end -= 1
    title, _, sentence = lines[0].strip('"').partition(": ")
    code = "\n".join(lines[1:end]).strip() + "\n"
    return Piece(path, title, sentence, code, "\n".join(line[2:] for line in lines[end:]))


def run_piece(piece: Piece, write: bool = False) -> Any:
    """Run a script and compare what it prints; returns its result."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            space = runpy.run_path(str(piece.path), run_name="gallery")
    except Exception as error:
        raise PageError(f"{piece.path.name}: {type(error).__name__}: {error}") from error
    text = check(piece.printed, out.getvalue(), piece.path.name, write)
    if write:
        comment = "".join(f"# {line}\n" for line in text.splitlines() for line in wrap(line))
        first = piece.path.read_text(encoding="utf-8").splitlines()[0]
        piece.path.write_text(f"{first}\n\n{piece.code}{comment}", encoding="utf-8")
    return space["result"]


def film(result: Any, folder: Path, name: str) -> None:
    """A small movie of a result, and the moving picture to play with."""
    from sarrus.report.movie import Film, save_movie

    picture = result.animate()
    speed = result.times[-1] / SECONDS
    save_movie(picture.scene, folder / f"{name}.mp4", Film(SIZE, RATE, speed))
    picture.save(folder / f"{name}.html")


def show(piece: Piece) -> str:
    """The part of the page about a script."""
    video = (
        f'<video src="{piece.name}.mp4" width="{SIZE[0]}" height="{SIZE[1]}" autoplay loop muted playsinline '
        f'controls aria-label="{piece.title} in motion"></video>'
    )
    code = f'```python title="{piece.name}.py"\n{piece.code}```\n\n```text\n{piece.printed}\n```'
    folded = "\n".join(f"    {line}".rstrip() for line in code.splitlines())
    sentence = f"{piece.sentence[0].upper()}{piece.sentence[1:]}"
    play = f"[Play with it]({piece.name}.html){{ target=_blank }}"
    return f'## {piece.title}\n\n{sentence} {play}\n\n{video}\n\n??? example "{piece.name}.py"\n\n{folded}\n'


if __name__ == "__main__":
    write = "--write" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--write"]
    for piece in find_pieces():
        if not names or piece.name in names:
            try:
                run_piece(piece, write)
                print(f"{piece.name}: {len(piece.code.splitlines()) + 2} lines, as it says")
            except PageError as error:
                print(error)
