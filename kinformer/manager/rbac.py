"""RBAC manifests of controllers: what they declare to need (:mod:`kinformer.permissions`), as roles to apply.

A controller has one ClusterRole, ``kinformer:NAME``, and for what it needs in one namespace alone a Role there. What
the manager itself needs is in Roles called ``kinformer:manager``. With a service account to bind to, each role comes
with its binding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kinformer.manager import beside
from kinformer.permissions import RECORD_EVENTS, Rule, allow, policy_rules

__all__ = ("PREFIX", "ServiceAccount", "UndeclaredPermissions", "declared_permissions", "manager_rules", "manifests")

_GROUP: Final = "rbac.authorization.k8s.io"
#: Before the names of all roles.
PREFIX: Final = "kinformer:"


class UndeclaredPermissions(Exception):
    """
    A controller does not say what it needs.

    :param controllers: those that do not
    """

    def __init__(self, controllers: Iterable[str]) -> None:
        super().__init__(
            f"these controllers do not say which permissions they need: {', '.join(controllers)}. "
            "Their packages would say it beside their options: make_controller = Deferred(..., permissions=...)"
        )


class ServiceAccount(NamedTuple):
    """As whom a manager runs."""

    namespace: str
    name: str


def declared_permissions(factory: Any) -> tuple[Rule, ...] | None:
    """What a controller's factory says that it needs; None if it says nothing."""
    rules = getattr(factory, "permissions", None)
    return None if rules is None else tuple(rules)


def manager_rules(
    lease: tuple[str, str] | None = None, *, shards: str = "", builtin: bool = True, reviews: bool = False
) -> tuple[Rule, ...]:
    """
    What a manager needs besides its controllers' permissions.

    :param lease: namespace and name of the Lease of its election, None if it takes part in none
    :param shards: namespace of the Leases of its group, empty if it shares its keys with nobody
    :param builtin: whether it looks for the cluster's own kube-controller-manager before built-in controllers run
    :param reviews: whether it asks the server who may read its endpoint
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
            # A name cannot limit what is still to be made.
            allow("create", "leases.coordination.k8s.io", namespace=namespace),
            allow(" ".join(RECORD_EVENTS.verbs), *RECORD_EVENTS.resources, namespace=namespace),
        )
    if shards:
        # A member's Lease is called as nobody knows beforehand, and one more Lease is the table.
        rules.append(allow("get list create update delete", "leases.coordination.k8s.io", namespace=shards))
    return tuple(rules)


def manifests(rules: Mapping[str, Iterable[Rule]], account: ServiceAccount | None = None) -> list[dict[str, Any]]:
    """
    The roles for some rules.

    :param rules: by what they are for, a controller's name
    :param account: whom to bind each role to; no bindings if None
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
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}],
    }
