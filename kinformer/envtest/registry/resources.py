"""Resources: the path, the names, the verbs and the subresources of each kind.

The :class:`Registry` has the built-in resources (``resources.txt``). Custom resources are added and removed while the
server runs. Some resources are the same objects in two versions of the API (Events, autoscalers). They share one place
in the storage.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from kinformer.envtest.datafiles import read_table
from kinformer.meta.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

__all__ = (
    "CUSTOM_VERBS",
    "METADATA",
    "SCALE",
    "STATUS_VERBS",
    "Registry",
    "Resource",
    "Subresource",
    "optional_apis",
)

#: The fields of the metadata that belong to users.
METADATA = ("labels", "annotations", "finalizers", "ownerReferences")

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")
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
SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
#: The fields of the metadata that a write of the status does not change, for kinds with rules of their own.
_KEPT_BY_STATUS = {"deployments": ("labels",), "pods": ("deletionTimestamp", "ownerReferences")}
#: Resources whose objects are stored with those of another group, and the resource under which they are stored.
_SHARED_STORAGE = {GroupResource("events.k8s.io", "events"): GroupResource("", "events")}
#: Resources that are not stored at their own version, and the group and version at which they are stored.
_STORED_AS = {
    GroupVersionResource("events.k8s.io", "v1", "events"): ("", "v1"),
    GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers"): ("autoscaling", "v2"),
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """
    A part of an object, or an action on it, that has its own URL.

    :param gvk: the kind of the bodies at that URL
    """

    name: str
    gvk: GroupVersionKind
    verbs: tuple[str, ...]


# More than 15 fields: a record of what discovery says, and of names that each request needs.
@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """
    One resource at one version.

    :param kept_by_status: the fields of the metadata that a write of the status does not change
    :param storage: the resource under which its objects are stored
    :param definition: the version of a custom resource's definition. None for a built-in resource
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
    kept_by_status: tuple[str, ...] = ()
    definition: dict[str, Any] | None = None
    storage: GroupResource = field(init=False)
    #: ``plural.group``, as in errors and quotas.
    group_resource: GroupResource = field(init=False)
    group_kind: GroupKind = field(init=False)
    gvk: GroupVersionKind = field(init=False)
    api_version: str = field(init=False)
    #: The beginning of an object's JSON: kind and apiVersion, with the comma.
    prefix: bytes = field(init=False)
    #: The same for an item of a list. Only the items of custom resources have their kind.
    item_prefix: bytes = field(init=False)

    def __post_init__(self) -> None:
        own = GroupResource(self.group, self.plural)
        api_version = str(GroupVersion(self.group, self.version))
        prefix = msgspec.json.encode({"kind": self.kind, "apiVersion": api_version})[:-1] + b","
        derived = {
            "storage": _SHARED_STORAGE.get(own, own),
            "group_resource": own,
            "group_kind": GroupKind(self.group, self.kind),
            "gvk": GroupVersionKind(self.group, self.version, self.kind),
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
    def schema(self) -> dict[str, Any]:
        """The schema of a custom resource. Empty if it has none, and for a built-in resource."""
        return ((self.definition or {}).get("schema") or {}).get("openAPIV3Schema") or {}

    @property
    def is_stored(self) -> bool:
        """Whether its objects are stored. Reviews and bindings are not: they are only answered."""
        return "list" in self.verbs

    @property
    def storage_version_hash(self) -> str:
        own = GroupVersionResource(self.group, self.version, self.plural)
        group, version = _STORED_AS.get(own, (self.group, self.version))
        digest = hashlib.sha256(f"{group}/{version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()


class Registry:
    """
    All resources that the server serves now.

    :param apis: the groups and versions that are served besides those that kube-apiserver serves by default
    :raises LookupError: if one of them is not known; the text names those that are
    """

    def __init__(self, apis: Collection[str] = ()) -> None:
        self._resources: dict[tuple[str, str], dict[str, Resource]] = {}
        if unknown := sorted(set(apis) - optional_apis()):
            raise LookupError(f"apis: {', '.join(unknown)}: not known; these are: {', '.join(sorted(optional_apis()))}")
        asked_for = (one for one in _offered(optional=True) if one.api_version in apis)
        for resource in (*_offered(optional=False), *asked_for):
            self._resources.setdefault((resource.group, resource.version), {})[resource.plural] = resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version), {}).get(plural)

    def has_group_version(self, group: str, version: str) -> bool:
        return (group, version) in self._resources

    def group_versions(self) -> list[tuple[str, str]]:
        """All groups and versions in discovery's order. The first version of a group is its preferred one."""
        return list(self._resources)

    def resources(self, group: str, version: str) -> list[Resource]:
        return list(self._resources.get((group, version), {}).values())

    def __iter__(self) -> Iterator[Resource]:
        for resources in self._resources.values():
            yield from resources.values()

    def by_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """
        The resource of a kind. If the kind is not served at this version, the resource at another version of the group.
        """
        found = None
        for resource in self:
            if resource.group == group and resource.kind == kind and resource.is_stored:
                if resource.version == version:
                    return resource
                found = found or resource
        return found

    def by_storage(self, storage: GroupResource) -> Resource | None:
        """A resource whose objects are stored under this name. None if there is none."""
        for (group, _), resources in self._resources.items():
            if group == storage.group and (found := resources.get(storage.resource)):
                return found
        return None

    def add(self, resource: Resource) -> None:
        """Serve a resource from now on. It replaces a resource of the same name."""
        self._resources.setdefault((resource.group, resource.version), {})[resource.plural] = resource

    def remove(self, group: str, version: str, plural: str) -> None:
        served = self._resources.get((group, version), {})
        served.pop(plural, None)
        if not served:
            self._resources.pop((group, version), None)


@cache
def _offered(*, optional: bool) -> tuple[Resource, ...]:
    # The built-in resources are the same for every server and never change. Reading the table takes a millisecond, so
    # it is read only once.
    return tuple(resource for resource, is_optional in _read_resources() if is_optional is optional)


def optional_apis() -> set[str]:
    """The groups and versions that are served only if they are asked for."""
    return {resource.api_version for resource in _offered(optional=True)}


def _read_resources() -> Iterator[tuple[Resource, bool]]:
    """The resources of the table, each with whether its version is optional."""
    group = version = ""
    is_optional = False
    for words in read_table(__package__, "resources.txt"):
        if len(words) < 4:
            group, version, is_optional = words[0].replace("core", ""), words[1], len(words) == 3
            continue
        plural, kind, scope, short, categories, subresources = words
        verbs = _MARKS.get(plural[-1], ALL_VERBS)
        plural = plural.rstrip("*+?")
        resource = Resource(
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
            subresources={sub.name: sub for sub in _subresources(group, version, kind, subresources.rstrip("!"))},
            kept_by_status=METADATA if subresources.endswith("!") else _KEPT_BY_STATUS.get(plural, ()),
        )
        yield resource, is_optional


def _split(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _subresources(group: str, version: str, kind: str, text: str) -> Iterator[Subresource]:
    for part in _split(text):
        name, _, spoken = part.partition("=")
        own = GroupVersionKind(group, version, kind)
        if name == "scale":
            gvk = SCALE
        elif "/" in spoken:
            gvk = GroupVersionKind(*spoken.split("/"))
        else:
            gvk = own._replace(kind=spoken or kind)
        yield Subresource(name, gvk, _VERBS.get(name, STATUS_VERBS))
