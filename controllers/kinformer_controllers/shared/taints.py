"""A node's list of taints: finding, adding, replacing and removing them, and writing taints and labels.

Two taints are the same if their key and effect are equal. Their value and their time are not compared. No function
changes a list that it gets, so the lists of cached nodes are safe.

A patch replaces the list of taints as a whole. So each patch has the resource version of the node that it was made
from. If the node has changed since, the server answers with a conflict; then the node is read again and a new patch is
made. Kubernetes' controllers do the same: five tries, 100 to 200 ms apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kinformer.backoff import jittered
from kinformer.client import Client
from kinformer.client.errors import Conflict
from kinformer.clock import Clock, RealClock
from kinformer.models import V1Node, V1Taint, to_dict
from kinformer.placement.taints import NO_EXECUTE

__all__ = (
    "DISK_PRESSURE",
    "MEMORY_PRESSURE",
    "NETWORK_UNAVAILABLE",
    "NOT_READY",
    "OUT_OF_SERVICE",
    "PID_PRESSURE",
    "UNREACHABLE",
    "UNSCHEDULABLE",
    "NodeWriter",
    "differing_taints",
    "has_taint",
    "no_execute_taints",
    "with_taints",
    "without_taints",
)

#: The keys of the taints that controllers set.
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

T = TypeVar("T")

_TRIES: Final = 5
#: The least number of seconds between two tries. A random part of up to the same length is added.
_PAUSE: Final = 0.1


def _is_same_taint(one: V1Taint, other: V1Taint) -> bool:
    return one.key == other.key and one.effect == other.effect


def has_taint(taints: Iterable[V1Taint] | None, taint: V1Taint) -> bool:
    """Whether the list has a taint with that key and effect."""
    return any(_is_same_taint(each, taint) for each in taints or ())


def no_execute_taints(taints: Iterable[V1Taint] | None) -> list[V1Taint]:
    """Return the taints that evict running pods: those with the effect NoExecute."""
    return [taint for taint in taints or () if taint.effect == NO_EXECUTE]


def with_taints(taints: Iterable[V1Taint] | None, *added: V1Taint) -> list[V1Taint]:
    """Return the list with these taints. Each replaces the one that is the same, or is appended."""
    result = list(taints or ())
    for taint in added:
        at = next((n for n, there in enumerate(result) if _is_same_taint(there, taint)), None)
        if at is None:
            result.append(taint)
        else:
            result[at] = taint
    return result


def without_taints(taints: Iterable[V1Taint] | None, *removed: V1Taint) -> list[V1Taint]:
    """Return the list without these taints."""
    return [taint for taint in taints or () if not has_taint(removed, taint)]


def differing_taints(wanted: Sequence[V1Taint], there: Sequence[V1Taint] | None) -> tuple[list[V1Taint], list[V1Taint]]:
    """Return the taints to add to `there`, and those to remove from it, so that it becomes `wanted`."""
    return without_taints(wanted, *(there or ())), without_taints(there, *wanted)


class NodeWriter:
    """Writes taints and labels of nodes."""

    def __init__(self, client: Client, clock: Clock | None = None) -> None:
        self._nodes = client.resource(V1Node)
        self._clock = clock or RealClock()

    async def add_taints(self, name: str, *taints: V1Taint) -> None:
        """
        Add taints to a node. A taint replaces the one with the same key and effect.

        Nothing is written if the node already has them with the same value and time.

        :raises NotFound: if there is no such node
        :raises Conflict: if all five tries met a conflict
        """
        if taints:
            await self._change_taints(name, lambda there: with_taints(there, *taints))

    async def remove_taints(self, name: str, *taints: V1Taint, cached: V1Node | None = None) -> None:
        """
        Remove taints from a node. It is no error if it does not have them.

        :param cached: the node from a cache; if it has none of the taints, no request is made
        :raises NotFound: if there is no such node
        :raises Conflict: if all five tries met a conflict
        """
        if taints and (cached is None or _has_any(cached, taints)):
            await self._change_taints(name, lambda there: without_taints(there, *taints))

    async def swap_taints(
        self,
        node: V1Node,
        add: Sequence[V1Taint],
        remove: Sequence[V1Taint],
        *,
        still: Callable[[V1Node], bool] = lambda _: True,
    ) -> None:
        """
        Add taints to a node, with the current time, and remove others, in one write.

        Kubernetes' SwapNodeControllerTaint makes two writes. Between them the node has both kinds of taint, and a crash
        at that moment leaves it so.

        :param node: the node from a cache; if there is nothing to add and it has nothing to remove, no request is made
        :param still: whether the server's node is to get the taints; if not, nothing is written
        :raises NotFound: if there is no such node
        :raises Conflict: if all five tries met a conflict
        """
        if not add and not _has_any(node, remove):
            return
        now = self._clock.now().replace(microsecond=0)
        added = [V1Taint(key=it.key, value=it.value, effect=it.effect, time_added=now) for it in add]
        await self._change_taints(
            node.metadata.name, lambda there: without_taints(with_taints(there, *added), *remove), still
        )

    async def set_labels(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Set labels of a node. Its other labels stay.

        The patch has no resource version: each label is a field of its own, so no concurrent write can be lost.

        :raises NotFound: if there is no such node
        """
        if labels:
            await self._nodes.patch(name, {"metadata": {"labels": dict(labels)}})

    async def _change_taints(
        self,
        name: str,
        changed: Callable[[list[V1Taint]], list[V1Taint]],
        still: Callable[[V1Node], bool] = lambda _: True,
    ) -> None:
        for tries_left in range(_TRIES - 1, -1, -1):
            # The first read may come from the API server's cache, which is cheaper. After a conflict the newest version
            # is needed.
            node = await self._nodes.get(name, resource_version="0" if tries_left == _TRIES - 1 else "")
            there = node.spec.taints or []
            taints = changed(there)
            if taints == there or not still(node):
                return
            body: dict[str, Any] = {
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": [to_dict(taint) for taint in taints] or None},
            }
            try:
                await self._nodes.patch(name, body)
            except Conflict:
                if not tries_left:
                    raise
            else:
                return
            await self._clock.sleep(jittered(_PAUSE, 1.0, random.random))


def _has_any(node: V1Node, taints: Sequence[V1Taint]) -> bool:
    return any(has_taint(node.spec.taints, taint) for taint in taints)
