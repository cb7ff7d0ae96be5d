from __future__ import annotations

import pytest

from kinformer_controllers.shared.services.pod import canonical_ip, differs, endpoint_pod
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
        ("what", ""),
    ],
)
def test_addresses_are_written_in_one_form(text: str, want: str) -> None:
    assert canonical_ip(text) == want


def test_a_pod_has_addresses_by_family() -> None:
    pod = endpoint_pod(make_pod("a", ["10.0.0.1", "fd00::1"]))

    assert (pod.ipv4, pod.ipv6) == (("10.0.0.1",), ("fd00::1",))


def test_named_ports_are_those_of_containers_and_sidecars_the_first_of_a_name() -> None:
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
