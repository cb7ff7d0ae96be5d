from __future__ import annotations

import random
from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer_controllers.nodeipam.cidr_set import CIDRSet, NoCIDRLeft, OutOfRange, TooManyParts


def set_of(network: str, mask: int) -> CIDRSet:
    return CIDRSet(ip_network(network), mask)


def allocated(set_: CIDRSet, count: int) -> list[str]:
    return [str(set_.allocate().cidr) for _ in range(count)]


@pytest.mark.parametrize(
    ("network", "mask", "first", "last"),
    [
        ("127.123.234.0/28", 30, "127.123.234.0/30", "127.123.234.12/30"),
        ("127.123.0.0/16", 24, "127.123.0.0/24", "127.123.255.0/24"),
        ("10.0.0.0/8", 16, "10.0.0.0/16", "10.255.0.0/16"),
        ("beef:1234::/60", 64, "beef:1234::/64", "beef:1234:0:f::/64"),
        ("1234::/112", 120, "1234::/120", "1234::ff00/120"),
        ("2001:db8:1234:5600::/56", 68, "2001:db8:1234:5600::/68", "2001:db8:1234:56ff:f000::/68"),
        ("2001:db8:1234:ff00::/60", 76, "2001:db8:1234:ff00::/76", "2001:db8:1234:ff0f:fff0::/76"),
    ],
)
def test_parts_are_those_of_the_network_in_order(network: str, mask: int, first: str, last: str) -> None:
    set_ = set_of(network, mask)

    found = [set_.allocate().cidr for _ in range(set_.size)]
    assert (str(found[0]), str(found[-1])) == (first, last)
    assert {part.prefixlen for part in found} == {mask}
    whole, step = ip_network(network), 2 ** (found[0].max_prefixlen - mask)
    numbers = [int(part.network_address) for part in found]
    assert numbers == list(range(int(whole[0]), int(whole[-1]) + 1, step))


@pytest.mark.parametrize(("network", "mask"), [("127.123.234.0/30", 30), ("beef:1234::/30", 30)])
def test_when_all_parts_are_taken_none_is_left_until_one_returns(network: str, mask: int) -> None:
    set_ = set_of(network, mask)
    part = set_.allocate().cidr
    with pytest.raises(NoCIDRLeft, match="all 1 parts"):
        set_.allocate()

    set_.release(part)
    assert set_.allocate().cidr == part


def test_a_part_that_was_given_back_is_given_out_last() -> None:
    set_ = set_of("10.0.0.0/30", 32)
    first = set_.allocate().cidr
    set_.release(first)

    assert allocated(set_, 4) == ["10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32", "10.0.0.0/32"]


def test_parts_returned_in_any_order_can_be_taken_again() -> None:
    set_ = set_of("127.123.0.0/16", 24)
    found = [set_.allocate().cidr for _ in range(256)]
    random.Random(1).shuffle(found)
    for part in found:
        set_.release(part)
    assert set_.taken == 0

    assert len({set_.allocate().cidr for _ in range(256)}) == 256
    with pytest.raises(NoCIDRLeft):
        set_.allocate()


def test_what_is_occupied_is_not_given_out() -> None:
    set_ = set_of("10.0.0.0/16", 24)
    for number in range(0, 256, 2):
        set_.occupy(ip_network(f"10.0.{number}.0/24"))

    assert allocated(set_, 128) == [f"10.0.{number}.0/24" for number in range(1, 256, 2)]


def test_how_many_taken_parts_lay_before_one_is_told() -> None:
    set_ = set_of("10.0.0.0/28", 32)
    set_.occupy(ip_network("10.0.0.0/30"))

    assert [set_.allocate().tries for _ in range(2)] == [4, 0]
    set_.release(ip_network("10.0.0.1/32"))
    for _ in range(10):
        set_.allocate()
    assert set_.allocate().tries == 1


