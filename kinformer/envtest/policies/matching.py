"""Whether a webhook or a policy matches a write: rules, scope, and the selectors of namespaces and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.admission import Attributes
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource
from kinformer.meta.selectors import Selector, label_selector_as_selector

__all__ = ("Criteria", "Matcher", "NamespaceMissing", "criteria_of", "namespace_of")

_NAMESPACES = GroupResource("", "namespaces")


class NamespaceMissing(Exception):
    """A namespace selector needs the labels of a namespace that does not exist."""

    def __init__(self, name: str):
        super().__init__(name)
        self.status = status.not_found(_NAMESPACES, name)


@dataclass(frozen=True, slots=True)
class Criteria:
    """
    What a webhook or a policy matches.

    :param rules: one of them must match, unless `matches_all` is set
    :param namespaces: selects namespaces by their labels
    :param objects: selects objects by their labels
    :param equivalent: whether a rule for another version of the same objects matches too
    :param excluded: none of these rules may match
    """

    rules: tuple[dict[str, Any], ...]
    namespaces: Selector
    objects: Selector
    equivalent: bool
    excluded: tuple[dict[str, Any], ...] = ()
    matches_all: bool = False


def criteria_of(resources: Mapping[str, Any]) -> Criteria:
    """Read the MatchResources of a policy or a binding."""
    return Criteria(
        rules=tuple(resources.get("resourceRules") or ()),
        namespaces=label_selector_as_selector(resources.get("namespaceSelector") or {}),
        objects=label_selector_as_selector(resources.get("objectSelector") or {}),
        equivalent=resources.get("matchPolicy") != "Exact",
        excluded=tuple(resources.get("excludeResourceRules") or ()),
        matches_all=not resources.get("resourceRules"),
    )


def namespace_of(attributes: Attributes) -> str:
    """The namespace of a write. For a write of a namespace, it is that namespace."""
    return attributes.name if attributes.resource.group_resource == _NAMESPACES else attributes.namespace


class Matcher:
    """Matches writes of one server."""

    def __init__(self, storage: Storage, registry: Registry):
        self._storage = storage
        self._registry = registry

    def match(self, criteria: Criteria, attributes: Attributes) -> Resource | None:
        """
        The resource at the version that the matching rule has. None if the write does not match.

        :raises NamespaceMissing: if the labels of the namespace are needed, and it does not exist
        """
        if self._by_rules(criteria.excluded, criteria.equivalent, attributes) is not None:
            return None
        found = attributes.resource
        if not criteria.matches_all:
            by_rules = self._by_rules(criteria.rules, criteria.equivalent, attributes)
            if by_rules is None:
                return None
            found = by_rules
        if not self._match_object(criteria.objects, attributes):
            return None
        return found if self._match_namespace(criteria.namespaces, attributes) else None

    def _by_rules(self, rules: Sequence[dict[str, Any]], equivalent: bool, attributes: Attributes) -> Resource | None:
        resource = attributes.resource
        if any(_rule_matches(rule, attributes, resource) for rule in rules):
            return resource
        if not equivalent or not rules:
            return None
        others = [
            one
            for one in self._registry
            if one.group_resource == resource.group_resource or one.storage == resource.storage
            if one.version != resource.version or one.group != resource.group
        ]
        for rule in rules:
            for other in others:
                if _rule_matches(rule, attributes, other):
                    return other
        return None

    @staticmethod
    def _match_object(selector: Selector, attributes: Attributes) -> bool:
        if not str(selector):
            return True
        return any(
            obj is not None and selector.matches(_labels(obj)) for obj in (attributes.object, attributes.old_object)
        )

    def _match_namespace(self, selector: Selector, attributes: Attributes) -> bool:
        namespace = namespace_of(attributes)
        if not namespace or not str(selector):
            return True
        is_namespace = attributes.resource.group_resource == _NAMESPACES
        if is_namespace and not attributes.subresource and attributes.object is not None:
            return selector.matches(_labels(attributes.object))
        stored = self._storage.get(_NAMESPACES, "", namespace)
        if stored is None:
            raise NamespaceMissing(namespace)
        return selector.matches(stored.labels)


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _rule_matches(rule: Mapping[str, Any], attributes: Attributes, resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_covers(one, resource.plural, attributes.subresource) for one in rule.get("resources") or ())
        and _in_scope(rule.get("scope") or "*", resource, attributes)
        and (not (names := rule.get("resourceNames")) or attributes.asked_name in names)
    )


def _has(listed: Sequence[str] | None, wanted: str) -> bool:
    return listed is not None and ("*" in listed or wanted in listed)


def _covers(text: str, plural: str, subresource: str) -> bool:
    resource, _, part = text.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)


def _in_scope(scope: str, resource: Resource, attributes: Attributes) -> bool:
    namespaced = bool(attributes.namespace) and resource.group_resource != _NAMESPACES
    return scope == "*" or namespaced == (scope == "Namespaced")
