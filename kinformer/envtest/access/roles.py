"""The default ClusterRoles of Kubernetes. They are not in the store.

A stored ClusterRole replaces the built-in one of the same name.
"""

from __future__ import annotations

from typing import Any

from kinformer.envtest.access.rules import Rule
from kinformer.envtest.datafiles import read_table

__all__ = ("BUILT_IN", "EVERYBODY", "EVERYTHING")

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_VERBS = {"read": _READ, "write": _WRITE, "all": (*_READ, *_WRITE)}

_PATHS = (
    *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"),
    *("/version", "/version/"),
)


def _rules(role: str) -> list[Rule]:
    rules: list[Rule] = []
    for of, verb, group, *resources in read_table(__package__, "roles.txt"):
        if of == role:
            named = [part for one in resources for part in _with_status(one)]
            verbs = list(_VERBS.get(verb, (verb,)))
            rules.append({"verbs": verbs, "apiGroups": ["" if group == "-" else group], "resources": named})
    return rules


def _with_status(resource: str) -> list[str]:
    name, plus, _ = resource.partition("+")
    return [name, f"{name}/status"] if plus else [name]


def _gathering(name: str, *, into: str = "") -> dict[str, Any]:
    """A role that aggregates the roles with its label. With `into`, it has the label of that role."""
    labels = {f"{_AGGREGATE}{into}": "true"} if into else {}
    selectors = [{"matchLabels": {f"{_AGGREGATE}{name}": "true"}}]
    return {"metadata": {"name": name, "labels": labels}, "aggregationRule": {"clusterRoleSelectors": selectors}}


def _part(of: str) -> dict[str, Any]:
    metadata = {"name": f"system:aggregate-to-{of}", "labels": {f"{_AGGREGATE}{of}": "true"}}
    return {"metadata": metadata, "rules": _rules(of)}


#: The rules of ``cluster-admin``.
EVERYTHING: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_DISCOVERY: list[Rule] = [{"verbs": ["get"], "nonResourceURLs": list(_PATHS)}]

#: The rules of each authenticated user.
EVERYBODY: list[Rule] = [*_rules("basic"), *_DISCOVERY]

_ROLES: list[dict[str, Any]] = [
    {"metadata": {"name": "cluster-admin"}, "rules": EVERYTHING},
    {"metadata": {"name": "system:auth-delegator"}, "rules": _rules("delegator")},
    {"metadata": {"name": "system:basic-user"}, "rules": _rules("basic")},
    {"metadata": {"name": "system:discovery"}, "rules": _DISCOVERY},
    _gathering("admin"),
    _gathering("edit", into="admin"),
    _gathering("view", into="edit"),
    _part("admin"),
    _part("edit"),
    _part("view"),
]
BUILT_IN = {str(role["metadata"]["name"]): role for role in _ROLES}
