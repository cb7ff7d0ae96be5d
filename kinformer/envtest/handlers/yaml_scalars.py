"""YAML scalars as JSON values, as Go's YAML decoder reads them.

The input is a scalar's text and tag. The result is a string, a number, a boolean or null. Numbers to the base of 60 are
not read, and a time stays a string. Of all tags, only those of strings count. The time is linear in the length of the
text.
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ("BadScalar", "Scalar", "as_name", "read_scalar")

Scalar = str | int | float | bool | None

_PREFIX: Final = "tag:yaml.org,2002:"

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


class BadScalar(ValueError):
    """A scalar has no JSON value."""


def read_scalar(text: str, tag: str | None) -> Scalar:
    """
    The JSON value of a scalar.

    :param tag: its tag. None for a plain scalar whose type follows from its text, ``!`` for a quoted one
    :raises BadScalar: if a number has no JSON value
    """
    if tag is None or tag.removeprefix(_PREFIX) in ("bool", "float", "int", "null"):
        return _checked(_guess(text))
    return text  # quoted scalars, and those with another tag


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
