"""Objects as the server has them now: what a cache is not believed about."""

from __future__ import annotations

from typing import Any

from kinformer.client import NotFound
from kinformer.meta import GroupResource
from kinformer_controllers.groupquota.record import version_of
from kinformer_controllers.shared.quota.monitor import QuotaMonitor

__all__ = ("ServerObjects",)


class ServerObjects:
    """
    Asks the server for single objects, of which only the metadata matters.

    :param monitor: knows which kinds there are
    """

    def __init__(self, monitor: QuotaMonitor) -> None:
        self._monitor = monitor

    async def find(self, resource: GroupResource, namespace: str, name: str) -> Any | None:
        """
        The object of that name, None if there is none.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be asked
        """
        try:
            return await self._monitor.objects(resource).get(name, namespace)
        except NotFound:
            return None

    async def newest_version(self, resource: GroupResource) -> int:
        """
        The version that a resource has come to.

        :raises LookupError: if its kind is not known
        :raises ClientError: if the server could not be asked
        """
        return version_of((await self._monitor.objects(resource).list(limit=1)).resource_version)
