"""Keys: the string under which a store holds an object, and tombstones for deletions that were not seen.

A key function makes the key. The usual one is an accessor's :attr:`~kinformer.meta.Accessor.key` (``namespace/name``);
a container for objects of one kind is given it once. A delete may come with less than an object. It comes with a
:class:`DeletedFinalStateUnknown` when a list shows that the object is gone but no event said so. It comes with an
:class:`ExplicitKey` when the caller knows only the key. Stores and queues take both.
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
    "last_state",
    "meta_namespace_key_func",
)

T = TypeVar("T")

#: Makes an object's key. The same object must always get the same key.
KeyFunc: TypeAlias = Callable[[T], str]


class ObjectKeyError(ValueError):
    """
    No key could be made for an object: client-go's KeyError.

    :ivar obj: the object at fault
    """

    def __init__(self, obj: object, reason: object):
        super().__init__(f"couldn't create key for object {reprlib.repr(obj)}: {reason}")
        self.obj = obj


class ExplicitKey(str):
    """A key in place of an object, for callers that have only the key."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown(Generic[T]):
    """
    A tombstone: the object was deleted, and its last state was not seen.

    This happens when the object is deleted while a watch is broken, and the next list no longer has it. The tombstone
    then takes the object's place in a Deleted delta and in the call of a delete handler.

    :param key: the object's key in the store
    :param obj: the last state that was seen, which may be old; None if no state was seen
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


def last_state(obj: T | DeletedFinalStateUnknown[T]) -> T | None:
    """
    The object in the argument of a delete handler: the object itself, or the last state in a tombstone.

    A tombstone's state may be old. It is None if no state was seen.
    """
    return obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj


def deletion_handling_key(obj: Any) -> str:
    """
    The key of the argument of a delete handler: of an object or a tombstone.

    :raises ObjectKeyError: if it is neither
    """
    return obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key_func(obj)


def deletion_handling_object_name(obj: Any) -> ObjectName:
    """
    The name of the argument of a delete handler: of an object or a tombstone.

    :raises ObjectKeyError: if it is neither
    :raises ValueError: if the tombstone's key is not made of a namespace and a name
    """
    return ObjectName.parse(deletion_handling_key(obj))


def key_func(source: Accessor[T] | KeyFunc[T] | None) -> KeyFunc[T]:
    """The key function that a caller has given: as an accessor, as a function, or as None for the general one."""
    if source is None:
        return meta_namespace_key_func
    return source.key if isinstance(source, Accessor) else source


def checked_key_func(source: Accessor[T] | KeyFunc[T] | None) -> Callable[[T | DeletedFinalStateUnknown[T]], str]:
    """
    Like :func:`key_func`, but the function also takes tombstones and explicit keys in place of objects.

    It always raises :exc:`ObjectKeyError`, whatever the given function raises. It is slower, so the code that handles
    every event does not use it.
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
