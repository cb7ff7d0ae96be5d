"""Managed fields: which manager has set which fields of an object.

Each write changes them. The manager of a create owns the fields that it sets. The manager of an update or a patch owns
the fields that it changes, and the earlier owners lose them. Objects are stored with their managed fields as bytes. The
sets are decoded only when they are needed. Both are shared between objects: a thousand pods that one controller makes
from a template have the same set of fields, and those of one second have the same managed fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from kinformer.envtest.apply.scopes import Scope
from kinformer.envtest.apply.trees import Fields, Tree, difference, union

__all__ = ("Entry", "Managed", "Manager", "is_reset", "note_change", "note_new", "read_entries")

_ANCIENT = "ancient-changes"
_MOST_UPDATERS = 10
_REMEMBERED: Final = 2000

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Manager(NamedTuple):
    """The manager of an entry. The manager of an apply is the same in all versions of the API."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @property
    def order(self) -> str:
        """The key by which managers are sorted in the text of a conflict."""
        parts = {"manager": self.name, "operation": self.operation}
        if self.operation != "Apply":
            parts["apiVersion"] = self.api_version
        if self.subresource:
            parts["subresource"] = self.subresource
        return _encode(parts).decode()

    @property
    def text(self) -> str:
        """The manager's name in the text of a conflict."""
        said = _encode(self.name).decode()
        if self.subresource:
            said += f" with subresource {_encode(self.subresource).decode()}"
        return f"{said} using {self.api_version}" if self.operation == "Update" else said

    def is_same(self, other: Manager) -> bool:
        if self.operation == "Apply":
            return self._replace(api_version="") == other._replace(api_version="")
        return self == other


@lru_cache(_REMEMBERED)
def _around(manager: Manager) -> tuple[str, str]:
    """The JSON of an entry: the part before its time, and the part after its fields."""
    name, operation, api_version, subresource = (_encode(part).decode() for part in manager)
    head = f'{{"manager":{name},"operation":{operation},"apiVersion":{api_version},'
    return head, f',"subresource":{subresource}}}' if manager.subresource else "}"


class Entry(NamedTuple):
    """
    One of an object's managed fields.

    :param time: when it was last written. Empty if this is not known
    """

    manager: Manager
    time: str
    fields: Fields

    @property
    def text(self) -> str:
        head, tail = _around(self.manager)
        time = f'"time":"{self.time}",' if self.time else ""
        return f'{head}{time}"fieldsType":"FieldsV1","fieldsV1":{self.fields.text}{tail}'

    @property
    def order(self) -> tuple[str, ...]:
        name, operation, api_version, subresource = self.manager
        return (operation, self.time, name, api_version, subresource)


class Managed:
    """
    The managed fields of an object. They are immutable.

    :ivar versions: the versions of the API that the entries have
    :ivar text: ``"managedFields":[…]``, as in the object's metadata
    """

    __slots__ = ("entries", "text", "versions")

    def __init__(self, entries: Iterable[Entry]):
        self.entries = tuple(sorted(entries, key=lambda entry: entry.order))
        self.versions = frozenset(entry.manager.api_version for entry in self.entries)
        self.text = b'"managedFields":[%b]' % ",".join([entry.text for entry in self.entries]).encode()

    def to_list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = _decode(b"{%b}" % self.text)["managedFields"]
        return found

    def is_but_times(self, other: Managed) -> bool:
        """Whether the two differ at most in times."""
        return len(self.entries) == len(other.entries) and all(
            one.manager == another.manager and one.fields is another.fields
            for one, another in zip(self.entries, other.entries, strict=True)
        )


class _Unreadable(Exception):
    """Managed fields that are invalid. They are ignored."""


def is_reset(given: Any) -> bool:
    """Whether a request removes all managed fields, with an empty list or a list of one empty entry."""
    return isinstance(given, list) and (not given or given == [{}])


def read_entries(given: Any) -> tuple[Entry, ...]:
    """
    Decode the managed fields of an object. No entries are returned if one of them is invalid.

    :param given: ``managedFields`` of the object's metadata
    """
    try:
        return tuple(_read(one) for one in given or ())
    except (_Unreadable, msgspec.DecodeError):
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
                key = _decode(name[2:])
                if name[0] == "k" and not isinstance(key, dict):
                    raise _Unreadable
            _check(node)


@lru_cache(_REMEMBERED)  # many objects that are written in one second have the same managed fields
def _managed(entries: tuple[Entry, ...]) -> Managed:
    return Managed(_capped(entries))


def note_new(obj: Mapping[str, Any], scope: Scope, manager: str, now: str) -> Managed | None:
    """The managed fields after a create. The manager owns all fields that it has set."""
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
    The managed fields after an update.

    :param changed: the fields that the update has changed or added
    :param removed: the fields that it has removed
    :param others: `changed` and `removed` in other versions of the API. None for a version that no longer exists
    """
    if not changed and not removed and others is None:
        return managed
    change = _encode(changed), _encode(removed)
    if others is None:
        return _noted(managed, change, manager, now)
    encoded = {version: None if of is None else (_encode(of[0]), _encode(of[1])) for version, of in others.items()}
    return _note(managed, change, manager, now, encoded)


#: What a write does to sets of fields: the changed and the removed ones, each as JSON. The results are cached, because
#: a client that keeps an object up to date makes the same change again and again, also to similar objects.
_Change = tuple[bytes, bytes]


@lru_cache(_REMEMBERED)
def _noted(managed: Managed, change: _Change, manager: Manager, now: str) -> Managed | None:
    return _note(managed, change, manager, now, {})


def _note(
    managed: Managed, change: _Change, manager: Manager, now: str, others: Mapping[str, _Change | None]
) -> Managed | None:
    kept: list[Entry] = []
    is_noted = change[0] == b"{}"
    for entry in managed.entries:
        took = others.get(entry.manager.api_version, change)
        if took is None:
            continue
        if entry.manager == manager and change[0] != b"{}":
            is_noted = True
            kept.append(Entry(manager, now, _joined(entry.fields, change)))
        elif (left := _left(entry.fields, took)) is not None:
            kept.append(Entry(entry.manager, entry.time, left))
    if not is_noted:
        kept.append(Entry(manager, now, Fields.of_tree(_decode(change[0]))))
    return _managed(tuple(kept)) if kept else None


@lru_cache(_REMEMBERED)
def _left(fields: Fields, change: _Change) -> Fields | None:
    """The fields that another manager still owns. None if it owns nothing any more."""
    changed, removed = map(_decode, change)
    tree = difference(difference(fields.tree, changed), removed)
    return fields if tree is fields.tree else Fields.of_tree(tree) if tree else None


@lru_cache(_REMEMBERED)
def _joined(fields: Fields, change: _Change) -> Fields:
    """The fields that the manager of the write owns now."""
    changed, removed = map(_decode, change)
    tree = union(difference(fields.tree, removed), changed)
    return fields if tree is fields.tree else Fields.of_tree(tree)


def _capped(entries: Iterable[Entry]) -> Iterable[Entry]:
    """If an object has too many entries of updates, merge the oldest into one, for each version of the API."""
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
        bucket = Manager(_ANCIENT, "Update", version, "")
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
