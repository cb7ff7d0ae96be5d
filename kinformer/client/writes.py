"""Writes: what is written in a context, so that it can be waited for in caches.

A controller that wants to see its own writes before it acts again must know of them, also if a helper or a library made
them. So every verb that changes one object notes it here, if somebody wants to know::

    with noting_writes():
        await config_maps.create(config_map)
        await reader.get(V1ConfigMap, "web", "default")  # waits until the cache has it

:mod:`kinformer.cache.own_writes` says how caches and controllers wait for them.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

from kinformer.client.errors import Status
from kinformer.meta import GroupResource, accessor_of, is_older

__all__ = ("Writes", "LastWrite", "note_deletion", "note_write", "noting_writes", "own_writes")


@dataclass(frozen=True, slots=True)
class LastWrite:
    """
    The last write of an object.

    :param version: the version that the object has since; empty if it was deleted, because the server names none then
    :param obj: the object in the server's answer; None if it was deleted
    """

    uid: str
    version: str = ""
    obj: Any = None


class Writes:
    """
    The last write of each object that was written in a context.

    A write whose answer was lost is not among them, because its version is not known.
    """

    __slots__ = ("_by_resource", "_outer")

    def __init__(self, outer: Writes | None = None) -> None:
        self._outer = outer
        self._by_resource: dict[GroupResource, dict[str, LastWrite]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_resource)

    def of(self, resource: GroupResource) -> dict[str, LastWrite]:
        """The last write of each object of a resource, by its key. The latest one comes last."""
        return self._by_resource.get(resource, {})

    def _note(self, resource: GroupResource, key: str, written: LastWrite) -> None:
        objects = self._by_resource.setdefault(resource, {})
        before = objects.pop(key, None)  # the latest write is the last one in the dict
        # The answers to writes that were made at the same time may come in any order.
        objects[key] = before if before is not None and is_older(written.version, before.version) else written
        if self._outer is not None:
            self._outer._note(resource, key, written)


_current: ContextVar[Writes | None] = ContextVar("kinformer_writes", default=None)


class noting_writes:  # noqa: N801 - used as a function is; a generator would take four times as long for each sync
    """Note each write in this block, and in tasks that are started in it. A block around this one notes it as well."""

    __slots__ = ("_token",)

    def __enter__(self) -> Writes:
        writes = Writes(_current.get())
        self._token: Token[Writes | None] = _current.set(writes)
        return writes

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def own_writes() -> Writes | None:
    """The writes of the innermost :func:`noting_writes` block; None outside of any."""
    return _current.get()


def note_write(resource: GroupResource, obj: Any) -> None:
    """Note a write, given the object that the server returned."""
    writes = _current.get()
    if writes is None:
        return
    try:
        accessor = accessor_of(obj)
        key, uid, version = accessor.key(obj), accessor.uid(obj), accessor.resource_version(obj)
    except (TypeError, AttributeError, ValueError):
        return  # a Status, or something without metadata
    if version:
        writes._note(resource, key, LastWrite(uid, version, obj))


def note_deletion(resource: GroupResource, namespace: str, name: str, answer: Any) -> None:
    """
    Note a deletion.

    :param answer: the server's: a Status if the object is gone, or the object if it still waits for something
    """
    if not isinstance(answer, Status):
        note_write(resource, answer)
        return
    writes = _current.get()
    if writes is not None and answer.details is not None and answer.details.uid:
        writes._note(resource, f"{namespace}/{name}" if namespace else name, LastWrite(answer.details.uid))
