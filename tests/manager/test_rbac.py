from __future__ import annotations

from kinformer.manager.rbac import ServiceAccount, declared_permissions, manager_rules, manifests
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

PODS = allow("list watch", "pods")
LEASE = allow("get", "leases.coordination.k8s.io", names=["l"], namespace="kube-system")


def test_a_factory_silent_on_permissions_is_not_one_without_needs() -> None:
    assert declared_permissions(ControllerSpec(name="f", factory="m:f")) is None
    assert declared_permissions(lambda context: context) is None
    assert declared_permissions(ControllerSpec(name="f", factory="m:f", permissions=())) == ()
    assert declared_permissions(ControllerSpec(name="f", factory="m:f", permissions=(PODS,))) == (PODS,)


def test_each_controller_has_its_role_and_one_in_each_named_namespace() -> None:
    made = manifests({"fleet": (PODS, LEASE), "other": (PODS,)})

    assert [(one["kind"], one["metadata"]) for one in made] == [
        ("ClusterRole", {"name": "kinformer:fleet"}),
        ("Role", {"name": "kinformer:fleet", "namespace": "kube-system"}),
        ("ClusterRole", {"name": "kinformer:other"}),
    ]
    assert made[1]["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["l"], "verbs": ["get"]}
    ]


def test_with_a_service_account_each_role_is_bound_to_it() -> None:
    _, binding, _, other = manifests({"fleet": (PODS, LEASE)}, ServiceAccount("ns", "me"))

    assert binding == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kinformer:fleet:ns:me"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kinformer:fleet"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "ns", "name": "me"}],
    }
    assert (other["kind"], other["metadata"]["namespace"]) == ("RoleBinding", "kube-system")


def test_a_manager_needs_its_lease_only_for_elections() -> None:
    assert manager_rules(builtin=False) == ()
    assert [rule.names for rule in manager_rules()] == [("kube-controller-manager",)]
    assert [rule.resources for rule in manager_rules(builtin=False, reviews=True)] == [
        ("tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io")
    ]
    assert {rule.namespace for rule in manager_rules(("ns", "mine"), builtin=False)} == {"ns"}
    assert [(rule.resources, rule.namespace) for rule in manager_rules(shards="ns", builtin=False)] == [
        (("leases.coordination.k8s.io",), "ns")
    ]
