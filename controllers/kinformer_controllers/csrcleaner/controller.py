"""The cleaner: checks all CertificateSigningRequests once an hour, and deletes the old ones.

In: CertificateSigningRequests. Out: deletions. Promised: a new request with the same name is not deleted.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import DeleteOptions, Preconditions
from kinformer.client.errors import ClientError, Conflict, NotFound
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.csrcleaner.age import why_it_goes

__all__ = ("CleaningController", "make_controller")

log = get_logger(__name__)

#: Seconds between two checks, as in Kubernetes.
PERIOD: Final = 3600.0
_ALL_REQUESTS: Final = "requests"


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the cleaner. It has no options."""
    return CleaningController(context).controller


class CleaningController:
    """Checks all requests periodically."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._requests = context.client.resource(V1CertificateSigningRequest)
        requests = context.informers.informer_for(V1CertificateSigningRequest)
        self._cached = requests.indexer
        self.controller = Controller("csrcleaner", self.sync, clock=self._clock).wait_for(requests)
        self.controller.queue.add(_ALL_REQUESTS)

    async def sync(self, _: str) -> float:
        """
        Delete the old requests.

        :return: seconds until the next check
        """
        now = self._clock.now()
        for request in self._cached.list():
            if (why := why_it_goes(request, now)) is None:
                continue
            meta = request.metadata
            log.info("deleting_request", request=meta.name, why=why)
            try:
                # If it has changed since, such as by an approval, it stays until the next check.
                same = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
                await self._requests.delete(meta.name, options=DeleteOptions(preconditions=same))
            except (NotFound, Conflict):
                continue
            except ClientError as error:
                log.error("request_not_deleted", request=meta.name, error=str(error))
        return PERIOD
