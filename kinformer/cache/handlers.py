"""Event handlers: what an informer calls when its cache has changed.

A handler has three methods. Each may be a plain function or a coroutine function. The handler is called for each change
after the cache has it. :class:`~kinformer.cache.shared_informer.SharedIndexInformer` says which order and completeness
it can rely on. The objects that a handler gets are those of the cache. They are shared, so a handler must not change
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from kinformer.arguments import want, want_function
from kinformer.cache.keys import DeletedFinalStateUnknown

__all__ = (
    "Deleted",
    "FilteringResourceEventHandler",
    "ResourceEventHandler",
    "ResourceEventHandlerDetailedFuncs",
    "ResourceEventHandlerFuncs",
    "check_handler",
    "name_for_handler",
)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

#: The argument of a delete handler: the object's last state, or a tombstone if the deletion itself was not seen.
Deleted: TypeAlias = T | DeletedFinalStateUnknown[T]


class ResourceEventHandler(Protocol[T_contra]):
    """
    An event handler, which an informer calls for each change.

    A method may be a coroutine function. Its call is then awaited before the next method is called. Any other return
    value is ignored.
    """

    def on_add(self, obj: T_contra, is_in_initial_list: bool, /) -> object:
        """
        An object was added: this handler has not been called for it before.

        :param is_in_initial_list: whether the object was there when the informer, or the handler, began
        """

    def on_update(self, old: T_contra, new: T_contra, /) -> object:
        """
        An object has changed, perhaps several times since `old`.

        A resync calls this method too: then both objects have the same resourceVersion.
        """

    def on_delete(self, obj: Deleted[T_contra], /) -> object:
        """An object was deleted. `obj` is its last state, or a tombstone with the last state that was seen."""


def _ignore(*_: object) -> None:
    """The default for a function that was not given."""


class ResourceEventHandlerFuncs(Generic[T]):
    """
    A handler made of functions: client-go's ResourceEventHandlerFuncs. Any of them may be left out.

    :param add: called with the object
    :param update: called with the object as it was and as it is
    :param delete: called with the object, or with a tombstone
    """

    # The functions are stored under the methods' names, so that a notification is one call, not two.
    __slots__ = ("_add", "on_delete", "on_update")

    def __init__(
        self,
        add: Callable[[T], object] | None = None,
        update: Callable[[T, T], object] | None = None,
        delete: Callable[[Deleted[T]], object] | None = None,
    ):
        _check_functions(add, 1, "the object", update, delete)
        self._add = add or _ignore
        self.on_update = update or _ignore
        self.on_delete = delete or _ignore

    def on_add(self, obj: T, is_in_initial_list: bool, /) -> object:
        return self._add(obj)

    def __repr__(self) -> str:
        return name_for_handler(self)


class ResourceEventHandlerDetailedFuncs(Generic[T]):
    """
    A handler made of functions, whose `add` also gets whether the object was there from the start.

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
        _check_functions(add, 2, "the object, and whether it is in the first list", update, delete)
        self.on_add = add or _ignore
        self.on_update = update or _ignore
        self.on_delete = delete or _ignore

    def __repr__(self) -> str:
        return name_for_handler(self)


class FilteringResourceEventHandler(Generic[T]):
    """
    Calls another handler for the objects that match a predicate, as if there were no others.

    An object that begins to match is an add. An object that no longer matches is a delete. When an object is deleted,
    the predicate may be called with a tombstone.

    :param matches: the predicate; it must be quick, and always give the same answer for the same object
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

    def wants(self, obj: T) -> bool:
        """Whether the handler is called for an object like this."""
        return self._matches(obj)

    def __repr__(self) -> str:
        return name_for_handler(self._handler)


def _check_functions(add: object, of_add: int, what: str, update: object, delete: object) -> None:
    for name, function, count, instead in (
        ("add", add, of_add, what),
        ("update", update, 2, "the object as it was and as it is"),
        ("delete", delete, 1, "the object, or of its tombstone"),
    ):
        if function is not None:
            want_function(function, count, f"{name} of a handler", f"a function of {instead}")


def check_handler(handler: object, informer: str) -> None:
    """
    Check that an object is a handler.

    :param informer: the name of the informer, for the error
    :raises TypeError: if a method is missing, or certainly takes other arguments
    """
    while (inner := _inner(handler)) is not None:
        handler = inner
    for name, count, shown in (
        ("on_add", 2, "on_add(obj, is_in_initial_list)"),
        ("on_update", 2, "on_update(old, new)"),
        ("on_delete", 1, "on_delete(obj)"),
    ):
        method = getattr(handler, name, None)
        instead = f"ResourceEventHandlerFuncs(add=…), or an object with {shown}"
        want(handler, callable(method), f"the handler of informer {informer}", instead)
        want_function(method, count, f"{name} of the handler of informer {informer}", shown)


def _inner(handler: object) -> Any:
    """The handler that this one calls; None if it is no wrapper."""
    if isinstance(handler, FilteringResourceEventHandler):
        return handler._handler
    return getattr(handler, "__wrapped__", None)  # as functools.wraps() has it


def name_for_handler(handler: object) -> str:
    """
    The name of a handler in logs and metrics: the place where its functions, or its class, are defined.

    Functions that are defined within another function have that function's name. The names of functions from different
    places are joined by ``+``.
    """
    functions: tuple[Any, ...] = ()
    match handler:
        case ResourceEventHandlerFuncs():
            functions = (handler._add, handler.on_update, handler.on_delete)
        case ResourceEventHandlerDetailedFuncs():
            functions = (handler.on_add, handler.on_update, handler.on_delete)
        case _ if (inner := _inner(handler)) is not None:
            return name_for_handler(inner)
    names = dict.fromkeys(_name_of(function) for function in functions if function is not _ignore)
    return "+".join(names) or _name_of(type(handler))


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{function.__module__}.{name.partition('.<locals>')[0]}"
