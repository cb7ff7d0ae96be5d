"""The cleaner of requests for certificates: checks all of them periodically, and deletes the old ones.

In: requests of one kind, and a rule that says which of them go. Out: deletions. Promised: a request that has changed
since it was read, or a new one of the same name, is not deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kinformer.client.errors import ClientError
from kinformer.controllerutil.writing import delete_same
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import meta_namespace_key

__all__ = ("Cleaner",)

log = get_logger(__name__)

_ALL_REQUESTS: Final = "requests"


class Cleaner:
    """
    Checks all requests of one kind.

    :param name: the controller's name
    :param type_: the kind of the requests
    :param why_it_goes: returns the reason for deleting a request at a time; None if it stays
    :param period: seconds between two checks
    """

    def __init__(
        self,
        context: ControllerContext,
        name: str,
        type_: type[Any],
        why_it_goes: Callable[[Any, datetime], str | None],
        period: float,
    ) -> None:
        self._clock, self._why_it_goes, self._period = context.clock, why_it_goes, period
        self._server = context.client.resource(type_)
        requests = context.informers.informer_for(type_)
        self._cached = requests.indexer
        self.controller = Controller(name, self.sync, clock=self._clock).wait_for(requests)
        self.controller.queue.add(_ALL_REQUESTS)

    async def sync(self, _: str) -> float:
        """
        Delete the old requests. An error is logged, and the deletion is tried again in the next check.

        :return: seconds until the next check
        """
        now = self._clock.now()
        for request in self._cached.list():
            if (why := self._why_it_goes(request, now)) is None:
                continue
            key = meta_namespace_key(request)
            log.info("deleting_request", request=key, why=why)
            try:
                # If it has changed since, such as by an approval, it stays until the next check.
                await delete_same(self._server, request, unchanged=True)
            except ClientError as error:
                log.error("request_not_deleted", request=key, error=str(error))
        return self._period
