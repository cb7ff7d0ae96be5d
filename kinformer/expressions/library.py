"""Kubernetes' functions for expressions, declared and registered for the CEL library.

Each function is declared by a line (``Quantity.isGreaterThan(Quantity) -> bool``) and registered twice. For the type
checker it has the types of that line. At run time a value of Kubernetes' own types is a map with the name of the type:
``{"@Quantity": "1500m"}``. Two such maps are equal if the values are equal. The language itself needs no more than
that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

from kinformer.expressions.packages import load_cel
from kinformer.expressions.types import OPAQUE

__all__ = (
    "ACCESS",
    "AccessCheck",
    "checked_functions",
    "function",
    "make_opaque",
    "read_opaque",
    "running_functions",
)

Run = TypeVar("Run", bound=Callable[..., Any])


class AccessCheck(Protocol):
    """Says whether the user of the current request may do something."""

    def allows(self, check: Mapping[str, str], verb: str) -> bool: ...


#: The access check of the expressions that run now.
ACCESS: ContextVar[AccessCheck | None] = ContextVar("access", default=None)


class _Declared(NamedTuple):
    """One overload of a function."""

    name: str
    is_member: bool
    parameters: tuple[str, ...]
    returns: str
    run: Callable[..., Any]
    is_checked: bool


_DECLARED: list[_Declared] = []
_SIGNATURE = re.compile(r"(?:([][A-Za-z]+)\.)?([A-Za-z.0-9]+)\((.*)\) -> (.+)")
_BASIC = ("bool", "bytes", "double", "duration", "dyn", "int", "map", "string", "timestamp", "uint", "A")
#: Functions that CEL also has for other values. They are distinguished by the types of their parameters. All others
#: accept any value.
_SHARED = frozenset({"hasValue", "indexOf", "lastIndexOf", "string", "value"})


def function(signature: str, *, checked: bool = True) -> Callable[[Run], Run]:
    """
    Declare an overload.

    :param checked: whether expressions can use this overload. If not, it only replaces another function at run time
    """
    match = _SIGNATURE.fullmatch(signature)
    assert match is not None, signature
    receiver, name, inside, returns = match.groups()
    parameters = tuple(part.strip() for part in inside.split(",") if part.strip())
    is_member = receiver is not None and (receiver.startswith("[") or receiver in (*_BASIC, *OPAQUE))
    if is_member:
        parameters = (receiver, *parameters)
    elif receiver is not None:
        name = f"{receiver}.{name}"

    def register(run: Run) -> Run:
        _DECLARED.append(_Declared(name, is_member, parameters, returns, run, checked))
        return run

    return register


def make_opaque(kind: str, value: Any) -> dict[str, Any]:
    """Make a value of one of Kubernetes' own types."""
    return {f"@{kind}": value}


def read_opaque(value: Any, *kinds: str) -> Any:
    """
    The content of a value of one of Kubernetes' own types.

    :raises ValueError: if the value has none of these types
    """
    if isinstance(value, dict):
        for kind in kinds:
            if f"@{kind}" in value:
                return value[f"@{kind}"]
    raise ValueError("no such overload")


def _type(text: str) -> Any:
    """The type in the type checker."""
    cel = load_cel()
    own: Any = cel.Type
    if text.startswith("?"):
        return own.AbstractType("optional_type", [_type(text[1:])])
    if text.startswith("["):
        return own.List(_type(text[1:-1]))
    if text in OPAQUE:
        return own(f"kubernetes.{text}")
    if text == "map":
        return own.Map(own.STRING, own.List(own.STRING))
    return own.DYN if text == "A" else getattr(own, text.upper())


def _running_type(name: str, text: str) -> Any:
    cel = load_cel()
    own: Any = cel.Type
    if name not in _SHARED or text == "A":
        return own.DYN
    return own.List(own.DYN) if text.startswith("[") else own.Map(own.STRING, own.DYN)


def _grouped(overloads: Iterator[tuple[str, Any]]) -> list[Any]:
    cel = load_cel()
    by_name: dict[str, list[Any]] = {}
    for name, overload in overloads:
        by_name.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, listed) for name, listed in by_name.items()]


def _overload(one: _Declared, number: int, parameters: list[Any], returns: Any, run: Callable[..., Any] | None) -> Any:
    cel = load_cel()
    identity = f"kubernetes_{one.name.replace('.', '_')}_{number}"
    given = {"impl": _strict(run)} if run is not None else {}
    return cel.Overload(identity, return_type=returns, parameters=parameters, is_member=one.is_member, **given)


def _strict(run: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        try:
            return run(*values)
        except (AttributeError, TypeError):
            raise ValueError("no such overload") from None

    return call


@cache
def checked_functions() -> list[Any]:
    """All functions with their types, for the type checker."""

    def overloads() -> Iterator[tuple[str, Any]]:
        for number, one in enumerate(_DECLARED):
            if one.is_checked:
                parameters = [_type(text) for text in one.parameters]
                yield one.name, _overload(one, number, parameters, _type(one.returns), None)
        yield from _mixed_comparisons()

    return _grouped(overloads())


def _mixed_comparisons() -> Iterator[tuple[str, Any]]:
    """Comparisons of numbers of different types. They work at run time, but the type checker must be told."""
    cel = load_cel()
    numbers = (cel.Type.INT, cel.Type.UINT, cel.Type.DOUBLE)
    for index, operator in enumerate(("_<_", "_<=_", "_>_", "_>=_")):
        for first in numbers:
            for second in numbers:
                if first is not second:
                    identity = f"mixed_{index}_{first.name()}_{second.name()}"
                    parameters = [first, second]
                    yield operator, cel.Overload(identity, return_type=cel.Type.BOOL, parameters=parameters)


@cache
def running_functions() -> list[Any]:
    """All functions without types, for expressions whose types were checked before."""

    cel = load_cel()

    def overloads() -> Iterator[tuple[str, Any]]:
        seen: set[tuple[str, bool, int]] = set()
        for number, one in enumerate(_DECLARED):
            key = (one.name, one.is_member, len(one.parameters))
            if key not in seen:
                seen.add(key)
                parameters = [_running_type(one.name, text) for text in one.parameters]
                yield one.name, _overload(one, number, parameters, cel.Type.DYN, one.run)

    return _grouped(overloads())
