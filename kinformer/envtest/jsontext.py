"""What the server has to know of a JSON text besides its value: its depth, its duplicate fields, and what is wrong.

Fast decoders tell none of this. If there may be something to find, slower functions read the text again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

__all__ = (
    "MAX_DEPTH",
    "MOST_LEVELS",
    "MOST_TOLD",
    "BadJson",
    "decode",
    "duplicate_fields",
    "is_too_deep",
)

# -- depth ------------------------------------------------------------------------------------------------------------

# kube-apiserver's limit is 10,000 levels. Python's own functions recurse for each level, and fail at some hundreds. A
# request with more levels than this server supports is refused before it is processed. No object of the API needs more.

#: The most levels of an object. {"a": 1} has one level.
MAX_DEPTH: Final = 200
#: The most levels of an object that is returned. Its managed fields repeat its levels, a few levels further down.
MOST_LEVELS: Final = MAX_DEPTH + 10


_TOO_DEEP = "exceeded max depth"


class BadJson(ValueError):
    """A text is not JSON, or has more levels than this server supports. The message is that of Go's decoder."""


def decode(body: bytes) -> Any:
    """
    Decode a text of JSON.

    :raises BadJson: if it is not JSON, or is nested too deeply
    """
    try:
        data = msgspec.json.decode(body)
    except RecursionError:
        raise BadJson(_TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadJson(_complaint(body)) from None
    # Most texts have too few brackets to be too deep, and need no further check.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and is_too_deep(data):
        raise BadJson(_TOO_DEEP)
    return data


def is_too_deep(value: Any) -> bool:
    """Whether a value has more levels than this server supports."""
    metadata = value.get("metadata") if type(value) is dict else None
    if type(metadata) is dict and "managedFields" in metadata:
        metadata = {name: item for name, item in metadata.items() if name != "managedFields"}
        return _goes_below(value, MOST_LEVELS) or _goes_below({**value, "metadata": metadata}, MAX_DEPTH)
    return _goes_below(value, MAX_DEPTH)


def _goes_below(value: Any, levels: int) -> bool:
    """Whether a value has more levels than this. The check goes level by level, without recursion."""
    level = [value]
    for _ in range(levels):
        level = [
            item
            for one in level
            for item in (one.values() if type(one) is dict else one if type(one) is list else ())
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True


# -- duplicate fields -------------------------------------------------------------------------------------------------

# The last one is used, and the client gets a warning or an error.

_MARKS = (b'":', b'" :')
#: The most duplicate and unknown fields that Kubernetes' decoder tells of.
MOST_TOLD = 100
_encode = msgspec.json.Encoder().encode


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with all of its fields, duplicates included."""


_decode = json.JSONDecoder(object_pairs_hook=_Pairs).decode


def duplicate_fields(body: bytes, decoded: Any) -> list[str]:
    """
    The texts about fields that occur more than once in their object, in the order of the text.

    :param decoded: the decoded body, with each field once
    """
    if sum(map(body.count, _MARKS)) <= _encode(decoded).count(_MARKS[0]):
        return []
    told: dict[str, None] = {}  # each text once, in order
    with contextlib.suppress(RecursionError):  # no real object is nested so deeply
        told.update(dict.fromkeys(_walk(_decode(body.decode()), "")))
    return list(told)[:MOST_TOLD]


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            here = f"{path}.{name}" if path else name
            if name in seen:
                yield f'duplicate field "{here}"'
            seen.add(name)
            yield from _walk(item, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")


# -- texts that are not JSON ------------------------------------------------------------------------------------------

# Users see the texts of Go's decoder in a client's error, so this server sends them. Python's finds the place.

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


def _complaint(data: bytes) -> str:
    """Go's error for a text that is not JSON. For valid JSON it is the error for a text that ends too early."""
    text = data.decode("latin-1")  # one character for each byte, whatever they are
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return _TOO_DEEP
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
