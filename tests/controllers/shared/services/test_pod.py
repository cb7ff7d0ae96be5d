from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from kinformer.bench.pods import pod_bytes
from kinformer.cache import ListWatch, SharedIndexInformer
from kinformer.models import Compression, V1Pod, encode
from kinformer_controllers.shared.services.pod import EndpointPods, canonical_ip, differs, endpoint_pod
from tests.controllers.shared.services.world import make_pod


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("010.0.0.001", "10.0.0.1"),
        ("255.255.255.255", "255.255.255.255"),
        ("256.0.0.1", ""),
        ("10.0.0", ""),
        ("10.0.0.1\n", ""),
        ("", ""),
        ("fd00:0:0::00A1", "fd00::a1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", ""),
        ("what", ""),
    ],
)
def test_addresses_are_written_in_one_form(text: str, want: str) -> None:
    assert canonical_ip(text) == want


def test_a_pod_has_addresses_by_family() -> None:
    pod = endpoint_pod(make_pod("a", ["10.0.0.1", "fd00::1"]))

    assert (pod.ipv4, pod.ipv6) == (("10.0.0.1",), ("fd00::1",))


def test_named_ports_are_containers_and_sidecars_with_the_first_winning() -> None:
    pod = endpoint_pod(
        make_pod(
            "a",
            containers=[
                {"name": "c", "ports": [{"name": "http", "containerPort": 80}, {"containerPort": 1}]},
                {"name": "d", "ports": [{"name": "http", "containerPort": 81, "protocol": "TCP"}]},
                {"name": "e", "ports": [{"name": "http", "containerPort": 82, "protocol": "UDP"}]},
            ],
            initContainers=[
                {"name": "i", "ports": [{"name": "init", "containerPort": 90}]},
                {"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 91}]},
            ],
        )
    )

    assert pod.named_ports == {("http", "TCP"): 80, ("http", "UDP"): 82, ("side", "TCP"): 91}


@pytest.mark.parametrize(
    "change",
    [
        {"ready": False},
        {"ip": "10.0.0.2"},
        {"ip": ["10.0.0.1", "fd00::1"]},
        {"phase": "Failed"},
        {"deleting": True},
        {"hostname": "h"},
        {"subdomain": "s"},
        {"uid": "another"},
        {"nodeName": "n2"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_this_change_matters_to_services(change: dict[str, object]) -> None:
    before = endpoint_pod(make_pod("a", "10.0.0.1"))
    arguments: dict[str, object] = {"ip": "10.0.0.1"} | change

    assert differs(before, endpoint_pod(make_pod("a", **arguments)))  # type: ignore[arg-type]  # of one of the above


@pytest.mark.parametrize("change", [{"labels": {}}, {"ready_at": 5}, {"serviceAccountName": "x"}], ids=str)
def test_this_change_alone_does_not(change: dict[str, object]) -> None:
    before = endpoint_pod(make_pod("a", "10.0.0.1"))

    assert not differs(before, endpoint_pod(make_pod("a", "10.0.0.1", **change)))  # type: ignore[arg-type]  # see above


def test_a_pod_is_read_without_its_spec_being_decoded() -> None:
    pod = make_pod("a", "10.0.0.1", containers=[{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}])
    obj = msgspec.json.decode(encode(pod), type=V1Pod)
    spec = V1Pod.__lazy_fields__["spec"]

    read = endpoint_pod(obj)

    assert read.named_ports == {("http", "TCP"): 8080}
    assert type(spec.peek(obj)) is msgspec.Raw
    assert obj.spec is not None  # decoded now, and read to the same
    assert msgspec.structs.asdict(endpoint_pod(obj)) == msgspec.structs.asdict(read)


def test_a_compressed_pod_is_read_without_its_spec_being_decoded() -> None:
    pod = make_pod("a", "10.0.0.1", containers=[{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}])
    obj, compression = msgspec.json.decode(encode(pod), type=V1Pod), Compression(V1Pod)
    while not compression.dictionaries:
        compression.compress(msgspec.json.decode(pod_bytes(0).at(1), type=V1Pod))
    spec = V1Pod.__lazy_fields__["spec"]
    spec.poke(obj, compression.dictionaries[0].compress(spec.peek(obj)))

    assert endpoint_pod(obj).named_ports == {("http", "TCP"): 8080}
    assert bytes(spec.peek(obj))[:1] == b"\xc9"


def test_a_pods_version_is_read_once_for_all_handlers() -> None:
    pods, first, second = EndpointPods(), make_pod("a", "10.0.0.1"), make_pod("a", "10.0.0.2")
    read = pods.read(first)

    assert pods.read(first) is read
    assert pods.read(second).ipv4 == ("10.0.0.2",)
    # Whoever is told later is told of what was there then.
    assert pods.read(first).ipv4 == ("10.0.0.1",)


async def test_handlers_share_readings_within_one_informer_only() -> None:
    one, other = (SharedIndexInformer(ListWatch(cast("Any", None)), V1Pod) for _ in range(2))

    assert EndpointPods.of(one) is EndpointPods.of(one)
    assert EndpointPods.of(one) is not EndpointPods.of(other)


def test_a_pod_that_is_gone_is_forgotten() -> None:
    pods, pod = EndpointPods(), make_pod("a", "10.0.0.1")
    read = pods.read(pod)
    pods.forget(read)

    assert pods.read(pod) is not read
