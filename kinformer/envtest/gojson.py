"""The error texts of Go's JSON decoder.

Users see these texts in a client's error, so this server sends the same ones. This slow parser runs only after a fast
decoder has refused the text.
"""

from __future__ import annotations

import re

__all__ = ("complaint",)

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}
# Go's decoder allows 10,000 levels. This one, and those of Python, allow fewer: each level is a call.
_DEEPEST = 150
_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_HEX = re.compile(rb"[0-9a-fA-F]*")
#: The parts of a number: how a part begins, its digits, and the error if there are none.
_NUMBER = (
    (re.compile(rb"-?"), re.compile(rb"0|[1-9][0-9]*"), "in numeric literal"),
    (re.compile(rb"\."), re.compile(rb"[0-9]+"), "after decimal point in numeric literal"),
    (re.compile(rb"[eE][+-]?"), re.compile(rb"[0-9]+"), "in exponent of numeric literal"),
)


class _Wrong(Exception):
    def __init__(self, position: int, where: str):
        self.position = position
        self.where = where


def complaint(data: bytes) -> str:
    """Go's error for a text that is not JSON. For valid JSON it is the error for a text that ends too early."""
    try:
        end = _skip_space(data, _value(data, _skip_space(data, 0), 0))
        if end < len(data):
            raise _Wrong(end, "after top-level value")
    except RecursionError:
        return "exceeded max depth"
    except _Wrong as wrong:
        if wrong.position >= len(data):
            return "unexpected end of JSON input"
        return f"invalid character {_quote(data, wrong.position)} {wrong.where}"
    return "unexpected end of JSON input"


def _quote(data: bytes, position: int) -> str:
    byte = data[position]
    if byte < 0x80:
        char = chr(byte)
    else:
        char = data[position : position + 4].decode("utf-8", "ignore")[:1]
        if not char or not data.startswith(char.encode(), position):
            return f"'\\x{byte:02x}'"
    if char == "'":
        return "'\\''"
    if char in _ESCAPES:
        return f"'{_ESCAPES[char]}'"
    if not char.isprintable():
        return f"'\\x{ord(char):02x}'" if ord(char) < 0x80 else f"'\\u{ord(char):04x}'"
    return f"'{char}'"


def _skip_space(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _SPACE:
        at += 1
    return at


def _value(data: bytes, at: int, depth: int) -> int:
    if at >= len(data):
        raise _Wrong(at, "")
    if depth > _DEEPEST:
        raise RecursionError
    char = data[at : at + 1]
    if char == b"{":
        return _object(data, at + 1, depth)
    if char == b"[":
        return _array(data, at + 1, depth)
    if char == b'"':
        return _string(data, at + 1)
    for word in (b"true", b"false", b"null"):
        if char == word[:1]:
            return _word(data, at, word)
    if char == b"-" or char in _DIGITS:
        return _number(data, at)
    raise _Wrong(at, "looking for beginning of value")


def _word(data: bytes, at: int, word: bytes) -> int:
    for index in range(1, len(word)):
        if data[at + index : at + index + 1] != word[index : index + 1]:
            raise _Wrong(at + index, f"in literal {word.decode()} (expecting '{chr(word[index])}')")
    return at + len(word)


def _object(data: bytes, at: int, depth: int) -> int:
    at = _skip_space(data, at)
    if data[at : at + 1] == b"}":
        return at + 1
    while True:
        if data[at : at + 1] != b'"':
            raise _Wrong(at, "looking for beginning of object key string")
        at = _skip_space(data, _string(data, at + 1))
        if data[at : at + 1] != b":":
            raise _Wrong(at, "after object key")
        at = _skip_space(data, _value(data, _skip_space(data, at + 1), depth + 1))
        if data[at : at + 1] == b"}":
            return at + 1
        if data[at : at + 1] != b",":
            raise _Wrong(at, "after object key:value pair")
        at = _skip_space(data, at + 1)


def _array(data: bytes, at: int, depth: int) -> int:
    at = _skip_space(data, at)
    if data[at : at + 1] == b"]":
        return at + 1
    while True:
        at = _skip_space(data, _value(data, _skip_space(data, at), depth + 1))
        if data[at : at + 1] == b"]":
            return at + 1
        if data[at : at + 1] != b",":
            raise _Wrong(at, "after array element")
        at += 1


def _string(data: bytes, at: int) -> int:
    at = _end(_STRING, data, at)
    if data[at : at + 1] == b'"':
        return at + 1
    if data[at : at + 1] != b"\\":
        raise _Wrong(at, "in string literal")
    if data[at + 1 : at + 2] == b"u":
        raise _Wrong(_end(_HEX, data, at + 2), "in \\u hexadecimal character escape")
    raise _Wrong(at + 1, "in string escape code")


def _number(data: bytes, at: int) -> int:
    for beginning, digits, where in _NUMBER:
        if (begun := beginning.match(data, at)) is not None:
            if (found := digits.match(data, begun.end())) is None:
                raise _Wrong(begun.end(), where)
            at = found.end()
    return at


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Where the longest text of a pattern ends."""
    found = pattern.match(data, at)
    return at if found is None else found.end()
