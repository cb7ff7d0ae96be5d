"""Whether a webhook is asked about a write: rules, scope, and the selectors of namespaces and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.admission import Attributes
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.envtest.webhooks.configuration import GROUP, Hook
from kinformer.meta.names import GroupResource

__all__ = ("Matcher", "namespace_of")

_NAMESPACES = GroupResource("", "namespaces")
#: What decides who is asked is not itself asked about: nobody could take back a webhook that refuses everything.
_EXEMPT = frozenset(
    GroupResource(GROUP, plural)
    for plural in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)


def namespace_of(attributes: Attributes) -> str:
    """The namespace of a write; a namespace is in itself."""
    return attributes.name if attributes.resource.group_resource == _NAMESPACES else attributes.namespace


class Matcher:
    """Decides for one server."""

    def __init__(self, storage: Storage, registry: Registry):
        self._storage = storage
        self._registry = registry

    def match(self, hook: Hook, attributes: Attributes) -> Resource | None:
        """
        The resource, at the version, as which a webhook wants to see the object; None if it is not asked.

        :raises StatusError: NotFound, if the labels of a namespace count that is not there
        """
        if attributes.resource.group_resource in _EXEMPT:
            return None
        found = self._by_rules(hook, attributes)
        if found is None or not self._match_object(hook, attributes) or not self._match_namespace(hook, attributes):
            return None
        return found

    def _by_rules(self, hook: Hook, attributes: Attributes) -> Resource | None:
        resource = attributes.resource
        if any(_rule_matches(rule, attributes, resource) for rule in hook.rules):
            return resource
        if not hook.equivalent:
            return None
        others = [one for one in self._registry if one.storage == resource.storage and one is not resource]
        for rule in hook.rules:
            for other in others:
                if _rule_matches(rule, attributes, other):
                    return other
        return None

    @staticmethod
    def _match_object(hook: Hook, attributes: Attributes) -> bool:
        if not str(hook.objects):
            return True
        return any(
            obj is not None and hook.objects.matches(_labels(obj)) for obj in (attributes.object, attributes.old_object)
        )

    def _match_namespace(self, hook: Hook, attributes: Attributes) -> bool:
        namespace = namespace_of(attributes)
        if not namespace or not str(hook.namespaces):
            return True
        is_namespace = attributes.resource.group_resource == _NAMESPACES
        if is_namespace and not attributes.subresource and attributes.object is not None:
            return hook.namespaces.matches(_labels(attributes.object))
        stored = self._storage.get(_NAMESPACES, "", namespace)
        if stored is None:
            raise status.not_found(_NAMESPACES, namespace)
        return hook.namespaces.matches(stored.labels)


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _rule_matches(rule: Mapping[str, Any], attributes: Attributes, resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_covers(one, resource.plural, attributes.subresource) for one in rule.get("resources") or ())
        and _in_scope(rule.get("scope") or "*", resource, attributes)
    )


def _has(listed: Sequence[str] | None, wanted: str) -> bool:
    return listed is not None and ("*" in listed or wanted in listed)


def _covers(text: str, plural: str, subresource: str) -> bool:
    resource, _, part = text.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)


def _in_scope(scope: str, resource: Resource, attributes: Attributes) -> bool:
    namespaced = bool(attributes.namespace) and resource.group_resource != _NAMESPACES
    return scope == "*" or namespaced == (scope == "Namespaced")
