"""Keys: under which string an object stands in a store, and what is left of one whose deletion nobody saw.

A key function makes the key; the usual one is an accessor's :attr:`~kinformer.meta.Accessor.key`
(``namespace/name``), given once to whatever holds objects of one kind. A delete may come with less than an object:
with a :class:`DeletedFinalStateUnknown`, when a list showed that the object is gone but no event said so, or with an
:class:`ExplicitKey`, when the caller knows nothing else. Stores and queues take both.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from kinformer.meta import Accessor, ObjectName, accessor_of

__all__ = (
    "DeletedFinalStateUnknown",
    "ExplicitKey",
    "KeyFunc",
    "ObjectKeyError",
    "checked_key_func",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "key_func",
    "meta_namespace_key_func",
)

T = TypeVar("T")

#: Makes an object's key: the same object, the same key, always.
KeyFunc: TypeAlias = Callable[[T], str]


class ObjectKeyError(ValueError):
    """
    An object has no key: client-go's KeyError.

    :ivar obj: the object at fault
    """

    def __init__(self, obj: object, reason: object):
        super().__init__(f"couldn't create key for object {reprlib.repr(obj)}: {reason}")
        self.obj = obj


class ExplicitKey(str):
    """A key in place of an object, for callers that have nothing else."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown(Generic[T]):
    """
    A tombstone: the object is gone, and its last state went by unseen.

    It stands in place of the object in a Deleted delta and in the call of a delete handler, when a watch was broken
    while the object was deleted and the next list no longer had it.

    :param key: the object's key in the store
    :param obj: the last state that was seen, which may be an old one; None if there was none
    """

    key: str
    obj: T | None = None


def meta_namespace_key_func(obj: Any) -> str:
    """
    client-go's MetaNamespaceKeyFunc: ``namespace/name``, or ``name`` where there is no namespace.

    :raises ObjectKeyError: if the object has no metadata
    """
    if isinstance(obj, ExplicitKey):
        return str(obj)
    try:
        return accessor_of(obj).key(obj)
    except (TypeError, AttributeError) as exc:
        raise ObjectKeyError(obj, exc) from exc


def deletion_handling_key(obj: Any) -> str:
    """
    The key of what a delete handler is given: an object or a tombstone.

    :raises ObjectKeyError: if it is neither
    """
    return obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key_func(obj)


def deletion_handling_object_name(obj: Any) -> ObjectName:
    """
    The name of what a delete handler is given: an object or a tombstone.

    :raises ObjectKeyError: if it is neither
    :raises ValueError: if the tombstone's key is not one of a namespace and a name
    """
    return ObjectName.parse(deletion_handling_key(obj))


def key_func(source: Accessor[T] | KeyFunc[T] | None) -> KeyFunc[T]:
    """What stores and queues take for a key function: an accessor, any function, or None for the general one."""
    if source is None:
        return meta_namespace_key_func
    return source.key if isinstance(source, Accessor) else source


def checked_key_func(source: Accessor[T] | KeyFunc[T] | None) -> Callable[[T | DeletedFinalStateUnknown[T]], str]:
    """
    The same, for what is not on the way of every event: it takes tombstones and explicit keys for objects, too.

    What it raises is always :exc:`ObjectKeyError`.
    """
    make = key_func(source)

    def key(obj: T | DeletedFinalStateUnknown[T]) -> str:
        if isinstance(obj, DeletedFinalStateUnknown):
            return obj.key
        if isinstance(obj, ExplicitKey):
            return str(obj)
        try:
            return make(obj)
        except ObjectKeyError:
            raise
        except Exception as exc:
            raise ObjectKeyError(obj, exc) from exc

    return key
