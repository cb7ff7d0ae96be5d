"""History of one resource: its present objects, and every change that is still remembered.

An object is stored as in etcd: as the encoded bytes of one version. Beside them are only the values that lists and
watches need again and again. Decoding takes some microseconds, and gives the caller a copy of its own. So stored
objects cannot be changed by accident, and 100,000 objects take little more memory than their bytes.

Changes form one list, ordered by version. A watch is a position in that list. A change is encoded once for all watches.
The state at an earlier version is found by undoing the changes since then.

The bytes do not contain ``kind`` and ``apiVersion``. The items of a list do not have them, and each request decides
which version of the API is used.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from kinformer.envtest.apply.managed import Managed, read_entries

__all__ = ("ADDED", "DELETED", "MODIFIED", "Change", "Expired", "ResourceLog", "Version")

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"

_NOTHING: Mapping[str, str] = {}

_decode = msgspec.json.Decoder(type=dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_METADATA: Final = b'{"metadata":'
#: States of the position of managed fields, in bytes of a file: not read yet, and read but position unknown.
_UNREAD: Final = -2
_UNPLACED: Final = -1


class Expired(Exception):
    """This part of the history is not remembered any more."""


class Version:
    """
    One object at one version. It never changes.

    Its managed fields are in the bytes, but not in the decoded object. Code that works with objects does not need them,
    and to decode them would take as long as the rest of the object.

    :param key: ``namespace/name``, or ``name``: the order of keys is the order of lists
    :param number: the resourceVersion
    :param raw: the object in JSON, without kind and apiVersion
    """

    __slots__ = ("_end", "_fields", "_labels", "_managed", "_start", "key", "number", "raw")

    def __init__(self, key: str, number: int, raw: bytes, labels: Mapping[str, str] | None = None):
        self.key = key
        self.number = number
        self.raw = raw
        self._labels = labels
        self._fields: Mapping[str, str] | None = None
        self._managed: Managed | None = None
        self._start = self._end = _UNREAD

    @classmethod
    def of(cls, key: str, number: int, obj: dict[str, Any], managed: Managed | None) -> Version:
        """
        Make a version of an object that is to be stored or returned.

        :param managed: the managers of its fields
        """
        metadata = obj["metadata"]
        if managed is None:
            version = cls(key, number, _encode(obj), metadata.get("labels") or _NOTHING)
            version._start = version._end = 0
            return version
        head = _encode(metadata)
        rest = _encode({name: value for name, value in obj.items() if name != "metadata"})
        # Every object has a name, so the metadata is not empty and a comma can follow.
        more = b"," + rest[1:] if len(rest) > 2 else b"}"
        raw = b"%b%b,%b}%b" % (_METADATA, head[:-1], managed.text, more)
        version = cls(key, number, raw, metadata.get("labels") or _NOTHING)
        version._managed = managed
        version._start = start = len(_METADATA) + len(head) - 1
        version._end = start + 1 + len(managed.text)
        return version

    def _read(self) -> dict[str, Any]:
        """Decode bytes that come from a file."""
        obj = _decode(self.raw)
        given = obj["metadata"].pop("managedFields", None)
        if self._start == _UNREAD:
            entries = read_entries(given)
            self._managed = Managed(entries) if entries else None
            self._start = self._end = _UNPLACED if given is not None else 0
        return obj

    @property
    def managed(self) -> Managed | None:
        """The managers of the object's fields."""
        if self._start == _UNREAD:
            self._read()
        return self._managed

    @property
    def size(self) -> int:
        """The size of the object in bytes, without its managed fields."""
        if self._start < 0:
            return len(_encode(self.decode()))
        return len(self.raw) - (self._end - self._start)

    @property
    def head(self) -> bytes:
        """JSON of an object that has the metadata and possibly more. It is for code that needs only the metadata."""
        return self.raw[: self._start] + b"}}" if self._start > 0 else self.raw

    def decode(self) -> dict[str, Any]:
        """Decode the object: a fresh copy without kind, apiVersion and managedFields."""
        start = self._start
        if start > 0:
            return _decode(self.raw[:start] + self.raw[self._end :])
        return _decode(self.raw) if start == 0 else self._read()

    def decode_whole(self) -> dict[str, Any]:
        """Decode the object with its managedFields."""
        return _decode(self.raw)

    @property
    def labels(self) -> Mapping[str, str]:
        if self._labels is None:
            self._labels = self.decode().get("metadata", {}).get("labels") or _NOTHING
        return self._labels

    def fields(self, read: Callable[[dict[str, Any]], Mapping[str, str]]) -> Mapping[str, str]:
        """The fields for field selectors. They are read with `read` at the first call."""
        if self._fields is None:
            self._fields = read(self.decode())
        return self._fields


