"""What commands do with model files: tell them apart from problems, read them, print remarks."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from .. import problems
from ..mechanism import Mechanism
from ..mechanism.files import load_file

ENDINGS = (".yaml", ".yml", ".json")


def is_model_file(word: str) -> bool:
    """Whether the word on the command line means a model file."""
    return word not in problems.names() and word.lower().endswith(ENDINGS)


def load_model(path: str, screen: Console) -> Mechanism:
    """The mechanism of a file; remarks on it are printed."""
    if path in problems.names():
        raise ValueError(
            f"'{path}' is a problem, not a file; run it with `sarrus run {path}`, or write its file "
            f"with `sarrus export {path} my.yaml`"
        )
    loaded = load_file(path)
    for remark in loaded.remarks:
        screen.print(Text(remark), soft_wrap=True)
    return loaded.mechanism
