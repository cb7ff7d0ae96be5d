"""The users of volumes: which pods use each volume and how, and which of them conflict.

In: pods as they come and go, by their keys. Out: :class:`Conflict`, always in pairs, one for each pod. The conflicts of
a volume are kept until one of the pods is gone or changes, for the metrics. This has no client and no clock.

A label is ``user:role:type:level``. A part that a pod does not set is empty: nodes fill in their own user, role and
type, which are not known here. So an empty part conflicts with nothing, but for the level: nodes have no default for
it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kinformer.meta import split_key
from kinformer.models import V1Pod, V1SELinuxOptions

__all__ = (
    "RECURSIVE",
    "Conflict",
    "Use",
    "VolumeUsers",
    "labels_by_volume",
    "labels_conflict",
    "use_of",
)

#: The policies of pods: a volume is mounted with the label, or the label is written to each of its files.
_MOUNT_OPTION: Final = "MountOption"
RECURSIVE: Final = "Recursive"
_PARTS: Final = 4


class Use(NamedTuple):
    """
    How a pod uses a volume.

    :param label: the label that the volume is mounted with; empty if there is none
    :param policy: ``MountOption`` or :data:`RECURSIVE`
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
    policy = (of_pod.se_linux_change_policy if of_pod is not None else None) or _MOUNT_OPTION
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


_POLICY: Final = "SELinuxChangePolicy"
_LABEL: Final = "SELinuxLabel"


class Conflict(NamedTuple):
    """
    A pod that uses a volume in another way than another pod.

    :param what: what differs, as Events and metrics call it
    :param pod: the key of the pod
    :param other: the key of the other pod
    """

    what: str
    pod: str
    value: str
    other: str
    other_value: str

    @property
    def reason(self) -> str:
        """The reason of the Event."""
        return f"{self.what}Conflict"

    @property
    def message(self) -> str:
        """The message of the Event, as Kubernetes has it. It does not name pods of other namespaces."""
        (namespace, _), (other_namespace, other) = split_key(self.pod), split_key(self.other)
        end = "If both pods land on the same node, only one of them may access the volume."
        if namespace == other_namespace:
            return (
                f'{self.what} "{self.value}" conflicts with pod {other} that uses the same volume as this pod with '
                f'{self.what} "{self.other_value}". {end}'
            )
        return (
            f'{self.what}"{self.value}" conflicts with another pod that uses the same volume as this pod with a '
            f"different {self.what}. {end}"
        )


@dataclass(slots=True)
class _Volume:
    driver: str
    pods: dict[str, Use] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()

    def forget_conflicts(self, pod: str) -> None:
        if self.conflicts:
            self.conflicts = tuple(it for it in self.conflicts if pod not in (it.pod, it.other))


class VolumeUsers:
    """The pods that use volumes."""

    def __init__(self) -> None:
        self._volumes: dict[str, _Volume] = {}
        self._volumes_of: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, volume: str, driver: str, pod: str, use: Use) -> tuple[Conflict, ...]:
        """
        Note that a pod uses a volume.

        :param volume: its unique name
        :param driver: the CSI driver; empty if there is none
        :return: the conflicts that come from this; none if it was known already
        """
        found = self._volumes.setdefault(volume, _Volume(driver))
        if found.pods.get(pod) == use:
            return ()
        found.pods[pod] = use
        self._volumes_of[pod].add(volume)
        new = tuple(_conflicts(pod, use, found.pods.items()))
        found.forget_conflicts(pod)
        found.conflicts += new
        return new

    def remove(self, pod: str) -> None:
        """Forget a pod. One that is not known is no error."""
        for name in self._volumes_of.pop(pod, ()):
            volume = self._volumes[name]
            volume.forget_conflicts(pod)
            del volume.pods[pod]
            if not volume.pods:
                del self._volumes[name]

    def pods_of(self, driver: str) -> set[str]:
        """Return the pods that use volumes of a CSI driver."""
        return {pod for volume in self._volumes.values() if volume.driver == driver for pod in volume.pods}

    def conflicts(self) -> set[Conflict]:
        """Return the conflicts that there are. Two pods that share two volumes count once. Any thread may call this."""
        return {conflict for volume in list(self._volumes.values()) for conflict in volume.conflicts}


def _conflicts(pod: str, use: Use, users: Iterable[tuple[str, Use]]) -> Iterator[Conflict]:
    for other, theirs in users:
        if theirs.policy != use.policy:
            yield from _pair(_POLICY, pod, use.policy, other, theirs.policy)
        if theirs.label != use.label and labels_conflict(theirs.label, use.label):
            yield from _pair(_LABEL, pod, use.label, other, theirs.label)


def _pair(what: str, pod: str, value: str, other: str, other_value: str) -> Iterator[Conflict]:
    yield Conflict(what, pod, value, other, other_value)
    yield Conflict(what, other, other_value, pod, value)
