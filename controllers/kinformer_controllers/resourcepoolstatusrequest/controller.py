"""The answers to ResourcePoolStatusRequests.

In: ResourcePoolStatusRequests, ResourceSlices and ResourceClaims. Out: each request gets a status once, which never
changes. Old requests are deleted. Promised: an answer shows everything that was written before its request, and a
request that was answered or replaced meanwhile is not deleted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.cache import wait_until_as_new_as
from kinformer.client.errors import ClientError
from kinformer.clock import Clock
from kinformer.controllerutil.writing import delete_same
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group, Periodic, SyncError
from kinformer.models import ResourceV1ResourceClaim, V1alpha3ResourcePoolStatusRequest, V1ResourceSlice
from kinformer_controllers.resourcepoolstatusrequest.counting import IncompletePool, count_pools, is_old, status_of
from kinformer_controllers.shared.gates import Gates
from kinformer_controllers.shared.options import GateOptions

__all__ = ("PERIOD", "PoolStatusRequests")

log = get_logger(__name__)

#: Seconds between two looks for old requests.
PERIOD: Final = 600.0


_PREFIX: Final = "resourcepoolstatusrequest_controller"
_LABELS: Final = ("driver_name",)
_PROCESSED: Final = Counter(
    f"{_PREFIX}_requests_processed_total", "Total number of ResourcePoolStatusRequests processed", _LABELS
)
_ERRORS: Final = Counter(
    f"{_PREFIX}_request_processing_errors_total",
    "Total number of errors encountered while processing ResourcePoolStatusRequests",
    _LABELS,
)
_SECONDS: Final = Histogram(
    f"{_PREFIX}_request_processing_duration_seconds",
    "Time taken to process a ResourcePoolStatusRequest",
    _LABELS,
    buckets=[0.001 * 2**power for power in range(15)],
)


@contextmanager
def _answering(clock: Clock, driver: str, began: float) -> Iterator[None]:
    """
    Count an answer that the block writes. If the block raises, it counts as an error, too.

    :param began: when the work on the request began, as the clock's monotonic time
    """
    try:
        yield
    except Exception:
        _ERRORS.labels(driver).inc()
        raise
    finally:
        _PROCESSED.labels(driver).inc()
        _SECONDS.labels(driver).observe(clock.monotonic() - began)


class PoolStatusRequests(Group):
    """
    Answers requests, and deletes old ones.

    :raises ControllerDisabled: if the feature gate DRAResourcePoolStatus is off
    """

    def __init__(self, context: ControllerContext) -> None:
        Gates(context.read(GateOptions).feature_gates).require("DRAResourcePoolStatus")
        informers = context.informers
        self._clock = context.clock
        self._server = context.client.resource(V1alpha3ResourcePoolStatusRequest)
        requests = informers.informer_for(V1alpha3ResourcePoolStatusRequest)
        slices, claims = informers.informer_for(V1ResourceSlice), informers.informer_for(ResourceV1ResourceClaim)
        self._requests, self._slices, self._claims = requests.indexer, slices.indexer, claims.indexer
        self._counted = (slices, claims)
        self.controller = Controller("resourcepoolstatusrequest-controller", self.sync, clock=self._clock)
        self.controller.watch(requests, lambda _, new: new is not None and status_of(new) is None)
        self.controller.wait_for(slices).wait_for(claims)
        cleaning = Periodic("resourcepoolstatusrequest-cleaning", self.delete_old, PERIOD, clock=self._clock)
        super().__init__(self.controller, Group(cleaning, after=[requests]))

    async def sync(self, name: str) -> None:
        """
        Answer a request.

        :raises SyncError: if a pool is incomplete, or the caches do not show yet what was written before the request
        :raises ClientError: if the server refuses the answer
        """
        request = self._requests.get_by_key(name)
        if request is None or status_of(request) is not None:
            return
        version = request.metadata.resource_version or ""
        if late := await wait_until_as_new_as(self._counted, version, clock=self._clock):
            raise SyncError(f"older than the request: the caches of {', '.join(late)}")
        began = self._clock.monotonic()
        answered = copy.copy(request)
        try:
            answered.status = count_pools(request, self._slices.list(), self._claims.list(), self._clock.now())
        except IncompletePool as error:
            raise SyncError(str(error)) from None
        with _answering(self._clock, request.spec.driver, began):
            await self._server.update_status(answered)

    async def delete_old(self) -> None:
        """Delete the requests that are old."""
        now = self._clock.now()
        for request in self._requests.list():
            if not is_old(request, now):
                continue
            try:
                # One that the cache shows without an answer may have just got it.
                await delete_same(self._server, request, unchanged=True)
            except ClientError as error:
                log.error("request_not_deleted", request=request.metadata.name, error=str(error))
