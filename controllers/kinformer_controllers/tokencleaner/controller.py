"""The token cleaner: deletes bootstrap tokens that have expired.

In: Secrets of the namespace ``kube-system``. Out: deletions. Promised: a token is deleted only if it is still the
version that says that it has expired. A time of expiry that cannot be read counts as one that has passed, as in
Kubernetes.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.controllerutil.writing import delete_same
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1Secret
from kinformer_controllers.shared.identity import is_bootstrap_token, remaining_seconds

__all__ = ("TokenCleaner",)

log = get_logger(__name__)

#: Seconds: a token may be valid for longer than a timer can run, or for ever.
_LOOK_AGAIN: Final = 365 * 24 * 3600.0


class TokenCleaner:
    """Syncs Secrets."""

    def __init__(self, context: ControllerContext) -> None:
        secrets = context.informers.informer_for(V1Secret)
        self._cached, self._server = secrets.indexer, context.client.resource(V1Secret)
        self._clock = context.clock
        self.controller = Controller("token-cleaner", self.sync, queue_name="token_cleaner", clock=context.clock)
        self.controller.watch(secrets, _is_token)

    async def sync(self, key: str) -> float | None:
        """
        Delete a token that has expired.

        :return: seconds until it expires, or until it is worth another look
        :raises ClientError: if the server refuses the deletion
        """
        secret = self._cached.get_by_key(key)
        if secret is None or not is_bootstrap_token(secret):
            return None
        if remaining := remaining_seconds(secret, self._clock.now()):
            return min(remaining, _LOOK_AGAIN)
        log.info("deleting_expired_token", secret=key)
        # Somebody may have prolonged it. Then there is an event for it, and it is synced again.
        await delete_same(self._server, secret, unchanged=True)
        return None


def _is_token(old: Any, new: Any) -> bool:
    return new is not None and is_bootstrap_token(new)
