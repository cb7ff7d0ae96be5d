"""YAML scalars as JSON values, as Go's YAML decoder reads them.

The input is a scalar's text and tag. The result is a string, a number, a boolean or null. Numbers to the base of 60 are
not read, and a time stays a string. The time needed is linear in the length of the text.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Final

__all__ = ("MERGE", "BadScalar", "Scalar", "as_name", "read_scalar")

Scalar = str | int | float | bool | None

_PREFIX: Final = "tag:yaml.org,2002:"
#: The tag of a merge key. Its value is merged into the object around it.
MERGE: Final = f"{_PREFIX}merge"

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FIRST_OF_NUMBERS: Final = frozenset("+-.0123456789")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INTEGERS: Final = (
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII), 10),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+", re.ASCII), 16),
    (re.compile(r"[-+]?0[oO]?[0-7]+", re.ASCII), 8),
    (re.compile(r"[-+]?0[bB][01]+", re.ASCII), 2),
)
#: Python refuses to parse longer integers. The fields of the API need less than a tenth of this.
_MOST_DIGITS: Final = 4000
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}.{0,20})?", re.ASCII)


class BadScalar(ValueError):
    """A scalar does not match its tag, or has no JSON value."""


def read_scalar(text: str, tag: str | None) -> Scalar:
    """
    The JSON value of a scalar.

    :param tag: its tag. None for a plain scalar whose type follows from its text, ``!`` for a quoted one
    :raises BadScalar: if the text does not match the tag, or a number has no JSON value
    """
    if tag is None:
        return _checked(_guess(text))
    kind = tag.removeprefix(_PREFIX)
    if kind == "binary":
        return _binary(text)
    if kind == tag or kind not in _KINDS:
        return text  # quoted scalars, and those with an application's own tag
    if kind == "timestamp":
        if _DATE.fullmatch(text) is None:
            raise _unfit(text, _guess(text), kind)
        return text
    value = _guess(text)
    if kind == "float" and type(value) is int:
        return float(value) if abs(value) < 1 << 64 else text
    if not isinstance(value, _KINDS[kind]) or (kind == "int" and isinstance(value, bool)):
        raise _unfit(text, value, kind)
    return _checked(value)


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "null": type(None),
    "timestamp": str,
}


def as_name(key: Scalar) -> str:
    """
    A scalar as the name of a field.

    :raises BadScalar: for null
    """
    if key is None:
        raise BadScalar("unsupported map key of type: invalid, key: <nil>")
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer() and abs(key) < 1e21:
        return str(int(key))
    return str(key)


def _guess(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST_OF_NUMBERS or text[-1] == ":":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(plain) is not None:
            if len(plain) > _MOST_DIGITS:
                raise BadScalar(f"a number of {len(plain)} digits is too long")
            # In Go, an octal number may also begin with 0 alone.
            return int(plain.replace("o", "").replace("O", ""), base) if base == 8 else int(plain, base)
    if _FLOAT.fullmatch(plain) is not None:
        value = float(plain)
        return text if math.isinf(value) else value
    return text


def _checked(value: Scalar) -> Scalar:
    if type(value) is float and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise BadScalar(f"json: unsupported value: {shown}")
    return value


def _binary(text: str) -> str:
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadScalar("!!binary value contains invalid base64 data") from None
    return data.decode("utf-8", "replace")


def _unfit(text: str, value: Scalar, kind: str) -> BadScalar:
    found = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "null")
    return BadScalar(f"cannot decode !!{found} `{text[:100]}` as a !!{kind}")
