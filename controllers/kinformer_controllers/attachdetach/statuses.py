"""The list ``volumesAttached`` in the status of nodes: kubelets mount a volume only if it is there.

The writes of one node follow one another, because a list that arrives late would show a volume that is being detached.
The list is written whole, whatever the cache shows: the cache may be behind an own write.
"""

from __future__ import annotations

from collections import defaultdict

import anyio

from kinformer.client import Client, PatchType
from kinformer.client.errors import NotFound
from kinformer.models import V1Node
from kinformer_controllers.attachdetach.actual import ActualState

__all__ = ("NodeStatuses",)


class NodeStatuses:
    """Writes the statuses of nodes from the actual state."""

    def __init__(self, client: Client, actual: ActualState) -> None:
        self._server = client.resource(V1Node)
        self._actual = actual
        #: One for each node that ever had a volume.
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def write(self, node: str) -> None:
        """
        Write a node's list, if it has changed. A node that does not exist is left out.

        :raises ClientError: if the server refuses; the next call writes the list again
        """
        async with self._locks[node]:
            listed = self._actual.take_report(node)
            if listed is None:
                return
            value = [{"name": it.name, "devicePath": it.device_path} for it in listed] or None
            body = {"status": {"volumesAttached": value}}
            try:
                await self._server.patch(node, body, patch_type=PatchType.STRATEGIC, subresource="status")
            except NotFound:
                return  # if it comes again, its list is written
            except BaseException:
                self._actual.must_write(node)
                raise
