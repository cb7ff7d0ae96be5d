"""The legacy token cleaner: checks once a day the tokens that Kubernetes made automatically before version 1.24.

In: Secrets, ServiceAccounts, pods, and the day since which the API server records the use of tokens. Out: a label on
unused tokens, and later their deletion. Promised: a token that a pod mounts, or that a user created, is not changed; a
token that has changed since the check is not deleted; nothing happens before the server has recorded the use of tokens
for a whole period.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kinformer.cache import NAMESPACE_INDEX
from kinformer.client import DeleteOptions, PatchType, Preconditions
from kinformer.client.errors import ClientError, Conflict, NotFound
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key
from kinformer.models import V1ConfigMap, V1Pod, V1Secret, V1ServiceAccount
from kinformer_controllers.legacytokencleaner.spec import TokenCleanerOptions
from kinformer_controllers.legacytokencleaner.verdict import (
    INVALID_SINCE,
    Verdict,
    day,
    is_candidate,
    parse_day,
    secrets_of,
    verdict_on,
)
from kinformer_controllers.shared.identity import account_named_by, is_token_of

__all__ = ("LegacyTokenCleaner",)

log = get_logger(__name__)

#: Seconds between two checks, as in Kubernetes.
PERIOD: Final = 24 * 3600.0
_TRACKING: Final = ("kube-apiserver-legacy-service-account-token-tracking", "kube-system")
_ALL_SECRETS: Final = "secrets"


class LegacyTokenCleaner:
    """Checks all tokens periodically."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(TokenCleanerOptions)
        informers = context.informers
        self._clock = context.clock
        self._period = timedelta(seconds=options.legacy_service_account_token_clean_up_period)
        self._secrets, self._config_maps = context.client.resource(V1Secret), context.client.resource(V1ConfigMap)
        self._pod_server = context.client.resource(V1Pod)
        secrets, accounts = informers.informer_for(V1Secret), informers.informer_for(V1ServiceAccount)
        pods = informers.informer_for(V1Pod)
        self._cached_secrets, self._accounts, self._pods = secrets.indexer, accounts.indexer, pods.indexer
        self.controller = Controller("legacy-service-account-token-cleaner", self.sync, clock=self._clock)
        self.controller.wait_for(secrets).wait_for(accounts).wait_for(pods)
        self.controller.queue.add(_ALL_SECRETS)

    async def sync(self, _: str) -> float:
        """
        Check all tokens.

        :return: seconds until the next check
        """
        now = self._clock.now()
        since = await self._tracked_since()
        if since is None or now < since + self._period:
            return PERIOD
        mounted: dict[str, set[str]] = {}
        live: dict[str, set[str] | None] = {}
        for secret in self._cached_secrets.list():
            if not is_candidate(secret, now, self._period) or not self._was_made_automatically(secret):
                continue
            namespace = secret.metadata.namespace
            if namespace not in mounted:
                pods = self._pods.by_index(NAMESPACE_INDEX, namespace)
                mounted[namespace] = {name for pod in pods for name in secrets_of(pod)}
            if secret.metadata.name in mounted[namespace]:
                continue
            if namespace not in live:
                live[namespace] = await self._mounted_now(namespace)
            if (now_mounted := live[namespace]) is not None and secret.metadata.name not in now_mounted:
                await self._carry_out(secret, now)
        return PERIOD

    async def _mounted_now(self, namespace: str) -> set[str] | None:
        """Return the Secrets that pods on the server use, which the cache may not show yet; None if it is not known."""
        try:
            pods = (await self._pod_server.list(namespace)).items
        except ClientError as error:
            log.error("token_use_unknown", namespace=namespace, error=str(error))
            return None
        return {name for pod in pods for name in secrets_of(pod)}

    async def _tracked_since(self) -> datetime | None:
        """Return the end of the day on which the server began to record the use of tokens; None if it is not known."""
        name, namespace = _TRACKING
        try:
            config_map = await self._config_maps.get(name, namespace)
        except ClientError as error:
            log.error("token_tracking_unknown", error=str(error))
            return None
        began = parse_day((config_map.data or {}).get("since", ""))
        if began is None:
            log.error("token_tracking_unknown", error=f"ConfigMap {namespace}/{name} has no day in its `since`")
            return None
        return began + timedelta(days=1)

    def _was_made_automatically(self, secret: V1Secret) -> bool:
        """Whether the Secret's account lists it. Accounts list the Secrets that Kubernetes made, not those of users."""
        meta = secret.metadata
        account = self._accounts.get_by_key(f"{meta.namespace}/{account_named_by(secret)}")
        if account is None or not is_token_of(secret, account.metadata.name, account.metadata.uid):
            return False
        return any(reference.name == meta.name for reference in account.secrets or ())

    async def _carry_out(self, secret: V1Secret, now: datetime) -> None:
        """Mark or delete a Secret. An error is logged, and the write is tried again in the next check."""
        meta, key = secret.metadata, meta_namespace_key(secret)
        try:
            match verdict_on(secret, now, self._period):
                case Verdict.MARK:
                    log.info("marking_token_invalid", secret=key)
                    patch = {"metadata": {"uid": meta.uid, "labels": {INVALID_SINCE: day(now)}}}
                    await self._secrets.patch(meta.name, patch, meta.namespace, patch_type=PatchType.MERGE)
                case Verdict.DELETE:
                    log.info("deleting_token", secret=key)
                    same = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
                    await self._secrets.delete(meta.name, meta.namespace, DeleteOptions(preconditions=same))
                case Verdict.KEEP:
                    pass
        except (NotFound, Conflict) as error:
            log.debug("token_changed", secret=key, why=str(error))
        except ClientError as error:
            log.error("token_not_cleaned", secret=key, error=str(error))
