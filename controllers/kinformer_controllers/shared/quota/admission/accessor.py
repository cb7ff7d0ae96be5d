"""Accessors: where admission reads quotas, and writes what it has charged."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final, Protocol

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import Client, Conflict
from kinformer.meta.resourcelist import dump
from kinformer.models import V1ResourceQuota, V1ResourceQuotaStatus
from kinformer_controllers.shared.quota.limits import Quota, quota_of

__all__ = ("QuotaAccessor", "ResourceQuotaAccessor")

# Quotas whose last write is remembered.
_REMEMBERED: Final = 10_000


class QuotaAccessor(Protocol):
    """
    The quotas that are about a batch of requests: those of a namespace, where there is nothing else.

    :ivar longest_pause: seconds between two tries at most, after a conflict
    """

    longest_pause: float

    async def get(self, namespace: str) -> Sequence[Quota]:
        """
        All of them, as new as they are known.

        :raises Exception: whatever keeps them from being known; the requests are refused with it
        """

    async def update(self, quota: Quota) -> None:
        """
        Write a quota's usage.

        :raises Conflict: if it is not the newest any more that this was reckoned from
        :raises ClientError: if it cannot be written
        """

    def pause(self, quota: Quota, patience: float) -> float:
        """
        Seconds until it is this process's turn to charge a quota; 0 if it is now.

        :param patience: what is left of the time of the request that has waited longest, from 1 down to 0
        """

    async def wait(self, seconds: float) -> None:
        """Return after so many seconds, or as soon as :meth:`pause` may say something else."""

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        """
        Look whether these, which have refused something, are still as they were read.

        :return: False if one is another now; the next :meth:`get` has it
        :raises ClientError: if that could not be found out
        """


class ResourceQuotaAccessor:
    """
    ResourceQuotas from an informer's cache, and written to the server.

    What was written is remembered until the cache has it: several requests in a row are reckoned from each other's
    result, and need not meet a conflict first.
    """

    longest_pause = 0.5

    def __init__(self, client: Client, informer: SharedIndexInformer[V1ResourceQuota]) -> None:
        self._quotas = client.resource(V1ResourceQuota)
        self._informer = informer
        self._written: dict[str, V1ResourceQuota] = {}

    async def get(self, namespace: str) -> Sequence[Quota]:
        """See :meth:`QuotaAccessor.get`."""
        if self._informer.has_synced:
            known: Sequence[V1ResourceQuota] = self._informer.indexer.by_index(NAMESPACE_INDEX, namespace)
        else:
            known = (await self._quotas.list(namespace)).items
        return [quota_of(self._newest(quota)) for quota in known]

    async def update(self, quota: Quota) -> None:
        """See :meth:`QuotaAccessor.update`."""
        written = copy.copy(quota.source)
        written.status = V1ResourceQuotaStatus(hard=dump(quota.hard), used=dump(quota.used))
        key = f"{quota.namespace}/{quota.name}"
        if len(self._written) >= _REMEMBERED:
            # Of quotas that are gone, nobody asks again. One that is not costs a conflict at the most.
            self._written.clear()
        try:
            self._written[key] = await self._quotas.update_status(written)
        except Conflict:
            # Somebody else has written, and the cache may be slow to say so: the next try would meet it again.
            self._written[key] = await self._quotas.get(quota.name, quota.namespace)
            raise

    def pause(self, quota: Quota, patience: float) -> float:
        """0: as in kube-apiserver, there are no turns."""
        return 0.0

    async def wait(self, seconds: float) -> None:
        """Return at once."""

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        """True: as in kube-apiserver, a refusal is not looked into."""
        return True

    def _newest(self, quota: V1ResourceQuota) -> V1ResourceQuota:
        key = f"{quota.metadata.namespace}/{quota.metadata.name}"
        written = self._written.get(key)
        if written is None:
            return quota
        if _version(written) > _version(quota) and written.metadata.uid == quota.metadata.uid:
            return written
        del self._written[key]
        return quota


def _version(quota: Any) -> int:
    return int(quota.metadata.resource_version)
