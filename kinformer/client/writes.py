"""Writes: reports the writes that are made in a context.

A controller that wants to see its own writes before it acts again must know of them, also if a helper or a library made
them. So each write of an object reports its resource, its namespace and the version that the server returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kinformer.meta import GroupVersionResource, accessor_of

__all__ = ("noting_writes", "tell_of_write")

#: Called with the resource, the namespace and the version of each write.
Listener = Callable[[GroupVersionResource, str, str], object]

_listener: ContextVar[Listener | None] = ContextVar("kinformer_writes", default=None)


@contextmanager
def noting_writes(listener: Listener) -> Iterator[None]:
    """
    Call `listener` for each write in this context, and in tasks that are started in it.

    It is not called for a write whose response was lost, because its version is not known.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_of_write(gvr: GroupVersionResource, obj: Any) -> None:
    """Report a write, given the object that the server returned."""
    listener = _listener.get()
    if listener is None:
        return
    try:
        accessor = accessor_of(obj)
        namespace, version = accessor.namespace(obj), accessor.resource_version(obj)
    except (TypeError, AttributeError):
        return  # a Status, or something without metadata
    if version:
        listener(gvr, namespace, version)
