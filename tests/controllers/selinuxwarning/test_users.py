"""Who uses which volume, and who conflicts with whom."""

from __future__ import annotations

import pytest

from kinformer_controllers.selinuxwarning.users import Conflict, Use, VolumeUsers

A, B, C = (Use(f"::{letter}_t:s0", "MountOption") for letter in "abc")
RECURSIVE = Use("", "Recursive")


def label_pair(one: str, use: Use, other: str, theirs: Use) -> set[Conflict]:
    return {
        Conflict("SELinuxLabel", one, use.label, other, theirs.label),
        Conflict("SELinuxLabel", other, theirs.label, one, use.label),
    }


def test_pods_with_the_same_label_do_not_conflict() -> None:
    users = VolumeUsers()

    assert users.add("v", "d", "ns/a", A) == users.add("v", "d", "ns/b", A) == ()
    assert users.add("w", "d", "ns/c", B) == ()
    assert not users.conflicts()


def test_another_label_conflicts_with_each_pod_of_the_volume() -> None:
    users = VolumeUsers()
    users.add("v", "d", "ns/a", A)
    users.add("v", "d", "ns/b", A)

    want = label_pair("ns/c", C, "ns/a", A) | label_pair("ns/c", C, "ns/b", A)
    assert set(users.add("v", "d", "ns/c", C)) == want == users.conflicts()


def test_a_conflict_is_told_once() -> None:
    users = VolumeUsers()
    users.add("v", "d", "ns/a", A)
    users.add("v", "d", "ns/b", B)

    assert users.add("v", "d", "ns/b", B) == ()
    assert users.conflicts() == label_pair("ns/a", A, "ns/b", B)


def test_policies_conflict_beside_labels() -> None:
    users = VolumeUsers()
    users.add("v", "d", "ns/a", RECURSIVE)

    found = users.add("v", "d", "ns/b", Use("::t", "MountOption"))
    assert found == (
        Conflict("SELinuxChangePolicy", "ns/b", "MountOption", "ns/a", "Recursive"),
        Conflict("SELinuxChangePolicy", "ns/a", "Recursive", "ns/b", "MountOption"),
    )
    levels = {it.what for it in users.add("v", "d", "ns/c", Use(":::s0:c1", "MountOption"))}
    assert levels == {"SELinuxChangePolicy", "SELinuxLabel"}


def test_a_pod_with_another_use_of_a_volume_has_new_conflicts_only() -> None:
    users = VolumeUsers()
    users.add("v", "d", "ns/a", A)
    users.add("v", "d", "ns/b", B)

    assert set(users.add("v", "d", "ns/b", C)) == label_pair("ns/a", A, "ns/b", C) == users.conflicts()
    assert users.add("v", "d", "ns/b", A) == ()
    assert not users.conflicts()


def test_pods_that_conflict_on_two_volumes_count_once() -> None:
    users = VolumeUsers()
    for volume in ("v", "w"):
        users.add(volume, "d", "ns/a", A)
        users.add(volume, "d", "ns/b", B)
    assert users.conflicts() == label_pair("ns/a", A, "ns/b", B)


def test_a_pod_that_is_gone_takes_its_own_conflicts_along() -> None:
    users = VolumeUsers()
    for volume, pods in (("v", {"ns/a": A, "ns/b": B, "ns/c": C}), ("w", {"ns/a": A, "ns/d": B})):
        for pod, use in pods.items():
            users.add(volume, "d", pod, use)

    users.remove("ns/a")
    users.remove("ns/a")
    assert users.conflicts() == label_pair("ns/b", B, "ns/c", C)
    for pod in ("ns/b", "ns/c", "ns/d"):
        users.remove(pod)
    assert users.pods_of("d") == set()
    assert users.add("v", "d", "ns/e", C) == ()


def test_the_pods_of_a_driver_are_those_of_its_volumes() -> None:
    users = VolumeUsers()
    users.add("v", "one", "ns/a", A)
    users.add("w", "two", "ns/a", A)
    users.add("w", "two", "ns/b", A)

    assert users.pods_of("one") == {"ns/a"}
    assert users.pods_of("two") == {"ns/a", "ns/b"}
    assert users.pods_of("three") == set()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            "ns/b",
            (
                'SELinuxLabel ":::s0:c1" conflicts with pod b that uses the same volume as this pod with SELinuxLabel '
                '":::s0:c2". If both pods land on the same node, only one of them may access the volume.'
            ),
        ),
        # Kubernetes has no space before the value here.
        (
            "else/b",
            (
                'SELinuxLabel":::s0:c1" conflicts with another pod that uses the same volume as this pod with a '
                "different SELinuxLabel. If both pods land on the same node, only one of them may access the volume."
            ),
        ),
    ],
)
def test_a_message_names_no_pod_of_another_namespace(other: str, message: str) -> None:
    conflict = Conflict("SELinuxLabel", "ns/a", ":::s0:c1", other, ":::s0:c2")

    assert conflict.message == message
    assert conflict.reason == "SELinuxLabelConflict"
