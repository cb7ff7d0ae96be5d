"""Reading objects from the server, for decisions that must not depend on a cache."""

from __future__ import annotations

from typing import Any

from kinformer.client import NotFound
from kinformer.meta import GroupResource
from kinformer_controllers.groupquota.record import version_of
from kinformer_controllers.shared.quota.monitor import QuotaMonitor

__all__ = ("ServerObjects",)


class ServerObjects:
    """
    Reads the metadata of single objects from the server.

    :param monitor: knows the resources that discovery has found
    """

    def __init__(self, monitor: QuotaMonitor) -> None:
        self._monitor = monitor

    async def find(self, resource: GroupResource, namespace: str, name: str) -> Any | None:
        """
        Return the object with that name; None if there is none.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be read
        """
        try:
            return await self._monitor.objects(resource).get(name, namespace)
        except NotFound:
            return None

    async def newest_version(self, resource: GroupResource) -> int:
        """
        Return the newest resource version of a resource.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be read
        """
        return version_of((await self._monitor.objects(resource).list(limit=1)).resource_version)
