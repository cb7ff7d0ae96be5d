"""Managed fields: who has set which fields of an object.

Every write is noted: a create owns what it sets, an update or a patch what it changes, and whoever owned that before
does not any more. Objects are stored with what came of it, as bytes; the sets are read back only when they are needed.
Both are shared between objects: of a thousand pods that one controller has made of a template, all have the same set of
fields, and those of one second the same managed fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from kinformer.envtest.apply.scopes import Scope
from kinformer.envtest.apply.trees import Fields, Tree, difference, union

__all__ = ("ANCIENT", "Entry", "Managed", "Manager", "is_reset", "note_change", "note_new", "read_entries")

ANCIENT = "ancient-changes"
_MOST_UPDATERS = 10

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Manager(NamedTuple):
    """Whose an entry is. Who applies is the same in every version of the API."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @property
    def around(self) -> tuple[str, str]:
        """The JSON of an entry, up to its time and after its fields."""
        found = _around.get(self)
        if found is None:
            name, operation, api_version, subresource = (_encode(part).decode() for part in self)
            head = f'{{"manager":{name},"operation":{operation},"apiVersion":{api_version},'
            tail = f',"subresource":{subresource}}}' if self.subresource else "}"
            if len(_around) > _REMEMBERED:
                _around.clear()
            found = _around[self] = head, tail
        return found

    @property
    def order(self) -> str:
        """By what managers are sorted in the text of a conflict."""
        parts = {"manager": self.name, "operation": self.operation}
        if self.operation != "Apply":
            parts["apiVersion"] = self.api_version
        if self.subresource:
            parts["subresource"] = self.subresource
        return _encode(parts).decode()

    @property
    def text(self) -> str:
        """Who that is, in the text of a conflict."""
        said = _encode(self.name).decode()
        if self.subresource:
            said += f" with subresource {_encode(self.subresource).decode()}"
        return f"{said} using {self.api_version}" if self.operation == "Update" else said

    def is_same(self, other: Manager) -> bool:
        if self.operation == "Apply":
            return self._replace(api_version="") == other._replace(api_version="")
        return self == other


_REMEMBERED = 2000
_around: dict[Manager, tuple[str, str]] = {}


class Entry(NamedTuple):
    """
    One of an object's managed fields.

    :param time: when it was last written; empty if that is not known
    """

    manager: Manager
    time: str
    fields: Fields

    @property
    def text(self) -> str:
        head, tail = self.manager.around
        time = f'"time":"{self.time}",' if self.time else ""
        return f'{head}{time}"fieldsType":"FieldsV1","fieldsV1":{self.fields.text}{tail}'

    @property
    def order(self) -> tuple[str, ...]:
        name, operation, api_version, subresource = self.manager
        return (operation, self.time, name, api_version, subresource)


class Managed:
    """
    The managed fields of an object; never changed.

    :ivar versions: the versions of the API in which somebody owns something
    :ivar text: as they stand in the object's metadata, with their name
    """

    __slots__ = ("entries", "text", "versions")

    def __init__(self, entries: Iterable[Entry]):
        self.entries = tuple(sorted(entries, key=_order))
        self.versions = frozenset(entry.manager.api_version for entry in self.entries)
        self.text = b'"managedFields":[%b]' % ",".join([entry.text for entry in self.entries]).encode()

    def to_list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = _decode(b"{%b}" % self.text)["managedFields"]
        return found

    def is_but_times(self, other: Managed) -> bool:
        """Whether nothing but times differs."""
        return len(self.entries) == len(other.entries) and all(
            one.manager == another.manager and one.fields is another.fields
            for one, another in zip(self.entries, other.entries, strict=True)
        )


def _order(entry: Entry) -> tuple[str, ...]:
    return entry.order


class _Unreadable(Exception):
    """Managed fields that are none: they are taken for not given."""


def is_reset(given: Any) -> bool:
    """Whether a request gives up all ownership, by an empty list or one empty entry."""
    return isinstance(given, list) and (not given or given == [{}])


def read_entries(given: Any) -> tuple[Entry, ...]:
    """
    The entries that an object says it has; none if one of them cannot be read.

    :param given: what stands in its metadata
    """
    try:
        return tuple(_read(one) for one in given or ())
    except _Unreadable:
        return ()


def _read(entry: Any) -> Entry:
    if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
        raise _Unreadable
    if not entry.get("apiVersion") or entry.get("fieldsType") != "FieldsV1":
        raise _Unreadable
    tree = entry.get("fieldsV1") or {}
    _check(tree)
    manager = Manager(
        str(entry.get("manager") or ""),
        str(entry["operation"]),
        str(entry["apiVersion"]),
        str(entry.get("subresource") or ""),
    )
    return Entry(manager, str(entry.get("time") or ""), Fields.of_tree(tree))


def _check(tree: Any) -> None:
    if not isinstance(tree, dict):
        raise _Unreadable
    for name, node in tree.items():
        if name != ".":
            if name[:2] not in ("f:", "k:", "v:", "i:"):
                raise _Unreadable
            if name[:2] in ("k:", "v:"):
                try:
                    key = _decode(name[2:])
                except msgspec.DecodeError:
                    raise _Unreadable from None
                if name[0] == "k" and not isinstance(key, dict):
                    raise _Unreadable
            _check(node)


