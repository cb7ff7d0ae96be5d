"""GroupQuotas as admission reads and charges them, from an informer's cache and what was written since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, Conflict, NotFound
from kinformer.logs import get_logger
from kinformer.models import V1Namespace
from kinformer_controllers.groupquota.group_quota import (
    GROUP_QUOTAS,
    KIND,
    GroupQuotaError,
    read_group_quota,
    selects_of,
)
from kinformer_controllers.shared.quota.limits import Quota, with_status

__all__ = ("GroupQuotaAccessor", "InvalidQuota", "Namespaces")

log = get_logger(__name__)


class Namespaces:
    """The labels of namespaces."""

    def __init__(self, client: Client, informer: SharedIndexInformer[V1Namespace]) -> None:
        self._server = client.resource(V1Namespace)
        self._informer = informer
        # Of namespaces that the informer has not heard of yet.
        self._new: dict[str, Mapping[str, str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels; none if nobody has heard of it."""
        found = self._informer.indexer.get_by_key(name)
        if found is not None:
            self._new.pop(name, None)
            return found.metadata.labels or {}
        return self._new.get(name, {})

    def knows(self, name: str) -> bool:
        """Whether a namespace's labels are known without asking."""
        return self._informer.indexer.get_by_key(name) is not None or name in self._new

    async def know(self, name: str) -> None:
        """
        See to it that :meth:`labels` knows a namespace.

        :raises ClientError: if the server had to be asked, and could not be
        """
        if self.knows(name):
            return
        try:
            found = await self._server.get(name)
        except NotFound:
            return
        self._new[name] = found.metadata.labels or {}

    @property
    def names(self) -> list[str]:
        """All namespaces."""
        return list({*self._informer.indexer.list_keys(), *self._new})


class InvalidQuota:
    """A GroupQuota that cannot be enforced: what it is about is refused rather than let through unlimited."""

    def __init__(self, obj: Mapping[str, Any], error: GroupQuotaError, namespaces: Namespaces) -> None:
        self.name: str = obj["metadata"]["name"]
        self.error = error
        self.is_about: Callable[[str, Any], bool]
        try:
            self.is_about = selects_of(obj, namespaces.labels)
        except GroupQuotaError:
            # It does not even say what it is about. To refuse everything would be the greater damage.
            self.is_about = lambda namespace, obj: False


class GroupQuotaAccessor:
    """
    All GroupQuotas, whatever batch is asked for.

    :ivar trouble: why the last write failed, if it is the server's fault; empty when all is well
    """

    def __init__(self, client: Client, informer: SharedIndexInformer[dict[str, Any]], namespaces: Namespaces) -> None:
        self._server = client.resource(dict, GROUP_QUOTAS, namespaced=False, kind=KIND)
        self._informer = informer
        self._namespaces = namespaces
        self._read: dict[str, tuple[str, Quota | InvalidQuota]] = {}
        self._written: dict[str, dict[str, Any]] = {}
        self.trouble = ""

    async def get(self, batch: str = "") -> Sequence[Quota]:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.get`."""
        return self.quotas()

    def quotas(self) -> list[Quota]:
        """All that make sense, as new as they are known."""
        return [quota for quota in self._all() if isinstance(quota, Quota)]

    def invalid(self) -> list[InvalidQuota]:
        """All that do not."""
        return [quota for quota in self._all() if isinstance(quota, InvalidQuota)]

    def newest(self, name: str) -> dict[str, Any] | None:
        """A GroupQuota as new as it is known, None if it is gone."""
        cached = self._informer.indexer.get_by_key(name)
        if cached is None:
            self._written.pop(name, None)
            self._read.pop(name, None)
            return None
        written = self._written.get(name)
        if written is None:
            return cached
        if _version(written) > _version(cached) and written["metadata"]["uid"] == cached["metadata"]["uid"]:
            return written
        del self._written[name]
        return cached

    async def update(self, quota: Quota) -> None:
        """See :meth:`~kinformer_controllers.shared.quota.admission.QuotaAccessor.update`."""
        try:
            self._written[quota.name] = await self._server.update_status(with_status(quota.source, quota))
        except Conflict:
            # Somebody else has written, and the informer may be slow to say so.
            self._written[quota.name] = await self._server.get(quota.name)
            raise
        except Exception as error:
            self.trouble = f"GroupQuota {quota.name} could not be written: {error}"
            raise
        self.trouble = ""

    def _all(self) -> list[Quota | InvalidQuota]:
        return [
            self._understood(obj)
            for name in self._informer.indexer.list_keys()
            if (obj := self.newest(name)) is not None
        ]

    def _understood(self, obj: dict[str, Any]) -> Quota | InvalidQuota:
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        known = self._read.get(name)
        if known is not None and known[0] == version:
            return known[1]
        quota: Quota | InvalidQuota
        try:
            quota = read_group_quota(obj, self._namespaces.labels)
        except GroupQuotaError as error:
            log.error("group_quota_invalid", quota=name, error=str(error))
            quota = InvalidQuota(obj, error, self._namespaces)
        self._read[name] = version, quota
        return quota


def _version(obj: Mapping[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])
