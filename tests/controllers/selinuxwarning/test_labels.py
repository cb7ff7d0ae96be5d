"""Which label a pod's volume is mounted with, and which labels conflict."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Pod, from_dict
from kinformer_controllers.selinuxwarning.users import Use, labels_by_volume, labels_conflict, use_of

LEVEL = {"level": "s0:c1,c2"}


def container(name: str, options: dict[str, str] | None = None, *volumes: str) -> dict[str, Any]:
    context = {} if options is None else {"securityContext": {"seLinuxOptions": options}}
    return {"name": name, "volumeMounts": [{"name": it, "mountPath": f"/{it}"} for it in volumes], **context}


def a_pod(options: dict[str, str] | None, *containers: dict[str, Any], policy: str | None = None, **spec: Any) -> V1Pod:
    context = {"seLinuxOptions": options, "seLinuxChangePolicy": policy}
    body = {"containers": list(containers), "securityContext": context, **spec}
    return from_dict(V1Pod, {"metadata": {"name": "p", "namespace": "ns"}, "spec": body})


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        pytest.param(None, set(), id="no options"),
        pytest.param(
            {"user": "system_u", "role": "system_r", "type": "container_t", "level": "s0:c0,c1"},
            {"system_u:system_r:container_t:s0:c0,c1"},
            id="all",
        ),
        pytest.param({"type": "container_t", "level": "s0:c0,c1"}, {"::container_t:s0:c0,c1"}, id="some"),
        pytest.param({"level": "s0:c0,c1"}, {":::s0:c0,c1"}, id="level"),
        pytest.param({}, {""}, id="empty"),
    ],
)
def test_a_label_has_the_parts_that_a_pod_sets(options: dict[str, str] | None, labels: set[str]) -> None:
    assert labels_by_volume(a_pod(options, container("c", None, "v"))) == {"v": labels}


def test_the_options_of_a_container_count_before_those_of_its_pod() -> None:
    pod = a_pod(
        LEVEL,
        container("own", {"type": "t"}, "v"),
        container("none", None, "w"),
        initContainers=[container("init", None, "v")],
        ephemeralContainers=[container("debug", {"user": "u"}, "w")],
    )

    assert labels_by_volume(pod) == {"v": {"::t:", ":::s0:c1,c2"}, "w": {":::s0:c1,c2", "u:::"}}


def test_a_block_device_is_not_mounted() -> None:
    device = {"name": "c", "volumeDevices": [{"name": "v", "devicePath": "/dev/v"}]}

    assert labels_by_volume(a_pod(LEVEL, device)) == {}


@pytest.mark.parametrize(
    ("label", "policy", "can", "want"),
    [
        ("l", None, True, Use("l", "MountOption")),
        ("l", "MountOption", True, Use("l", "MountOption")),
        ("l", "Recursive", True, Use("", "Recursive")),
        ("l", "MountOption", False, Use("", "Recursive")),
        ("", "MountOption", True, Use("", "Recursive")),
    ],
)
def test_a_volume_is_mounted_with_a_label_if_pod_and_driver_agree(
    label: str, policy: str | None, can: bool, want: Use
) -> None:
    assert use_of(a_pod(None, policy=policy), label, is_mounted_with_label=can) == want


def test_a_pod_without_a_security_context_has_the_usual_policy() -> None:
    pod = from_dict(V1Pod, {"metadata": {"name": "p"}, "spec": {"containers": [container("c", LEVEL, "v")]}})

    assert labels_by_volume(pod) == {"v": {":::s0:c1,c2"}}
    assert use_of(pod, "l", is_mounted_with_label=True) == Use("l", "MountOption")


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        ("", "", False),
        ("", "system_u:system_r:container_t", False),
        ("", "system_u:system_r:container_t:s0:c1,c2", True),
        (":::", "system_u:system_r:container_t", False),
        ("system_u:system_r:container_t:", "system_u:system_r", False),
        ("system_u:system_r:conflict_t:", "system_u:system_r:container_t", True),
        ("::conflict_t", "::container_t", True),
        ("system_u::container_t", ":system_r::", False),
        (":::s0:c1,c2", "", True),
        ("u:r:t:s0:c0,c1:extra", "u:r:t:s0:c0,c1", True),
        (":::::", ":::::", False),
    ],
)
def test_empty_parts_conflict_with_nothing_but_an_empty_level_does(one: str, other: str, conflict: bool) -> None:
    assert labels_conflict(one, other) is conflict
    assert labels_conflict(other, one) is conflict
