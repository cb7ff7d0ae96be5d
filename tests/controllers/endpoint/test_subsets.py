from __future__ import annotations

import random
from typing import Any

from kinformer.models import CoreV1EndpointPort, V1EndpointAddress, V1EndpointSubset, V1ObjectReference, V1Service
from kinformer_controllers.endpoint.subsets import subsets_of, truncate
from kinformer_controllers.shared.services.pod import EndpointPod, endpoint_pod
from kinformer_controllers.shared.services.repacking import repack
from tests.controllers.shared.services.world import make_pod, make_service


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


def test_of_too_many_ready_ones_each_subset_keeps_its_share() -> None:
    kept, cut = truncate([subset(900, 50), subset(300, 0), subset(600, 9)])

    assert (sizes(kept), cut) == ([(500, 0), (167, 0), (333, 0)], True)


def test_those_that_are_not_ready_share_what_the_ready_ones_leave() -> None:
    kept, cut = truncate([subset(900, 300), subset(0, 100)])

    assert (sizes(kept), cut) == ([(900, 75), (0, 25)], True)


def one_by_one(service: V1Service, pods: list[EndpointPod]) -> list[V1EndpointSubset]:
    """As Kubernetes puts them together: a subset for each port of each pod, and then repacked."""
    subsets: list[V1EndpointSubset] = []
    publish_all = bool(service.spec.publish_not_ready_addresses)
    for pod in pods:
        if pod.terminal or not pod.ipv4 or (pod.deleting and not publish_all):
            continue
        found = pod.new_address(pod.ipv4[0], pod.hostname if pod.hostname and pod.subdomain == "web" else None)
        said = {"addresses" if publish_all or pod.ready else "not_ready_addresses": [found]}
        ports = service.spec.ports or ()
        if not ports and service.spec.cluster_ip == "None":
            subsets.append(V1EndpointSubset(**said))
        for each in ports:
            target = each.target_port
            number = pod.named_ports.get((target, each.protocol)) if isinstance(target, str) else target
            if number is not None:
                at = CoreV1EndpointPort(name=each.name, port=number, protocol=each.protocol)
                subsets.append(V1EndpointSubset(ports=[at], **said))
    return repack(subsets)


def test_all_pods_with_equal_ports_at_once_are_as_one_by_one() -> None:
    rng = random.Random(8)
    for _ in range(200):
        service = make_service(
            clusterIP=rng.choice(["None", "10.0.0.1"]),
            publishNotReadyAddresses=rng.random() < 0.3,
            ports=[
                {"name": name, "port": 1, "protocol": "TCP", "targetPort": rng.choice([80, 81, "http", "admin"])}
                for name in rng.sample(["a", "b", "c"], rng.randint(0, 3))
            ],
        )
        pods = [
            endpoint_pod(
                make_pod(
                    f"p{number}",
                    rng.choice(["", f"10.1.0.{number}", f"10.1.0.{number}", "fd00::1"]),
                    ready=rng.choice([True, False]),
                    deleting=rng.random() < 0.2,
                    phase=rng.choice(["Running", "Running", "Failed"]),
                    hostname=rng.choice(["", "h"]),
                    subdomain=rng.choice(["", "web"]),
                    containers=[
                        {
                            "name": "c",
                            "ports": [
                                {"name": name, "containerPort": rng.choice([8080, 9090])}
                                for name in rng.sample(["http", "admin"], rng.randint(0, 2))
                            ],
                        }
                    ],
                )
            )
            for number in range(rng.randint(0, 8))
        ]
        assert subsets_of(service, pods) == one_by_one(service, pods)
