from __future__ import annotations

import pytest

from kinformer.permissions import RECORD_EVENTS, Permission, Rule, allow, permissions_of, policy_rules


def test_a_rule_reads_like_kubectl_and_comes_out_as_in_roles() -> None:
    rules = (allow("list watch", "pods", "deployments.apps/status", "nodes"), RECORD_EVENTS)

    assert policy_rules(rules) == [
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]


def test_a_rule_may_be_about_some_objects_and_about_everything() -> None:
    rules = (allow("get", "leases.coordination.k8s.io", names=["a", "b"], namespace="kube-system"),)

    assert policy_rules(rules) == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["a", "b"],
            "verbs": ["get"],
        }
    ]
    assert policy_rules((allow("*", "*.*", "*.*/scale"),)) == [
        {"apiGroups": ["*"], "resources": ["*", "*/scale"], "verbs": ["*"]}
    ]


def test_each_permission_of_some_rules_is_told_once() -> None:
    rules = (allow("get list", "pods"), allow("get", "pods", "jobs.batch/status", names=["a"], namespace="ns"))

    found = permissions_of([*rules, *rules])
    assert found == [
        Permission("get", "", "pods"),
        Permission("list", "", "pods"),
        Permission("get", "", "pods", "", "ns", "a"),
        Permission("get", "batch", "jobs", "status", "ns", "a"),
    ]
    assert [str(one) for one in found] == [
        "get pods",
        "list pods",
        "get pods 'a' in namespace ns",
        "get jobs.batch/status 'a' in namespace ns",
    ]


@pytest.mark.parametrize(
    ("verbs", "resources", "complaint"),
    [
        ("", ("pods",), "a rule needs verbs and resources"),
        ("get", (), "a rule needs verbs and resources"),
        ("get,list", ("pods",), r"'get,list' is not a verb"),
        ("get", ("Pods",), r"'Pods' is not a resource: want one like 'pods' or 'deployments\.apps/status'"),
        ("get", ("apps/deployments/status",), "is not a resource"),
        ("get", ("",), "is not a resource"),
    ],
)
def test_what_is_no_rule_is_refused_where_it_is_written(verbs: str, resources: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        allow(verbs, *resources)


def test_allow_is_short_for_a_rule() -> None:
    assert allow("get list", "pods", names=["a"]) == Rule(("get", "list"), ("pods",), ("a",))
