"""Statements of a function."""

from __future__ import annotations

import ast
from typing import Any

from .expressions import Expressions
from .kinds import (
    BOOL,
    INT,
    OWN,
    Constant,
    Number,
    TupleValue,
    is_literal,
    llvm_types,
    return_type,
    value_of,
    wider,
)
from .syntax import contains, names_set

# statements that leave the rest of a loop
LEAVING = (ast.Break, ast.Continue)


class FunctionBody(Expressions):
    """Translates a function."""

    def write(self, name: str, node: ast.FunctionDef, kinds: tuple[Any, ...], inline: str) -> str:
        """Translate the function."""
        parameters = [*self.hidden, *self.assign_arguments(node, kinds)]
        self.statements(node.body)
        if not self.closed:
            self.emit("ret void" if self.settled.get("return") is None else "unreachable")
        self.finish()
        result = return_type(self.settled.get("return"))
        head = f"define internal {result} @{name}({', '.join(parameters)}) {inline} nounwind"
        body = "\n  ".join([*self.begin, "br label %begin", "\nbegin:", *self.lines])
        return f"{head} {{\n  {body}\n}}\n"

    def assign_arguments(self, node: ast.FunctionDef, kinds: tuple[Any, ...]) -> list[str]:
        """Assign the arguments to their names; returns the parameters in LLVM."""
        parameters = []
        for argument, kind in zip(node.args.args, kinds, strict=True):
            names = []
            for n, text in enumerate(llvm_types(kind)):
                names.append(f"%{argument.arg}.{n}")
                parameters.append(f"{text} {names[-1]}")
            self.assign(argument.arg, value_of(kind, names))
        return parameters

    def finish(self) -> None:
        """Emit what follows after the last statement."""

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Translate statements in sequence, as far as they are reachable."""
        for node in nodes:
            if self.closed:
                return
            self.statement = node
            try:
                getattr(self, f"do_{type(node).__name__}")(node)
            except (AttributeError, KeyError) as error:
                raise self.fail(node, f"cannot be translated ({error!r})") from error

    def do_Expr(self, node: ast.Expr) -> None:
        """Translate a call; ignore a docstring."""
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def do_Pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def do_Assign(self, node: ast.Assign) -> None:
        """Translate x = ..., x, y = ..., x[i] = ..."""
        value = self.value(node.value)
        for target in node.targets:
            self.put(target, value)

    def put(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            parts = self.parts(value)
            for place, part in zip(target.elts, parts, strict=True):
                self.put(place, part)
        elif isinstance(target, ast.Subscript):
            self.store(*self.address(target), value)
        else:
            raise self.fail(target, "no target")

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """Translate x += ..., x[i] += ..."""
        if isinstance(node.target, ast.Name):
            now = self.read(node.target)
            self.assign(node.target.id, self.combine(node, node.op, now, node.value))
            return
        assert isinstance(node.target, ast.Subscript)
        place = self.address(node.target)
        now = self.load(*place)
        self.store(*place, self.combine(node, node.op, now, node.value))

    def do_Return(self, node: ast.Return) -> None:
        """Return one number, several numbers, or nothing."""
        if node.value is None:
            self.emit("ret void")
            self.closed = True
            return
        numbers, result = self.settle_results(self.value(node.value))
        out = numbers[0].name
        if not isinstance(result, str):
            out = "poison"
            for n, x in enumerate(numbers):
                out = self.line(f"insertvalue {return_type(result)} {out}, {x.kind} {x.name}, {n}")
        self.emit(f"ret {return_type(result)} {out}")
        self.closed = True

    def settle_results(self, value: Any, own: bool = False) -> tuple[list[Number], Any]:
        """Convert results to the kinds that all results of the function have; returns them and these kinds.

        own: whether each lane has its own result.
        """
        single = not isinstance(value, TupleValue)
        numbers = [self.number(x) for x in ([value] if single else value.values)]
        kinds = tuple(OWN.get(x.kind, x.kind) if own else x.kind for x in numbers)
        known = self.settled.get("return")
        before = (known,) if isinstance(known, str) else known or kinds
        kinds = tuple(wider(a, b) for a, b in zip(kinds, before, strict=True))
        self.settled["return"] = result = kinds[0] if single else kinds
        self.widened = self.widened or result != (known or result)
        return [self.convert(x, kind) for x, kind in zip(numbers, kinds, strict=True)], result

    def do_If(self, node: ast.If) -> None:
        """Translate a branch; if the condition is known, only the selected one."""
        test = self.decided(node.test)
        if isinstance(test, Constant):
            self.statements(node.body if test.value else node.orelse)
            return
        yes, no, after = self.labels("then", "else", "after")
        self.branch(self.truth(test), yes, no if node.orelse else after)
        before, ends = dict(self.known), []
        self.rare += self.depth > 0
        for label, nodes in ((yes, node.body), (no, node.orelse)):
            self.known = dict(before)
            if nodes:
                self.open(label)
                self.statements(nodes)
            else:
                self.closed = False
            if not self.closed:
                ends.append(self.known)
            if nodes:
                self.jump(after)
        self.rare -= self.depth > 0
        if ends:
            self.known = {x: n for x, n in ends[0].items() if ends[-1].get(x) == n}
            self.open(after)

    def decided(self, node: ast.expr) -> Any:
        """Return a condition, as a constant if its number is known."""
        value = self.value(node)
        if isinstance(value, Number) and value.kind == INT and is_literal(value.name):
            return Constant(int(value.name) != 0)
        return value

    def forget(self, node: ast.stmt) -> None:
        """Discard known values that a loop changes: they are unknown in it and after it."""
        for name in names_set(node):
            self.known.pop(name, None)

    def do_While(self, node: ast.While) -> None:
        """Translate a while loop."""
        self.forget(node)
        head, body, after = self.labels("head", "body", "after")
        self.jump(head)
        self.open(head)
        test = self.value(node.test)
        if isinstance(test, Constant):
            assert test.value
            self.jump(body)
        else:
            self.branch(self.truth(test), body, after)
        self._loop(node.body, body, head, after)
        self.forget(node)
        self.open(after)

    def _loop(self, nodes: list[ast.stmt], body: str, again: str, after: str) -> None:
        self.open(body)
        self.loops.append((again, after))
        self.statements(nodes)
        self.loops.pop()
        self.jump(again)

    def do_For(self, node: ast.For) -> None:
        """Translate a loop over a range."""
        call, target = node.iter, node.target
        if not (isinstance(call, ast.Call) and isinstance(target, ast.Name)):
            raise self.fail(node.iter, "loops are over ranges")
        given = [self.convert(self.value(x), INT) for x in call.args[:2]]
        first, last = given if len(given) == 2 else (Number(INT, "0"), given[0])
        step = int(ast.literal_eval(call.args[2])) if len(call.args) == 3 else 1
        if self.unrolled(node, first.name, last.name):
            self.depth += 1
            for n in range(int(first.name), int(last.name), step):
                if not self.closed:
                    self.assign(target.id, Number(INT, str(n)))
                    self.statements(node.body)
            self.depth -= 1
            return
        self.forget(node)
        slot = self.early("alloca i64")
        self.emit(f"store i64 {first.name}, ptr {slot}")
        head, body, following, after = self.labels("head", "body", "next", "after")
        self.jump(head)
        self.open(head)
        index = Number(INT, self.line(f"load i64, ptr {slot}"))
        how = "slt" if step > 0 else "sgt"
        self.branch(
            Number(BOOL, self.line(f"icmp {how} i64 {index.name}, {last.name}")), body, after
        )
        self.open(body)
        self.assign(target.id, index)
        self.loops.append((following, after))
        self.statements(node.body)
        self.loops.pop()
        self.jump(following)
        self.open(following)
        now = self.line(f"load i64, ptr {slot}")
        self.emit(f"store i64 {self.line(f'add nsw i64 {now}, {step}')}, ptr {slot}")
        self.jump(head)
        self.forget(node)
        self.open(after)

    def unrolled(self, node: ast.For, first: str, last: str) -> bool:
        """Whether a loop is unrolled: of known length, without early exit, and not in cold code."""
        if not self.module.unrolls or self.rare or not (is_literal(first) and is_literal(last)):
            return False
        return not contains(node, LEAVING)

    def do_Break(self, node: ast.Break) -> None:
        """Leave the loop."""
        self.jump(self.loops[-1][1])

    def do_Continue(self, node: ast.Continue) -> None:
        """Continue with the next iteration."""
        self.jump(self.loops[-1][0])
