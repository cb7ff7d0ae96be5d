"""SELinux labels: which label a pod's volume is mounted with, and whether two labels conflict.

In: pods and labels. Out: a :class:`Use` of a volume. A label is ``user:role:type:level``. A part that a pod does not
set is empty: nodes fill in their own user, role and type, which are not known here. So an empty part conflicts with
nothing, but for the level: nodes have no default for it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kinformer.models import V1Pod, V1SELinuxOptions

__all__ = ("MOUNT_OPTION", "RECURSIVE", "Use", "labels_by_volume", "labels_conflict", "use_of")

#: The policies of pods: a volume is mounted with the label, or the label is written to each of its files.
MOUNT_OPTION: Final = "MountOption"
RECURSIVE: Final = "Recursive"
_PARTS: Final = 4


class Use(NamedTuple):
    """
    How a pod uses a volume.

    :param label: the label that the volume is mounted with; empty if there is none
    :param policy: :data:`MOUNT_OPTION` or :data:`RECURSIVE`
    """

    label: str
    policy: str


def labels_by_volume(pod: V1Pod) -> dict[str, set[str]]:
    """Return the labels of the containers that mount each volume. A container without SELinux options adds none."""
    found: dict[str, set[str]] = {}
    spec, of_pod = pod.spec, pod.spec.security_context
    for container in (*(spec.init_containers or ()), *spec.containers, *(spec.ephemeral_containers or ())):
        of_container = container.security_context
        options = of_container.se_linux_options if of_container is not None else None
        if options is None and of_pod is not None:
            options = of_pod.se_linux_options
        for mount in container.volume_mounts or ():
            labels = found.setdefault(mount.name, set())
            if options is not None:
                labels.add(_label(options))
    return found


def _label(options: V1SELinuxOptions) -> str:
    parts = (options.user, options.role, options.type, options.level)
    return ":".join(part or "" for part in parts) if any(parts) else ""


def use_of(pod: V1Pod, label: str, *, is_mounted_with_label: bool) -> Use:
    """
    Return how a pod uses a volume.

    :param label: that of the containers that mount it
    :param is_mounted_with_label: whether the driver of the volume can do this
    """
    of_pod = pod.spec.security_context
    policy = (of_pod.se_linux_change_policy if of_pod is not None else None) or MOUNT_OPTION
    if policy == RECURSIVE or not is_mounted_with_label or not label:
        return Use("", RECURSIVE)
    return Use(label, policy)


def labels_conflict(one: str, other: str) -> bool:
    """Whether two labels are of different files, whatever nodes fill in."""
    *ours, our_level = _parts(one)
    *theirs, their_level = _parts(other)
    return our_level != their_level or any(a and b and a != b for a, b in zip(ours, theirs, strict=True))


def _parts(label: str) -> list[str]:
    parts = label.split(":", _PARTS - 1)
    return parts + [""] * (_PARTS - len(parts))
