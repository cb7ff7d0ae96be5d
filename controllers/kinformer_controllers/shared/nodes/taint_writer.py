"""Writing a node's taints and labels: read, changed, and written only if nobody was quicker.

Taints are one list, which a patch replaces as a whole. So each patch names the version that it was made from: the
server refuses it with a conflict if anything has changed since, and it is made again from what the server has then.
client-go's controllers do the same (five tries, 100 to 200 ms apart).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kinformer.backoff import jittered
from kinformer.client import Client
from kinformer.client.errors import Conflict
from kinformer.clock import Clock, RealClock
from kinformer.models import V1Node, V1Taint, to_dict
from kinformer_controllers.shared.nodes.taints import has_taint, with_taints, without_taints

__all__ = ("NodeWriter",)

T = TypeVar("T")

_TRIES: Final = 5
#: Seconds between two tries, and up to as many more by chance.
_PAUSE: Final = 0.1


class NodeWriter:
    """
    Writes taints and labels of nodes.

    :param random: draws from [0, 1), for the pauses after a conflict
    """

    def __init__(
        self, client: Client, clock: Clock | None = None, *, random: Callable[[], float] = random.random
    ) -> None:
        self._nodes = client.resource(V1Node)
        self._clock = clock or RealClock()
        self._random = random

    async def add_taints(self, name: str, *taints: V1Taint) -> None:
        """
        Put taints on a node, each in the place of the one that has its key and effect.

        Writes nothing if they are there with the same value and time.

        :raises NotFound: if there is no such node
        :raises Conflict: if others were quicker five times
        """
        if taints:
            await self._change_taints(name, lambda there: with_taints(there, *taints))

    async def remove_taints(self, name: str, *taints: V1Taint, cached: V1Node | None = None) -> None:
        """
        Take taints off a node; it need not have them.

        :param cached: the node as a cache shows it: if it has none of the taints, the server is not asked
        :raises NotFound: if there is no such node
        :raises Conflict: if others were quicker five times
        """
        if taints and (cached is None or _has_any(cached, taints)):
            await self._change_taints(name, lambda there: without_taints(there, *taints))

    async def swap_taints(self, node: V1Node, add: Sequence[V1Taint], remove: Sequence[V1Taint]) -> None:
        """
        Put some taints on a node, with the time of now, and take others off, in one write.

        Kubernetes' SwapNodeControllerTaint does it in two writes. Between them the node has both, and a crash there
        leaves it so. It also gives a taint that is there already a new time; here that keeps its own.

        :param node: as a cache shows it: if nothing is to be added and it has none to remove, the server is not asked
        :raises NotFound: if there is no such node
        :raises Conflict: if others were quicker five times
        """
        if not add and not _has_any(node, remove):
            return
        now = self._clock.now().replace(microsecond=0)
        added = [V1Taint(key=it.key, value=it.value, effect=it.effect, time_added=now) for it in add]
        await self._change_taints(node.metadata.name, lambda there: without_taints(with_taints(there, *added), *remove))

    async def set_labels(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Set labels of a node; its others stay.

        One patch that names no version does it: each label is a field of its own, so there is nothing to conflict with.

        :raises NotFound: if there is no such node
        """
        if labels:
            await self._nodes.patch(name, {"metadata": {"labels": dict(labels)}})

    async def _change_taints(self, name: str, changed: Callable[[list[V1Taint]], list[V1Taint]]) -> None:
        for tries_left in range(_TRIES - 1, -1, -1):
            # The first read may be the server's cache's, which costs it less; after a conflict it has to be the newest.
            node = await self._nodes.get(name, resource_version="0" if tries_left == _TRIES - 1 else "")
            there = node.spec.taints or []
            taints = changed(there)
            if taints == there:
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
            await self._clock.sleep(jittered(_PAUSE, 1.0, self._random))


def _has_any(node: V1Node, taints: Sequence[V1Taint]) -> bool:
    return any(has_taint(node.spec.taints, taint) for taint in taints)
