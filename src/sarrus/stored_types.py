"""Types of the parts of a saved result: types of its fields, types and shapes of its arrays.

An array is a letter (f: float64, i: int64) and its sizes: a number, a size of the model (nq coordinates, nc
equations, torsions, drives), or any other word, which stands for the same size in all fields of an object.
"a|b" is one of two, "k+1" one more than k. Other fields: float, int, bool, text, {float}, {int}, {value}: by name,
[text], the name of a class, (Class): a tuple of them. A question mark means optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .model import Model

FIELDS: dict[str, dict[str, str]] = {
    "RunSettings": {
        **{"duration": "float", "outputs": "f m", "method": "text", "tolerance": "float?", "step": "float?"},
        **{"options": "{value}", "max_steps": "int", "at_crossing": "text", "misfit": "float?"},
        **{"assemble": "bool", "dense": "bool", "estimate_error": "bool"},
    },
    "AccelerationRule": {"form": "Form", "damping": "float", "stiffness": "float", "refinements": "int"},
    "Record": {
        **{"model": "Model", "times": "f n", "q": "f n nq", "v": "f n nq", "angles": "f n torsions"},
        **{"work": "f n", "own": "f n nq", "kept": "i n", "restored": "f n", "law": "AccelerationRule?"},
    },
    "MotionPart": {
        **{"pieces": "StepPolynomials", "sampling": "Sampling"},
        **{"reference_pivots": "f nc", "restored": "f steps"},
    },
    "Motion": {"model": "Model", "parts": "(MotionPart)", "law": "AccelerationRule?"},
    "StepHistory": {"times": "f k", "orders": "i k", "pivots": "f k|0"},
    "Outcome": {
        **{"status": "text", "message": "text", "record": "Record", "counters": "{int}"},
        **{"timings": "{float}", "notes": "[text]", "steps": "StepHistory", "watch": "Watch?"},
        **{"method": "text", "motion": "Motion?", "lost": "float", "error": "f n?"},
        **{"events": "LocatedEvents?", "segments": "(RunSegment)"},
    },
    "RunSegment": {
        **{"parts": "text", "begin": "float", "first": "int", "count": "int", "outcome": "Outcome"},
    },
    "LocatedEvents": {
        **{"names": "[text]", "units": "[text]", "which": "i k", "kinds": "[text]"},
        **{"values": "f k", "gaps": "f k", "record": "Record", "segments": "i k|0"},
        **{"energies": "f k|0", "actions": "[text]"},
    },
    "StepPolynomials": {
        "orders": "i k",
        "starts": "f k+1|k",
        "coefficients": "f k terms nq|2nq",
        "angle_and_work_series": "f k torsions+1|0 some",
        "reference_pivots": "f k|0 nc|0",
    },
    "Sampling": {
        **{"projects": "bool", "own": "bool", "same": "float", "damping": "float"},
        **{"corrections": "int", "limit": "float", "near": "float", "nodes": "f g", "weights": "f g"},
        "same_factor": "float",
    },
    "Piece": {"start": "float", "end": "float", "coefficients": "f terms nq"},
    "MonitoredSteps": {
        **{"found": "f dips columns", "regular": "f nq", "starts": "f k", "ends": "f k", "orders": "i k"},
        **{"coefficients": "f k terms nq", "firsts": "i dips", "finals": "i dips", "before": "(Piece)"},
    },
    "Watch": {
        **{"stretches": "(MonitoredSteps)", "start": "f nc", "reference_pivots": "f nc", "begin": "f 2 nq"},
        **{"later": "f nq", "parts": "i nq", "until": "float", "left": "float"},
    },
    "derived": {"a": "f n nq", "norms": "f n 3", "energies": "f 2 n", "drive_forces": "f n drives"},
}  # fmt: skip
# fields of the form of a method or monitor that may differ from the model's
OF_FORMS = {"K_M": "i m", "K_M_val": "f m", "K_A": "i 0", "K_A_1": "i 0", "K_A_2": "i 0"}
OF_FORMS |= {"eps": "f nc", "rho": "f nc"}
# limit of refinements and corrections of a solve: more would only take time
MOST_REPEATS = 1000

_PLAIN: dict[str, Callable[[Any], bool]] = {
    "float": lambda x: isinstance(x, int | float) and not isinstance(x, bool),
    "int": lambda x: isinstance(x, int) and not isinstance(x, bool),
    "bool": lambda x: isinstance(x, bool),
    "text": lambda x: isinstance(x, str),
    # type of an option: some options of other engines are words
    "value": lambda x: isinstance(x, int | float | str),
}


def sizes_of(model: Model) -> dict[str, int]:
    """The sizes of a model, by the words above."""
    nq, torsions = model.coordinates, len(model.loads.torsions.first)
    return {
        **{"nq": nq, "2nq": 2 * nq, "nc": len(model.form.phi0), "torsions": torsions},
        "drives": len(model.loads.drives.sines),
    }


def check_fields(
    kind: str, parts: dict[str, Any], sizes: dict[str, int], fields: dict[str, str] | None = None
) -> None:
    """Raise ValueError if a field is unknown, or not of its type and shape.

    Fields with defaults that are newer than the file may be missing.
    """
    fields = FIELDS[kind] if fields is None else fields
    if odd := set(parts) - set(fields):
        raise ValueError(f"{kind} has an unknown field '{min(odd)}'")
    known = dict(sizes)
    # in the order of the table: the first array with a size defines it
    for name in fields:
        if name in parts:
            _check(parts[name], fields[name], known, f"{kind}.{name}")
    _check_indices(kind, parts)


def check_result(parts: dict[str, Any], derived: dict[str, Any], sizes: dict[str, int]) -> None:
    """The same for a result; also checks that its outputs are the requested ones."""
    for name, kind in (("start", "Record"), ("settings", "RunSettings"), ("outcome", "Outcome")):
        _check_class(parts[name], kind, name)
    outcome, wanted = parts["outcome"], len(parts["settings"].outputs)
    count = len(outcome.record)
    # a run that stops at a crossing has an additional output there
    most = wanted if outcome.status == "done" else wanted + 1
    if count > most or (outcome.status == "done" and count < wanted):
        raise ValueError(
            f"it holds {count} outputs of {wanted}, and its status is '{outcome.status}'"
        )
    if len(parts["start"]) != 1 and count:
        raise ValueError(f"its start is {len(parts['start'])} positions, not 1")
    _check_segments(outcome, count)
    if outcome.error is not None and len(outcome.error) != count:
        raise ValueError(f"it estimates {len(outcome.error)} errors of {count} outputs")
    check_fields("derived", derived, {**sizes, "n": count})
    if missing := set(FIELDS["derived"]) - set(derived):
        raise ValueError(f"it lacks '{min(missing)}'")


def _check_segments(outcome: Any, count: int) -> None:
    """The outputs of all segments follow each other, and events lie in segments."""
    first = 0
    for segment in outcome.segments:
        if segment.first != first or segment.count < 0 or len(segment.outcome.record) != 1:
            raise ValueError("the outputs of its segments do not follow each other")
        first += segment.count
    if outcome.segments and first != count:
        raise ValueError(f"its segments have {first} of {count} outputs")
    found = outcome.events
    if found is not None and outcome.segments:
        _within(found.segments, 0, len(outcome.segments) - 1, "LocatedEvents.segments")
        if {len(found.segments), len(found.energies), len(found.actions)} != {len(found.which)}:
            raise ValueError("LocatedEvents has lists of different lengths")


def check_form(parts: dict[str, Any], model: Model) -> None:
    """The same for the fields of a form: kernels use them without checks."""
    check_fields(
        "Form", parts, sizes_of(model), {name: OF_FORMS[name] for name in parts if name in OF_FORMS}
    )
    reference_pivots = model.form
    if "K_M" in parts and not np.array_equal(parts["K_M"], reference_pivots.pos_q):
        raise ValueError("Form.K_M does not name the places of the coordinates")
    if len(parts.get("K_M", reference_pivots.K_M)) != len(
        parts.get("K_M_val", reference_pivots.K_M_val)
    ):
        raise ValueError("Form.K_M and Form.K_M_val differ in length")
    if (
        len(
            {
                len(parts.get(name, getattr(reference_pivots, name)))
                for name in ("K_A", "K_A_1", "K_A_2")
            }
        )
        > 1
    ):
        raise ValueError("Form.K_A, K_A_1 and K_A_2 differ in length")


def _check(value: Any, wanted: str, known: dict[str, int], where: str) -> None:
    if wanted.endswith("?"):
        if value is None:
            return
        wanted = wanted[:-1]
    letter, *shape = wanted.split()
    if shape:
        _check_array(value, letter, shape, known, where)
    elif wanted[0] in "{[":
        kind, inside = (dict, wanted[1:-1]) if wanted[0] == "{" else (list, wanted[1:-1])
        items = value.values() if isinstance(value, dict) else value
        if not isinstance(value, kind) or not all(map(_PLAIN[inside], items)):
            raise ValueError(
                f"{where} is not {'values by name' if kind is dict else 'a list'}: {inside}"
            )
    elif wanted in _PLAIN:
        if not _PLAIN[wanted](value):
            raise ValueError(f"{where} is not of the type {wanted}")
    else:
        _check_class(value, wanted, where)


def _check_class(value: Any, wanted: str, where: str) -> None:
    name = wanted.strip("()")
    items = value if wanted[0] == "(" else (value,)
    if not isinstance(items, tuple) or not all(type(item).__name__ == name for item in items):
        raise ValueError(f"{where} is not {'some' if wanted[0] == '(' else 'a'} {name}")


def _check_array(
    value: Any, letter: str, shape: list[str], known: dict[str, int], where: str
) -> None:
    dtype = {"f": np.dtype("float64"), "i": np.dtype("int64")}[letter]
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{where} is not an array")
    fits = value.dtype == dtype and value.ndim == len(shape)
    if not fits or not all(
        _fits(n, word, known) for n, word in zip(value.shape, shape, strict=True)
    ):
        sizes = ", ".join(str(known.get(word, word)) for word in shape)
        raise ValueError(
            f"{where} is an array of {value.dtype} of shape {value.shape}, not of {dtype} of shape ({sizes})"
        )


def _fits(size: int, words: str, known: dict[str, int]) -> bool:
    for word in words.split("|"):
        more = int(word.endswith("+1"))
        name = word.removesuffix("+1")
        wanted = int(name) if name.isdigit() else known.setdefault(name, size - more)
        if size == wanted + more:
            return True
    return False


def _check_indices(kind: str, parts: dict[str, Any]) -> None:
    """Indices that kernels and readers use must be in range."""
    if kind in ("StepPolynomials", "MonitoredSteps"):
        _within(parts["orders"], 0, parts["coefficients"].shape[1] - 1, f"{kind}.orders")
    if kind == "StepPolynomials":
        starts = parts["starts"]
        if not len(starts) or not np.isfinite(starts).all() or (np.diff(starts) < 0).any():
            raise ValueError("StepPolynomials.starts does not increase")
        reference_pivots = parts.get("reference_pivots", np.zeros((0, 0)))
        if len(parts["orders"]) > len(reference_pivots) and reference_pivots.shape[1]:
            raise ValueError(
                f"StepPolynomials.reference_pivots has no rows for {len(parts['orders'])} steps"
            )
    elif kind == "MonitoredSteps":
        _within(parts["firsts"], 0, len(parts["starts"]), "Stretch.firsts")
        _within(parts["finals"], 0, len(parts["starts"]), "Stretch.finals")
    elif kind == "Watch":
        _within(parts["parts"], 0, len(parts["parts"]) - 1, "Watch.parts")
    elif kind == "LocatedEvents":
        _within(parts["which"], 0, len(parts["names"]) - 1, "LocatedEvents.which")
        counts = {len(parts["which"]), len(parts["kinds"]), len(parts["record"])}
        if len(counts) > 1 or len(parts["units"]) != len(parts["names"]):
            raise ValueError("LocatedEvents has lists of different lengths")
    elif kind == "Record":
        _within(parts["kept"], 0, 2, "Record.kept")
        if not np.isfinite(parts["times"]).all():
            raise ValueError("Record.times is not finite")
    elif kind == "MotionPart":
        pieces, steps = parts["pieces"], len(parts["restored"])
        # a last piece of zero length may represent the end itself
        if len(pieces.starts) != steps + 1 or len(pieces.orders) not in (steps, steps + 1):
            raise ValueError(f"Part.pieces are {len(pieces.orders)} of {steps} steps")
    elif kind in ("Sampling", "AccelerationRule"):
        name = "corrections" if kind == "Sampling" else "refinements"
        _within(np.array(parts.get(name, 0)), -1, MOST_REPEATS, f"{kind}.{name}")


def _within(values: Any, low: int, high: int, where: str) -> None:
    if values.size and not (values.min() >= low and values.max() <= high):
        raise ValueError(f"{where} holds {values.min()} .. {values.max()}, not {low} .. {high}")
