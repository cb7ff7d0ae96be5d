"""Recounting one quota: what its status should say, and writing that when it says something else.

Between a cache and the server lies time, and a recount from a cache must not give away what was charged meanwhile. The
version of a quota tells when it was last charged: objects that were stored with that charge have later versions. So a
cache that has seen nothing later may lack one of them, and is not believed when it has *less* than the status tells:
the server is asked. In the ordinary course of things (something was deleted after the last charge) the cache is newer
and nothing is asked.
"""

from __future__ import annotations

import copy

from kinformer.client import Resource
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import QuantityError
from kinformer.meta.resourcelist import ResourceList, dump, load, mask
from kinformer.models import V1ResourceQuota, V1ResourceQuotaStatus
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.scopes import scopes_of
from kinformer_controllers.shared.quota.usage import Usage, calculate_usage

__all__ = ("Recounter",)

log = get_logger(__name__)


class Recounter:
    """
    Brings the status of quotas up to date.

    :param quotas: where they are written
    :param registry: counts from caches
    :param live: counts on the server, what caches cannot be believed about; None to believe them
    """

    def __init__(self, quotas: Resource[V1ResourceQuota], registry: Registry, live: Registry | None) -> None:
        self._quotas = quotas
        self._registry = registry
        self._live = live

    async def recount(self, quota: V1ResourceQuota) -> bool:
        """
        Recount a quota.

        What cannot be counted keeps its last value, and the rest is written all the same.

        :return: whether limits have come into force that were not before
        :raises SyncError: if something could not be counted, or a limit is no quantity
        :raises ClientError: if the status could not be written
        """
        meta, status = quota.metadata, quota.status
        try:
            hard = load(quota.spec.hard if quota.spec is not None else None)
            old_hard = load(status.hard if status is not None else None)
            old_used = load(status.used if status is not None else None)
        except QuantityError as error:
            raise SyncError(f"quota {meta.namespace}/{meta.name}: {error}") from error
        usage = await self._count(quota, hard, old_used)
        used = mask({**old_used, **usage.used}, hard)
        # An empty list of amounts and none at all are the same: a server keeps neither, so that a quota that limits
        # nothing, or nothing that anybody counts, would be written again and again.
        if hard != old_hard or used != old_used:
            written = copy.copy(quota)
            written.status = V1ResourceQuotaStatus(hard=dump(hard), used=dump(used))
            await self._quotas.update_status(written)
            log.debug("quota_recounted", quota=f"{meta.namespace}/{meta.name}", used=written.status.used)
        if usage.errors:
            texts = (f"{'; '.join(getattr(error, '__notes__', ()))}: {error}" for error in usage.errors)
            raise SyncError(f"quota {meta.namespace}/{meta.name}: {', '.join(texts)}")
        return not old_hard.keys() >= hard.keys()

    async def _count(self, quota: V1ResourceQuota, hard: ResourceList, known: ResourceList) -> Usage:
        namespace = quota.metadata.namespace
        scopes = scopes_of(quota.spec.scopes, quota.spec.scope_selector) if quota.spec is not None else ()
        usage = await calculate_usage(namespace, scopes, hard, self._registry)
        if self._live is None:
            return usage
        doubtful = {
            name
            for name, amount in usage.used.items()
            if (name not in known or amount < known[name])
            and not _is_newer(usage.versions.get(name, ""), quota.metadata.resource_version or "")
        }
        if doubtful:
            log.debug("asking_the_server", quota=f"{namespace}/{quota.metadata.name}", about=sorted(doubtful))
            sure = await calculate_usage(namespace, scopes, doubtful, self._live)
            certain = {name: amount for name, amount in usage.used.items() if name not in doubtful}
            usage.used = {**certain, **sure.used}
            usage.errors += sure.errors
        return usage


def _is_newer(version: str, other: str) -> bool:
    """Whether a resource version is later; not if one of them is not the number that Kubernetes' own are."""
    return version.isdecimal() and other.isdecimal() and int(version) > int(other)
