"""The mirroring of Endpoints: keeps EndpointSlices with the content of Endpoints of Services without a selector.

In: Endpoints that users write, their Services, and the slices. Out: slices are created, updated and deleted. Promised:
only slices that this controller manages are changed; it does not act on a cache that does not show its last writes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kinformer.client.errors import NotFound
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.controllerutil.writing import delete_same
from kinformer.manager import Controller, ControllerContext, EnqueueKeys
from kinformer.models import V1Endpoints, V1EndpointSlice, V1Service
from kinformer.record import WARNING
from kinformer.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter
from kinformer_controllers.endpointslicemirroring.metrics import (
    CHANGES,
    SIZES,
    SKIPPED,
    SYNC_SECONDS,
    count_endpoints,
    sums_of,
)
from kinformer_controllers.endpointslicemirroring.mirror import (
    SERVICE_NAME,
    Mirror,
    is_mirrored_slice,
    mirror,
    should_mirror,
)
from kinformer_controllers.endpointslicemirroring.spec import MirroringOptions
from kinformer_controllers.shared.gauges import SummedGauges

__all__ = ("MirroringController",)

COMPONENT: Final = "endpoint-slice-mirroring-controller"
_INDEX: Final = "mirrored-for"
#: The first and the longest delay before a failed key is retried, in seconds; then the rate and burst of all retries.
_FIRST_RETRY, _LAST_RETRY = 1.0, 100.0
_QPS, _BURST = 10.0, 100


class MirroringController:
    """Syncs Endpoints."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(MirroringOptions)
        informers = context.informers
        self._clock = clock = context.clock
        self._recorder = context.recorder(COMPONENT)
        self._most = options.mirroring_max_endpoints_per_subset
        self._batch_period = options.mirroring_endpointslice_updates_batch_period
        self._sizes = SummedGauges(*SIZES)
        self._server = context.client.resource(V1EndpointSlice)
        self._live = context.client.resource(V1Endpoints)
        #: The uid of the Endpoints that slices were made for, by key.
        self._made_for: dict[str, str] = {}
        endpoints, services = informers.informer_for(V1Endpoints), informers.informer_for(V1Service)
        slices = informers.informer_for(V1EndpointSlice)
        if _INDEX not in slices.indexer.get_indexers():
            slices.add_indexers({_INDEX: _mirrored_for})
        self._endpoints, self._services, self._slices = endpoints.indexer, services.indexer, slices.indexer
        self.controller = Controller(
            "endpointslicemirroring",
            self.sync,
            workers=options.mirroring_concurrent_service_endpoint_syncs,
            queue_name="endpoint_slice_mirroring",
            limiter=MaxOfRateLimiter(
                ItemExponentialFailureRateLimiter(_FIRST_RETRY, _LAST_RETRY), BucketRateLimiter(_QPS, _BURST, clock)
            ),
            consistent=True,
            clock=clock,
        )
        self.controller.watch(endpoints, _is_mirrored)
        self.controller.watch(services, _is_without_selector)
        # The old version of a slice counts, too: its labels may have named other Endpoints.
        later = partial(self.controller.queue.add_after, seconds=self._batch_period)
        self.controller.handle(slices, EnqueueKeys(later, _mirrored_for))

    async def sync(self, key: str) -> None:
        """
        Sync the slices of one Endpoints object. If it is not mirrored, its slices are deleted.

        :raises ClientError: if the server refuses a write
        """
        began = self._clock.monotonic()
        try:
            endpoints, service = self._endpoints.get_by_key(key), self._services.get_by_key(key)
            there = [it for it in self._slices.by_index(_INDEX, key) if it.metadata.deletion_timestamp is None]
            if endpoints is None or service is None or service.spec.selector or not should_mirror(endpoints):
                self._sizes.forget(key)
                for slice_ in there:
                    await delete_same(self._server, slice_)  # not counted as a change, as in Kubernetes
                self._made_for.pop(key, None)
                return
            plan = mirror(endpoints, there, self._most)
            if plan.create and not there and await self._is_gone(key, endpoints):
                return
            self._tell(endpoints, plan)
            count_endpoints(plan.added, plan.updated, plan.removed)
            self._sizes.set(key, *sums_of(plan.sizes, self._most))
            await self._carry_out(endpoints, plan)
        finally:
            SYNC_SECONDS.observe(self._clock.monotonic() - began)
        return

    async def _is_gone(self, key: str, endpoints: V1Endpoints) -> bool:
        """
        Whether Endpoints in the cache no longer exist. The server is asked if their slices were created before.

        The garbage collector deletes the slices of deleted Endpoints. While the cache still has the Endpoints, each of
        these deletions would cause the slices to be created again.
        """
        uid, name = endpoints.metadata.uid or "", endpoints.metadata.name
        if self._made_for.get(key) != uid:
            self._made_for[key] = uid
            return False
        try:
            live = await self._live.get(name, endpoints.metadata.namespace)
        except NotFound:
            return True
        return live.metadata.uid != uid

    async def _carry_out(self, endpoints: V1Endpoints, plan: Mirror) -> None:
        for slice_ in plan.create if endpoints.metadata.deletion_timestamp is None else ():
            try:
                await self._server.create(slice_)
            except Exception as error:
                if is_namespace_terminating(error):
                    return
                raise
            CHANGES.labels(operation="create").inc()
        for slice_ in plan.update:
            await self._server.update(slice_)
            CHANGES.labels(operation="update").inc()
        for slice_ in plan.delete:
            if await delete_same(self._server, slice_):
                CHANGES.labels(operation="delete").inc()

    def _tell(self, endpoints: V1Endpoints, plan: Mirror) -> None:
        SKIPPED.observe(plan.skipped)
        if plan.invalid:
            message = f"Skipped {plan.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._recorder.event(endpoints, WARNING, "InvalidIPAddress", message)
        if plan.skipped > plan.invalid:
            self._recorder.event(
                endpoints,
                WARNING,
                "TooManyAddressesToMirror",
                f"A max of {self._most} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{plan.skipped} addresses were skipped",
            )


def _mirrored_for(slice_: V1EndpointSlice) -> tuple[str, ...]:
    """Return the key of the Endpoints that a slice mirrors; nothing for other slices."""
    name = (slice_.metadata.labels or {}).get(SERVICE_NAME)
    return (f"{slice_.metadata.namespace}/{name}",) if name and is_mirrored_slice(slice_) else ()


def _is_mirrored(old: V1Endpoints | None, new: V1Endpoints | None) -> bool:
    return any(it is not None and should_mirror(it) for it in (old, new))


def _is_without_selector(old: V1Service | None, new: V1Service | None) -> bool:
    if old is None or new is None:
        found = new if new is not None else old
        return found is not None and not found.spec.selector
    return bool(old.spec.selector) != bool(new.spec.selector)
