"""Accessors: admission reads quotas from them, and writes the new usage with them."""

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

#: The largest number of quotas whose last write is remembered.
_REMEMBERED: Final = 10_000


class QuotaAccessor(Protocol):
    """
    The quotas that apply to a batch of requests of one namespace.

    :ivar longest_pause: the longest pause between two tries after a conflict, in seconds
    """

    longest_pause: float

    async def get(self, namespace: str) -> Sequence[Quota]:
        """
        Return all quotas that apply to a namespace, in the newest version that is known.

        :raises Exception: if they cannot be read; the requests are refused with this error
        """

    async def update(self, quota: Quota) -> None:
        """
        Write a quota's usage.

        :raises Conflict: if the quota has changed since it was read
        :raises ClientError: if it cannot be written
        """

    def pause(self, quota: Quota, patience: float, waiting: int) -> float:
        """
        Return the seconds until it is this process's turn to charge a quota; 0 if it may do so now.

        :param patience: the remaining time of the request that has waited longest, as a fraction: from 1 down to 0
        :param waiting: how many requests of the batch wait
        """

    async def wait(self, seconds: float) -> None:
        """Wait for that many seconds, or until the answer of :meth:`pause` may have changed."""

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        """
        Check whether these quotas, which refused a request, are still as they were read.

        :return: False if one has changed; the next :meth:`get` returns the new version
        :raises ClientError: if they could not be read
        """


class ResourceQuotaAccessor:
    """
    Reads ResourceQuotas from an informer's cache and writes them to the server.

    Each written quota is remembered until the cache has it. So a second request starts from the result of the first,
    and does not meet a conflict before it does.
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
            # Most of these are of quotas that are gone. For one that is not, forgetting costs at most one conflict.
            self._written.clear()
        try:
            self._written[key] = await self._quotas.update_status(written)
        except Conflict:
            # Another client has written the quota, and the cache may not have it yet. Without this read, the next try
            # would meet the same conflict.
            self._written[key] = await self._quotas.get(quota.name, quota.namespace)
            raise

    def pause(self, quota: Quota, patience: float, waiting: int) -> float:
        """Return 0: there are no turns, as in kube-apiserver."""
        return 0.0

    async def wait(self, seconds: float) -> None:
        """Return at once."""

    async def is_current(self, quotas: Sequence[Quota]) -> bool:
        """Return True: a refusal is not checked again, as in kube-apiserver."""
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
