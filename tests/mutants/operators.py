"""Mutants of a module: each is the source with one small mistake in it.

The mistakes are those that people make: a comparison that is turned around, a boundary that is off by one, a condition
that is negated, a statement or a result that was forgotten, a constant that is another, arguments in the wrong order.
The source is changed as text at the place of one node, so that everything else stays as it is.

What no test could notice is left out: annotations, docstrings, texts, ``__all__``, and calls of a logger.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ("Mutant", "mutants_of")

_COMPARISONS: Final = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_BOUNDARIES: Final = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ARITHMETIC: Final = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult}
_JUNCTIONS: Final = {ast.And: ast.Or, ast.Or: ast.And}
#: Functions that do not care which argument comes first.
_IN_ANY_ORDER: Final = frozenset({"max", "min"})
#: Names of loggers: what they are told is for people.
_LOGGERS: Final = frozenset({"log", "logger", "_log", "_logger"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """
    :param operator: the name of the kind of mistake
    :param line: where it is, counted from 1
    :param before: the code that is replaced, in one line
    :param after: the code in its place
    :param start: where the replaced code begins, in bytes of the module
    :param end: where it ends
    :param text: the line of the source
    :param statement: the first and the last line of the statement around it; of a compound one without its body
    """

    operator: str
    line: int
    before: str
    after: str
    start: int
    end: int
    text: str
    statement: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.line}: {self.mistake}"

    @property
    def mistake(self) -> str:
        return f"{self.operator}: {self.before} -> {self.after}"

    def applied(self, source: str) -> str:
        """The module with the mistake in it."""
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module, in the order of their places."""
    texts = source.splitlines()
    lines = [0, *itertools.accumulate(len(line) for line in source.encode().splitlines(keepends=True))]
    found = []
    for node, statement in _nodes(ast.parse(source)):
        for operator, changed in _changed(node):
            after = ast.unparse(ast.fix_missing_locations(changed))
            if isinstance(node, ast.expr):
                after = f"({after})"
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start, end = lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset
            before = " ".join(source.encode()[start:end].decode().split())
            text = texts[node.lineno - 1].strip()
            found.append(Mutant(operator, node.lineno, before, after, start, end, text, _extent(statement)))
    return sorted(found, key=lambda mutant: mutant.start)


_Place = ast.expr | ast.stmt


def _extent(statement: ast.stmt) -> tuple[int, int]:
    match statement:
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.AsyncFor() | ast.AsyncWith():
            return statement.lineno, max(statement.lineno, statement.body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _nodes(node: ast.AST, around: ast.stmt | None = None) -> Iterator[tuple[_Place, ast.stmt]]:
    """
    The nodes that can be changed. Those that are the condition of a branch are marked as such.

    :param around: the statement that the node belongs to
    :returns: each node with its statement
    """
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test.is_condition = True  # type: ignore[attr-defined]
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_nobodys(child):
                continue
            statement = child if isinstance(child, ast.stmt) else around
            if statement is not None and isinstance(child, ast.expr | ast.stmt):
                yield child, statement
            yield from _nodes(child, statement)


def _is_nobodys(node: ast.AST) -> bool:
    """Whether no test could notice a change: texts, calls of loggers, imports for types, lists of public names."""
    match node:
        case ast.pattern():  # takes no expressions
            return True
        case ast.JoinedStr() | ast.Constant(value=str()) | ast.Expr(value=ast.Constant()):
            return True
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name))))
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name))))
        ):
            return name in _LOGGERS
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.Import() | ast.ImportFrom():
            return True
    return False


def _changed(node: _Place) -> Iterator[tuple[str, ast.AST]]:
    """The names of the mistakes that can be made at a node, each with the node as it is then."""
    match node:
        case ast.Compare(ops=[op]):
            for name, others in (("comparison", _COMPARISONS), ("boundary", _BOUNDARIES)):
                if (other := others.get(type(op))) is not None:
                    yield name, ast.Compare(node.left, [other()], node.comparators)
        case ast.BoolOp():
            yield "and-or", ast.BoolOp(_JUNCTIONS[type(node.op)](), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield "not", node.operand
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        case ast.Constant(value=bool(value)):
            yield "truth", ast.Constant(not value)
        case ast.Constant(value=int() | float()):
            yield "number", ast.Constant(node.value + 1)
        case ast.Call(args=[ast.expr() as first, ast.expr() as second, *rest]):
            same = ast.dump(first) == ast.dump(second) or ast.unparse(node.func) in _IN_ANY_ORDER
            if not same and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield "arguments", ast.Call(node.func, [second, first, *rest], node.keywords)
        case ast.IfExp():
            yield "condition", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "result", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete() | ast.Raise():
            yield "statement", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement", ast.Pass()
        case ast.Continue():
            yield "loop", ast.Break()
        case ast.Break():
            yield "loop", ast.Continue()
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for number, part in enumerate(node.generators):
                if part.ifs:
                    other = copy.deepcopy(node)
                    other.generators[number].ifs = []
                    yield "filter", other
        case ast.Name() | ast.Attribute() | ast.NamedExpr() if getattr(node, "is_condition", False):
            yield "condition", ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.Call | ast.Await) and getattr(node, "is_condition", False):
        yield "condition", ast.UnaryOp(ast.Not(), node)
