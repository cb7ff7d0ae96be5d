"""Scopes: which fields a request to a resource, or to one of its subresources, may come to own at all.

A status that is sent with the whole object is not written, so nobody owns it for that; and so for what each subresource
leaves alone. The real server's strategies call these their reset fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinformer.envtest.apply.comparing import compare, text_of_new
from kinformer.envtest.apply.shapes import shape_of_resource
from kinformer.envtest.apply.trees import Fields, Path, Tree, without
from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import zero_of

__all__ = ("Scope", "scope_of")

#: What identifies an object, or is written by the server alone, has no owner.
_OWNERLESS = frozenset(
    (
        *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields"),
        "resourceVersion",
    )
)
#: All else that is known of metadata.
_OWNED = (
    *("generateName", "labels", "annotations", "ownerReferences", "finalizers"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_STATUS: tuple[Path, ...] = (("f:spec",),)
_STATUS_ONLY: tuple[Path, ...] = (("f:metadata",), ("f:spec",))
_RESETS: dict[tuple[str, str], tuple[Path, ...]] = {
    ("pods", "status"): (("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("deployments.apps", "status"): (("f:spec",), ("f:metadata", "f:labels")),
    ("certificatesigningrequests.certificates.k8s.io", ""): (("f:spec",), ("f:status",)),
    ("certificatesigningrequests.certificates.k8s.io", "status"): (("f:spec",), ("f:status", "f:conditions")),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): (("f:spec",), ("f:status", "f:certificate")),
}
#: Whose status subresource leaves the metadata alone as well.
_KEEP_METADATA = frozenset(
    (
        *("apiservices.apiregistration.k8s.io", "flowschemas.flowcontrol.apiserver.k8s.io"),
        *("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "resourceclaims.resource.k8s.io"),
        *("servicecidrs.networking.k8s.io", "validatingadmissionpolicies.admissionregistration.k8s.io"),
        "volumeattachments.storage.k8s.io",
    )
)
#: Subresources that write one thing only, as paths with ``*`` for any element.
_ONLY: dict[str, tuple[Path, ...]] = {
    "ephemeralcontainers": (("f:spec", "f:ephemeralContainers"),),
    "resize": tuple(
        ("f:spec", f"f:{containers}", "*", f"f:{what}")
        for containers in ("containers", "initContainers")
        for what in ("resources", "resizePolicy")
    ),
}


class Scope:
    """
    What one request may own of an object.

    :ivar api_version: how its paths are meant
    """

    def __init__(self, resource: Resource, subresource: str):
        self.resource = resource
        self.subresource = subresource
        self.api_version = resource.api_version
        self.shape = shape_of_resource(resource)
        self._resets = _resets_of(resource, subresource)
        self._only = _ONLY.get(subresource, ())
        self._skipped = frozenset({"kind", "apiVersion"} | {path[0][2:] for path in self._resets if len(path) == 1})
        self._deep = tuple(path for path in self._resets if len(path) > 1)
        self._metadata = self.shape.field("metadata")
        self._zero = zero_of(resource)

    def of_new(self, obj: Mapping[str, Any]) -> Fields | None:
        """The fields of a new object; None if it has none."""
        wanted = {name: value for name, value in obj.items() if name not in self._skipped}
        if "metadata" in wanted:
            wanted["metadata"] = {name: obj["metadata"][name] for name in obj["metadata"] if name not in _OWNERLESS}
        text = text_of_new(wanted, self.shape, {"metadata": {}, **self._zero})
        if not text:
            return None
        fields = Fields.of_text(text)
        if self._deep or self._only:
            return Fields.of_tree(tree) if (tree := self.limited(fields.tree)) else None
        return fields

    def of_change(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Tree, Tree]:
        """
        :return: what was changed or added, and what was removed
        """
        changed: Tree = {}
        removed: Tree = {}
        skipped = self._skipped
        for name in new.keys() | old.keys():
            if name in skipped:
                continue
            before, after = old.get(name), new.get(name)
            if before == after and (name in old) == (name in new):
                continue
            if name == "metadata":
                before = {key: before[key] for key in _OWNED if key in before} if before else {}
                after = {key: after[key] for key in _OWNED if key in after} if after else {}
                if before == after:
                    continue
                more, less = compare(before, after, self._metadata)
            else:
                more, less = compare(*_present(old, new, name), self.shape)
                more, less = (more or {}).get(f"f:{name}"), (less or {}).get(f"f:{name}")
            if more is not None:
                changed[f"f:{name}"] = more
            if less is not None:
                removed[f"f:{name}"] = less
        if self._deep or self._only:
            return self.limited(changed), self.limited(removed)
        return changed, removed

    def limited(self, tree: Tree) -> Tree:
        """What of a set may be owned."""
        for path in self._resets:
            tree = without(tree, path)
        return _matching(tree, self._only) if self._only else tree

    def owned(self, tree: Tree) -> Tree:
        """A set without what nobody owns."""
        metadata = tree.get("f:metadata")
        tree = {name: node for name, node in tree.items() if name not in ("f:kind", "f:apiVersion", "f:metadata")}
        if metadata:
            left = {name: node for name, node in metadata.items() if name != "." and name[2:] not in _OWNERLESS}
            if left:
                tree["f:metadata"] = left
        return tree


def _present(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Two objects that have one field at most."""
    return {name: old[name]} if name in old else {}, {name: new[name]} if name in new else {}


def _resets_of(resource: Resource, subresource: str) -> tuple[Path, ...]:
    name = str(resource.group_resource)
    if (given := _RESETS.get((name, subresource))) is not None:
        return given
    if subresource in _ONLY:
        return ()
    if subresource == "status":
        return _STATUS_ONLY if resource.is_custom or name in _KEEP_METADATA else _STATUS
    return (("f:status",),) if "status" in resource.subresources else ()


def _matching(tree: Tree, patterns: tuple[Path, ...]) -> Tree:
    """What of a set is below one of some paths, or there."""
    made: Tree = {}
    for name, node in tree.items():
        rest = tuple(pattern[1:] for pattern in patterns if pattern[0] in (name, "*"))
        if () in rest:
            made[name] = node
        elif rest and node and (below := _matching(node, rest)):
            made[name] = below
    return made


_scopes: dict[tuple[int, str], tuple[Resource, Scope]] = {}


def scope_of(resource: Resource, subresource: str) -> Scope:
    """The scope of requests to a resource or one of its subresources."""
    key = (id(resource), subresource)
    found = _scopes.get(key)
    if found is None or found[0] is not resource:
        # The resource is kept along, so that its id is not given to another one.
        found = _scopes[key] = (resource, Scope(resource, subresource))
    return found[1]
