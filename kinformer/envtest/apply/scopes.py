"""Scopes: the fields that a request to a resource, or to one of its subresources, can own.

A request to the main resource does not write the status, so its manager does not own it. The same is true of the fields
that a subresource does not write. In Kubernetes, these are the reset fields of a strategy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from kinformer.envtest.apply.comparing import compare_fields, text_of_new
from kinformer.envtest.apply.shapes import shape_of_resource
from kinformer.envtest.apply.trees import Fields, Path, Tree, fields_of_text, without
from kinformer.envtest.registry import METADATA, Resource
from kinformer.envtest.registry.schema import zero_of

__all__ = ("Scope", "scope_of")

#: Fields of the metadata without an owner: they identify the object, or only the server writes them.
_OWNERLESS = frozenset(
    (
        *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields"),
        "resourceVersion",
    )
)
#: All other fields of the metadata.
_OWNED = (
    *("generateName", "labels", "annotations", "ownerReferences", "finalizers"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_RESETS: dict[tuple[str, str], tuple[Path, ...]] = {
    ("certificatesigningrequests.certificates.k8s.io", ""): (("f:spec",), ("f:status",)),
    ("certificatesigningrequests.certificates.k8s.io", "status"): (("f:spec",), ("f:status", "f:conditions")),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): (("f:spec",), ("f:status", "f:certificate")),
}
#: The only fields that some subresources write, as paths. ``*`` means any element.
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
    The fields of an object that one request can own.

    :ivar api_version: the version of the API in which the fields are named
    :ivar versions: the same, as a set
    """

    def __init__(self, resource: Resource, subresource: str):
        self.resource = resource
        self.subresource = subresource
        self.api_version = resource.api_version
        self.versions = frozenset((resource.api_version,))
        self.shape = shape_of_resource(resource)
        self._resets = _resets_of(resource, subresource)
        self._only = _ONLY.get(subresource, ())
        self._skipped = frozenset({"kind", "apiVersion"} | {path[0][2:] for path in self._resets if len(path) == 1})
        self._metadata = self.shape.field("metadata")
        self._is_limited = bool(self._only) or any(len(path) > 1 for path in self._resets)
        self._zero = {"metadata": {}, **zero_of(resource)}

    def of_new(self, obj: Mapping[str, Any]) -> Fields | None:
        """The fields of a new object. None if it has none."""
        metadata = obj.get("metadata")
        wanted = {name: value for name, value in obj.items() if name not in self._skipped}
        if metadata is not None and "metadata" in wanted:
            wanted["metadata"] = {name: metadata[name] for name in _OWNED if name in metadata}
        text = text_of_new(wanted, self.shape, self._zero)
        if not text:
            return None
        fields = fields_of_text(text)
        if self._is_limited:
            return Fields.of_tree(tree) if (tree := self.limited(fields.tree)) else None
        return fields

    def of_change(
        self, old: Mapping[str, Any], new: Mapping[str, Any], untouched: Collection[str] = ()
    ) -> tuple[Tree, Tree]:
        """
        The fields that a write changes.

        :param untouched: top-level fields that are known to be equal
        :return: the fields that were changed or added, and the fields that were removed
        """
        skipped = {"metadata", *self._skipped, *untouched}
        changed, removed = compare_fields(
            old, new, self.shape, [name for name in {**old, **new} if name not in skipped]
        )
        if "metadata" not in self._skipped:
            # Few fields of the metadata can have owners, and mostly at most one of them has changed.
            more, less = compare_fields(old.get("metadata", {}), new["metadata"], self._metadata, _OWNED)
            if more:
                changed["f:metadata"] = more
            if less:
                removed["f:metadata"] = less
        if self._is_limited:
            return self.limited(changed), self.limited(removed)
        return changed, removed

    def limited(self, tree: Tree) -> Tree:
        """The fields of a set that the request can own."""
        for path in self._resets:
            tree = without(tree, path)
        return _matching(tree, self._only) if self._only else tree

    def owned(self, tree: Tree) -> Tree:
        """The set without the fields that never have owners."""
        metadata = tree.get("f:metadata")
        tree = {name: node for name, node in tree.items() if name not in ("f:kind", "f:apiVersion", "f:metadata")}
        if metadata:
            left = {name: node for name, node in metadata.items() if name != "." and name[2:] not in _OWNERLESS}
            if left:
                tree["f:metadata"] = left
        return tree


def _resets_of(resource: Resource, subresource: str) -> tuple[Path, ...]:
    name = str(resource.group_resource)
    if (given := _RESETS.get((name, subresource))) is not None:
        return given
    if subresource in _ONLY:
        return ()
    if subresource == "status":
        kept = resource.kept_by_status
        if kept == METADATA:
            return (("f:metadata",), ("f:spec",))
        return (("f:spec",), *[("f:metadata", f"f:{field}") for field in kept])
    return (("f:status",),) if "status" in resource.subresources else ()


def _matching(tree: Tree, patterns: tuple[Path, ...]) -> Tree:
    """The fields of a set that are at one of the paths, or below it."""
    made: Tree = {}
    for name, node in tree.items():
        rest = tuple(pattern[1:] for pattern in patterns if pattern[0] in (name, "*"))
        if () in rest:
            made[name] = node
        elif rest and node and (below := _matching(node, rest)):
            made[name] = below
    return made


#: The scope of requests to a resource or one of its subresources.
scope_of = cache(Scope)