def test_taking_and_giving_back_twice_counts_once() -> None:
    set_ = set_of("10.42.0.0/16", 24)
    part = ip_network("10.42.9.0/24")

    assert (set_.occupy(part), set_.occupy(part), set_.taken) == (1, 0, 1)
    assert (set_.release(part), set_.release(part), set_.taken) == (1, 0, 0)


@pytest.mark.parametrize(
    ("network", "mask", "cidr", "want"),
    [
        # The cases of Kubernetes' TestOccupy: which parts, the first and the last.
        ("127.0.0.0/8", 16, "127.0.0.0/8", (0, 255)),
        ("127.0.0.0/8", 16, "127.0.0.0/2", (0, 255)),
        ("127.0.0.0/8", 16, "127.0.0.0/16", (0, 0)),
        ("127.0.0.0/8", 32, "127.0.0.0/16", (0, 65535)),
        ("127.0.0.0/7", 16, "127.0.0.0/16", (256, 256)),
        ("127.0.0.0/7", 15, "127.0.0.0/15", (128, 128)),
        ("127.0.0.0/7", 18, "127.0.0.0/15", (1024, 1031)),
        ("beef:1200::/40", 48, "beef:1200::/48", (0, 0)),
        ("beef:1200::/40", 48, "beef:1200::/30", (0, 255)),
        ("beef:1200::/32", 48, "beef:1234::/48", None),
        ("beef:1200::/32", 48, "beef:1200:100::/40", (256, 511)),
        ("beef:1200::/48", 64, "beef:1200:0:1000::/52", (0x1000, 0x1FFF)),
        ("127.0.0.0/16", 24, "128.0.0.0/24", None),
        ("127.0.0.0/16", 24, "beef::/24", None),
    ],
)
def test_a_network_takes_the_parts_that_it_has_something_in_common_with(
    network: str, mask: int, cidr: str, want: tuple[int, int] | None
) -> None:
    set_ = CIDRSet(ip_network(network, strict=False), mask)
    what = ip_network(cidr, strict=False)
    if want is None:
        with pytest.raises(OutOfRange):
            set_.occupy(what)
        return

    assert set_.occupy(what) == want[1] - want[0] + 1
    taken = [number for number, used in enumerate(set_._used) if used]
    assert (taken[0], taken[-1], len(taken)) == (*want, want[1] - want[0] + 1)
    assert set_.is_taken(what)
    assert set_.release(what) == len(taken)
    assert not set_.is_taken(what)


def test_an_ipv6_network_has_65536_parts_at_most() -> None:
    assert set_of("2001:beef::/48", 64).size == 65536
    with pytest.raises(TooManyParts, match="want a mask of at most 63"):
        set_of("2001:beef::/47", 64)


def test_a_huge_network_costs_nothing_before_its_parts_are_taken() -> None:
    set_ = set_of("0.0.0.0/0", 32)
    set_.occupy(ip_network("0.0.0.0/30"))

    assert (set_.size, len(set_._used)) == (2**32, 4)
    assert allocated(set_, 1) == ["0.0.0.4/32"]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["allocate", "occupy", "release"]), st.integers(0, 15), st.integers(24, 30))
)


@given(OPERATIONS)
def test_it_agrees_with_a_set_of_parts(operations: list[tuple[str, int, int]]) -> None:
    set_ = set_of("10.0.0.0/26", 30)
    parts = list(ip_network("10.0.0.0/26").subnets(new_prefix=30))
    taken: set[Any] = set()
    for what, number, mask in operations:
        if what == "allocate":
            if len(taken) == len(parts):
                with pytest.raises(NoCIDRLeft):
                    set_.allocate()
                continue
            part = set_.allocate().cidr
            assert part not in taken
            taken.add(part)
            continue
        cidr = parts[number].supernet(new_prefix=mask)
        concerned = {part for part in parts if part.overlaps(cidr)}
        changed = concerned - taken if what == "occupy" else concerned & taken
        assert getattr(set_, what)(cidr) == len(changed)
        taken = taken | concerned if what == "occupy" else taken - concerned
    assert set_.taken == len(taken)
    assert {part for part in parts if set_.is_taken(part)} == taken
