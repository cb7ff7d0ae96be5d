"""Decode errors: name the object, the path and the reason, without quoting any of the data.

The text of an error goes into logs, and objects hold secrets. msgspec quotes values that are not in an enumeration, and
Python's UnicodeDecodeError has all of the bytes. Here only types and the path remain.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

__all__ = ("DECODE_ERRORS", "Fault", "ObjectDecodeError", "fault_of")

#: The errors that decoders raise because of their input. RecursionError is for levels within levels.
DECODE_ERRORS: Final = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)

_WITH_PATH: Final = re.compile(r"(?P<reason>.*) - at `(?:key in )?\$(?P<path>[^`]*)`", re.DOTALL)
_QUOTES_A_VALUE: Final = re.compile(r"(Invalid (?:enum )?value) .*|(Object contains unknown field) .*", re.DOTALL)


class Fault(NamedTuple):
    """
    The reason why something did not decode.

    :param path: the path of the field, with the names of JSON: ``spec.containers[...].image``; empty for the whole
    """

    path: str
    reason: str

    def under(self, parent: str) -> Fault:
        """The same fault, with its path relative to the object whose field `parent` it is in."""
        if not parent or not self.path:
            return Fault(parent or self.path, self.reason)
        return Fault(parent + ("" if self.path.startswith("[") else ".") + self.path, self.reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class ObjectDecodeError(msgspec.ValidationError):
    """
    An object, or a field of it that is read for the first time, does not fit its type.

    :param what: the object, as ``Pod default/web``; its type if nothing else is known
    :ivar path: the path of the field, with the names of JSON; empty for the whole
    :ivar reason: what was expected and what came
    """

    def __init__(self, what: str, fault: Fault):
        super().__init__(f"{what}: {fault}")
        self.what = what
        self.path, self.reason = fault

    def __reduce__(self) -> tuple[type[ObjectDecodeError], tuple[str, Fault]]:
        return type(self), (self.what, Fault(self.path, self.reason))


def fault_of(error: BaseException) -> Fault:
    """The fault that a decoder's error describes, without quoting the data."""
    match error:
        case ObjectDecodeError():
            return Fault(error.path, error.reason)
        case RecursionError():
            return Fault("", "it is nested too deeply")
        case UnicodeDecodeError():
            return Fault("", "it is not UTF-8")
        case msgspec.MsgspecError():
            return _said(str(error))
        case _:
            # An error of a user's own __post_init__ or hook, whose text may have any content.
            return Fault("", f"{type(error).__name__} was raised")


def _said(text: str) -> Fault:
    found = _WITH_PATH.fullmatch(text)
    if found is None:
        return Fault("", _QUOTES_A_VALUE.sub(lambda quoted: quoted[1] or quoted[2], text))
    # An error within an open Struct has a path of its own before the one that leads to the Struct.
    return _said(found["reason"]).under(found["path"].removeprefix("."))
