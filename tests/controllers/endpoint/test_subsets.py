from __future__ import annotations

import random
from typing import Any

from controllers.endpoint.capacity import truncate
from controllers.endpoint.subsets import repack
from kinformer.models import (
    CoreV1EndpointPort,
    V1EndpointAddress,
    V1EndpointSubset,
    V1ObjectReference,
)


def address(ip: str, uid: str = "") -> V1EndpointAddress:
    return V1EndpointAddress(ip=ip, target_ref=V1ObjectReference(kind="Pod", uid=uid) if uid else None)


def port(number: int, app_protocol: str | None = None) -> CoreV1EndpointPort:
    return CoreV1EndpointPort(port=number, protocol="TCP", app_protocol=app_protocol)


def test_ports_that_differ_in_their_app_protocol_alone_are_two() -> None:
    [packed] = repack([V1EndpointSubset(addresses=[address("1")], ports=[port(80), port(80, "h2c"), port(80)])])

    assert [each.app_protocol for each in packed.ports] == [None, "h2c"]


def test_one_ip_of_two_pods_is_two_addresses() -> None:
    [packed] = repack([V1EndpointSubset(addresses=[address("1", "b"), address("1", "a"), address("1", "b")])])

    assert [each.target_ref.uid for each in packed.addresses] == ["a", "b"]


def facts(subsets: list[V1EndpointSubset]) -> dict[Any, bool]:
    """Who is where, and whether ready."""
    said: dict[Any, bool] = {}
    for subset in subsets:
        for each in subset.ports or (None,):
            for ready, addresses in ((True, subset.addresses), (False, subset.not_ready_addresses)):
                for one in addresses or ():
                    key = (one.ip, one.target_ref.uid if one.target_ref else "", each and each.port)
                    said[key] = said.get(key, True) and ready
    return said


def test_repacked_subsets_say_the_same_and_repacked_again_are_the_same() -> None:
    rng = random.Random(8)
    for _ in range(300):
        subsets = [
            V1EndpointSubset(
                addresses=[
                    address(str(rng.randint(1, 5)), rng.choice(["", "u", "v"])) for _ in range(rng.randint(0, 4))
                ],
                not_ready_addresses=[address(str(rng.randint(1, 5))) for _ in range(rng.randint(0, 2))],
                ports=[port(rng.randint(1, 4)) for _ in range(rng.randint(1, 3))],
            )
            for _ in range(rng.randint(0, 5))
        ]
        packed = repack(subsets)
        assert facts(packed) == facts(subsets)
        assert repack(packed) == packed
        rng.shuffle(subsets)
        assert repack(subsets) == packed


def subset(ready: int, not_ready: int) -> V1EndpointSubset:
    return V1EndpointSubset(
        addresses=[address(f"r{number}") for number in range(ready)],
        not_ready_addresses=[address(f"n{number}") for number in range(not_ready)],
    )


def sizes(subsets: list[V1EndpointSubset]) -> list[tuple[int, int]]:
    return [(len(each.addresses or ()), len(each.not_ready_addresses or ())) for each in subsets]


def test_what_fits_is_kept() -> None:
    kept, cut = truncate([subset(400, 100), subset(500, 0)])

    assert (sizes(kept), cut) == ([(400, 100), (500, 0)], False)


def test_of_too_many_ready_ones_each_subset_keeps_its_share() -> None:
    kept, cut = truncate([subset(900, 50), subset(300, 0), subset(600, 9)])

    assert (sizes(kept), cut) == ([(500, 0), (167, 0), (333, 0)], True)


def test_those_that_are_not_ready_share_what_the_ready_ones_leave() -> None:
    kept, cut = truncate([subset(900, 300), subset(0, 100)])

    assert (sizes(kept), cut) == ([(900, 75), (0, 25)], True)


def test_a_subset_that_would_be_empty_is_left_out() -> None:
    kept, _ = truncate([subset(1000, 0), subset(0, 3)])

    assert sizes(kept) == [(1000, 0)]
