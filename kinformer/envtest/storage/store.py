"""Storage: the histories of all resources, with one counter of versions. It is what etcd is to kube-apiserver.

Versions begin at a number that is made from the clock. So a server that is started again with empty storage does not
use the same versions again. A client that watched the earlier server is told that its history is gone. Otherwise it
would wait for a version that has another meaning by now.

Everything here is synchronous and runs in the event loop's thread. So a read, a decision and a write with no ``await``
between them are one transaction. The server's guarantees about conflicts depend on this. A request that takes long may
be processed in a thread, as the only guest (:mod:`~kinformer.envtest.storage.guest`). The event loop does its
writes.

Watches are woken at the end of the loop's turn, once for everything that was written in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, Protocol

import anyio

from kinformer.envtest import status
from kinformer.envtest.apply.managed import Managed
from kinformer.envtest.storage.guest import Disturbed, Guest
from kinformer.envtest.storage.history import ADDED, DELETED, MODIFIED, Change, ResourceLog, Version
from kinformer.envtest.storage.journal import Journal, JournalError
from kinformer.meta.names import GroupResource

__all__ = ("LARGEST", "Listener", "Mirror", "Storage", "first_version", "object_key")

#: The versions per second by which the first version grows: more than a server can write in that time.
_A_SECOND: Final = 100_000
#: The most bytes of a stored object: etcd's limit of a request (``--max-request-bytes``).
LARGEST: Final = 1536 * 1024
#: No clock gives a first version below this one.
_LEAST: Final = 10**12

#: Called for every change, right after it was made: (resource, change).
Listener = Callable[[GroupResource, Change], None]


class Mirror(Protocol):
    """A resource at another version: its history, and how an object of that version is stored."""

    log: ResourceLog

    def write(
        self, type_: str, key: str, obj: dict[str, Any], before: Version | None, managed: Managed | None
    ) -> Version:
        """Store an object, and return it at this version, as it is stored now."""


def object_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def first_version(now: datetime) -> int:
    """The number after which the versions of a server begin that is started at this time."""
    return int(now.timestamp() * _A_SECOND)


class Storage:
    """
    The stored objects of a server, and their history.

    :param window: the most changes of one resource that are remembered; then the older half is forgotten
    :param first: the number after which versions begin
    """

    def __init__(self, window: int = 100_000, first: int = 0):
        self._logs: dict[GroupResource, ResourceLog] = {}
        self._window = window
        self._news: set[GroupResource] = set()
        self.first = first
        #: The latest version.
        self.version = first
        #: The version up to which everything was compacted. Exact reads before it are refused.
        self.compacted = first
        self.listeners: list[Listener] = []
        #: Resources at versions other than the one that they are stored at.
        self.mirrors: dict[GroupResource, Mirror] = {}
        self._journal: Journal | None = None
        self._unsaved: list[tuple[GroupResource, Change]] = []
        self._saved = anyio.Event()
        self._broken: JournalError | None = None
        self._guest: Guest | None = None
        self._left = anyio.Event()

    # -- outliving the process ------------------------------------------------------------------------------------

    def keep_in(self, journal: Journal) -> None:
        """
        Load the objects of a journal, and write everything into it from now on.

        This is only for an empty storage.
        """
        self._journal = journal
        self.first, number, objects = journal.read(self.first)
        # The history is complete from the latest version on, whatever the clock says.
        self.version = self.compacted = max(number, self.first)
        for resource, version in objects:
            self.log(resource).restore(version)

    async def settled(self) -> None:
        """
        Return once everything that was written so far is safe. Before that, no client gets it.

        :raises JournalError: if it cannot be saved; after that the storage accepts no more writes
        """
        if self._unsaved:
            await self._saved.wait()
        if self._broken is not None:
            raise self._broken

    def _save(self) -> None:
        changes, self._unsaved = self._unsaved, []
        if self._journal is None or not changes:
            return
        try:
            self._journal.write(changes)
        except JournalError as error:
            self._broken = error
        saved, self._saved = self._saved, anyio.Event()
        saved.set()

    def close(self) -> None:
        """Save what is not saved yet, and close the journal."""
        if self._journal is not None:
            self._save()
            self._journal.close()
            self._journal = None

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever stored."""
        return self.version == self.first

    def meant(self, number: int) -> int:
        """
        The version that a request means by a number.

        A number that no server uses is the client's own. It counts as if this server had begun at zero.
        """
        return number + self.first if number < _LEAST <= self.first else number

    # -- one guest ------------------------------------------------------------------------------------------------

    @property
    def has_guest(self) -> bool:
        return self._guest is not None

    async def alone(self) -> None:
        """Return once there is no guest, because a write would disturb it."""
        while self._guest is not None:
            await self._left.wait()

    def receive(self, guest: Guest) -> None:
        """Let a thread read and write as a guest, until it is dismissed."""
        self._guest = guest

    def dismiss(self) -> None:
        self._guest = None
        left, self._left = self._left, anyio.Event()
        left.set()

    def settle_in(self, strategy: Callable[[Version], None], version: Version) -> None:
        """Call the strategy after a write. This happens in the event loop's thread, as all writes do."""
        if self._guest is not None and self._guest.is_here:
            self._guest.on_loop(partial(self._for_guest, strategy, version))
        else:
            strategy(version)

    def _for_guest(self, function: Callable[..., Any], *args: Any) -> Any:
        guest, self._guest = self._guest, None
        try:
            return function(*args)
        finally:
            self._guest = guest

    def _write_for_guest(
        self,
        guest: Guest,
        resource: GroupResource,
        type_: str,
        key: str,
        obj: dict[str, Any],
        before: Version | None,
        managed: Managed | None,
        most: int | None,
    ) -> Version:
        moved = resource not in self.mirrors and self.log(resource).objects.get(key) is not before
        if moved or (guest.is_disturbed and not guest.has_written):
            raise Disturbed
        guest.has_written = True
        written: Version = self._for_guest(self._write, resource, type_, key, obj, before, managed, most)
        return written

    # -- histories ------------------------------------------------------------------------------------------------

    def log(self, resource: GroupResource) -> ResourceLog:
        try:
            return self._logs[resource]
        except KeyError:
            if resource in self.mirrors:
                return self.mirrors[resource].log
            self._logs[resource] = log = ResourceLog()
            log.forgotten = self.compacted
            return log

    def logs(self) -> list[tuple[GroupResource, ResourceLog]]:
        return list(self._logs.items())

    # -- reading and writing objects ------------------------------------------------------------------------------

    def get(self, resource: GroupResource, namespace: str, name: str) -> Version | None:
        return self.log(resource).objects.get(object_key(namespace, name))

    def create(
        self,
        resource: GroupResource,
        namespace: str,
        name: str,
        obj: dict[str, Any],
        managed: Managed | None = None,
        most: int | None = None,
    ) -> Version:
        """
        Store a new object. Its resourceVersion is written into `obj`.

        The caller must have checked that there is no object with that name.

        :param managed: who owns what of it
        :param most: the most bytes that it may have. None: any number
        :raises StatusError: if it has more
        """
        return self._write(resource, ADDED, object_key(namespace, name), obj, None, managed, most)

    def update(
        self,
        resource: GroupResource,
        before: Version,
        obj: dict[str, Any],
        old: dict[str, Any] | None = None,
        managed: Managed | Literal["kept"] | None = "kept",
        most: int | None = None,
    ) -> Version:
        """
        Store the next version of an object, unless it equals `before`. In that case nothing is written.

        :param old: `before` decoded, if the caller has it already
        :param managed: the managers of its fields; a change of their times alone does not count as a difference
        :param most: the most bytes that it may have. None: any number
        :return: the version that is stored now, which may be `before`
        :raises StatusError: if it has more
        """
        obj["metadata"]["resourceVersion"] = str(before.number)
        was = before.managed
        if managed == "kept":
            managed = was
        if obj == (before.decode() if old is None else old):
            is_owned_alike = managed is was or (managed is not None and was is not None and managed.is_but_times(was))
            # 1, 1.0 and true are equal in Python, but their encodings have different lengths.
            if is_owned_alike and Version.of(before.key, before.number, obj, was).size == before.size:
                return before
        return self._write(resource, MODIFIED, before.key, obj, before, managed, most)

    def delete(self, resource: GroupResource, before: Version) -> Version:
        """
        Remove an object.

        :return: the object as watches get it, at the version of its removal
        """
        return self._write(resource, DELETED, before.key, before.decode(), before, before.managed)

    def _write(
        self,
        resource: GroupResource,
        type_: str,
        key: str,
        obj: dict[str, Any],
        before: Version | None,
        managed: Managed | None,
        most: int | None = None,
    ) -> Version:
        if (guest := self._guest) is not None:
            if guest.is_here:
                write = partial(self._write_for_guest, guest, resource, type_, key, obj, before, managed, most)
                return guest.on_loop(write)
            guest.is_disturbed = True
        if resource in self.mirrors:
            return self.mirrors[resource].write(type_, key, obj, before, managed)
        number = self.version + 1
        obj["metadata"]["resourceVersion"] = str(number)
        now = Version.of(key, number, obj, managed)
        if most is not None and len(now.raw) > most:
            raise status.too_large_to_store()
        change = Change(type_, number, now, before)
        log = self.log(resource)
        log.append(change)
        self.version = number
        if len(log.changes) > self._window:
            log.forget(log.changes[self._window // 2].number)
        if self._journal is not None:
            self._unsaved.append((resource, change))
        for listener in self.listeners:
            listener(resource, change)
        self._wake_later(resource)
        return now

    def _wake_later(self, resource: GroupResource) -> None:
        if not self._news:
            try:
                asyncio.get_running_loop().call_soon(self._wake)
            except RuntimeError:  # filled before the loop runs, when there are no watches
                self._save()
                return
        self._news.add(resource)

    def _wake(self) -> None:
        self._save()
        news, self._news = self._news, set()
        for resource in news:
            self._logs[resource].wake()

    # -- forgetting -----------------------------------------------------------------------------------------------

    def compact(self, number: int | None = None) -> None:
        """Forget the history up to version `number` (all of it if None), like etcd's compaction."""
        self.compacted = max(self.compacted, self.version if number is None else number)
        for log in self._logs.values():
            log.forget(self.compacted)
        for mirror in self.mirrors.values():
            mirror.log.forget(self.compacted)
