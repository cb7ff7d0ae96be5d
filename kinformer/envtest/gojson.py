"""The error texts of Go's JSON decoder, for texts that are not JSON.

Users see these texts in a client's error, so this server sends the same ones. Python's decoder finds the place.
"""

from __future__ import annotations

import json
import re

__all__ = ("complaint",)

_VALUE = "looking for beginning of value"
#: The beginnings of Python's errors, how far Go's place is behind Python's, and Go's words.
_WORDS = (
    ("Expecting value", 0, _VALUE),
    ("Illegal trailing comma", 1, _VALUE),
    ("Expecting property name", 0, "looking for beginning of object key string"),
    ("Expecting ':' delimiter", 0, "after object key"),
    ("Extra data", 0, "after top-level value"),
    ("Invalid control character", 0, "in string literal"),
    ("Invalid \\escape", 1, "in string escape code"),
    ("Invalid \\uXXXX escape", 1, "in \\u hexadecimal character escape"),
)
_string = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'"}


def complaint(data: bytes) -> str:
    """Go's error for a text that is not JSON. For valid JSON it is the error for a text that ends too early."""
    text = data.decode("latin-1")  # one character for each byte, whatever they are
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return "exceeded max depth"
    except _ConstantError as error:
        return f"invalid character '{error}' {_VALUE}"
    except json.JSONDecodeError as error:
        if error.msg.startswith("Expecting ','"):
            position, where = error.pos, f"after {_innermost(text[: error.pos])}"
        else:
            found = ((error.pos + more, words) for start, more, words in _WORDS if error.msg.startswith(start))
            position, where = next(found, (len(data), ""))
        if where == _VALUE:
            position, where = _in_literal(text, position)
        if position < len(data):
            return f"invalid character {_quote(data, position)} {where}"
    return "unexpected end of JSON input"


class _ConstantError(ValueError):
    """A number that Python reads, and that JSON does not have."""


def _refuse(constant: str) -> None:
    raise _ConstantError(constant[0])


def _in_literal(text: str, at: int) -> tuple[int, str]:
    """Where a value goes wrong, and Go's words. It may begin like one of JSON's words."""
    for word in ("true", "false", "null"):
        if text[at : at + 1] == word[0]:
            alike = next(index for index, char in enumerate(word) if text[at + index : at + index + 1] != char)
            return at + alike, f"in literal {word} (expecting '{word[alike]}')"
    return at, _VALUE


def _innermost(text: str) -> str:
    """What ends before this place: an item of an array, or a field of an object."""
    opened: list[str] = []
    for char in _string.sub("", text):
        if char in "[{":
            opened.append(char)
        elif char in "]}":
            opened.pop()
    return "array element" if opened[-1] == "[" else "object key:value pair"


def _quote(data: bytes, position: int) -> str:
    char = data[position : position + 4].decode("utf-8", "ignore")[:1]
    if not char or not data.startswith(char.encode(), position):
        return f"'\\x{data[position]:02x}'"
    if char.isprintable() or char in _ESCAPES:
        return f"'{_ESCAPES.get(char, char)}'"
    return f"'\\x{ord(char):02x}'" if ord(char) < 0x80 else f"'\\u{ord(char):04x}'"
