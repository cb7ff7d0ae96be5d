"""Where the operands of ``&&`` and ``||`` stand, for errors about them.

The library reports such an operand as a call without a fitting function, at the operator. cel-go names the operand that
is no bool, at its own place. Only the parsed expression tells that place, and the library gives it as the bytes of a
``cel.expr.ParsedExpr``. So the few fields that are needed are read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ("logical_operands", "with_operands")

_LOGICAL: Final = (b"_&&_", b"_||_")
_ERROR: Final = re.compile(
    r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): found no matching overload for '_(?:&&|\|\|)_' applied to "
    r"'\((?P<types>[^'\n]*)\)'\n \| [^\n]*\n \| \.*\^"
)
_PLACE: Final = re.compile(r"ERROR: <input>:(\d+):(\d+):")
#: Types that may be a bool, as far as the checker knows.
_MAYBE_BOOL: Final = ("bool", "dyn", "*error*")
#: Fields of ``cel.expr.Expr``: its number, and the sorts of expressions that contain others.
_ID, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = 2, 5, 6, 7, 8, 9
#: The fields that hold expressions, in each sort. The entries of a struct hold them one level further down.
_INNER: Final = {_SELECT: (1,), _CALL: (1, 3), _LIST: (1,), _STRUCT: (2,), _COMPREHENSION: (2, 4, 5, 6, 7)}
_ENTRY: Final = (3, 4)


def with_operands(told: str, text: str, parse: Callable[[str], bytes]) -> str:
    """
    Rewrite the errors about operands of ``&&`` and ``||`` as cel-go writes them, in the order of their places.

    :param told: the errors, each with its line and a mark
    :param text: the expression
    :param parse: returns the parsed expression, as the library serializes it
    """
    if _ERROR.search(told) is None:
        return told
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    operands = logical_operands(parse(text))

    def rewritten(found: re.Match[str]) -> str:
        at = starts[int(found["line"]) - 1] + int(found["column"]) - 1
        wrong = []
        for type_, place in zip(_types(found["types"]), operands.get(at, ()), strict=False):
            if type_ not in _MAYBE_BOOL:
                row = max(number for number, start in enumerate(starts) if start <= place)
                before = place - starts[row]
                where = f"ERROR: <input>:{row + 1}:{before + 1}: expected type 'bool' but found '{type_}'"
                wrong.append(f"{where}\n | {lines[row]}\n | {'.' * before}^")
        return "\n".join(wrong) or found[0]

    errors = re.split(r"\n(?=ERROR: )", _ERROR.sub(rewritten, told))
    return "\n".join(sorted(errors, key=_place))


def _place(error: str) -> tuple[int, ...]:
    found = _PLACE.match(error)
    return tuple(map(int, found.groups())) if found is not None else ()


def logical_operands(parsed: bytes) -> dict[int, list[int]]:
    """
    Return the places of the operands of each ``&&`` and ``||``, by the place of the operator.

    :param parsed: the expression, as the library serializes it. Places count characters
    """
    expression, source = b"", b""
    for number, value in _fields(_last(parsed, 2)):
        if number == 2:
            expression = value
        elif number == 3:
            source = value
    places = {}
    for number, value in _fields(source):
        if number == 4:
            entry = dict(_fields(value))
            places[entry.get(1, 0)] = entry.get(2, 0)
    found = {}
    for call, arguments in _logical_calls(expression):
        found[places.get(call, 0)] = [places.get(each, 0) for each in arguments]
    return found


def _logical_calls(expression: bytes) -> Iterator[tuple[int, list[int]]]:
    """The number of each call in an expression, and those of its arguments."""
    for sort, value in _fields(expression):
        if sort not in _INNER:
            continue
        inner = [part for number, part in _fields(value) if number in _INNER[sort]]
        if sort == _STRUCT:
            inner = [part for entry in inner for number, part in _fields(entry) if number in _ENTRY]
        if sort == _CALL and _last(value, 2) in _LOGICAL:
            yield _number(expression), [_number(part) for part in inner]
        for part in inner:
            yield from _logical_calls(part)


def _number(expression: bytes) -> int:
    return next((value for number, value in _fields(expression) if number == _ID), 0)


def _last(message: bytes, field: int) -> bytes:
    return next((value for number, value in _fields(message) if number == field), b"")


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message in protobuf's encoding: numbers, and the bytes of texts and messages."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        else:
            size = 8 if kind == 1 else 4
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _types(text: str) -> list[str]:
    """Split a list of types at the commas that are not within a type."""
    types, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            types.append("")
        else:
            types[-1] += character
    return [each.strip() for each in types]
