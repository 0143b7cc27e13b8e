"""How a failing command ends: with one sentence; unexpected errors also write a report file.

An error is expected if this package raises it deliberately, or if the system reports it about a file. Everything
else is a bug of this package: the report contains what is needed to find it. SARRUS_DEBUG=1 shows the traceback of
either kind.
"""

from __future__ import annotations

import dis
import os
import sys
import tempfile
import traceback
from typing import NoReturn

from rich.text import Text

from ..names import shown
from ..runs.provenance import command_line, describe_machine, describe_versions, now
from .screen import Screen

DEBUG = "SARRUS_DEBUG"
# The exit status that a shell expects after Ctrl-C.
STOPPED = 130
# Exit status of a command that could not do its work.
FAILED = 2
# Largest number of characters shown of an unexpected error's message.
MOST_SHOWN = 200
_PACKAGE = __name__.partition(".")[0]


def debugging() -> bool:
    """Return whether the user wants to see tracebacks."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def end_with(error: Exception) -> NoReturn:
    """Print the message of an error and exit."""
    if debugging():
        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        _fail(f"out of memory: {str(error) or 'request fewer outputs'}")
    if is_expected(error):
        _fail(str(error))
    what = shown(f"{type(error).__name__}: {error}")
    what = what if len(what) <= MOST_SHOWN else f"{what[:MOST_SHOWN]}..."
    _fail(f"this is a fault of the program ({what}); {_save_report(error)}")


def is_expected(error: Exception) -> bool:
    """Return whether an exception is meant for the user, rather than a bug of this package."""
    if isinstance(error, OSError) or type(error).__module__.partition(".")[0] == _PACKAGE:
        return True
    return isinstance(error, ValueError | ImportError) and _is_raised_here(error)


def _is_raised_here(error: Exception) -> bool:
    """Return whether a `raise` statement of this package raised it, rather than a failed call of other code."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    name = dis.opname[frame.f_code.co_code[trace.tb_lasti]]
    ours = str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE
    return ours and name == "RAISE_VARARGS"


def _save_report(error: Exception) -> str:
    """Write versions, command and traceback to a private file; returns a sentence that names the file."""
    context = {
        "command": command_line(),
        "date": now(),
        **describe_machine(),
        **describe_versions(),
    }
    lines = [f"{name}: {shown(value)}" for name, value in context.items()]
    text = "\n".join([*lines, "", *traceback.format_exception(error)])
    try:
        # A new file with a random name that only its owner can read.
        number, path = tempfile.mkstemp(prefix="sarrus-error-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as why:
        return f"a report could not be written ({why}); {DEBUG}=1 shows the traceback"
    return f"please report it with the file {path}"


def _fail(why: str) -> NoReturn:
    line = Text.assemble(("error:", "red"), f" {why}")
    Screen(stderr=True, soft_wrap=True).print(line, highlight=False)
    sys.exit(FAILED)
