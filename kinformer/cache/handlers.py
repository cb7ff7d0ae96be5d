"""Event handlers: who is told when an informer's cache has changed.

A handler has three methods and may be made of plain functions, of coroutine functions, or of a mix; it is told of each
change after the cache holds it. What order and completeness it can rely on is written at
:class:`~kinformer.cache.shared_informer.SharedIndexInformer`. Objects that a handler is given are those of the cache,
shared with everybody: they are not to be changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from kinformer.cache.keys import DeletedFinalStateUnknown

__all__ = (
    "Deleted",
    "FilteringResourceEventHandler",
    "ResourceEventHandler",
    "ResourceEventHandlerDetailedFuncs",
    "ResourceEventHandlerFuncs",
    "name_for_handler",
)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

#: What a delete handler is given: the object as it last was, or a tombstone when nobody saw it go.
Deleted: TypeAlias = T | DeletedFinalStateUnknown[T]


class ResourceEventHandler(Protocol[T_contra]):
    """
    Is told of each change. A method may be a coroutine function; it is then awaited before the next change is told.

    What a method returns is not looked at, unless it can be awaited.
    """

    def on_add(self, obj: T_contra, is_in_initial_list: bool, /) -> object:
        """
        An object that this handler has not been told of is there.

        :param is_in_initial_list: it was there when the informer, or the handler, began
        """

    def on_update(self, old: T_contra, new: T_contra, /) -> object:
        """
        An object has changed, perhaps several times since `old`; or it has not, and this is a resync.

        A resync gives the same resource version twice.
        """

    def on_delete(self, obj: Deleted[T_contra], /) -> object:
        """An object is gone. `obj` is its last state, or a tombstone with the last state that was seen."""


def _ignore(*_: object) -> None:
    """Nobody wants to know."""


class ResourceEventHandlerFuncs(Generic[T]):
    """
    A handler of functions, of which any may be left out.

    :param add: called with the object
    :param update: called with the object as it was and as it is
    :param delete: called with the object, or with a tombstone
    """

    # The functions stand under the methods' names: one call a notification, not two.
    __slots__ = ("_add", "on_delete", "on_update")

    def __init__(
        self,
        add: Callable[[T], object] | None = None,
        update: Callable[[T, T], object] | None = None,
        delete: Callable[[Deleted[T]], object] | None = None,
    ):
        self._add = add or _ignore
        self.on_update = update or _ignore
        self.on_delete = delete or _ignore

    def on_add(self, obj: T, is_in_initial_list: bool, /) -> object:
        return self._add(obj)

    def __repr__(self) -> str:
        return name_for_handler(self)


class ResourceEventHandlerDetailedFuncs(Generic[T]):
    """
    A handler of functions whose `add` is also told whether the object was there from the start.

    :param add: called with the object and ``is_in_initial_list``
    :param update: called with the object as it was and as it is
    :param delete: called with the object, or with a tombstone
    """

    __slots__ = ("on_add", "on_delete", "on_update")

    def __init__(
        self,
        add: Callable[[T, bool], object] | None = None,
        update: Callable[[T, T], object] | None = None,
        delete: Callable[[Deleted[T]], object] | None = None,
    ):
        self.on_add = add or _ignore
        self.on_update = update or _ignore
        self.on_delete = delete or _ignore

    def __repr__(self) -> str:
        return name_for_handler(self)


class FilteringResourceEventHandler(Generic[T]):
    """
    Passes on what a predicate lets through, as if nothing else existed.

    An object that comes to match is an add, one that no longer matches a delete. The predicate is also asked about
    tombstones, when an object is deleted.

    :param matches: must be quick, and give the same for the same object each time
    """

    __slots__ = ("_handler", "_matches")

    def __init__(self, matches: Callable[[Deleted[T]], bool], handler: ResourceEventHandler[T]):
        self._matches = matches
        self._handler = handler

    def on_add(self, obj: T, is_in_initial_list: bool, /) -> object:
        return self._handler.on_add(obj, is_in_initial_list) if self._matches(obj) else None

    def on_update(self, old: T, new: T, /) -> object:
        before, after = self._matches(old), self._matches(new)
        if before and after:
            return self._handler.on_update(old, new)
        if after:
            return self._handler.on_add(new, False)
        if before:
            return self._handler.on_delete(old)
        return None

    def on_delete(self, obj: Deleted[T], /) -> object:
        return self._handler.on_delete(obj) if self._matches(obj) else None

    def __repr__(self) -> str:
        return name_for_handler(self._handler)


def name_for_handler(handler: object) -> str:
    """
    What log lines and metrics call a handler: where its functions, or its class, are defined.

    Functions within one other function have its name; those of different places are joined by ``+``.
    """
    functions: tuple[Any, ...]
    match handler:
        case FilteringResourceEventHandler():
            return name_for_handler(handler._handler)
        case ResourceEventHandlerFuncs():
            functions = (handler._add, handler.on_update, handler.on_delete)
        case ResourceEventHandlerDetailedFuncs():
            functions = (handler.on_add, handler.on_update, handler.on_delete)
        case _:
            inner = getattr(handler, "__wrapped__", None)  # as functools.wraps() has it
            if inner is not None:
                return name_for_handler(inner)
            functions = ()
    names = dict.fromkeys(_name_of(function) for function in functions if function is not _ignore)
    return "+".join(names) or _name_of(type(handler))


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{function.__module__}.{name.partition('.<locals>')[0]}"
