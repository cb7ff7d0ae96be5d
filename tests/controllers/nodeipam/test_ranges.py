from __future__ import annotations

from typing import Any

import pytest

from kinformer.options import OptionError
from kinformer_controllers.nodeipam.ranges import ranges_of, service_networks
from kinformer_controllers.nodeipam.spec import NodeIpamOptions


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
