"""Finisher: makes of each decoded object what a store can keep, before anybody else can see it.

What has not changed since the object that the store has is taken over from that one; the rest gets a memory of its own.
With ``eager`` everything is decoded here, so that what does not fit its type never gets into the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kinformer.cache.metrics import cache_changes_total
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.logs import get_logger
from kinformer.meta import Accessor
from kinformer.models import detacher_for, interner_for, successor_for

__all__ = ("Finisher",)

T = TypeVar("T")

log = get_logger(__name__)


class Finisher(Generic[T]):
    """
    :param name: what the log and the metrics call the cache
    :param known: the objects that there are; None if nothing is to be taken over from them
    :param keep_managed_fields: keep what is dropped otherwise
    :param eager: decode every field now
    """

    __slots__ = ("_name", "_told", "begin", "key_of", "known", "last", "succeed", "view")

    def __init__(
        self,
        name: str,
        accessor: Accessor[T],
        known: ThreadSafeStore[T] | None,
        *,
        keep_managed_fields: bool,
        eager: bool,
    ):
        self._name = name
        self._told = False
        type_ = accessor.type
        detach = detacher_for(type_, keep_managed_fields=keep_managed_fields, eager=eager)
        intern = interner_for(type_)

        def begin(obj: T) -> None:
            detach(obj)
            # At once: what is let go later leaves holes in the memory.
            intern(obj)

        # Plain functions, for those who handle every event and write out what :meth:`one` does.
        # They raise ObjectDecodeError if an eager object does not fit its type.
        self.key_of = accessor.key
        self.known: Callable[[str], T | None] = _nobody if known is None else known.get
        #: Gives what :attr:`known` does, for less; good as long as no list takes the place of everything.
        self.view: Callable[[], Callable[[str], T | None]] = _view_of_nobody if known is None else known.writers_view
        #: For an object that comes when there is none.
        self.begin: Callable[[T], None] = begin
        #: For one that comes after another, which is given first.
        self.succeed: Callable[[T, T], None] = successor_for(
            type_, keep_managed_fields=keep_managed_fields, eager=eager, on_changed=self._tell_of_change
        )
        #: For the last state of an object that is gone.
        self.last: Callable[[T], None] = detach

    def one(self, obj: T) -> None:
        """
        Finish an object that is new or has changed.

        :raises ObjectDecodeError: if it is to be decoded now and does not fit its type
        """
        old = self.known(self.key_of(obj))
        if old is None:
            self.begin(obj)
        elif old is not obj:
            self.succeed(old, obj)

    def _tell_of_change(self, obj: Any, field: str) -> None:
        cache_changes_total.labels(self._name).inc()
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
    """Nothing is to be taken over."""


def _view_of_nobody() -> Callable[[str], None]:
    """Nothing is to be taken over from anything."""
    return _nobody


def _key(obj: Any) -> str:
    meta = getattr(obj, "metadata", obj)
    return "/".join(filter(None, (meta.namespace, meta.name)))
