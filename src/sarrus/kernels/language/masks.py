"""Vectorised runs: the same kernels with one run per SIMD lane, by an execution mask [PharrMark2012].

Numbers are shared by all lanes (double, i64, i1) or private to each lane (<8 x double>, <8 x i64>, <8 x i1>). A
lane condition narrows the mask; break, continue and return remove lanes from it. Variables assigned in a narrowed
region are private to each lane, and lanes outside the mask keep their values, in variables and in memory.
Conditions and loops that all lanes share are translated as in any other kernel.

    if c:     mask = before & c, then before & ~c for the other branch; each is skipped if no lane is active
    loop:     mask = outer & ~returned & ~left, & the condition; ends when no lane is active; indices are shared
    break, continue, return:  active lanes are added to left, to skipped, to returned; mask = 0
    x = y:    select(mask, y, x)

`shared(x)` (simd.py) is the maximum over the active lanes, for loop lengths. Memory of `scratch` in layout.py is
written without a mask, because the values of inactive lanes are never read there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .. import simd
from ..layout import SCRATCH
from .kinds import (
    BOOL,
    FLOAT,
    INT,
    LANES,
    MASK,
    OWN,
    WHOLE,
    Array,
    Constant,
    Number,
    TranslationError,
    return_type,
    wider,
)
from .statements import LEAVING, FunctionBody
from .syntax import contains, list_statements

W = simd.WIDTH
TRUE = "splat (i1 true)"
NONE = "zeroinitializer"
ZEROS = {FLOAT: "0.0", INT: "0", BOOL: "false", LANES: NONE, WHOLE: NONE, MASK: NONE}
# kinds of lane-private numbers
LANE_KINDS = frozenset(OWN.values())
# statements with which lanes leave a block early
_LEAVING = (*LEAVING, ast.Return)
_BLOCKS = (ast.If, ast.For, ast.While)


class MaskedBody(FunctionBody):
    """Translates a function for runs in SIMD lanes."""

    calls_generic = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # whether the code here is inside a lane condition; masks of the lanes that left or skip the enclosing
        # loops
        self.narrowed = False
        self.leaving: list[tuple[str, str]] = []
        self.returns_early = False
        # loop indices: all lanes inside a loop share them
        self.indices: set[str] = set()
        self.mask = self.early(f"alloca {MASK}")
        self.returned = self.early(f"alloca {MASK}")

    # the mask

    def now(self) -> str:
        """Load the mask of the active lanes."""
        return self.line(f"load {MASK}, ptr {self.mask}")

    def set_mask(self, name: str) -> None:
        """Set the active lanes."""
        self.emit(f"store {MASK} {name}, ptr {self.mask}")

    def new_mask(self) -> str:
        """Allocate an empty mask."""
        place = self.new_slot(MASK)
        self.emit(f"store {MASK} {NONE}, ptr {place}")
        return place

    def both(self, mask: str, b: str) -> str:
        """Return the lanes in both masks; the second may be undefined outside the first."""
        return self.line(f"select {MASK} {mask}, {MASK} {b}, {MASK} {NONE}")

    def inverse(self, mask: str) -> str:
        """Return the complement of a mask."""
        return self.line(f"xor {MASK} {mask}, {TRUE}")

    def without(self, mask: str, places: list[str]) -> str:
        """Return a mask without the lanes of other masks."""
        for place in places:
            mask = self.both(mask, self.inverse(self.line(f"load {MASK}, ptr {place}")))
        return mask

    def add(self, place: str, lanes: str) -> None:
        """Add lanes to a stored mask."""
        old = self.line(f"load {MASK}, ptr {place}")
        self.emit(f"store {MASK} {self.line(f'or {MASK} {lanes}, {old}')}, ptr {place}")

    def leave_by(self, place: str) -> None:
        """Move all active lanes to a stored mask; none stays active."""
        self.add(place, self.now())
        self.set_mask(NONE)

    def any_of(self, mask: str) -> Number:
        """Return whether a mask contains a lane."""
        name = f"llvm.vector.reduce.or.v{W}i1"
        self.module.declare(name, f"declare i1 @{name}({MASK})")
        return Number(BOOL, self.line(f"call i1 @{name}({MASK} {mask})"))

    def gone(self) -> list[str]:
        """Return the stored masks of lanes that returned, left the loop, or skip its rest."""
        return [self.returned, *(self.leaving[-1] if self.leaving else ())]

    # functions

    def write(self, name: str, node: ast.FunctionDef, kinds: tuple[Any, ...], inline: str) -> str:
        """Translate the function: the mask is an additional argument, and results are stored until the end."""
        loops = (x.target for x in list_statements(node.body) if isinstance(x, ast.For))
        self.indices = {x.id for x in loops if isinstance(x, ast.Name)}
        self.set_mask("%mask")
        self.emit(f"store {MASK} {NONE}, ptr {self.returned}")
        parameters = self.assign_arguments(node, kinds)
        self.statements(node.body)
        result = self.settled.get("return")
        kinds_out = [result] if isinstance(result, str) else list(result or ())
        out = "poison"
        for n, kind in enumerate(kinds_out):
            x = self.line(f"load {kind}, ptr %ret{n}")
            if isinstance(result, str):
                out = x
            else:
                out = self.line(f"insertvalue {return_type(result)} {out}, {kind} {x}, {n}")
        self.emit(f"ret {return_type(result)} {out}" if kinds_out else "ret void")
        places = []
        for n, kind in enumerate(kinds_out):
            # results that no lane sets must not be undefined: a branch on them would be undefined, too
            places += [f"%ret{n} = alloca {kind}", f"store {kind} {ZEROS[kind]}, ptr %ret{n}"]
        given = ", ".join([*parameters, f"{MASK} %mask"])
        head = f"define internal {return_type(result)} @{name}({given}) {inline} nounwind"
        body = "\n  ".join([*places, *self.begin, "br label %begin", "\nbegin:", *self.lines])
        return f"{head} {{\n  {body}\n}}\n"

    def do_Return(self, node: ast.Return) -> None:
        """Store the results of the active lanes; lanes that returned before keep theirs."""
        value = None if node.value is None else self.value(node.value)
        if value is not None and not (isinstance(value, Constant) and value.value is None):
            self.put_results(value)
        if self.narrowed:
            self.returns_early = True
            self.leave_by(self.returned)
        else:
            self.closed = True

    def put_results(self, value: Any) -> None:
        """Store the results."""
        some = self.narrowed or self.returns_early
        numbers, _ = self.settle_results(value, own=some)
        for n, x in enumerate(numbers):
            if some:
                x = self.blend(x, self.line(f"load {x.kind}, ptr %ret{n}"))
            self.emit(f"store {x.kind} {x.name}, ptr %ret{n}")

    def last_arguments(self) -> list[str]:
        """Return the mask of the active lanes, for which other kernels are called."""
        return [f"{MASK} {self.now()}"]

    def share(self, value: Number) -> Number:
        """Return the maximum over the active lanes."""
        if value.kind not in (LANES, WHOLE):
            return value
        if value.kind == LANES:
            raise TranslationError("numbers that lanes share are integers")
        name = f"llvm.vector.reduce.smax.v{W}i64"
        self.module.declare(name, f"declare i64 @{name}({WHOLE})")
        least = f"splat (i64 {-(1 << 62)})"
        lanes = self.line(f"select {MASK} {self.now()}, {WHOLE} {value.name}, {WHOLE} {least}")
        return Number(INT, self.line(f"call i64 @{name}({WHOLE} {lanes})"))

    # variables and entries

    def blend(self, new: Number, old: str) -> Number:
        """Return the new number for the active lanes, the old one for the others."""
        kind = new.kind
        return Number(
            kind, self.line(f"select {MASK} {self.now()}, {kind} {new.name}, {kind} {old}")
        )

    def do_Assign(self, node: ast.Assign) -> None:
        """Assign; the result of `shared` is not lane-private."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            callee = self.value(call.func)
            if isinstance(callee, Constant) and callee.value is simd.shared:
                value = self.value(call)
                for target in node.targets:
                    assert isinstance(target, ast.Name)
                    super().assign(target.id, value)
                return
        super().do_Assign(node)

    def assign(self, name: str, value: Any) -> None:
        """Assign a value to a variable for the active lanes."""
        if isinstance(value, Constant) and isinstance(value.value, bool):
            value = self.number(value)
        if name in self.indices and isinstance(value, Number) and value.kind == INT:
            super().assign(name, value)
            return
        if isinstance(value, Number) and self.narrowed and value.kind in {*OWN, *LANE_KINDS}:
            value = self.convert(value, OWN.get(value.kind, value.kind))
            known = self.settled.get(name)
            if known in LANE_KINDS:
                kind = wider(known, value.kind)
                value = self.convert(value, kind)
                if kind == known:
                    place = self.place_of(name, known)
                    value = self.blend(value, self.line(f"load {known}, ptr {place}"))
        super().assign(name, value)

    def place_of(self, name: str, kind: str) -> str:
        """Return the memory of a lane variable."""
        if name not in self.slots:
            self.slots[name] = [self.new_slot(kind)]
        return self.slots[name][0]

    def new_slot(self, kind: str) -> str:
        """Allocate memory for a variable, initialised so that it is defined where no lane assigns it."""
        slot = super().new_slot(kind)
        if kind in ZEROS:
            self.begin.append(f"store {kind} {ZEROS[kind]}, ptr {slot}")
        return slot

    def whole(self, value: Any) -> Number:
        """Convert a value to an array index, which may be lane-private."""
        return self.convert(value, wider(INT, self.number(value).kind))

    def entry_address(self, base: Array, at: Number) -> str:
        """Return the address of an entry; for lane-private indices, the addresses of all lanes."""
        if at.kind == INT:
            return super().entry_address(base, at)
        # inactive lanes may have any index
        inside = self.line(f"select {MASK} {self.now()}, {WHOLE} {at.name}, {WHOLE} {NONE}")
        if base.kind not in (LANES, WHOLE):
            return self.line(f"getelementptr {base.kind}, ptr {base.address}, {WHOLE} {inside}")
        single = FLOAT if base.kind == LANES else INT
        lane = ", ".join(f"i64 {n}" for n in range(W))
        first = self.line(f"mul {WHOLE} {inside}, splat (i64 {W})")
        first = self.line(f"add {WHOLE} {first}, <{lane}>")
        return self.line(f"getelementptr {single}, ptr {base.address}, {WHOLE} {first}")

    def of_Subscript(self, node: ast.Subscript) -> Any:
        """Return an entry at a shared or a lane-private index."""
        base = self.value(node.value)
        if isinstance(base, Array) and not isinstance(node.slice, ast.Slice):
            at, left = self.offset(node, base)
            if at.kind == WHOLE:
                if left:
                    return self.row_of_lanes(node, base, at, left)
                return self.gather(base, at)
        return super().of_Subscript(node)

    def row_of_lanes(self, node: ast.AST, base: Array, at: Number, left: Any) -> Any:
        """Raise an error: a row at a lane-private index cannot be passed on."""
        raise self.fail(node, "a row at a place of each lane; take its entries")

    def gather(self, base: Array, at: Number) -> Number:
        """Return the entries at lane-private indices."""
        kind = OWN.get(base.kind, base.kind)
        suffix = f"v{W}f64" if kind == LANES else f"v{W}i64"
        name = f"llvm.masked.gather.{suffix}.v{W}p0"
        self.module.declare(name, f"declare {kind} @{name}(<{W} x ptr>, i32, {MASK}, {kind})")
        places = self.entry_address(base, at)
        given = f"<{W} x ptr> {places}, i32 8, {MASK} {self.now()}, {kind} {NONE}"
        return Number(kind, self.line(f"call {kind} @{name}({given})"))

    def load(self, kind: str, address: str, home: str) -> Number:
        """Load an entry; lane booleans are not stored in memory."""
        return super().load(kind, address, home)

    def store(self, kind: str, address: str, home: str, value: Any) -> None:
        """Store an entry for the active lanes."""
        if kind in (FLOAT, INT, BOOL):
            value = self.number(value)
            if value.kind in LANE_KINDS:
                raise TranslationError(f"{home or 'memory'} is shared by all lanes")
            super().store(kind, address, home, value)
            return
        value = self.convert(value, kind)
        if home not in SCRATCH:
            value = self.blend(value, self.load(kind, address, home).name)
        super().store(kind, address, home, value)

    def put(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target; lane-private indices are scattered."""
        if isinstance(target, ast.Subscript):
            base = self.value(target.value)
            if isinstance(base, Array) and not isinstance(target.slice, ast.Slice):
                at, left = self.offset(target, base)
                if at.kind == WHOLE and not left:
                    self.scatter(base, at, value)
                    return
        super().put(target, value)

    def scatter(self, base: Array, at: Number, value: Any) -> None:
        """Store entries at lane-private indices."""
        # in memory that all lanes share, the lanes use different indices
        kind = OWN.get(base.kind, base.kind)
        suffix = f"v{W}f64" if kind == LANES else f"v{W}i64"
        name = f"llvm.masked.scatter.{suffix}.v{W}p0"
        self.module.declare(name, f"declare void @{name}({kind}, <{W} x ptr>, i32, {MASK})")
        x, places = self.convert(value, kind), self.entry_address(base, at)
        given = f"{kind} {x.name}, <{W} x ptr> {places}, i32 8, {MASK} {self.now()}"
        self.emit(f"call void @{name}({given})")

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """Translate x += ..., also at lane-private indices."""
        if isinstance(node.target, ast.Subscript):
            base = self.value(node.target.value)
            at, _ = self.offset(node.target, base)
            if at.kind == WHOLE:
                now = self.gather(base, at)
                self.scatter(base, at, self.combine(node, node.op, now, node.value))
                return
        super().do_AugAssign(node)

    # control

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Translate statements in sequence; the rest is skipped when no lane is active."""
        for n, node in enumerate(nodes):
            super().statements([node])
            if self.closed:
                return
            rest = nodes[n + 1 :]
            # all lanes continue after a loop that they leave by `break`
            ways = _LEAVING if isinstance(node, ast.If) else (ast.Return,)
            if isinstance(node, _BLOCKS) and contains(node, ways) and any(map(_works, rest)):
                self.if_lanes_are_left(rest)
                return

    def if_lanes_are_left(self, nodes: list[ast.stmt]) -> None:
        """Translate statements that only active lanes need."""
        known = dict(self.known)
        some, after = self.labels("some", "none")
        self.branch(self.any_of(self.now()), some, after)
        self.open(some)
        self.statements(nodes)
        # if all lanes have returned nothing follows, but the results are read here
        ends, self.closed = self.closed, False
        self.jump(after)
        self.known = {x: n for x, n in known.items() if self.known.get(x) == n}
        self.open(after)
        self.closed = ends

    def do_If(self, node: ast.If) -> None:
        """Translate a shared condition as one branch for all lanes; otherwise each branch runs for its lanes."""
        test = self.decided(node.test)
        if isinstance(test, Constant):
            self.statements(node.body if test.value else node.orelse)
            return
        truth = self.truth(test)
        if truth.kind == BOOL and not contains(node, _LEAVING):
            self.branch_for_all(node, truth)
            return
        condition = self.convert(truth, MASK).name
        before, known, outer = self.now(), dict(self.known), self.narrowed
        self.rare += self.depth > 0
        self.narrowed = True
        for n, nodes in enumerate((node.body, node.orelse)):
            if not nodes:
                continue
            mask = self.both(before, condition if n == 0 else self.inverse(condition))
            some, after = self.labels("some", "none")
            self.known = dict(known)
            self.set_mask(mask)
            self.branch(self.any_of(mask), some, after)
            self.open(some)
            self.statements(nodes)
            self.jump(after)
            self.open(after)
        self.rare -= self.depth > 0
        self.narrowed = outer
        self.known = known
        self.forget(node)
        self.set_mask(self.without(before, self.gone()))

    def branch_for_all(self, node: ast.If, truth: Number) -> None:
        """Translate a branch that is the same for all lanes."""
        yes, no, after = self.labels("then", "else", "after")
        self.branch(truth, yes, no if node.orelse else after)
        known = dict(self.known)
        self.rare += self.depth > 0
        for label, nodes in ((yes, node.body), (no, node.orelse)):
            self.known = dict(known)
            if nodes:
                self.open(label)
                self.statements(nodes)
                self.jump(after)
        self.rare -= self.depth > 0
        self.known = known
        self.forget(node)
        self.open(after)

    def do_While(self, node: ast.While) -> None:
        """Repeat while the condition is true for any lane."""
        self.loop_of_lanes(node, lambda: self.value(node.test))

    def loop_of_lanes(
        self,
        node: ast.While | ast.For,
        test: Callable[[], Any],
        begin: Callable[[], None] | None = None,
        following: Callable[[], None] | None = None,
    ) -> None:
        """Translate a loop that lanes leave one by one."""
        self.forget(node)
        outer, narrowed = self.now(), self.narrowed
        left, skipped = self.new_mask(), self.new_mask()
        head, body, after = self.labels("head", "body", "after")
        self.jump(head)
        self.open(head)
        self.narrowed = True
        self.emit(f"store {MASK} {NONE}, ptr {skipped}")
        self.set_mask(self.without(outer, [self.returned, left]))
        found = test()
        if not isinstance(found, Constant):
            holds = self.convert(self.truth(found), MASK).name
            self.add(left, self.both(self.now(), self.inverse(holds)))
            self.set_mask(self.both(self.now(), holds))
        self.branch(self.any_of(self.now()), body, after)
        self.open(body)
        if begin:
            begin()
        self.leaving.append((left, skipped))
        self.statements(node.body)
        self.leaving.pop()
        if following:
            following()
        self.jump(head)
        self.forget(node)
        self.narrowed = narrowed
        self.open(after)
        self.set_mask(self.without(outer, self.gone()))

    def do_For(self, node: ast.For) -> None:
        """Translate a loop over a range, with shared or lane-private limits."""
        call, target = node.iter, node.target
        if not (isinstance(call, ast.Call) and isinstance(target, ast.Name)):
            raise self.fail(node.iter, "loops are over ranges")
        given = [self.whole(self.value(x)) for x in call.args[:2]]
        first, last = given if len(given) == 2 else (Number(INT, "0"), given[0])
        known = first.kind == last.kind == INT
        if known and (not contains(node, _LEAVING) or self.unrolled(node, first.name, last.name)):
            super().do_For(node)
            return
        step = int(ast.literal_eval(call.args[2])) if len(call.args) == 3 else 1
        begin = self.first_of(first, step)
        slot = self.early("alloca i64")
        self.emit(f"store i64 {begin.name}, ptr {slot}")

        def index() -> Number:
            return Number(INT, self.line(f"load i64, ptr {slot}"))

        def test() -> Any:
            kind = wider(first.kind, last.kind)
            at = self.convert(index(), kind)
            inside = self.compare(ast.Lt if step > 0 else ast.Gt, at, self.convert(last, kind))
            return inside

        def start() -> None:
            # lanes whose range has not started yet skip the iteration
            self.assign(target.id, index())
            if first.kind == WHOLE:
                at = self.convert(index(), WHOLE)
                early = self.compare(ast.Lt if step > 0 else ast.Gt, at, first)
                self.set_mask(self.both(self.now(), self.inverse(early.name)))

        def following() -> None:
            self.emit(f"store i64 {self.line(f'add nsw i64 {index().name}, {step}')}, ptr {slot}")

        self.loop_of_lanes(node, test, start, following)

    def first_of(self, first: Number, step: int) -> Number:
        """Return the first index over all active lanes."""
        if first.kind == INT:
            return first
        if step > 0:
            return self.negated(self.share(self.negated(first)))
        return self.share(first)

    def do_Break(self, node: ast.Break) -> None:
        """Leave the loop."""
        self.leave_by(self.leaving[-1][0])

    def do_Continue(self, node: ast.Continue) -> None:
        """Continue with the next iteration."""
        self.leave_by(self.leaving[-1][1])

    # expressions

    def convert(self, value: Any, kind: str) -> Number:
        """Convert a number to another kind; lane-private numbers stay lane-private."""
        value = self.number(value)
        a = value.kind
        if a == kind:
            return value
        if kind == WHOLE:
            if a in (INT, BOOL):
                return self.spread(super().convert(value, INT), WHOLE)
            how = "fptosi" if a == LANES else "zext"
            found = self.line(f"{how} {a} {value.name} to {WHOLE}")
            # for a lane with nan it is an arbitrary number, but defined
            return Number(WHOLE, self.line(f"freeze {WHOLE} {found}"))
        if kind == MASK:
            return self.spread(value, MASK) if a == BOOL else self.truth(value)
        if kind == LANES and a in (WHOLE, MASK):
            how = "sitofp" if a == WHOLE else "uitofp"
            return Number(LANES, self.line(f"{how} {a} {value.name} to {LANES}"))
        if a in LANE_KINDS:
            return self.convert(value, OWN[kind])
        return super().convert(value, kind)

    def spread(self, value: Number, kind: str) -> Number:
        """Return a shared number copied to all lanes."""
        one = self.line(f"insertelement {kind} poison, {value.kind} {value.name}, i64 0")
        zeros = f"<{W} x i32> {NONE}"
        return Number(kind, self.line(f"shufflevector {kind} {one}, {kind} poison, {zeros}"))

    def truth(self, value: Any) -> Number:
        """Whether a number is not zero."""
        value = self.number(value)
        if value.kind == MASK:
            return value
        if value.kind == WHOLE:
            return Number(MASK, self.line(f"icmp ne {WHOLE} {value.name}, {NONE}"))
        if value.kind == LANES:
            return Number(MASK, self.line(f"fcmp une {LANES} {value.name}, {NONE}"))
        return super().truth(value)

    def negated(self, value: Number) -> Number:
        """-x."""
        if value.kind == WHOLE:
            return Number(WHOLE, self.line(f"sub {WHOLE} {NONE}, {value.name}"))
        return super().negated(value)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """-x, not x."""
        if isinstance(node.op, ast.Not):
            value = self.value(node.operand)
            if isinstance(value, Constant):
                return Constant(not value.value)
            truth = self.truth(value)
            if truth.kind == MASK:
                return Number(MASK, self.inverse(truth.name))
            return Number(BOOL, self.line(f"xor i1 {truth.name}, true"))
        return super().of_UnaryOp(node)

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        """Translate and, or: later operands are evaluated only for the lanes that need them."""
        decides = isinstance(node.op, ast.Or)
        before, out = self.now(), None
        for part in node.values:
            value = self.decided(part)
            if isinstance(value, Constant):
                if bool(value.value) == decides:
                    self.set_mask(before)
                    return Constant(decides) if out is None else self.truth(Constant(decides))
                continue
            truth = self.convert(self.truth(value), MASK) if out else self.truth(value)
            if out is not None:
                before_it = self.convert(out, MASK).name
                parts = (TRUE, truth.name) if decides else (truth.name, NONE)
                text = ", ".join(f"{MASK} {x}" for x in (before_it, *parts))
                truth = Number(MASK, self.line(f"select {text}"))
            out = truth
            if out.kind == MASK:
                open_yet = self.inverse(out.name) if decides else out.name
                self.set_mask(self.both(before, open_yet))
        self.set_mask(before)
        return Constant(not decides) if out is None else out

    def of_IfExp(self, node: ast.IfExp) -> Any:
        """Return one of two values; both are evaluated if the lanes differ."""
        test = self.decided(node.test)
        if isinstance(test, Constant):
            return self.value(node.body if test.value else node.orelse)
        test = self.truth(test)
        first, second = self.value(node.body), self.value(node.orelse)
        if isinstance(first, Array):
            if test.kind == MASK:
                raise self.fail(node, "an array of each lane's choice")
            return super().of_IfExp(node)
        return self.choose(test, first, second)

    def operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """Apply an operation to two numbers."""
        a, b = self.number(a), self.number(b)
        if {a.kind, b.kind} == {BOOL, MASK}:
            a, b = self.convert(a, MASK), self.convert(b, MASK)
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.Pow):
            return super().operate(node, op, a, b)
        kind = wider(wider(a.kind, b.kind), FLOAT if isinstance(op, ast.Div) else INT)
        if kind == WHOLE:
            a, b = self.convert(a, kind), self.convert(b, kind)
            # inactive lanes may contain any value, so overflow cannot be excluded
            name = str(self.operation(type(op), INT)).removesuffix(" nsw")
            return Number(kind, self.line(f"{name} {kind} {a.name}, {b.name}"))
        return super().operate(node, op, a, b)

    def compare(self, op: type[ast.cmpop], a: Number, b: Number) -> Number:
        """Compare two numbers of one kind."""
        if a.kind == WHOLE:
            how = self.comparison(op, INT)
            return Number(MASK, self.line(f"icmp {how} {WHOLE} {a.name}, {b.name}"))
        return super().compare(op, a, b)


def _works(node: ast.stmt) -> bool:
    """Whether a statement costs more than checking whether it is needed."""
    return contains(node, (ast.Call, ast.For, ast.While))
