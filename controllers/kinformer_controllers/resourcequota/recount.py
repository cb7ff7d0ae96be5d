"""Recounting one quota, and writing its status if it has changed.

A cache may be older than the server. So a recount from a cache must not subtract objects that were charged in the
meantime. A quota's resource version is from its last charge, and the objects of that charge were stored later, with
higher versions. So if the cache has not reached a later version than the quota's, it may lack such an object. If its
count is then *lower* than the status, the objects are counted on the server instead. Usually (an object was deleted
after the last charge) the cache is newer, and the server is not asked.

A quota that was just written is recounted only when the cache shows what was written. Otherwise a correct count could
equal the status from before, and a status that was too high would stay until the next full recount.
"""

from __future__ import annotations

import copy
from typing import Final

from kinformer.client import Resource
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import QuantityError
from kinformer.meta.resourcelist import ResourceList, dump, load, mask
from kinformer.meta.versions import is_older
from kinformer.models import V1ResourceQuota, V1ResourceQuotaStatus
from kinformer_controllers.shared.quota.limits import scopes_of
from kinformer_controllers.shared.quota.registry import Registry, Usage, calculate_usage

__all__ = ("Recounter",)

log = get_logger(__name__)

#: Seconds after which a cache is believed that does not show what was written: the server's own versions may go back.
_WAITS: Final = 30.0


class Recounter:
    """
    Updates the statuses of quotas.

    :param quotas: writes quotas
    :param registry: the evaluators that count from caches
    :param live: the evaluators that count on the server, if a cache may be too old; None to trust the caches
    """

    def __init__(
        self,
        quotas: Resource[V1ResourceQuota],
        registry: Registry,
        live: Registry | None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._quotas = quotas
        self._registry = registry
        self._live = live
        self._clock = clock or RealClock()
        #: What was written last, by namespace and name, and until when the cache is waited for.
        self._written: dict[str, tuple[V1ResourceQuota, float]] = {}

    def is_behind(self, quota: V1ResourceQuota) -> bool:
        """Whether a quota from the cache does not show yet what was written here."""
        key = _key(quota)
        if key not in self._written:
            return False
        written, until = self._written[key]
        is_older_state = quota.metadata.uid == written.metadata.uid and is_older(
            quota.metadata.resource_version or "", written.metadata.resource_version or ""
        )
        if is_older_state and self._clock.monotonic() < until:
            return True
        del self._written[key]
        return False

    def forget(self, key: str) -> None:
        """Note that a quota is gone."""
        self._written.pop(key, None)

    async def recount(self, quota: V1ResourceQuota) -> bool:
        """
        Recount a quota.

        Amounts that cannot be counted keep their last value; the others are written anyway.

        :return: whether new limits have come into force
        :raises SyncError: if an amount could not be counted, or a limit is not a valid quantity
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
        # An empty list of amounts equals a missing one. The server stores neither, so a quota without countable limits
        # would otherwise be written in every sync.
        if hard != old_hard or used != old_used:
            written = copy.copy(quota)
            written.status = V1ResourceQuotaStatus(hard=dump(hard), used=dump(used))
            stored = await self._quotas.update_status(written)
            self._written[_key(quota)] = stored, self._clock.monotonic() + _WAITS
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


def _key(quota: V1ResourceQuota) -> str:
    return f"{quota.metadata.namespace}/{quota.metadata.name}"


def _is_newer(version: str, other: str) -> bool:
    """Whether a resource version is later than another. False if one of them is not a number."""
    return version.isdecimal() and other.isdecimal() and int(version) > int(other)
