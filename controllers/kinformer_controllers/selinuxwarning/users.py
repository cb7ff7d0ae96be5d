"""The users of volumes: which pods use each volume and how, and which of them conflict.

In: pods as they come and go, by their keys. Out: :class:`Conflict`, always in pairs, one for each pod. The conflicts of
a volume are kept until one of the pods is gone or changes, for the metrics. This has no client and no clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kinformer.meta import split_key
from kinformer_controllers.selinuxwarning.labels import Use, labels_conflict

__all__ = ("Conflict", "VolumeUsers")

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