class Change:
    """
    One step of the history.

    :param number: the version of the change; no other change of any resource has the same
    :param now: the object after the change; for a delete its last state, at the version of the delete
    :param before: the object before the change, None if there was none
    """

    __slots__ = ("_line", "_prefix", "before", "now", "number", "type")

    def __init__(self, type_: str, number: int, now: Version, before: Version | None):
        self.type = type_
        self.number = number
        self.now = now
        self.before = before
        self._line: bytes | None = None
        self._prefix: bytes | None = None

    def line(self, prefix: bytes) -> bytes:
        """The change as a line of a watch without selectors. It is cached: several watches use the same prefix."""
        if self._line is None or self._prefix is not prefix:
            self._line = event_line(self.type, prefix, self.now.raw)
            self._prefix = prefix
        return self._line


def event_line(type_: str, prefix: bytes, raw: bytes) -> bytes:
    """
    A watch event in JSON.

    :param prefix: the opening brace and the kind and apiVersion, up to and including the comma
    """
    return b'{"type":"%b","object":%b%b}\n' % (type_.encode(), prefix, raw[1:])


_number = attrgetter("number")


class ResourceLog:
    """The present objects of one resource, and their changes. The module's docstring has the details."""

    def __init__(self) -> None:
        self.objects: dict[str, Version] = {}
        self.changes: list[Change] = []
        #: Changes up to and including this version are forgotten.
        self.forgotten = 0
        #: The number of changes that have been forgotten. It is also the position of the first change in the list.
        self.offset = 0
        self._keys: list[str] = []
        self._waiting: set[asyncio.Event] = set()

    def __len__(self) -> int:
        return len(self.objects)

    # -- writing ------------------------------------------------------------------------------------------------

    def append(self, change: Change) -> None:
        key = change.now.key
        if change.type == DELETED:
            del self.objects[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            if key not in self.objects:
                if not self._keys or key > self._keys[-1]:
                    self._keys.append(key)
                else:
                    insort(self._keys, key)
            self.objects[key] = change.now
        self.changes.append(change)

    def restore(self, version: Version) -> None:
        """Add an object from before the remembered history. The keys must come in order."""
        self.objects[version.key] = version
        self._keys.append(version.key)

    def wake(self) -> None:
        """Wake everyone who waits in :meth:`news`. There is something new, or they should check for another reason."""
        waiting, self._waiting = self._waiting, set()
        for event in waiting:
            event.set()

    def forget(self, number: int) -> None:
        """Forget all changes up to and including version `number`."""
        count = bisect_right(self.changes, number, key=_number)
        del self.changes[:count]
        self.offset += count
        self.forgotten = max(self.forgotten, number)

    # -- reading ------------------------------------------------------------------------------------------------

    def select(self, namespace: str, start: str = "") -> Iterator[Version]:
        """The present objects of a namespace (of all, if it is empty) in order, from key `start` on."""
        objects = self.objects
        return (objects[key] for key in self._range(self._keys, namespace, start))

    def select_at(self, number: int, namespace: str, start: str = "") -> list[Version]:
        """
        The objects of a namespace at an earlier version.

        :raises Expired: if the history does not go back that far
        """
        if number < self.forgotten:
            raise Expired
        changed: dict[str, Version | None] = {}
        for change in reversed(self.changes):
            if change.number <= number:
                break
            changed[change.now.key] = change.before
        if not changed:
            return list(self.select(namespace, start))
        keys = [key for key in self._keys if key not in changed]
        keys += [key for key, version in changed.items() if version is not None]
        keys.sort()
        return [changed.get(key) or self.objects[key] for key in self._range(keys, namespace, start)]

    @staticmethod
    def _range(keys: list[str], namespace: str, start: str) -> list[str]:
        first = bisect_left(keys, max(start, f"{namespace}/")) if namespace else bisect_left(keys, start)
        # "0" comes right after "/", so this is where the namespace's keys end.
        last = bisect_left(keys, f"{namespace}0") if namespace else len(keys)
        return keys[first:last]

    def position_after(self, number: int) -> int:
        """
        The position in the history at which a watch from version `number` begins.

        :raises Expired: if changes since then are forgotten
        """
        if number < self.forgotten:
            raise Expired
        return self.offset + bisect_right(self.changes, number, key=_number)

    @property
    def end(self) -> int:
        """The position after the latest change."""
        return self.offset + len(self.changes)

    def since(self, position: int, limit: int) -> list[Change]:
        """
        At most `limit` changes from a position on.

        :raises Expired: if they are forgotten, because the reader was too slow
        """
        index = position - self.offset
        if index < 0:
            raise Expired
        return self.changes[index : index + limit]

    async def news(self, position: int, event: asyncio.Event) -> None:
        """
        Return when there is a change at `position`, or when `event` is set.

        :param event: an event of the caller that is not set. :meth:`wake` sets it too
        """
        if position < self.end:
            return
        self._waiting.add(event)
        try:
            await event.wait()
        finally:
            self._waiting.discard(event)

    @property
    def waiting(self) -> int:
        """The number of tasks that wait in :meth:`news`."""
        return len(self._waiting)
