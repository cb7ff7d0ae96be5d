"""Which Services and nodes concern a load balancer."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer_controllers.servicelb.hosts import (
    eligible_nodes,
    is_worth_a_sync,
    needs_cleanup,
    needs_update,
    same_nodes,
    wants_load_balancer,
)
from tests.controllers.servicelb.test_sync import node, service

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"


@pytest.mark.parametrize(
    ("there", "cleanup"),
    [
        (service(), False),
        (service(type_="ClusterIP"), False),
        (service(deleting=True), False),
        (service(finalizer=True), False),
        (service(finalizer=True, deleting=True), True),
        (service(type_="ClusterIP", finalizer=True), True),
        (service(type_="NodePort", finalizer=True), True),
    ],
)
def test_a_service_with_the_finalizer_that_wants_none_is_cleaned_up(there: Any, cleanup: bool) -> None:
    assert needs_cleanup(there) == cleanup


def test_a_service_with_a_class_of_its_own_wants_none_of_us() -> None:
    assert wants_load_balancer(service())
    assert not wants_load_balancer(service(loadBalancerClass="example.com/x"))
    assert not wants_load_balancer(service(type_="NodePort"))


@pytest.mark.parametrize(
    ("old", "new", "update"),
    [
        (service(), service(), False),
        (service(type_="ClusterIP"), service(type_="NodePort"), False),
        (service(type_="ClusterIP"), service(), True),
        (service(), service(type_="ClusterIP"), True),
        (service(), service(loadBalancerClass="example.com/x"), True),
        (service(), service(loadBalancerSourceRanges=["10.0.0.0/8"]), True),
        (service(loadBalancerSourceRanges=[]), service(), False),
        (service(), service(sessionAffinity="ClientIP"), True),
        (service(), service(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 1}}), True),
        (service(), service(loadBalancerIP="1.2.3.4"), True),
        (service(), service(externalIPs=["1.2.3.4"]), True),
        (service(externalIPs=["1.2.3.4"]), service(externalIPs=["1.2.3.5"]), True),
        (service(), service(externalTrafficPolicy="Local"), True),
        (service(), service(healthCheckNodePort=30000), True),
        (service(), service(ipFamilies=["IPv4", "IPv6"]), True),
        (service(ipFamilies=["IPv4"]), service(ipFamilies=["IPv6"]), False),
        (service(), service(uid="another"), True),
        (service(), service(ports=[{"port": 81}]), True),
        (service(), service(ports=[{"port": 80, "name": "web"}]), True),
        (service(), service(ports=[{"port": 80, "nodePort": 30000}]), True),
        (service(), service(ports=[{"port": 80, "targetPort": 8080}]), True),
        (service(), service(ports=[{"port": 80, "protocol": "UDP"}]), True),
        (service(), service(ports=[{"port": 80, "appProtocol": "http"}]), True),
        (service(), service(selector={"a": "b"}), False),
    ],
)
def test_a_change_counts_if_the_load_balancer_is_made_from_it(old: Any, new: Any, update: bool) -> None:
    assert needs_update(old, new) == update


def test_a_change_of_annotations_counts() -> None:
    changed = service()
    changed.metadata.annotations = {"cloud.example.com/kind": "internal"}

    assert needs_update(service(), changed)


@pytest.mark.parametrize(
    ("there", "eligible"),
    [
        (node(), True),
        (node(labels={EXCLUDE: ""}), False),
        (node(labels={EXCLUDE: "true"}), False),
        (node(labels={EXCLUDE: "anything"}), False),
        (node(labels={EXCLUDE: "false"}), True),
        (node(taints=[{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]), False),
        (node(taints=[{"key": "mine", "effect": "NoSchedule"}]), True),
        (node(deletionTimestamp="2026-01-01T00:00:00Z"), False),
    ],
)
def test_nodes_that_are_excluded_or_about_to_go_are_left_out(there: Any, eligible: bool) -> None:
    assert bool(eligible_nodes([there])) == eligible


def test_a_nodes_change_counts_if_now_excluded_or_another_machine() -> None:
    assert not is_worth_a_sync(node(), node(labels={"a": "b"}))
    assert is_worth_a_sync(node(), node(labels={EXCLUDE: ""}))
    assert is_worth_a_sync(node(labels={EXCLUDE: ""}), node())
    assert is_worth_a_sync(node(), node(provider="x"))
    # The set is stable: taints of the autoscaler and readiness are seen with the next change.
    assert not is_worth_a_sync(node(), node(taints=[{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]))


def test_nodes_are_the_same_by_their_names_and_machines_in_any_order() -> None:
    a, b = node("a", provider="1"), node("b", provider="2")

    assert same_nodes([a, b], [b, a])
    assert not same_nodes([a], [a, b])
    assert not same_nodes([a], [node("a", provider="3")])
    assert same_nodes([], [])
