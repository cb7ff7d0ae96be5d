"""Reads a command line as Go's flag library for Kubernetes' components (pflag) does.

In: the arguments after the program's name. Out: the value of each flag that was given, in one spelling: ``true`` or
``false``, numbers in decimal, durations as they were written. The rules:

- ``--flag=value`` and ``--flag value``, but a boolean flag takes a value only after ``=``. ``-v4``, ``-v=4``, ``-v 4``.
- Underscores in names are dashes: ``--leader_elect``.
- A list that is given several times has all of its parts. Of any other flag, the last one counts.
- There are no arguments beside flags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kinformer.options import OptionError
from kinformer_controllers.kubecontrollermanager.flags import Flag, Kind

__all__ = ("parse_flags",)

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DURATION: Final = re.compile(r"[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_SHORT: Final = {"v": "v", "h": "help"}
#: What a flag without a value stands for, if it may be without.
_ALONE: Final = {"version": "true"}


def parse_flags(arguments: Sequence[str], flags: Mapping[str, Flag]) -> dict[str, str]:
    """
    Read a command line.

    :param flags: the flags that there are, by their names
    :return: the values of the flags that were given, by the flags' names, in the order in which they were first given
    :raises OptionError: if a flag is unknown, or its value is missing or not of its kind, or an argument is no flag
    """
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            _no_arguments(rest)
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            shown = f"--{name}"
        elif argument.startswith("-") and argument != "-":
            shown = argument[:2]
            name, value = _SHORT.get(argument[1], ""), argument[2:]
            equals, value = ("=", value.removeprefix("=")) if value else ("", "")
        else:
            _no_arguments([argument])
            continue
        flag = flags.get(name.replace("_", "-"))
        if flag is None:
            raise OptionError(f"unknown flag: {shown}" if argument.startswith("--") else f"unknown flag {shown!r}")
        if not equals:
            if flag.kind is Kind.BOOL:
                value = "true"
            elif flag.name in _ALONE:
                value = _ALONE[flag.name]
            elif rest:
                value = rest.pop(0)
            else:
                raise OptionError(f"flag needs an argument: {shown}")
        value = _checked(flag, value)
        if flag.kind is Kind.LIST and given.get(flag.name):
            value = f"{given[flag.name]},{value}"
        given[flag.name] = value
    return given


def _no_arguments(arguments: Sequence[str]) -> None:
    if left := [argument for argument in arguments if argument]:
        raise OptionError(f"there are no arguments beside flags, got {', '.join(map(repr, left))}")


def _checked(flag: Flag, text: str) -> str:
    try:
        match flag.kind:
            case Kind.BOOL:
                if text not in _TRUE | _FALSE:
                    raise ValueError("want true or false")
                return "true" if text in _TRUE else "false"
            case Kind.INT:
                return str(_integer(text))
            case Kind.FLOAT:
                return f"{float(text):g}"
            case Kind.DURATION:
                if not _DURATION.fullmatch(text):
                    raise ValueError("want a number and a unit, like 500ms, 30s or 5m0s")
                if text.startswith("-") and text.strip("-0.nuµmsh"):
                    raise ValueError("want a duration that is not negative")
                return text.lstrip("+-")
            case _:
                return text
    except ValueError as error:
        raise OptionError(f"--{flag.name} is {text!r}: {error}") from None


def _integer(text: str) -> int:
    """A number as Go reads it: in decimal, or with 0x, 0o, 0b or a leading 0 for another base."""
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text.removeprefix("+"))
    if re.fullmatch(r"0\d+", digits):
        digits = f"0o{digits[1:]}"
    try:
        return int(sign + digits, 0)
    except ValueError:
        raise ValueError("want a whole number") from None
