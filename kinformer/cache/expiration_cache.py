"""ExpirationCache: a store that forgets objects some time after they were put in.

A reader does not get an object that has expired, and the read removes it. Only :meth:`~ExpirationCache.list_keys` still
names expired objects that have not been read since. Because reading changes the store, it has a lock. Any thread may
read and write.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, Generic, Protocol, TypeVar

from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc, checked_key_func
from kinformer.clock import Clock, RealClock
from kinformer.meta import Accessor

__all__ = ("ExpirationCache", "ExpirationPolicy", "TTLPolicy", "TimestampedEntry")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimestampedEntry(Generic[T]):
    """
    An object and the time at which it was put in.

    :param timestamp: seconds, as the clock's :meth:`~kinformer.clock.Clock.monotonic` gives them
    """

    key: str
    obj: T
    timestamp: float


class ExpirationPolicy(Protocol):
    """Says when an object expires."""

    def is_expired(self, entry: TimestampedEntry[Any]) -> bool:
        """Whether this entry has expired."""


@dataclass(frozen=True, slots=True)
class TTLPolicy:
    """
    Objects expire by age.

    :param ttl: seconds; an older object has expired. With 0 or less, no object expires.
    """

    ttl: float
    clock: Clock

    def is_expired(self, entry: TimestampedEntry[Any]) -> bool:
        return self.ttl > 0 and self.clock.monotonic() - entry.timestamp > self.ttl


class ExpirationCache(Generic[T]):
    """
    A :class:`~kinformer.cache.Store` whose objects expire.

    :param policy: says when objects expire; a number is the seconds of a :class:`TTLPolicy`
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    """

    def __init__(
        self,
        policy: ExpirationPolicy | float,
        key: Accessor[T] | KeyFunc[T] | None = None,
        *,
        clock: Clock | None = None,
    ):
        self._clock = clock or RealClock()
        self._policy = TTLPolicy(policy, self._clock) if isinstance(policy, int | float) else policy
        self._key_of = checked_key_func(key)
        self._entries: dict[str, TimestampedEntry[T]] = {}
        self._resource_version = ""
        self._lock = RLock()

    def add(self, obj: T) -> None:
        """
        Store an object. Its time starts now.

        :raises ObjectKeyError: if no key can be made for it
        """
        key = self._key_of(obj)
        with self._lock:
            self._entries[key] = TimestampedEntry(key, obj, self._clock.monotonic())

    def update(self, obj: T) -> None:
        """The same as :meth:`add`. The object's time starts again."""
        self.add(obj)

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Remove an object, if it is there.

        :raises ObjectKeyError: if no key can be made for it
        """
        key = self._key_of(obj)
        with self._lock:
            self._entries.pop(key, None)

    def replace(self, objects: Sequence[T], resource_version: str = "") -> None:
        """
        Replace everything by these objects. Their time starts now.

        :raises ObjectKeyError: if no key can be made for one of them; then nothing is changed
        """
        now = self._clock.monotonic()
        keys = [self._key_of(obj) for obj in objects]
        entries = {key: TimestampedEntry(key, obj, now) for key, obj in zip(keys, objects, strict=True)}
        with self._lock:
            self._entries = entries
            self._resource_version = resource_version

    def resync(self) -> None:
        """Do nothing: a store has nothing to resync."""

    def get(self, obj: T) -> T | None:
        """
        The stored object with the same key; None if there is none, or it has expired.

        :raises ObjectKeyError: if no key can be made for it
        """
        return self.get_by_key(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """The object with this key; None if there is none, or it has expired."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._policy.is_expired(entry):
                del self._entries[key]
                return None
            return entry.obj

    def list(self) -> builtins.list[T]:
        """All objects that have not expired."""
        with self._lock:
            expired = self._policy.is_expired
            self._entries = {key: entry for key, entry in self._entries.items() if not expired(entry)}
            return [entry.obj for entry in self._entries.values()]

    def list_keys(self) -> builtins.list[str]:
        """All keys, including those of expired objects that have not been read since."""
        with self._lock:
            return list(self._entries)

    def bookmark(self, resource_version: str) -> None:
        """Note that the server has no changes up to this resourceVersion."""
        self._resource_version = resource_version

    def last_store_sync_resource_version(self) -> str:
        """The resourceVersion of the last :meth:`replace` or :meth:`bookmark`."""
        return self._resource_version
