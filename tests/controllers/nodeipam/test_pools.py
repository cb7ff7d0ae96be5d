"""The networks that are divided among nodes, and the parts that each node has."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from kinformer.options import OptionError
from kinformer_controllers.nodeipam.pools import BadPodCIDR, Pools, Range, ranges_of, service_networks
from kinformer_controllers.nodeipam.spec import NodeIpamOptions
from tests.metrics import metric_value


def ranges(**options: Any) -> list[str]:
    return [f"{each.network} in /{each.mask}" for each in ranges_of(NodeIpamOptions(**options))]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"cluster_cidr": "10.0.0.0/8"}, ["10.0.0.0/8 in /24"]),
        ({"cluster_cidr": "10.1.2.3/8"}, ["10.0.0.0/8 in /24"]),
        ({"cluster_cidr": "fd00::/56"}, ["fd00::/56 in /64"]),
        ({"cluster_cidr": "10.0.0.0/8", "node_cidr_mask_size": 20}, ["10.0.0.0/8 in /20"]),
        ({"cluster_cidr": "fd00::/56", "node_cidr_mask_size": 60}, ["fd00::/56 in /60"]),
        ({"cluster_cidr": "10.0.0.0/8", "node_cidr_mask_size_ipv4": 22}, ["10.0.0.0/8 in /22"]),
        ({"cluster_cidr": "fd00::/56", "node_cidr_mask_size_ipv6": 62}, ["fd00::/56 in /62"]),
        ({"cluster_cidr": "10.0.0.0/8,fd00::/56"}, ["10.0.0.0/8 in /24", "fd00::/56 in /64"]),
        ({"cluster_cidr": "fd00::/56, 10.0.0.0/8"}, ["fd00::/56 in /64", "10.0.0.0/8 in /24"]),
        (
            {"cluster_cidr": "10.0.0.0/8,fd00::/56", "node_cidr_mask_size_ipv4": 20, "node_cidr_mask_size_ipv6": 60},
            ["10.0.0.0/8 in /20", "fd00::/56 in /60"],
        ),
    ],
)
def test_ranges_and_masks_are_those_of_the_flags(options: dict[str, Any], want: list[str]) -> None:
    assert ranges(**options) == want


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "is not given"),
        ({"cluster_cidr": "10.0.0.0"}, "has no mask"),
        ({"cluster_cidr": "ten/8"}, "does not appear to be"),
        ({"cluster_cidr": "10.0.0.0/8,10.1.0.0/16"}, "two networks of one family"),
        ({"cluster_cidr": "10.0.0.0/8,fd00::/56,fd01::/56"}, "at most two"),
        ({"cluster_cidr": "10.0.0.0/25"}, "want a mask from 25 to 32"),
        ({"cluster_cidr": "10.0.0.0/8", "node_cidr_mask_size": 33}, "want a mask from 8 to 32"),
        ({"cluster_cidr": "10.0.0.0/8,fd00::/56", "node_cidr_mask_size": 24}, "with two families"),
        (
            {"cluster_cidr": "10.0.0.0/8", "node_cidr_mask_size": 24, "node_cidr_mask_size_ipv4": 24},
            "together with the flags for one family",
        ),
        ({"cluster_cidr": "10.0.0.0/8", "node_cidr_mask_size_ipv6": 64}, "ipv6 is not allowed"),
        ({"cluster_cidr": "fd00::/56", "node_cidr_mask_size_ipv4": 24}, "ipv4 is not allowed"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        ranges(**options)


@pytest.mark.parametrize(
    ("text", "want"),
    [("", []), ("10.0.0.0/24", ["10.0.0.0/24"]), ("10.0.0.0/24,fd00::/112", ["10.0.0.0/24", "fd00::/112"]), ("x", [])],
)
def test_networks_of_services_are_understood_or_left_out(text: str, want: list[str]) -> None:
    assert [str(each) for each in service_networks(NodeIpamOptions(service_cluster_ip_range=text))] == want


@pytest.mark.parametrize("text", ["10.0.0.0/24,10.0.1.0/24", "10.0.0.0/24,fd00::/112,fd01::/112"])
def test_too_many_networks_of_services_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        service_networks(NodeIpamOptions(service_cluster_ip_range=text))


def pools(*networks: tuple[str, int]) -> Pools:
    return Pools([Range(ip_network(network), mask) for network, mask in networks])


def value(name: str, network: str) -> float:
    return metric_value(f"node_ipam_controller_{name}", {"clusterCIDR": network}) or 0.0


def test_what_a_node_has_is_given_back_once() -> None:
    its = pools(("10.0.0.0/30", 32))
    its.allocate("first")
    for number in range(3):
        its.allocate(f"other-{number}")
    its.release("first")
    assert its.allocate("second").texts() == ["10.0.0.0/32"]

    its.release("first")
    assert its.sets[0].is_taken(ip_network("10.0.0.0/32"))


def test_a_node_that_says_what_it_was_given_has_it_written() -> None:
    its = pools(("10.0.0.0/30", 32))
    holding = its.allocate("a")
    its.hold("a", ["10.0.0.0/32"])

    assert its.held["a"] is holding
    assert holding.written


def test_a_node_with_another_range_returns_the_one_it_was_given() -> None:
    its = pools(("10.0.0.0/30", 32))
    its.allocate("a")
    its.hold("a", ["10.0.0.2/32"])

    assert its.sets[0].taken == 1
    assert its.allocate("b").texts() == ["10.0.0.1/32"]
    assert its.allocate("c").texts() == ["10.0.0.3/32"]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["10.0.0.0/32", "garbage"], "is not a network"),
        (["10.0.0.0/32", "fe80::/120"], "out the range"),
        (["10.0.0.0/32", "10.0.0.1/32"], "out the range"),
        (["10.0.0.0/32", "fd00::/128", "fd00::1/128"], "at index 2"),
    ],
)
def test_a_part_that_is_none_is_told_and_the_others_are_kept(texts: list[str], problem: str) -> None:
    its = pools(("10.0.0.0/30", 32), ("fd00::/126", 128))
    for _ in range(2):
        with pytest.raises(BadPodCIDR, match=problem):
            its.hold("a", texts)

    assert its.allocate("b").texts()[0] == "10.0.0.1/32"
    its.release("a")
    assert its.sets[0].taken == 1


def test_what_is_taken_and_given_back_is_counted() -> None:
    network = "10.77.0.0/30"
    its = pools((network, 32))
    assert value("cirdset_max_cidrs", network) == 4
    its.hold("a", ["10.77.0.0/31"])
    its.allocate("b")
    its.release("a")

    assert value("cidrset_cidrs_allocations_total", network) == 3
    assert value("cidrset_cidrs_releases_total", network) == 2
    assert value("cidrset_usage_cidrs", network) == 0.25
    assert value("cidrset_allocation_tries_per_request_sum", network) == 2
    assert value("cidrset_allocation_tries_per_request_count", network) == 1


def test_each_family_is_counted_by_itself() -> None:
    its = pools(("10.78.0.0/31", 32), ("fd78::/126", 128))
    its.allocate("a")

    assert value("cidrset_usage_cidrs", "10.78.0.0/31") == 0.5
    assert value("cidrset_usage_cidrs", "fd78::/126") == 0.25
