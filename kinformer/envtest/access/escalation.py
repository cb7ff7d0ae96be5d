"""Nobody gives rights that he does not have: what RBAC asks of whoever writes roles and bindings."""

from __future__ import annotations

from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.access.authorization import MASTERS, Action, Authorizer
from kinformer.envtest.access.rules import Rule, missing, shown
from kinformer.envtest.admission import Attributes
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource

__all__ = ("Escalation",)

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("clusterroles", "roles")
_BINDINGS = ("clusterrolebindings", "rolebindings")
_EVERYTHING: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


class Escalation:
    """
    An admission plug-in: a role is written by who has all its rules, or may ``escalate`` it; a binding by who has all
    the rules of its role, or may ``bind`` that.
    """

    def __init__(self, storage: Storage):
        self._authorizer = Authorizer(storage)

    def admit(self, attributes: Attributes) -> None:
        new, old, plural = attributes.object, attributes.old_object, attributes.resource.plural
        if attributes.resource.group != _GROUP or new is None or MASTERS in attributes.user.groups:
            return
        if old is not None and _without_owners(new) == _without_owners(old):
            return  # only what the garbage collector needs has changed
        if plural in _ROLES:
            self._check_role(attributes, new, old)
        elif plural in _BINDINGS:
            self._check_binding(attributes, new)

    def validate(self, attributes: Attributes) -> None:
        """Nothing: all is said in :meth:`admit`."""

    def _check_role(self, attributes: Attributes, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        # A request that creates names nobody, also where roles are allowed by name.
        name = attributes.name if old is not None else ""
        action = Action("escalate", _GROUP, attributes.resource.plural, "", attributes.namespace, name)
        if self._authorizer.allows(attributes.user, action):
            return
        self._check_rules(attributes, new.get("rules") or [])
        if new.get("aggregationRule") or (old or {}).get("aggregationRule"):
            text = "must have cluster-admin privileges to use the aggregationRule"
            self._check_rules(attributes, _EVERYTHING, text)

    def _check_binding(self, attributes: Attributes, binding: dict[str, Any]) -> None:
        reference, namespace = binding.get("roleRef") or {}, attributes.namespace
        plural = "clusterroles" if reference.get("kind") == "ClusterRole" else "roles"
        name = str(reference.get("name", ""))
        if self._authorizer.allows(attributes.user, Action("bind", _GROUP, plural, "", namespace, name)):
            return
        rules = self._authorizer.rules_of(reference, namespace)
        if rules is None:
            raise status.not_found(GroupResource(_GROUP, plural), name)
        self._check_rules(attributes, rules)

    def _check_rules(self, attributes: Attributes, rules: list[Rule], text: str = "") -> None:
        """
        :param text: what is said instead of the rules that are missing
        :raises StatusError: Forbidden
        """
        user = attributes.user
        lacking = missing(list(self._authorizer.rules_for(user, attributes.namespace)), rules)
        if not lacking:
            return
        groups = " ".join(msgspec.json.encode(group).decode() for group in user.groups)
        what = "attempting to grant RBAC permissions not currently held:\n" + "\n".join(shown(lacking))
        text = text or f'user "{user.name}" (groups=[{groups}]) is {what}'
        raise status.forbidden(attributes.resource.group_resource, attributes.name, text)


def _without_owners(obj: dict[str, Any]) -> dict[str, Any]:
    ignored = ("ownerReferences", "finalizers", "resourceVersion", "managedFields")
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in ignored}}
