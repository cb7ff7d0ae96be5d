"""Sources: turn a change of an object into the keys that a controller has to sync.

A source is an event handler for an informer. The queue gets only keys, not the changes: a sync reads the current state
when it runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinformer.cache import last_state
from kinformer.logs import get_logger
from kinformer.manager.predicates import Predicate, resource_version_changed
from kinformer.meta import GroupKind, GroupVersion, accessor_for, accessor_of, get_controller_of

__all__ = ("EnqueueKeys", "KeysOf", "own_key", "owner_keys")

log = get_logger(__name__)

#: Returns the keys to sync when an object has changed.
KeysOf = Callable[[Any], Iterable[str]]


class EnqueueKeys:
    """
    An event handler that adds keys to a queue.

    An update adds the keys of the old and of the new object: the old owner needs a sync as well as the new one. For a
    :class:`DeletedFinalStateUnknown`, the last known state counts. With a priority queue, the keys of the first list
    and of resyncs may get a lower priority::

        later = partial(queue.add_with_options, priority=LOW_PRIORITY)
        informer.add_event_handler(EnqueueKeys(queue.add, keys_of, later=later))

    :param add: adds a key to the queue
    :param keys_of: returns the keys of an object
    :param predicates: a change adds keys only if all of them accept it
    :param later: adds the keys of the first list and of resyncs; `add` if None
    :raises TypeError: if `keys_of` cannot be called, or is async
    """

    __slots__ = ("_add", "_keys_of", "_later", "_predicates", "_refused")

    def __init__(
        self,
        add: Callable[[str], object],
        keys_of: KeysOf,
        predicates: Sequence[Predicate] = (),
        *,
        later: Callable[[str], object] | None = None,
    ) -> None:
        if not callable(keys_of) or inspect.iscoroutinefunction(keys_of):
            raise TypeError(f"{_name_of(keys_of)} cannot give keys: want a plain function that returns a list of keys")
        self._add = add
        self._later = later or add
        self._keys_of = keys_of
        self._predicates = tuple(predicates)
        self._refused = False

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        # The same as _enqueue(None, obj, ...), but faster: a new leader gets all existing objects at once.
        for predicate in self._predicates:
            if not predicate(None, obj):
                return
        add = self._later if is_in_initial_list else self._add
        for key in self._keys(obj):
            add(key)

    def on_update(self, old: Any, new: Any, /) -> None:
        add = self._add
        if self._later is not add and _is_resync(old, new):
            add = self._later
        self._enqueue(old, new, add)

    def on_delete(self, obj: Any, /) -> None:
        obj = last_state(obj)
        if obj is not None:
            self._enqueue(obj, None, self._add)

    def wants(self, obj: Any) -> bool:
        """Whether the predicates accept an object like this when it is added."""
        return all(predicate(None, obj) for predicate in self._predicates)

    def _keys(self, obj: Any) -> Iterable[str]:
        """The keys of an object. A string would be taken apart into letters, so it is refused, as None is."""
        keys: Any = self._keys_of(obj)
        if keys.__class__ is not str and keys is not None:
            return keys  # type: ignore[no-any-return]
        if not self._refused:
            self._refused = True
            log.error(
                "keys_refused",
                function=_name_of(self._keys_of),
                returned="None" if keys is None else "a string",
                hint='want a list or a tuple of keys, such as ["namespace/name"], or ()',
            )
        return ()

    def _enqueue(self, old: Any, new: Any, add: Callable[[str], object]) -> None:
        for predicate in self._predicates:
            if not predicate(old, new):
                return
        before = () if old is None else tuple(self._keys(old))
        for key in before:
            add(key)
        for key in () if new is None else self._keys(new):
            if key not in before:
                add(key)


def _is_resync(old: Any, new: Any) -> bool:
    try:
        # Reading the attributes takes a third of the time that an accessor takes.
        return bool(old.metadata.resource_version == new.metadata.resource_version)
    except AttributeError:  # dicts
        return not resource_version_changed(old, new)


def _name_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or repr(function)


def own_key(obj: Any) -> tuple[str]:
    """The key of the object itself."""
    return (accessor_for(type(obj)).key(obj),)


def owner_keys(owner: GroupKind, *, namespaced: bool = True) -> KeysOf:
    """
    Make a function that returns the key of an object's controlling owner, if this is of kind `owner`.

    The function does not check whether the owner exists and still has the UID of the reference. The sync must do that.

    :param owner: the kind of the owner
    :param namespaced: whether objects of this kind have a namespace
    """

    def keys_of(obj: Any) -> tuple[str, ...]:
        reference = get_controller_of(obj)
        if reference is None or reference.kind != owner.kind:
            return ()
        if GroupVersion.parse(reference.api_version).group != owner.group:
            return ()
        namespace = accessor_of(obj).namespace(obj) if namespaced else ""
        return (f"{namespace}/{reference.name}" if namespace else reference.name,)

    return keys_of
