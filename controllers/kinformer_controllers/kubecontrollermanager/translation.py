"""Translates the flags of kube-controller-manager into those of ``kinformer manager``.

In: the flags that were given. Out: arguments, service accounts, and what to say in the log. What differs is declared in
:mod:`~kinformer_controllers.kubecontrollermanager.flags`.

:func:`parse_flags` reads a command line as Go's flag library for Kubernetes' components (pflag) does. It returns the
value of each flag that was given, in one spelling: ``true`` or ``false``, numbers in decimal, durations as they were
written. The rules:

- ``--flag=value`` and ``--flag value``, but a boolean flag takes a value only after ``=``. ``-v4``, ``-v=4``, ``-v 4``.
- Underscores in names are dashes: ``--leader_elect``.
- A list that is given several times has all of its parts. Of any other flag, the last one counts.
- There are no arguments beside flags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kinformer.options import OptionError
from kinformer_controllers.kubecontrollermanager.controllers import ACCOUNTS, selection_of
from kinformer_controllers.kubecontrollermanager.flags import FLAGS, VERSION, Effect, Flag, Kind
from kinformer_controllers.kubecontrollermanager.gates import split_gates

__all__ = ("Translation", "parse_flags", "translate")

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


#: The defaults of kube-controller-manager where those of ``kinformer manager`` differ.
_DEFAULTS: Final = {
    "leader-elect": "true",
    "leader-elect-resource-name": "kube-controller-manager",
    "secure-port": "10257",
    "shutdown-grace": "10s",
}
_RENAMED: Final = {"controller-shutdown-timeout": "shutdown-grace"}
#: With this gate, the control plane chooses the leader. ``kinformer manager`` has a flag for it.
_COORDINATED: Final = "CoordinatedLeaderElection"


@dataclass(eq=False, slots=True)
class Translation:
    """
    A command line of kube-controller-manager, translated.

    :ivar arguments: the arguments for ``kinformer manager``
    :ivar accounts: the service accounts of controllers; empty if all use the manager's credentials
    :ivar ignored: the flags and gates without effect, each with the reason
    :ivar missing: the controllers that were asked for and are not installed
    """

    arguments: list[str] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def translate(given: Mapping[str, str], here: Sequence[str], builtin: Sequence[str]) -> Translation:
    """
    Translate flags.

    :param given: their values, as :func:`parse_flags` gives them
    :param here: the names of the flags of ``kinformer manager``
    :param builtin: the names of the controllers that are installed
    :raises OptionError: if a flag or its value is refused
    :raises UnknownControllerError: if ``--controllers`` has an unknown name
    """
    made = Translation()
    settings = dict(_DEFAULTS)
    selection, made.missing = selection_of(given.get("controllers", "*"), builtin)
    settings["controllers"] = ",".join(selection)
    for name, value in given.items():
        flag = FLAGS[name]
        match flag.effect:
            case Effect.REFUSED if value != flag.default and not _is_allowed(name, value):
                raise OptionError(f"--{name} is not supported: {flag.why}")
            case Effect.REFUSED:
                pass
            case Effect.NONE:
                made.ignored[f"--{name}"] = flag.why
            case Effect.CONTROLLER if name not in here:
                made.ignored[f"--{name}"] = "its controller is not here."
            case _ if name == "feature-gates":
                passed, others = split_gates(value)
                if passed:
                    settings[name] = passed
                if others.pop(_COORDINATED, False):
                    settings["leader-elect-coordinated"] = "true"
                made.ignored |= {f"feature gate {gate}": "no controller here asks for it." for gate in others}
            case _ if name == "use-service-account-credentials":
                if value == "true":
                    made.accounts = {name: account for name, account in ACCOUNTS.items() if account is not None}
            case _ if name in _CHECKED:
                _CHECKED[name](value)
            case _ if name != "controllers" and (value or flag.kind is Kind.LIST):
                settings[_RENAMED.get(name, name)] = value
    if "kube-api-qps" in settings:
        # Who sets this limit does not expect another one, which is much lower and has no flag there.
        settings["kube-api-delete-qps"] = "0"
    made.arguments = [f"--{name}={value}" for name, value in settings.items()]
    return made


def _is_allowed(name: str, value: str) -> bool:
    return name == "emulated-version" and value.removeprefix("kube=") == VERSION


def _check_allocator(value: str) -> None:
    if value not in ("", "RangeAllocator"):
        raise OptionError(f"--cidr-allocator-type is {value!r}: want RangeAllocator. 1.36 has no other one")


def _check_cloud(value: str) -> None:
    if value not in ("", "external"):
        raise OptionError(f"--cloud-provider is {value!r}: want external or nothing. 1.36 has no built-in clouds")


#: Flags that accept only some values, as in kube-controller-manager. They are checked, and not passed on.
_CHECKED: Final = {"cidr-allocator-type": _check_allocator, "cloud-provider": _check_cloud}
