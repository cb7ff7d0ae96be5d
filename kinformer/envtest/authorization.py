"""Authorization: RBAC, as far as a test of a service account's rights needs it.

Who belongs to ``system:masters`` (the server's own token does) may do everything. All others may do what the roles that
are bound to them allow, read from the stored objects at the moment of the request; and ask who they are and what they
may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource

__all__ = ("MASTERS", "Action", "Authorizer")

_GROUP = "rbac.authorization.k8s.io"
#: Who belongs to this group may do everything.
MASTERS = "system:masters"
_ACCOUNT = "system:serviceaccount:"
_READ = ["get", "list", "watch"]
_ANYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
#: Roles that every cluster has; an object of that name stands for it instead.
_BUILT_IN: dict[str, list[dict[str, Any]]] = {
    "cluster-admin": [_ANYTHING],
    "admin": [_ANYTHING],
    "edit": [_ANYTHING],
    "view": [{"verbs": _READ, "apiGroups": ["*"], "resources": ["*"]}],
}
_ABOUT_ONESELF = frozenset(("selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"))


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def what(self) -> str:
        """The resource as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Authorizer:
    """Says who may do what, by the roles and bindings that are stored."""

    def __init__(self, storage: Storage):
        self._storage = storage

    def check(self, user: User, action: Action) -> None:
        """
        :raises StatusError: Forbidden
        """
        if MASTERS in user.groups or self.allows(user, action):
            return
        where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
        why = f'User "{user.name}" cannot {action.verb} resource "{action.what}" in API group "{action.group}" {where}'
        raise status.forbidden(GroupResource(action.group, action.resource), action.name, why)

    def allows(self, user: User, action: Action) -> bool:
        if MASTERS in user.groups or action.resource in _ABOUT_ONESELF:
            return True
        return any(_permits(rule, action) for rule in self.rules_for(user, action.namespace))

    def rules_for(self, user: User, namespace: str) -> Iterator[dict[str, Any]]:
        """The rules of every role that is bound to somebody, in the whole cluster and in a namespace."""
        for binding in self._objects("clusterrolebindings"):
            if _is_subject(binding.get("subjects") or (), user):
                yield from self._rules(binding["roleRef"], "")
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                if _is_subject(binding.get("subjects") or (), user):
                    yield from self._rules(binding["roleRef"], namespace)

    def _objects(self, plural: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        for version in self._storage.log(GroupResource(_GROUP, plural)).select(namespace):
            yield version.decode()

    def _rules(self, reference: dict[str, Any], namespace: str) -> list[dict[str, Any]]:
        name = reference.get("name", "")
        plural, place = ("clusterroles", "") if reference.get("kind") == "ClusterRole" else ("roles", namespace)
        role = self._storage.get(GroupResource(_GROUP, plural), place, name)
        if role is not None:
            return role.decode().get("rules") or []
        return _BUILT_IN.get(name, []) if plural == "clusterroles" else []


def _is_subject(subjects: Iterable[dict[str, Any]], user: User) -> bool:
    for subject in subjects:
        name = subject.get("name", "")
        match subject.get("kind"):
            case "User":
                found = name == user.name
            case "Group":
                found = name in user.groups
            case "ServiceAccount":
                found = user.name == f"{_ACCOUNT}{subject.get('namespace', '')}:{name}"
            case _:
                found = False
        if found:
            return True
    return False


def _permits(rule: dict[str, Any], action: Action) -> bool:
    def lists(field: str, *values: str) -> bool:
        return not {"*", *values}.isdisjoint(rule.get(field) or ())

    if not lists("verbs", action.verb) or not lists("apiGroups", action.group):
        return False
    of_any = (f"*/{action.subresource}",) if action.subresource else ()
    if not lists("resources", action.what, *of_any):
        return False
    names = rule.get("resourceNames") or ()
    return not names or action.name in names
