"""Authorization: RBAC.

A user in the group ``system:masters`` may do everything. The server's own token has such a user. Any other user may do
what the roles that are bound to it allow. The roles and bindings are read from the store at each request. Each
authenticated user may also ask who it is and what it may do. An aggregated ClusterRole gets its rules at each request
too. It does not need the controller that fills it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.access.roles import BUILT_IN, EVERYBODY
from kinformer.envtest.access.rules import Action, Rule, permits
from kinformer.envtest.admission import User
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("MASTERS", "Action", "Authorizer")

_GROUP = "rbac.authorization.k8s.io"
#: The users in this group may do everything.
MASTERS = "system:masters"
_KNOWN = "system:authenticated"
_ACCOUNT = "system:serviceaccount:"


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
            yield from EVERYBODY
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
