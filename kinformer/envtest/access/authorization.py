"""Authorization: RBAC.

A user in the group ``system:masters`` may do everything. The server's own token has such a user. Any other user may do
what the roles that are bound to it allow. The roles and bindings are read from the store at each request. Each
authenticated user may also ask who it is and what it may do. An aggregated ClusterRole gets its rules at each request
too. It does not need the controller that fills it in. The default ClusterRoles of Kubernetes are not in the store; a
stored ClusterRole replaces the default one of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("BUILT_IN", "EVERYTHING", "MASTERS", "Action", "Authorizer", "Rule", "permits")

_GROUP = "rbac.authorization.k8s.io"
#: The users in this group may do everything.
MASTERS = "system:masters"
_KNOWN = "system:authenticated"
_ACCOUNT = "system:serviceaccount:"


#: A rule of a role: JSON data, as in the API.
Rule = dict[str, Any]


class Action(NamedTuple):
    """
    What a user wants to do.

    :param path: the path of a request for a non-resource URL, e.g. ``/version``
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def what(self) -> str:
        """The resource as in rules: with the subresource after a slash, if there is one."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def permits(rule: Rule, action: Action) -> bool:
    if not _has(rule, "verbs", action.verb):
        return False
    if action.path:
        paths, path = rule.get("nonResourceURLs") or (), action.path
        return any(path == one or (one.endswith("*") and path.startswith(one.rstrip("*"))) for one in paths)
    if not _has(rule, "apiGroups", action.group) or not _is_resource_of(rule, action.what):
        return False
    names = rule.get("resourceNames") or ()
    return not names or action.name in names


def _has(rule: Rule, field: str, value: str) -> bool:
    return not {"*", value}.isdisjoint(rule.get(field) or ())


def _is_resource_of(rule: Rule, what: str) -> bool:
    _, slash, part = what.partition("/")
    return _has(rule, "resources", what) or bool(slash and f"*/{part}" in (rule.get("resources") or ()))


class Authorizer:
    """Decides from the stored roles and bindings what a user may do."""

    def __init__(self, storage: Storage):
        self._storage = storage

    def check(self, user: User, action: Action) -> None:
        """
        :raises StatusError: Forbidden
        """
        if self.allows(user, action):
            return
        where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
        why = f'User "{user.name}" cannot {action.verb} resource "{action.what}" in API group "{action.group}" {where}'
        raise status.forbidden(GroupResource(action.group, action.resource), action.name, why)

    def allows(self, user: User, action: Action) -> bool:
        if MASTERS in user.groups:
            return True
        return any(permits(rule, action) for rule in self.rules_for(user, action.namespace))

    def rules_for(self, user: User, namespace: str) -> Iterator[Rule]:
        """The rules of all roles that are bound to a user in the cluster, and in `namespace` unless it is empty."""
        if _KNOWN in user.groups:
            yield from _EVERYBODY
        for binding in self._objects("clusterrolebindings"):
            if _is_subject(binding.get("subjects") or (), user, ""):
                yield from self.rules_of(binding["roleRef"], "") or ()
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                if _is_subject(binding.get("subjects") or (), user, namespace):
                    yield from self.rules_of(binding["roleRef"], namespace) or ()

    def rules_of(self, reference: dict[str, Any], namespace: str) -> list[Rule] | None:
        """The rules of the role that a binding refers to. None if there is no such role."""
        name = reference.get("name", "")
        if reference.get("kind") == "ClusterRole":
            role = self._cluster_roles().get(name)
            return None if role is None else self._gathered(role, {name})
        found = self._storage.get(GroupResource(_GROUP, "roles"), namespace, name)
        return None if found is None else found.decode().get("rules") or []

    def _cluster_roles(self) -> dict[str, dict[str, Any]]:
        return BUILT_IN | {role["metadata"]["name"]: role for role in self._objects("clusterroles")}

    def _gathered(self, role: dict[str, Any], seen: set[str]) -> list[Rule]:
        """A role's rules, and the rules of all roles that it aggregates."""
        rules = list(role.get("rules") or ())
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        if not selectors:
            return rules
        wanted = [label_selector_as_selector(selector) for selector in selectors]
        for name, other in self._cluster_roles().items():
            labels = other["metadata"].get("labels") or {}
            if name not in seen and any(selector.matches(labels) for selector in wanted):
                seen.add(name)
                rules += self._gathered(other, seen)
        return rules

    def _objects(self, plural: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        for version in self._storage.log(GroupResource(_GROUP, plural)).select(namespace):
            yield version.decode()


def _is_subject(subjects: Iterable[dict[str, Any]], user: User, namespace: str) -> bool:
    for subject in subjects:
        name = subject.get("name", "")
        match subject.get("kind"):
            case "User":
                found = name == user.name
            case "Group":
                found = name in user.groups
            case "ServiceAccount":
                found = user.name == f"{_ACCOUNT}{subject.get('namespace') or namespace}:{name}"
            case _:
                found = False
        if found:
            return True
    return False


#: The default roles, by name.
BUILT_IN: dict[str, dict[str, Any]] = {
    role["metadata"]["name"]: role for role in read_yaml(__package__, "roles.yaml")["roles"]
}
#: The rules of ``cluster-admin``.
EVERYTHING: list[Rule] = BUILT_IN["cluster-admin"]["rules"]
#: The rules of each authenticated user.
_EVERYBODY: list[Rule] = [*BUILT_IN["system:basic-user"]["rules"], *BUILT_IN["system:discovery"]["rules"]]
