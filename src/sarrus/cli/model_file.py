"""What commands do with model files: tell them apart from problems, read them, print remarks."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from .. import problems
from ..formats import Imported, is_foreign, read
from ..mechanism import Mechanism, find_remarks
from ..mechanism.files import load_file

ENDINGS = (".yaml", ".yml", ".json")
# what begins a model of another program, among the first bytes of an XML file
ROOTS = (b"<mujoco", b"<robot")


def is_model_file(word: str) -> bool:
    """Whether the word on the command line means a model file, ours or another program's."""
    return word not in problems.names() and (word.lower().endswith(ENDINGS) or is_imported(word))


def is_imported(word: str) -> bool:
    """Whether a file is a model of another program; an XML file may be a specification as well."""
    if not is_foreign(word) or not word.lower().endswith(".xml"):
        return is_foreign(word)
    try:
        with open(word, "rb") as file:
            begin = file.read(65536)
    except OSError:
        return False
    return any(root in begin for root in ROOTS)


def load_imported(path: str, screen: Console, *, close: bool = True) -> Imported:
    """A model of another program; what was taken, changed and dropped is printed."""
    with screen.status(f"{Path(path).name}: reading"):
        imported = read(path, close=close)
    for line in imported.report.sentences:
        screen.print(Text(line), soft_wrap=True)
    return imported


def load_model(path: str, screen: Console) -> Mechanism:
    """The mechanism of a file; remarks on it are printed."""
    if path in problems.names():
        raise ValueError(
            f"'{path}' is a problem, not a file; run it with `sarrus run {path}`, or write its file "
            f"with `sarrus export {path} my.yaml`"
        )
    if is_imported(path):
        mechanism = load_imported(path, screen).mechanism
        for remark in find_remarks(mechanism)[len(mechanism.told) :]:
            screen.print(Text(remark), soft_wrap=True)
        return mechanism
    loaded = load_file(path)
    for remark in loaded.remarks:
        screen.print(Text(remark), soft_wrap=True)
    return loaded.mechanism
