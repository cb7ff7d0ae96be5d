"""The default ClusterRoles of Kubernetes. They are not in the store.

A stored ClusterRole replaces the built-in one of the same name.
"""

from __future__ import annotations

from typing import Any

from kinformer.envtest.access.rules import Rule

__all__ = ("BUILT_IN", "EVERYBODY", "EVERYTHING")

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_VERBS = {"read": _READ, "write": _WRITE, "all": (*_READ, *_WRITE)}

#: Each line: verbs, group (``-`` is the core group), resources. ``a+s`` is short for ``a`` and ``a/status``.
_VIEW = """
read - bindings configmaps endpoints events limitranges+s namespaces+s persistentvolumeclaims+s pods+s pods/log
read - replicationcontrollers+s replicationcontrollers/scale resourcequotas+s serviceaccounts services+s
read events.k8s.io events
read discovery.k8s.io endpointslices
read apps controllerrevisions daemonsets+s deployments+s deployments/scale replicasets+s replicasets/scale
read apps statefulsets+s statefulsets/scale
read autoscaling horizontalpodautoscalers+s
read batch cronjobs+s jobs+s
read policy poddisruptionbudgets+s
read networking.k8s.io ingresses+s networkpolicies
read resource.k8s.io resourceclaims+s resourceclaimtemplates
"""
_EDIT = """
read - pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
impersonate - serviceaccounts
write - configmaps events persistentvolumeclaims pods pods/attach pods/exec pods/portforward pods/proxy
write - replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy
create - pods/eviction serviceaccounts/token
write events.k8s.io events
write apps daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
write apps statefulsets statefulsets/scale
write autoscaling horizontalpodautoscalers
write batch cronjobs jobs
write policy poddisruptionbudgets
write networking.k8s.io ingresses networkpolicies
write resource.k8s.io resourceclaims resourceclaimtemplates
all coordination.k8s.io leases
"""
_ADMIN = """
create authorization.k8s.io localsubjectaccessreviews
all rbac.authorization.k8s.io rolebindings roles
"""
#: What each authenticated user may do: ask who it is and what it may do.
_BASIC = """
create authorization.k8s.io selfsubjectaccessreviews selfsubjectrulesreviews
create authentication.k8s.io selfsubjectreviews
"""
_PATHS = (
    *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"),
    *("/version", "/version/"),
)


def _rules(text: str) -> list[Rule]:
    rules: list[Rule] = []
    for line in text.strip().splitlines():
        verb, group, *resources = line.split(" ")
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


def _part(of: str, text: str) -> dict[str, Any]:
    metadata = {"name": f"system:aggregate-to-{of}", "labels": {f"{_AGGREGATE}{of}": "true"}}
    return {"metadata": metadata, "rules": _rules(text)}


#: The rules of ``cluster-admin``.
EVERYTHING: list[Rule] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_DISCOVERY: list[Rule] = [{"verbs": ["get"], "nonResourceURLs": list(_PATHS)}]

#: The rules of each authenticated user.
EVERYBODY: list[Rule] = [*_rules(_BASIC), *_DISCOVERY]

_ROLES: list[dict[str, Any]] = [
    {"metadata": {"name": "cluster-admin"}, "rules": EVERYTHING},
    {"metadata": {"name": "system:basic-user"}, "rules": _rules(_BASIC)},
    {"metadata": {"name": "system:discovery"}, "rules": _DISCOVERY},
    _gathering("admin"),
    _gathering("edit", into="admin"),
    _gathering("view", into="edit"),
    _part("admin", _ADMIN),
    _part("edit", _EDIT),
    _part("view", _VIEW),
]
BUILT_IN = {str(role["metadata"]["name"]): role for role in _ROLES}