#: What was just written: many objects of one second have the same managed fields.
_recent: dict[tuple[Entry, ...], Managed] = {}


def _managed(entries: tuple[Entry, ...]) -> Managed:
    found = _recent.get(entries)
    if found is None:
        if len(_recent) > _REMEMBERED:
            _recent.clear()
        found = _recent[entries] = Managed(_capped(entries))
    return found


def note_new(obj: Mapping[str, Any], scope: Scope, manager: str, now: str) -> Managed | None:
    """What a create leaves behind: all that it has set is its own."""
    fields = scope.of_new(obj)
    if fields is None:
        return None
    entry = Entry(Manager(manager or "unknown", "Update", scope.api_version, scope.subresource), now, fields)
    return _managed((entry,))


def note_change(
    managed: Managed,
    changed: Tree,
    removed: Tree,
    manager: Manager,
    now: str,
    others: Mapping[str, tuple[Tree, Tree] | None] | None = None,
) -> Managed | None:
    """
    What an update leaves behind.

    :param changed: what it has set to something else, or added
    :param removed: what it has taken away
    :param others: the same two for entries of other versions of the API, None for a version that there is no more
    """
    if not changed and not removed and others is None:
        return managed
    if others is not None:
        return _note(managed, changed, removed, manager, now, others)
    # What is done to one object is mostly done to others like it as well.
    key = (managed, _encode(changed), _encode(removed), manager, now)
    if key not in _noted:
        if len(_noted) > _REMEMBERED:
            _noted.clear()
        _noted[key] = _note(managed, changed, removed, manager, now, {})
    return _noted[key]


_noted: dict[tuple[Managed, bytes, bytes, Manager, str], Managed | None] = {}


def _note(
    managed: Managed,
    changed: Tree,
    removed: Tree,
    manager: Manager,
    now: str,
    others: Mapping[str, tuple[Tree, Tree] | None],
) -> Managed | None:
    change = _Change(changed, removed)
    kept: list[Entry] = []
    is_noted = not changed
    for entry in managed.entries:
        took = change
        if entry.manager.api_version in others:
            of_version = others[entry.manager.api_version]
            if of_version is None:
                continue
            took = _Change(*of_version)
        if entry.manager == manager and changed:
            fields = change.joined(entry.fields)
            is_noted = True
            kept.append(Entry(manager, now, fields))
            continue
        left = took.left_of(entry.fields)
        if left is entry.fields:
            kept.append(entry)
        elif left is not None:
            kept.append(Entry(entry.manager, entry.time, left))
    if not is_noted:
        kept.append(Entry(manager, now, Fields.of_tree(changed)))
    return _managed(tuple(kept)) if kept else None


class _Change:
    """
    What a write does to sets of fields. The same is done to the same sets again and again, by whoever keeps an object
    up to date, so that it is remembered.
    """

    __slots__ = ("_changed", "_key", "_removed")

    def __init__(self, changed: Tree, removed: Tree):
        self._changed = changed
        self._removed = removed
        self._key = _encode(changed), _encode(removed)

    def left_of(self, fields: Fields) -> Fields | None:
        """What somebody else still has; None for nothing."""
        key = (fields, *self._key)
        if key not in _left:
            tree = difference(difference(fields.tree, self._changed), self._removed)
            if len(_left) > _REMEMBERED:
                _left.clear()
            _left[key] = fields if tree is fields.tree else Fields.of_tree(tree) if tree else None
        return _left[key]

    def joined(self, fields: Fields) -> Fields:
        """What the one who writes has from now on."""
        key = (fields, *self._key)
        found = _joined.get(key)
        if found is None:
            tree = union(difference(fields.tree, self._removed), self._changed)
            if len(_joined) > _REMEMBERED:
                _joined.clear()
            found = _joined[key] = fields if tree is fields.tree else Fields.of_tree(tree)
        return found


_Key = tuple[Fields, bytes, bytes]
_left: dict[_Key, Fields | None] = {}
_joined: dict[_Key, Fields] = {}


def _capped(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Where too many have updated an object, the oldest of them become one, for each version of the API."""
    updaters = [entry for entry in entries if entry.manager.operation == "Update"]
    too_many = len(updaters) - _MOST_UPDATERS
    if too_many <= 0:
        return entries
    updaters.sort(key=lambda entry: (entry.time, entry.manager.order))
    left = {entry.manager: entry for entry in entries}
    firsts: dict[str, Entry] = {}
    for entry in updaters:
        if too_many <= 0:
            break
        version = entry.manager.api_version
        bucket = Manager(ANCIENT, "Update", version, "")
        first = firsts.setdefault(version, entry)
        if first is entry:
            continue
        if bucket not in left:
            left[bucket] = left.pop(first.manager)._replace(manager=bucket)
        tree = union(left[bucket].fields.tree, entry.fields.tree)
        left[bucket] = Entry(bucket, entry.time, Fields.of_tree(tree))
        del left[entry.manager]
        too_many -= 1
    return list(left.values())
