"""What is wrong with JSON that does not decode: which object, at which path, and why, without quoting any of it.

An error's text goes to logs, and objects hold secrets. msgspec quotes values that are none of an enumeration, and
Python's UnicodeDecodeError carries all of the bytes; here only types and the path remain.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

__all__ = ("DECODE_ERRORS", "Fault", "ObjectDecodeError", "fault_of")

#: Whatever decoders raise because of the bytes that they are given. RecursionError: levels within levels.
DECODE_ERRORS: Final = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)

_WITH_PATH: Final = re.compile(r"(?P<reason>.*) - at `(?:key in )?\$(?P<path>[^`]*)`", re.DOTALL)
_QUOTES_A_VALUE: Final = re.compile(r"(Invalid (?:enum )?value) .*|(Object contains unknown field) .*", re.DOTALL)


class Fault(NamedTuple):
    """
    Why something did not decode.

    :param path: the field in JSON's names, ``spec.containers[...].image``; empty if it is the whole
    """

    path: str
    reason: str

    def under(self, parent: str) -> Fault:
        """The same fault, seen from the object whose field `parent` it is in."""
        if not parent or not self.path:
            return Fault(parent or self.path, self.reason)
        return Fault(parent + ("" if self.path.startswith("[") else ".") + self.path, self.reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class ObjectDecodeError(msgspec.ValidationError):
    """
    An object, or a field of it that is read for the first time, does not fit its type.

    :param what: which object, as ``Pod default/web``; its type where nothing else is known
    :ivar path: the field, in JSON's names; empty if it is the whole
    :ivar reason: what was expected and what came
    """

    def __init__(self, what: str, fault: Fault):
        super().__init__(f"{what}: {fault}")
        self.what = what
        self.path, self.reason = fault

    def __reduce__(self) -> tuple[type[ObjectDecodeError], tuple[str, Fault]]:
        return type(self), (self.what, Fault(self.path, self.reason))


def fault_of(error: BaseException) -> Fault:
    """What an error of a decoder says, in words that quote nothing of what was decoded."""
    match error:
        case ObjectDecodeError():
            return Fault(error.path, error.reason)
        case RecursionError():
            return Fault("", "it is nested too deeply")
        case UnicodeDecodeError():
            return Fault("", "it is not UTF-8")
        case msgspec.MsgspecError():
            text = str(error)
            found = _WITH_PATH.fullmatch(text)
            path, reason = (found["path"].removeprefix("."), found["reason"]) if found else ("", text)
            return Fault(path, _QUOTES_A_VALUE.sub(lambda quoted: quoted[1] or quoted[2], reason))
        case _:
            # What a user's own __post_init__ or hook raised: its text may hold anything.
            return Fault("", f"{type(error).__name__} was raised")
