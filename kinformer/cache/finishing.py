"""Finisher: turns each decoded object into one that a store can keep, before any user can see it.

The parts that have not changed since the stored object are taken over from that one, so that memory holds them once.
The other parts are copied out of the response, so that its memory can be freed. With ``eager``, every field is decoded
here, so that an object that does not fit its type never gets into the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kinformer.cache.metrics import cache_changes_total
from kinformer.cache.options import InformerOptions
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.cluster import in_cluster
from kinformer.logs import get_logger
from kinformer.meta import Accessor
from kinformer.models import detacher_for, interner_for, successor_for

__all__ = ("Finisher",)

T = TypeVar("T")

log = get_logger(__name__)


class Finisher(Generic[T]):
    """
    :param name: the cache's name in logs and metrics
    :param known: the stored objects, from which unchanged parts are taken over; None if nothing is to be taken over
    :param options: which fields are kept, decoded now, or compressed
    """

    __slots__ = ("_name", "_told", "begin", "key_of", "known", "last", "succeed", "view")

    def __init__(
        self,
        name: str,
        accessor: Accessor[T],
        known: ThreadSafeStore[T] | None,
        options: InformerOptions,
    ):
        self._name = name
        self._told = False
        type_, keep_managed_fields, eager = accessor.type, options.keep_managed_fields, options.eager
        detach = detacher_for(type_, keep_managed_fields=keep_managed_fields, eager=eager, early=options.early)
        intern = interner_for(type_)

        def begin(obj: T) -> None:
            detach(obj)
            # At once: memory that is freed later leaves holes.
            intern(obj)

        # These are plain functions: the code that handles every event calls them directly and writes out :meth:`one`.
        # They raise ObjectDecodeError if an eager object does not fit its type.
        self.key_of = accessor.key
        self.known: Callable[[str], T | None] = _nobody if known is None else known.get
        #: A cheaper :attr:`known`. It is valid until the store is replaced by a list.
        self.view: Callable[[], Callable[[str], T | None]] = _view_of_nobody if known is None else known.writers_view
        #: Finishes an object that the store does not have.
        self.begin: Callable[[T], None] = begin
        #: Finishes an object that the store has in an older state. The older state is the first argument.
        self.succeed: Callable[[T, T], None] = successor_for(
            type_,
            keep_managed_fields=keep_managed_fields,
            eager=eager,
            compressed=options.compress,
            on_changed=self._tell_of_change,
        )
        #: Finishes the last state of a deleted object.
        self.last: Callable[[T], None] = detacher_for(type_, keep_managed_fields=keep_managed_fields, eager=eager)

    def one(self, obj: T) -> None:
        """
        Finish an object that is new or has changed.

        :raises ObjectDecodeError: if the options say `eager` and the object does not fit its type
        """
        old = self.known(self.key_of(obj))
        if old is None:
            self.begin(obj)
        elif old is not obj:
            self.succeed(old, obj)

    def _tell_of_change(self, obj: Any, field: str) -> None:
        cache_changes_total.labels(in_cluster(self._name)).inc()
        level = log.debug if self._told else log.error
        self._told = True
        level(
            "cached_object_changed",
            cache=self._name,
            object=_key(obj),
            field=field,
            hint="objects of a cache are shared: change a copy (copy.deepcopy); this version is the server's again",
        )


def _nobody(_: str) -> None:
    """The `known` of a finisher without a store: there is never an older state."""


def _view_of_nobody() -> Callable[[str], None]:
    """The `view` of a finisher without a store."""
    return _nobody


def _key(obj: Any) -> str:
    meta = getattr(obj, "metadata", obj)
    return "/".join(filter(None, (meta.namespace, meta.name)))
