"""Signatures: what the objects of an informer's cache depend on, beside the server.

A later informer may use a cache only if both have the same signature. Otherwise the cache may have other objects, or
objects with other fields.
"""

from __future__ import annotations

import hashlib
import marshal
import re
from functools import cache
from importlib.metadata import version
from typing import Any, Final, cast

import msgspec

from kinformer.cache import ListWatch, SharedIndexInformer

__all__ = ("signature_of",)

#: Where an object is in memory, in its repr().
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


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


def _code_of(function: Any) -> str | None:
    """A digest of a function's code, empty if there is none; None if what it does cannot be told from its code."""
    if function is None:
        return ""
    code = getattr(function, "__code__", None)
    if code is None or function.__closure__:
        return None
    return hashlib.sha256(marshal.dumps(code)).hexdigest()
