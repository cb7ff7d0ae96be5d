"""Signatures: what the objects of an informer's cache depend on, beside the server.

A later informer may use a cache only if both have the same signature. Otherwise the cache may have other objects, or
objects with other fields.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import version
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any, Final, cast

import msgspec

from kinformer.cache import ListWatch, SharedIndexInformer

__all__ = ("signature_of",)

#: Where an object is in memory, in its repr().
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
#: Types of values whose repr() says everything.
_PLAIN: Final = frozenset({NoneType, bool, int, float, complex, str, bytes, EllipsisType})
#: Modules of loggers, which change no object.
_LOGGERS: Final = ("logging.", "structlog.", "kinformer.logs.")


def signature_of(informer: SharedIndexInformer[Any]) -> dict[str, str] | None:
    """
    What the objects of a cache depend on.

    :return: each thing that they depend on, by what it is called in the log; None if one of them cannot be told
    """
    sources = [it for it in informer.lister_watchers if isinstance(it, ListWatch) and not it.shard_selector]
    transform = _code_of(informer.transform)
    if informer.resource is None or transform is None or len(sources) < len(informer.lister_watchers):
        return None
    return {
        "program": f"kinformer {version('kinformer')}, kubernetes_asyncio {version('kubernetes_asyncio')}",
        "resource": str(informer.resource),
        "type": _description_of(cast("Any", informer.type)),
        "selection": repr([(it.namespace, it.label_selector, it.field_selector) for it in sources]),
        "transform": transform,
        "options": f"keep_managed_fields={informer.options.keep_managed_fields}",
    }


@cache
def _description_of(type_: type[Any]) -> str:
    """A digest of a type: its name, and the names and types of its fields."""
    fields = getattr(type_, "__known__", type_)
    described = "dict" if type_ is dict else _ADDRESS.sub("", repr(msgspec.inspect.type_info(fields)))
    return f"{type_.__module__}.{type_.__qualname__} {hashlib.sha256(described.encode()).hexdigest()}"


class _CannotTell(Exception):
    """What a function does cannot be told from its code."""


def _code_of(function: Any) -> str | None:
    """
    A digest of a function's code, empty if there is none; None if what it does cannot be told from its code.

    It has the values that the code reads: defaults and globals, with the functions among them. Libraries and classes
    count by their names only.
    """
    if function is None:
        return ""
    if not isinstance(function, FunctionType):  # a method, for example: it depends on an object
        return None
    try:
        described = repr(_described(function, set()))
    except (_CannotTell, RecursionError):
        return None
    return hashlib.sha256(described.encode(errors="surrogatepass")).hexdigest()


def _described(value: Any, known: set[Any]) -> Any:
    """
    A value as tuples and texts that are the same in each process.

    :param known: the functions and modules that are described already
    :raises _CannotTell: if it is a value of which this is not known
    """
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind in (tuple, list):
        return kind.__name__, [_described(it, known) for it in value]
    if kind in (set, frozenset):
        return kind.__name__, sorted(repr(_described(it, known)) for it in value)
    if kind is dict:
        return "dict", [(_described(key, known), _described(it, known)) for key, it in value.items()]
    if kind is CodeType:  # not by marshal: its bytes depend on who else refers to a constant
        names = value.co_names, value.co_varnames, value.co_flags
        return value.co_code, value.co_exceptiontable, names, [_described(it, known) for it in value.co_consts]
    if isinstance(value, re.Pattern):
        return "pattern", value.pattern, value.flags
    if is_dataclass(value) and not isinstance(value, type):
        return kind.__name__, [(it.name, _described(getattr(value, it.name), known)) for it in fields(value)]
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if isinstance(value, type | BuiltinFunctionType) or name.startswith(_LOGGERS):
        return name
    if not isinstance(value, FunctionType) or value.__closure__:
        raise _CannotTell
    if value in known or _is_library(value.__module__):
        return name
    known.add(value)
    parts = value.__code__, value.__defaults__, value.__kwdefaults__
    return [_described(it, known) for it in parts], _read_by(value.__code__, value.__globals__, known)


def _read_by(code: CodeType, namespace: dict[str, Any], known: set[Any]) -> list[Any]:
    """The values of a module that code may read: those whose names are in it, also as attributes."""
    found: list[Any] = []
    for name in code.co_names:
        value = namespace.get(name)
        if not isinstance(value, ModuleType):
            found.append((name, _described(value, known)))
        elif value not in known and not _is_library(value.__name__):
            known.add(value)
            found.append((name, _read_by(code, vars(value), known)))
    return found + [_read_by(it, namespace, known) for it in code.co_consts if isinstance(it, CodeType)]


def _is_library(module: str) -> bool:
    """Whether a module belongs to Python or to this program, whose versions a signature has."""
    first = module.partition(".")[0]
    return first in sys.stdlib_module_names or first == "kinformer"
