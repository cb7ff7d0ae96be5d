"""The check of RBAC against privilege escalation: a user cannot grant permissions that the user does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.access.authorization import EVERYTHING, MASTERS, Action, Authorizer, Rule, permits
from kinformer.envtest.admission import AdmissionPlugin, Attributes
from kinformer.envtest.storage import Storage
from kinformer.meta.names import GroupResource

__all__ = ("Escalation", "missing", "shown")

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("clusterroles", "roles")
_BINDINGS = ("clusterrolebindings", "rolebindings")
#: The names of a rule's fields in Kubernetes' error texts, in their order there.
_FIELDS = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


class Escalation(AdmissionPlugin):
    """
    An admission plug-in that checks writes of roles and bindings.

    To write a role, a user needs all permissions in it, or the verb ``escalate`` on it. To write a binding, a user
    needs all permissions of its role, or the verb ``bind`` on the role.
    """

    def __init__(self, storage: Storage):
        self._authorizer = Authorizer(storage)

    def admit(self, attributes: Attributes) -> None:
        new, old, plural = attributes.object, attributes.old_object, attributes.resource.plural
        if attributes.resource.group != _GROUP or new is None or MASTERS in attributes.user.groups:
            return
        if old is not None and _without_owners(new) == _without_owners(old):
            return  # only fields that the garbage collector writes have changed
        if plural in _ROLES:
            self._check_role(attributes, new, old)
        elif plural in _BINDINGS:
            self._check_binding(attributes, new)

    def _check_role(self, attributes: Attributes, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        # A create request is authorized without a name, as in a cluster. A rule with resourceNames does not allow it.
        name = attributes.name if old is not None else ""
        action = Action("escalate", _GROUP, attributes.resource.plural, "", attributes.namespace, name)
        if self._authorizer.allows(attributes.user, action):
            return
        self._check_rules(attributes, new.get("rules") or [])
        if new.get("aggregationRule") or (old or {}).get("aggregationRule"):
            text = "must have cluster-admin privileges to use the aggregationRule"
            self._check_rules(attributes, EVERYTHING, text)

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
        :param text: the reason in the error, instead of the list of missing permissions
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


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of `wanted` that `held` does not cover. Each part has one verb, one resource and at most one name."""
    return [part for rule in wanted for part in _parts(rule) if not any(permits(one, _action(part)) for one in held)]


def shown(rules: Iterable[Rule]) -> list[str]:
    """Rules as in Kubernetes' error texts. Rules that differ only in their verbs are shown as one."""
    merged: dict[str, Rule] = {}
    for rule in rules:
        key = json.dumps({**rule, "verbs": []} if "nonResourceURLs" not in rule else rule, sort_keys=True)
        merged.setdefault(key, {**rule, "verbs": []})["verbs"].extend(rule["verbs"])
    return sorted({_text(rule) for rule in merged.values()})


def _parts(rule: Rule) -> Iterator[Rule]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**part, "resourceNames": [name]} for name in names)
                if not names:
                    yield part
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _action(part: Rule) -> Action:
    """What a part of a rule allows. It has no name if the part has none; a rule for some names does not allow that."""
    [verb] = part["verbs"]
    if "nonResourceURLs" in part:
        return Action(verb, path=part["nonResourceURLs"][0])
    return Action(verb, part["apiGroups"][0], part["resources"][0], name=part.get("resourceNames", [""])[0])


def _text(rule: Rule) -> str:
    parts = [f"{said}:[{' '.join(map(json.dumps, rule[name]))}]" for name, said in _FIELDS.items() if rule.get(name)]
    return f"{{{', '.join(parts)}}}"
