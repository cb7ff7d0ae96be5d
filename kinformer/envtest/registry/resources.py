"""Resources: where each kind is served, under which names, with which verbs and subresources.

The :class:`Registry` holds the built-in ones (:mod:`.table`) and takes in custom ones while the server runs. Two
resources that are the same objects in two versions of the API (Events, autoscalers) share one place in the storage.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from kinformer.envtest.registry.table import GROUPS, KEPT_BY_STATUS, METADATA
from kinformer.meta.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

__all__ = ("ALL_VERBS", "Registry", "Resource", "Subresource")

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_STATUS_VERBS = ("get", "patch", "update")
_VERBS = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "eviction": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": ("create", "delete", "get", "patch", "update"),
    "token": ("create",),
}
_MARKS = {
    "*": tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    "+": ("create",),
    "?": ("get", "list"),
}
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
#: Where objects of one group are kept with those of another, and under which name.
_SHARED_STORAGE = {GroupResource("events.k8s.io", "events"): GroupResource("", "events")}
#: Where it is not the version at hand in which objects are stored: group and version.
_STORED_AS = {
    GroupVersionResource("events.k8s.io", "v1", "events"): ("", "v1"),
    GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers"): ("autoscaling", "v2"),
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """
    A part of an object, or something to be done with it, that has an URL of its own.

    :param gvk: the kind that is spoken there
    :param foreign: whether that is another kind than the resource's own
    """

    name: str
    gvk: GroupVersionKind
    foreign: bool
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """
    One resource at one version.

    :param storage: where its objects are kept
    :param definition: the schema of a custom resource's version, None for a built-in one
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str
    list_kind: str
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: dict[str, Subresource] = field(default_factory=dict)
    definition: dict[str, Any] | None = None
    storage: GroupResource = field(init=False)
    #: ``plural.group`` as errors and quotas say it.
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    api_version: str = field(init=False)
    #: How the JSON of an object of this resource begins: kind and apiVersion, with the comma.
    prefix: bytes = field(init=False)
    #: The same for an item of a list, where only custom resources repeat their kind.
    item_prefix: bytes = field(init=False)

    def __post_init__(self) -> None:
        own = GroupResource(self.group, self.plural)
        api_version = str(GroupVersion(self.group, self.version))
        prefix = msgspec.json.encode({"kind": self.kind, "apiVersion": api_version})[:-1] + b","
        derived = {
            "storage": _SHARED_STORAGE.get(own, own),
            "group_resource": own,
            "group_kind": GroupKind(self.group, self.kind),
            "api_version": api_version,
            "prefix": prefix,
            "item_prefix": b"{" if self.definition is None else prefix,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def is_custom(self) -> bool:
        return self.definition is not None

    @property
    def kept_by_status(self) -> tuple[str, ...]:
        """The fields of the metadata that a write of the status leaves alone."""
        return METADATA if self.is_custom else KEPT_BY_STATUS.get(str(self.group_resource), ())

    @property
    def is_stored(self) -> bool:
        """Whether there are objects of it: a review or a binding is only ever an answer."""
        return "list" in self.verbs

    @property
    def storage_version_hash(self) -> str:
        own = GroupVersionResource(self.group, self.version, self.plural)
        group, version = _STORED_AS.get(own, (self.group, self.version))
        digest = hashlib.sha256(f"{group}/{version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()


class Registry:
    """Every resource that the server serves at the moment."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str], dict[str, Resource]] = {}
        for resource in _built_in():
            self._resources.setdefault((resource.group, resource.version), {})[resource.plural] = resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version), {}).get(plural)

    def has_group_version(self, group: str, version: str) -> bool:
        return (group, version) in self._resources

    def group_versions(self) -> list[tuple[str, str]]:
        """In the order in which discovery shows them; a group's preferred version is its first."""
        return list(self._resources)

    def resources(self, group: str, version: str) -> list[Resource]:
        return list(self._resources.get((group, version), {}).values())

    def __iter__(self) -> Iterator[Resource]:
        for resources in self._resources.values():
            yield from resources.values()

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource that serves objects of a kind; at another version of the group, if not at that one."""
        found = None
        for resource in self:
            if resource.group == group and resource.kind == kind and resource.is_stored:
                if resource.version == version:
                    return resource
                found = found or resource
        return found

    def by_storage(self, storage: GroupResource) -> Resource | None:
        """A resource whose objects are kept in that place."""
        for (group, _), resources in self._resources.items():
            if group == storage.group and (found := resources.get(storage.resource)):
                return found
        return None

    def add(self, resource: Resource) -> None:
        """Serve a resource from now on, in place of any of the same name."""
        self._resources.setdefault((resource.group, resource.version), {})[resource.plural] = resource

    def remove(self, group: str, version: str, plural: str) -> None:
        served = self._resources.get((group, version), {})
        served.pop(plural, None)
        if not served:
            self._resources.pop((group, version), None)


@cache
def _built_in() -> tuple[Resource, ...]:
    # The same for every server, and never changed: to read the table anew would take each of them a millisecond.
    return tuple(_read_table())


def _read_table() -> Iterator[Resource]:
    group = version = ""
    for line in GROUPS.strip("\n").splitlines():
        words = line.split(" ")
        if len(words) == 2:
            group, version = words
            continue
        plural, kind, scope, short, categories, subresources = words
        verbs = _MARKS.get(plural[-1], ALL_VERBS)
        plural = plural.rstrip("*+?")
        yield Resource(
            group=group,
            version=version,
            plural=plural,
            kind=kind,
            namespaced=scope == "ns",
            singular=kind.lower(),
            list_kind=f"{kind}List",
            verbs=verbs,
            short_names=_split(short),
            categories=_split(categories),
            subresources={sub.name: sub for sub in _subresources(group, version, kind, subresources)},
        )


def _split(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _subresources(group: str, version: str, kind: str, text: str) -> Iterator[Subresource]:
    for part in _split(text):
        name, _, spoken = part.partition("=")
        own = GroupVersionKind(group, version, kind)
        if name == "scale":
            gvk = _SCALE
        elif "/" in spoken:
            gvk = GroupVersionKind(*spoken.split("/"))
        else:
            gvk = own._replace(kind=spoken or kind)
        yield Subresource(name, gvk, gvk != own, _VERBS.get(name, _STATUS_VERBS))
