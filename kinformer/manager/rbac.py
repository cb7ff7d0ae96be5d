"""RBAC manifests of controllers: the permissions that they declare (:mod:`kinformer.permissions`), as roles to apply.

Each controller gets a ClusterRole ``kinformer:NAME``. For permissions in one namespace only, it gets a Role in that
namespace. The permissions of the manager itself are in roles called ``kinformer:manager``.

If a service account is given, each role gets a binding to it, called ``kinformer:NAME:NAMESPACE:ACCOUNT``. The name of
the manager's role then ends with the namespace and the account, too. So an operator can be installed twice in one
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kinformer.manager import beside
from kinformer.permissions import RECORD_EVENTS, Rule, allow, policy_rules
from kinformer.spec import declared_by

__all__ = ("PREFIX", "ServiceAccount", "UndeclaredPermissions", "declared_permissions", "manager_rules", "manifests")

_GROUP: Final = "rbac.authorization.k8s.io"
#: The names of all roles begin with this.
PREFIX: Final = "kinformer:"


class UndeclaredPermissions(Exception):
    """
    Some controllers do not declare their permissions.

    :param controllers: their names
    """

    def __init__(self, controllers: Iterable[str]) -> None:
        super().__init__(
            f"these controllers do not declare which permissions they need: {', '.join(controllers)}. Their packages "
            "can declare them in their specs: ControllerSpec(..., permissions=...)"
        )


class ServiceAccount(NamedTuple):
    """The service account that a manager runs as."""

    namespace: str
    name: str


def declared_permissions(factory: Any) -> tuple[Rule, ...] | None:
    """The permissions that a controller's factory declares; None if it declares none."""
    rules = declared_by(factory, "permissions")
    return None if rules is None else tuple(rules)


def manager_rules(
    lease: tuple[str, str] | None = None, *, shards: str = "", builtin: bool = True, reviews: bool = False
) -> tuple[Rule, ...]:
    """
    The permissions that a manager needs in addition to those of its controllers.

    :param lease: the namespace and name of the Lease of its leader election; None if there is none
    :param shards: the namespace of the Leases of its shard group; empty if there is none
    :param builtin: whether it checks for the cluster's own kube-controller-manager before it runs built-in controllers
    :param reviews: whether it asks the API server who may read its endpoint
    """
    rules: list[Rule] = []
    if builtin:
        rules.append(allow("get", "leases.coordination.k8s.io", names=(beside.NAME,), namespace=beside.NAMESPACE))
    if reviews:
        rules.append(allow("create", "tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io"))
    if lease is not None:
        namespace, name = lease
        rules += (
            allow("get update", "leases.coordination.k8s.io", names=(name,), namespace=namespace),
            # RBAC cannot limit "create" by name.
            allow("create", "leases.coordination.k8s.io", namespace=namespace),
            allow(" ".join(RECORD_EVENTS.verbs), *RECORD_EVENTS.resources, namespace=namespace),
        )
    if shards:
        # The names of the members' Leases are not known beforehand.
        rules.append(allow("get list create update delete", "leases.coordination.k8s.io", namespace=shards))
    return tuple(rules)


def manifests(rules: Mapping[str, Iterable[Rule]], account: ServiceAccount | None = None) -> list[dict[str, Any]]:
    """
    Make the manifests of roles.

    :param rules: the rules of each role, by the name of the controller
    :param account: the service account to bind each role to; if it is None, no bindings are made
    """
    made: list[dict[str, Any]] = []
    for name, all_of_it in rules.items():
        by_namespace: dict[str, list[Rule]] = {}
        for rule in all_of_it:
            by_namespace.setdefault(rule.namespace, []).append(rule)
        for namespace, some in by_namespace.items():
            metadata = {"name": f"{PREFIX}{name}"} | ({"namespace": namespace} if namespace else {})
            kind = "Role" if namespace else "ClusterRole"
            made.append({"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": policy_rules(some)})
            if account is not None:
                made.append(_binding(kind, metadata, account))
    return made


def _binding(kind: str, metadata: dict[str, str], account: ServiceAccount) -> dict[str, Any]:
    # Two accounts have the same role of a controller. With one name for their bindings, the second would take the role
    # from the first. The manager's own role is named after the account already.
    suffix = f":{account.namespace}:{account.name}"
    name = metadata["name"]
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": {**metadata, "name": name if name.endswith(suffix) else name + suffix},
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}],
    }
