"""Kernel `run` for a batch of mechanisms of one structure: eight in SIMD lanes on the host, or one per GPU thread.

This file contains no mathematics: run_kernel.py is translated unchanged, for arrays that contain a number of every
run. Tables of the structure are known at translation time, as are numbers that are 0, 1 or -1 in all runs of a
group. All other numbers are read from a block with one row per number and one column per run.

    numbers   form, loads, start velocity, columns to be read: `Numbers` defines the rows
    results   one row per number of `result_names`, one column per run
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..thresholds import SAME_FACTOR, SINGULAR_STEP_END
from .applied_forces import Loads, make_loads
from .language.kinds import (
    BOOL,
    FLOAT,
    INT,
    LANES,
    MASK,
    WHOLE,
    ArrayType,
    TupleType,
    hexadecimal,
    return_type,
)
from .language.module import Module
from .layout import Form, make_lone_workspace
from .recording import Sampling
from .run_kernel import ME, OutputArrays, ReadingColumns, RunRules, StepSeries, make_record, run
from .series_step import LOCAL, NEXT_SHARE, SEEN, StepRules, make_state
from .simd import WIDTH
from .step_control import HIGHEST_ORDER, OUTPUT_CORRECTIONS, log_cost

# Numbers that are written into the code if all runs of a group share them.
CONSTANTS = (0.0, 1.0, -1.0)
# Up to this number of coordinates and equations, code is generated without calls.
SMALL = 20
# Highest order of series on a GPU: its threads have little memory.
DEVICE_ORDER = 16
# Settings that all runs share: duration, tolerance of a step, tolerance.
T_END, TOLERANCE, SETTING, SETTINGS = range(4)
# Indices of the sizes: first run, number of runs, outputs, first counted output, end of the counted outputs,
# strides, largest number of steps.
(FIRST, COUNT, OUTPUTS, FIRST_COUNTED, LAST_COUNTED, STRIDE, MOST_STEPS, SIZES) = (
    0, 1, 2, 3, 4, 5, 9, 10,
)  # fmt: skip


class Numbers(NamedTuple):
    """All data with numbers of a run: form, loads (None without), start velocity, columns to be read."""

    form: Form
    loads: Loads | None
    velocity: Floats
    readings: ReadingColumns


def list_numbers(numbers: Any) -> Iterator[Floats]:
    """Its arrays of floats, in the order of their rows."""
    for x in numbers:
        if isinstance(x, tuple):
            yield from list_numbers(x)
        elif x is not None and x.dtype == np.float64:
            yield x


def flatten(numbers: Numbers) -> Floats:
    """All numbers of a run in one row."""
    return np.concatenate([x.ravel() for x in list_numbers(numbers)])


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """Data from which code for a group of runs is generated.

    template: integers of the structure, and numbers of one of the runs. known: which numbers are constants shared
    by all runs. damped, holds, share_every: step rules that follow from the model.
    """

    template: Numbers
    known: Flags
    damped: bool
    holds: bool
    share_every: int

    @property
    def rows(self) -> Ints:
        """Indices of the numbers that are read from the block."""
        return np.flatnonzero(~self.known)

    @property
    def is_small(self) -> bool:
        """Whether code without calls is worth its compile time (Bricard: 41 s instead of 7 s, 15 % faster)."""
        form = self.template.form
        return len(form.Q) + len(form.phi0) <= SMALL

    @property
    def columns(self) -> int:
        """Number of columns to be read."""
        return len(self.template.readings.level)

    def digest(self) -> str:
        """Hash of everything that the code depends on."""
        text = hashlib.sha256()
        whole = flatten(self.template)
        text.update(np.where(self.known, whole, 2.0).tobytes())
        for x in _integers(self.template):
            text.update(repr(x.shape).encode() + np.ascontiguousarray(x).tobytes())
        text.update(repr([x.shape for x in list_numbers(self.template)]).encode())
        text.update(repr((self.damped, self.holds, self.share_every)).encode())
        return text.hexdigest()[:32]

    def result_names(self) -> list[tuple[str, int]]:
        """Contents of the results: names, and number of rows of each."""
        record = make_record(self.columns)
        names = [(name, x.size) for name, x in zip(record._fields, record, strict=True)]
        return [*names, ("counters", NEXT_SHARE), ("state", 2 * len(self.template.form.Q))]


def _integers(numbers: Any) -> Iterator[Ints]:
    for x in numbers:
        if isinstance(x, tuple):
            yield from _integers(x)
        elif x is not None and x.dtype == np.int64:
            yield x


class _Writer:
    """Text of an entry: memory of all arrays, and their contents."""

    def __init__(self, plan: BatchPlan, lanes: bool, order: int) -> None:
        self.plan, self.lanes, self.order = plan, lanes, order
        self.float, self.whole = (LANES, WHOLE) if lanes else (FLOAT, INT)
        self.early: list[str] = []
        self.lines: list[str] = []
        self.count = 0
        # Numbers of the template used so far, and rows of the block.
        self.taken = self.row = 0
        # Doubles per lane in the memory that the caller provides.
        self.memory = 0
        self.places: dict[str, tuple[str, Any]] = {}
        self.tables: list[str] = []

    def line(self, text: str, early: bool = False) -> str:
        self.count += 1
        name = f"%e{self.count}"
        (self.early if early else self.lines).append(f"{name} = {text}")
        return name

    def place(self, kind: str, base: str, at: int | str) -> str:
        return self.line(f"getelementptr {kind}, ptr {base}, i64 {at}")

    def room(self, kind: str, example: Any) -> str:
        """Memory of an array: allocated separately if it is short, so that it may stay in registers."""
        size = max(example.size, 1)
        if self.lanes and example.ndim > 1 and size > 64:
            address = self.place(LANES, "%memory", self.memory)
            self.memory += size
            return address
        name = self.line(f"alloca [{size} x {kind}], align 64", early=True)
        bytes_each = 8 * (WIDTH if self.lanes and kind in (LANES, WHOLE) else 1)
        self.lines.append(
            f"call void @llvm.memset.p0.i64(ptr align 64 {name}, i8 0, i64 {bytes_each * size}, i1 false)"
        )
        return name

    def fill(self, name: str, size: int) -> tuple[float | None, ...]:
        """Store the numbers of the runs in an array; returns those that are known."""
        found: list[float | None] = []
        whole = flatten(self.plan.template)
        for n in range(size):
            at = self.taken + n
            if self.plan.known[at]:
                found.append(float(whole[at]))
                text = f"{self.float} {self.splat(float(whole[at]))}"
            else:
                found.append(None)
                text = f"{self.float} {self.load_number(self.row)}"
                self.row += 1
            self.lines.append(f"store {text}, ptr {self.place(self.float, name, n)}, align 8")
        self.taken += size
        return tuple(found)

    def splat(self, x: float) -> str:
        return f"splat (double {hexadecimal(x)})" if self.lanes else hexadecimal(x)

    def load_number(self, row: int) -> str:
        at = self.line(f"mul i64 %count, {row}")
        at = self.line(f"add i64 {at}, %first")
        where = self.place("double", "%numbers", at)
        return self.line(f"load {self.float}, ptr {where}, align 8, !invariant.load !7")

    def array(
        self, home: str, x: Any, numbers: bool, single: bool = False
    ) -> tuple[ArrayType, str]:
        """Type and address of an array; numbers: contains numbers of the runs; single: one for all runs."""
        sizes = tuple(str(n) for n in x.shape)
        if x.dtype == np.int64 and numbers:
            return ArrayType(INT, x.ndim, home, sizes, tuple(x.ravel().tolist())), self.table(x)
        kind = self.whole if x.dtype == np.int64 else self.float
        address = self.room(kind, x)
        values = self.fill(address, x.size) if numbers else None
        self.places[home] = address, x
        return ArrayType(kind, x.ndim, home, sizes, values), address

    def table(self, x: Ints) -> str:
        """Integers of the structure in memory, for loops that are not unrolled."""
        name = f"@structure{len(self.tables)}"
        entries = ", ".join(f"i64 {n}" for n in x.ravel().tolist()) or "i64 0"
        self.tables.append(f"{name} = private constant [{max(x.size, 1)} x i64] [{entries}]")
        return name

    def named(self, value: Any, numbers: bool, prefix: str = "") -> tuple[TupleType, str]:
        """A named tuple: its type, and its block of addresses and sizes."""
        parts = [self.part(f"{prefix}{type(value).__name__}.{name}", x, numbers)
                 for name, x in zip(value._fields, value, strict=True)]  # fmt: skip
        kind = TupleType.of(value._fields, tuple(k for k, _ in parts))
        return kind, self.block(kind, [address for _, address in parts])

    def part(self, home: str, x: Any, numbers: bool) -> tuple[Any, Any]:
        if isinstance(x, tuple):
            return self.nested(x, numbers)
        if x is None:
            return None, None
        return self.array(home, x, numbers)

    def nested(self, value: Any, numbers: bool) -> tuple[TupleType, Any]:
        """A tuple within a tuple: its words lie in the block of the outer one."""
        parts = [self.part(f"{type(value).__name__}.{name}", x, numbers)
                 for name, x in zip(value._fields, value, strict=True)]  # fmt: skip
        return TupleType.of(value._fields, tuple(k for k, _ in parts)), [a for _, a in parts]

    def block(self, kind: TupleType, addresses: list[Any]) -> str:
        name = self.line(f"alloca [{max(kind.words, 1)} x i64]", early=True)
        self.store_words(kind, addresses, name, 0)
        return name

    def store_words(self, kind: TupleType, addresses: list[Any], name: str, first: int) -> None:
        for part, at, address in zip(kind.kinds, kind.places, addresses, strict=True):
            where = first + at
            if isinstance(part, TupleType):
                self.store_words(part, address, name, where)
            elif isinstance(part, ArrayType):
                self.lines.append(f"store ptr {address}, ptr {self.place('i64', name, where)}")
                for k, size in enumerate(part.sizes):
                    to = self.place("i64", name, where + 1 + k)
                    self.lines.append(f"store i64 {size}, ptr {to}")
            elif part is not None:
                stored = INT if part == BOOL else part
                self.lines.append(f"store {stored} {address}, ptr {self.place('i64', name, where)}")


class _Loads:
    """Loads of a run with memory for their series: numbers, and scratch memory without numbers."""

    def __init__(self, writer: _Writer, loads: Loads, order: int) -> None:
        self.writer = writer
        made = make_loads(loads, order)
        assert made is not None
        self.kind, addresses = self.take(loads, made)
        self.address = writer.block(self.kind, addresses)

    def take(self, plain: Any, made: Any) -> tuple[TupleType, list[Any]]:
        kinds, addresses = [], []
        for name, x, y in zip(plain._fields, plain, made, strict=True):
            home = f"{type(plain).__name__}.{name}"
            kind: Any
            address: Any
            if isinstance(x, tuple):
                kind, address = self.take(x, y)
            else:
                # Arrays that are empty in the model are scratch memory.
                numbers = x.dtype == np.int64 or x.size > 0 or y.size == 0
                kind, address = self.writer.array(home, x if numbers else y, numbers)
            kinds.append(kind)
            addresses.append(address)
        return TupleType.of(plain._fields, tuple(kinds)), addresses


def write_run(plan: BatchPlan, lanes: bool) -> tuple[str, int]:
    """LLVM text of the whole kernel, and the number of doubles of memory that each lane needs."""
    order = HIGHEST_ORDER if lanes else DEVICE_ORDER
    w = _Writer(plan, lanes, order)
    form, loads, velocity, readings = plan.template
    nq = len(form.Q)
    form_kind, form_at = w.named(form, True)
    loads_kind, loads_at = None, ""
    if loads is not None:
        found = _Loads(w, loads, order)
        loads_kind, loads_at = found.kind, found.address
    carried = 0 if loads is None else len(loads.torsions.first) + 1
    # The start velocity is part of the state.
    kept = make_state(nq, carried, 0.0)
    kept_kind, kept_at = w.named(kept, False)
    state, _ = w.places["StepperState.state"]
    w.fill(w.place(w.float, state, nq), len(velocity))
    balance, _ = w.places["StepperState.balance"]
    readings_kind, readings_at = w.named(readings, True)
    ws_kind, ws_at = w.named(make_lone_workspace(form, order), False)
    reference_pivots = w.places["Workspace.reference_pivots"]
    out = make_lone_workspace(form, 0)
    out_kind, out_at = _second_workspace(w, out, reference_pivots)
    record_kind, record_at = w.named(make_record(plan.columns), False)
    rules_kind, rules_at = _run_rules(w, plan)
    output_kind, output_at = _output(w)
    step = StepSeries(np.zeros((order + 1, nq)), np.zeros((carried, 2 * order + 2)), np.zeros(SEEN))
    step_kind, step_at = w.named(step, False)
    tolerance = f"%setting{TOLERANCE}"
    if lanes:
        one = w.line(f"insertelement {LANES} poison, double {tolerance}, i64 0")
        tolerance = w.line(
            f"shufflevector {LANES} {one}, {LANES} poison, <{WIDTH} x i32> zeroinitializer"
        )
    w.lines.append(f"store {w.float} {tolerance}, ptr {w.place(w.float, balance, LOCAL)}, align 8")
    me = "%first"
    if lanes:
        one = w.line(f"insertelement {WHOLE} poison, i64 %first, i64 0")
        all_first = w.line(
            f"shufflevector {WHOLE} {one}, {WHOLE} poison, <{WIDTH} x i32> zeroinitializer"
        )
        lane = ", ".join(f"i64 {n}" for n in range(WIDTH))
        me = w.line(f"add {WHOLE} {all_first}, <{lane}>")
    inline = "alwaysinline" if plan.is_small or not lanes else ""
    module = Module(unrolls=True, alone=True, masked=lanes, inline=inline)
    counts, _ = w.places["RunSummary.counts"]
    w.lines.append(f"store {w.whole} {me}, ptr {w.place(w.whole, counts, ME)}, align 8")
    kinds = (
        form_kind, ws_kind, out_kind, loads_kind, rules_kind, readings_kind, kept_kind, step_kind, record_kind,
        output_kind,
    )  # fmt: skip
    name, result = module.function(run, kinds)
    loads_given = [] if loads_kind is None else [loads_at]
    blocks = [
        form_at, ws_at, out_at, *loads_given, rules_at, readings_at, kept_at, step_at, record_at, output_at,
    ]  # fmt: skip
    given = [f"ptr {block}" for block in blocks]
    if lanes:
        # In the last group some lanes may be beyond the last run.
        count = w.line(f"insertelement {WHOLE} poison, i64 %runs, i64 0")
        count = w.line(
            f"shufflevector {WHOLE} {count}, {WHOLE} poison, <{WIDTH} x i32> zeroinitializer"
        )
        given.append(f"{MASK} {w.line(f'icmp slt {WHOLE} {me}, {count}')}")
    w.lines.append(f"call {return_type(result)} @{name}({', '.join(given)})")
    _store_results(w, plan)
    entry = _write_lanes_entry(w) if lanes else _write_device_entry(w)
    declared = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    return module.text(declared, *w.tables, entry), w.memory


def _second_workspace(
    w: _Writer, out: Any, reference_pivots: tuple[str, Any]
) -> tuple[TupleType, str]:
    """Memory for the projection of outputs; the reference pivots are those of the steps."""
    kinds, addresses = [], []
    for name, x in zip(out._fields, out, strict=True):
        if name == "reference_pivots":
            sizes = tuple(str(n) for n in x.shape)
            kind, address = (
                ArrayType(w.float, 1, "Workspace.reference_pivots", sizes),
                reference_pivots[0],
            )
        else:
            kind, address = w.array(f"second Workspace.{name}", x, False)
        kinds.append(kind)
        addresses.append(address)
    record = TupleType.of(out._fields, tuple(kinds))
    return record, w.block(record, addresses)


def _truth(x: bool) -> str:
    return "1" if x else "0"


def _run_rules(w: _Writer, plan: BatchPlan) -> tuple[TupleType, str]:
    steps, steps_at = _rules(w, plan)
    sampling, sampling_at = _sampling()
    kind = TupleType.of(RunRules._fields, (steps, sampling, FLOAT, BOOL, INT))
    rest = [f"%setting{SETTING}", _truth(plan.damped), f"%size{MOST_STEPS}"]
    return kind, w.block(kind, [steps_at, sampling_at, *rest])


def _rules(w: _Writer, plan: BatchPlan) -> tuple[TupleType, list[str]]:
    costs = log_cost()[: w.order + 1]
    cost = ArrayType(FLOAT, 1, "log cost", (str(len(costs)),), tuple(costs.tolist()))
    kind = TupleType.of(StepRules._fields, (FLOAT, FLOAT, BOOL, INT, BOOL, BOOL, cost))
    table = w.line(f"alloca [{len(costs)} x double], align 64", early=True)
    for n, x in enumerate(costs.tolist()):
        w.lines.append(f"store double {hexadecimal(x)}, ptr {w.place('double', table, n)}")
    values = [
        f"%setting{T_END}", f"%setting{TOLERANCE}", _truth(not plan.damped), str(plan.share_every),
        _truth(plan.holds), _truth(False), table,
    ]  # fmt: skip
    return kind, values


def _sampling() -> tuple[TupleType, list[str]]:
    none = ArrayType(FLOAT, 1, "no nodes", ("0",))
    kind = TupleType.of(
        Sampling._fields, (BOOL, BOOL, FLOAT, FLOAT, INT, FLOAT, FLOAT, none, none, FLOAT)
    )
    zero = hexadecimal(0.0)
    values = [
        _truth(True), _truth(False), zero, zero, str(OUTPUT_CORRECTIONS), hexadecimal(np.inf),
        hexadecimal(SINGULAR_STEP_END), "null", "null", hexadecimal(SAME_FACTOR),
    ]  # fmt: skip
    return kind, values


def _output(w: _Writer) -> tuple[TupleType, str]:
    ranks = (
        ArrayType(FLOAT, 1, "times", ("",)), ArrayType(INT, 1, "counted", ("2",)),
        ArrayType(FLOAT, 1, "values", ("",)), ArrayType(INT, 1, "stride", ("4",)),
    )  # fmt: skip
    kind = TupleType.of(OutputArrays._fields, ranks)
    name = w.line(f"alloca [{kind.words} x i64]", early=True)
    counted, stride = w.place("i64", "%sizes", FIRST_COUNTED), w.place("i64", "%sizes", STRIDE)
    words = ["ptr %times", f"i64 %size{OUTPUTS}", f"ptr {counted}", "i64 2", "ptr %values", "i64 0"]
    for n, text in enumerate([*words, f"ptr {stride}", "i64 4"]):
        w.lines.append(f"store {text}, ptr {w.place('i64', name, n)}")
    return kind, name


def _store_results(w: _Writer, plan: BatchPlan) -> None:
    """Store all results of the runs as doubles, one row each."""
    row = 0
    homes = {"counters": "StepperState.counters", "state": "StepperState.state"}
    for name, size in plan.result_names():
        address, x = w.places[homes.get(name, f"RunSummary.{name}")]
        kind = w.whole if x.dtype == np.int64 else w.float
        for n in range(size):
            value = w.line(f"load {kind}, ptr {w.place(kind, address, n)}, align 8")
            if kind == w.whole:
                value = w.line(f"sitofp {kind} {value} to {w.float}")
            at = w.line(f"add i64 {w.line(f'mul i64 %count, {row}')}, %first")
            where = w.place("double", "%results", at)
            w.lines.append(f"store {w.float} {value}, ptr {where}, align 8")
            row += 1


ENTRY = "run_group"
_ARGUMENTS = ("numbers", "times", "values", "settings", "sizes", "results")


def _read_shared() -> list[str]:
    """Numbers that all runs share, by name."""
    lines = []
    for n in range(SETTINGS):
        lines.append(f"%s{n} = getelementptr double, ptr %settings, i64 {n}")
        lines.append(f"%setting{n} = load double, ptr %s{n}, !invariant.load !7")
    for n in (COUNT, OUTPUTS, MOST_STEPS):
        lines.append(f"%z{n} = getelementptr i64, ptr %sizes, i64 {n}")
        lines.append(f"%size{n} = load i64, ptr %z{n}, !invariant.load !7")
    lines.append(f"%count = add i64 %size{COUNT}, 0")
    return lines


def _write_lanes_entry(w: _Writer) -> str:
    given = ", ".join(f"ptr %{name}" for name in _ARGUMENTS)
    head = f"define void @{ENTRY}({given}, ptr %memory, i64 %first, i64 %runs) nounwind"
    body = "\n  ".join([*w.early, *_read_shared(), *w.lines, "ret void"])
    return f"{head} {{\n  {body}\n}}\n"


def _write_device_entry(w: _Writer) -> str:
    given = ", ".join(f"ptr %{name}" for name in _ARGUMENTS)
    words = ("ctaid", "ntid", "tid")
    declared = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{x}.x()" for x in words)
    read = "\n  ".join(f"%{x} = call i32 @llvm.nvvm.read.ptx.sreg.{x}.x()" for x in words)
    body = "\n  ".join(w.lines)
    return f"""{declared}
define ptx_kernel void @{ENTRY}({given}) nounwind {{
  {chr(10).join(w.early)}
  {chr(10).join(_read_shared())}
  {read}
  %before = mul i32 %ctaid, %ntid
  %me32 = add i32 %before, %tid
  %first = zext i32 %me32 to i64
  %mine = icmp slt i64 %first, %count
  br i1 %mine, label %go, label %done
go:
  {body}
  br label %done
done:
  ret void
}}
"""
