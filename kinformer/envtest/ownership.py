"""The managed fields of an object that is being written.

A write first takes the managed fields out of the request's object, and works out the new ones. Only then the object
gets defaults, is admitted and is validated, all without managed fields. So a field that admission adds has no owner.
The new managed fields are stored with the object at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from kinformer.envtest.admission import Attributes
from kinformer.envtest.apply import (
    Managed,
    Manager,
    Scope,
    Tree,
    is_reset,
    note_change,
    note_new,
    read_entries,
    scope_of,
)
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Version
from kinformer.envtest.strategy.base import Obj, Strategy

__all__ = ("note_created", "note_updated", "reviewed")

#: Returns the strategy of a resource.
Strategies = Callable[[Resource], Strategy]


def note_created(strategy: Strategy, obj: Obj, manager: str, now: str) -> Managed | None:
    """
    The managed fields of a new object. Those that the request gives are removed from the object.

    :param manager: who creates the object
    :param now: the time of the request
    """
    given = obj["metadata"].pop("managedFields", None)
    if isinstance(given, Managed):
        # An apply has worked them out already.
        return given if given.entries else None
    scope = scope_of(strategy.resource, "")
    if strategy.is_converted:
        obj = strategy.shown(obj)
    if given and not is_reset(given) and (entries := read_entries(given)):
        fields = scope.of_new(obj)
        author = Manager(manager or "unknown", "Update", scope.api_version, "")
        return note_change(Managed(entries), fields.tree if fields is not None else {}, {}, author, now)
    return note_new(obj, scope, manager, now)


def note_updated(
    registry: Registry,
    strategies: Strategies,
    resource: Resource,
    part: str,
    before: Version,
    old: Obj,
    obj: Obj,
    manager: str,
    now: str,
    untouched: Collection[str] = (),
) -> Managed | None:
    """
    The managed fields of an object after a change. Those that the request gives are removed from the new object.

    :param part: the subresource that was written, or ``""``
    :param before: the stored version
    :param old: `before`, decoded
    :param obj: the new object
    :param manager: who changes the object
    :param now: the time of the request
    :param untouched: top-level fields that are known to be unchanged. They are not compared
    :return: None if nobody owns anything any longer
    """
    given = obj["metadata"].pop("managedFields", None)
    if isinstance(given, Managed):
        return given if given.entries else None
    managed = before.managed
    if given is not None and not part:
        if is_reset(given):
            return None
        if managed is None or given != managed.to_list():
            # A request may write managed fields. Those that cannot be read are ignored.
            entries = read_entries(given)
            managed = Managed(entries) if entries else managed
    if managed is None:
        return None
    scope = scope_of(resource, part)
    changed, removed = _changes(strategies(resource), scope, old, obj, untouched)
    if not changed and not removed:
        return managed
    others = None
    if managed.versions != scope.versions:
        others = {
            version: _in_version(registry, strategies, resource, part, version, old, obj)
            for version in managed.versions - scope.versions
        }
    author = Manager(manager or "unknown", "Update", scope.api_version, part)
    if part == "scale":
        # Entries for the scale have no time in Kubernetes. It looks for the old entry among those of the main resource,
        # and does not find it.
        now = ""
    return note_change(managed, changed, removed, author, now, others)


def _changes(
    strategy: Strategy, scope: Scope, old: Obj, obj: Obj, untouched: Collection[str] = ()
) -> tuple[Tree, Tree]:
    if strategy.is_converted:
        return scope.of_change(strategy.shown(old), strategy.shown(obj))
    return scope.of_change(old, obj, untouched)


def _in_version(
    registry: Registry, strategies: Strategies, resource: Resource, part: str, version: str, old: Obj, obj: Obj
) -> tuple[Tree, Tree] | None:
    """The change in another version of the API. None if the server no longer has that version."""
    group, _, name = version.rpartition("/")
    other = registry.find(group, name, resource.plural)
    return _changes(strategies(other), scope_of(other, part), old, obj) if other is not None else None


def reviewed(
    review: Callable[[Attributes], None], attributes: Attributes, managed: Managed | None, live: Managed | None
) -> Managed | None:
    """
    Call admission webhooks with an object that has its managed fields. They may change both.

    :param managed: the managed fields of the new object
    :param live: the managed fields of the stored object
    :return: the managed fields after the review. If a webhook has made them unreadable, these are `managed`
    """
    shown = replace(attributes, object=_with(attributes.object, managed), old_object=_with(attributes.old_object, live))
    review(shown)
    if attributes.object is None or shown.object is None:
        return managed
    given = shown.object["metadata"].pop("managedFields", None)
    attributes.object.clear()
    attributes.object.update(shown.object)
    if managed is not None and given == managed.to_list():
        return managed
    entries = read_entries(given)
    if entries:
        return Managed(entries)
    return managed if given else None


def _with(obj: Obj | None, managed: Managed | None) -> Obj | None:
    if obj is None or managed is None:
        return None if obj is None else {**obj, "metadata": {**obj["metadata"]}}
    return {**obj, "metadata": {**obj["metadata"], "managedFields": managed.to_list()}}
