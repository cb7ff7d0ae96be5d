"""Writes: what was written in some context, told to whoever asked to hear of it.

A controller that wants to see its own writes before it acts again has to know of them, whatever made them: a resource,
a helper, a library. So each write of an object tells its resource, its namespace and the version that the server gave
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kinformer.meta import GroupVersionResource, accessor_of

__all__ = ("noting_writes", "tell_of_write")

#: Is given the resource, the namespace and the version of each write.
Listener = Callable[[GroupVersionResource, str, str], object]

_listener: ContextVar[Listener | None] = ContextVar("kinformer_writes", default=None)


@contextmanager
def noting_writes(listener: Listener) -> Iterator[None]:
    """
    Have each write of this context told, and of tasks that are started in it.

    A write whose answer is lost is not told: nobody knows its version.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_of_write(gvr: GroupVersionResource, obj: Any) -> None:
    """Say what a server answered to a write."""
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
