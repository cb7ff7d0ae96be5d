"""Which ranges contain an address, and which of them may go."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from kinformer.models import V1IPAddress, V1ServiceCIDR, from_dict
from kinformer_controllers.servicecidr.ranges import containing, may_go, overlapping


def cidr(name: str, *cidrs: str) -> V1ServiceCIDR:
    return from_dict(V1ServiceCIDR, {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})


def ip(address: str, managed_by: str = "ipallocator.k8s.io") -> V1IPAddress:
    family = f"IPv{ip_address(address).version}"
    labels = {"ipaddress.kubernetes.io/managed-by": managed_by, "ipaddress.kubernetes.io/ip-family": family}
    parent = {"resource": "services", "namespace": "ns", "name": "s"}
    metadata = {"name": address, "labels": labels}
    return from_dict(V1IPAddress, {"metadata": metadata, "spec": {"parentRef": parent}})


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("10.0.0.1", {"a", "b"}),
        ("10.0.0.0", set()),
        ("10.0.0.255", {"b"}),
        ("10.0.255.255", set()),
        ("fd00::", set()),
        ("fd00::ffff", {"c"}),
        ("::ffff:10.0.0.1", set()),
    ],
)
def test_ipv4s_first_and_last_address_belong_to_no_range(address: str, names: set[str]) -> None:
    ranges = [cidr("a", "10.0.0.0/24"), cidr("b", "10.0.0.0/16"), cidr("c", "10.9.0.0/24", "fd00::/112")]

    assert containing(ip_address(address), ranges) == names


def test_ranges_overlap_if_one_contains_the_other() -> None:
    wide, narrow, other = cidr("wide", "10.0.0.0/16"), cidr("narrow", "10.0.1.0/24"), cidr("other", "fd00::/112")
    ranges = [wide, narrow, other]

    assert overlapping(wide, ranges) == overlapping(narrow, ranges) == {"wide", "narrow"}
    assert overlapping(other, ranges) == {"other"}


@pytest.mark.parametrize(
    ("others", "ips", "goes"),
    [
        ([], [], True),
        ([], [ip("10.0.0.5")], False),
        ([], [ip("fd00::5")], False),
        ([], [ip("10.0.0.5", "somebody")], True),
        ([], [ip("10.0.1.5")], True),
        # Another one contains all of it, or the same.
        ([cidr("b", "10.0.0.0/16", "fd00::/64")], [ip("10.0.0.5"), ip("fd00::5")], True),
        ([cidr("b", "10.0.0.0/24", "fd00::/112")], [ip("10.0.0.5")], True),
        # One contains a part of it, with the only address or without.
        ([cidr("b", "10.0.0.0/25")], [ip("10.0.0.5")], True),
        ([cidr("b", "10.0.0.128/25")], [ip("10.0.0.5")], False),
        # One contains all of one family, and nothing of the other.
        ([cidr("b", "10.0.0.0/16")], [ip("10.0.0.5")], True),
        ([cidr("b", "10.0.0.0/16")], [ip("10.0.0.5"), ip("fd00::5")], False),
        # The address is the last one of the other range, so this one alone can have given it.
        ([cidr("b", "10.0.0.0/25")], [ip("10.0.0.127")], False),
    ],
)
def test_a_range_goes_if_others_contain_all_addresses_it_has_given(
    others: list[V1ServiceCIDR], ips: list[V1IPAddress], goes: bool
) -> None:
    one = cidr("a", "10.0.0.0/24", "fd00::/112")

    assert may_go(one, [one, *others], ips) is goes
