"""LeaseCandidate: offers this process to the control plane as a holder of a lease, for coordinated leader election.

In a coordinated election (KEP-4355), candidates do not compete. Each publishes a LeaseCandidate with its versions. The
control plane chooses one and writes its name into the Lease. Before that, it pings the candidates: it sets the
``pingTime`` of each, and considers those that answer with a newer ``renewTime``. So it never chooses a process that is
gone.

This follows client-go's tools/leaderelection/leasecandidate.go. The kind is served if the API
``coordination.k8s.io/v1beta1`` and the feature gate ``CoordinatedLeaderElection`` are switched on.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kinformer.cache import ListWatch, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.client import Client, ClientError
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.models import MicroTime, V1beta1LeaseCandidate, V1beta1LeaseCandidateSpec, V1ObjectMeta
from kinformer.tasks import plain_task_group
from kinformer.workqueue import RateLimitingQueue

__all__ = ("OLDEST_EMULATION_VERSION", "LeaseCandidate")

log = get_logger(__name__)

#: The only strategy that Kubernetes' coordinator supports: the candidate with the oldest emulation version.
OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"

#: Seconds after which a candidate is renewed without a ping. The control plane deletes one after half an hour without
#: it.
_RENEW_EVERY: Final = 300.0
_RESYNC: Final = 300.0


class LeaseCandidate:
    """
    The candidacy of one process for one lease. The LeaseCandidate object is not deleted at the end: the control plane
    does that.

    :param name: the name of the LeaseCandidate; the process must use the same name as its identity to renew the lease
    :param lease: the name of the Lease, in the same namespace
    :param binary_version: the version of the program, as ``1.36.0``
    :param emulation_version: the version that the program emulates, not newer than `binary_version`
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        lease: str,
        *,
        binary_version: str,
        emulation_version: str,
        strategy: str = OLDEST_EMULATION_VERSION,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.namespace = namespace
        self._spec = V1beta1LeaseCandidateSpec(
            lease_name=lease, binary_version=binary_version, emulation_version=emulation_version, strategy=strategy
        )
        self._clock = clock or RealClock()
        self._candidates = client.resource(V1beta1LeaseCandidate)
        self._informer = SharedIndexInformer(
            ListWatch(self._candidates, namespace, field_selector=f"metadata.name={name}"),
            V1beta1LeaseCandidate,
            name="leasecandidate",
            resync_period=_RESYNC,
            clock=self._clock,
        )
        self._informer.add_event_handler(ResourceEventHandlerFuncs(update=self._on_update))
        self._key = f"{namespace}/{name}"
        self._queue: RateLimitingQueue[str] = RateLimitingQueue("leasecandidate", clock=self._clock)

    async def run(self) -> None:
        """
        Publish the candidate and answer pings until cancelled. If the server refuses a write, it is logged and retried.

        :raises InformerStateError: if it runs already, or has run
        """
        try:
            async with plain_task_group() as tasks:
                tasks.start_soon(self._informer.run, name=f"informer of the candidate {self._key}")
                await self._informer.wait_synced()
                self._queue.add(self._key)
                await self._work()
        finally:
            self._queue.shut_down()

    def _on_update(self, _: Any, candidate: V1beta1LeaseCandidate) -> None:
        spec = candidate.spec
        if spec.ping_time is not None and (spec.renew_time is None or spec.ping_time > spec.renew_time):
            self._queue.add(self._key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            with self._queue.processing(key):
                try:
                    await self._ensure()
                except ClientError as error:
                    log.error("lease_candidate_not_written", candidate=self._key, error=str(error))
                    self._queue.add_rate_limited(key)
                else:
                    self._queue.forget(key)
                    self._queue.add_after(key, _RENEW_EVERY)

    async def _ensure(self) -> None:
        """Publish the candidate, or renew it."""
        now = MicroTime.fromisoformat(self._clock.now().isoformat())
        there = self._informer.indexer.get_by_key(self._key)
        if there is None:
            meta = V1ObjectMeta(name=self.name, namespace=self.namespace)
            spec = _renewed(self._spec, now)
            await self._candidates.create(V1beta1LeaseCandidate(metadata=meta, spec=spec))
            log.info("lease_candidate_published", candidate=self._key, lease=self._spec.lease_name)
        else:
            await self._candidates.update(msgspec.structs.replace(there, spec=_renewed(there.spec, now)))
            log.debug("lease_candidate_renewed", candidate=self._key)


def _renewed(spec: V1beta1LeaseCandidateSpec, now: MicroTime) -> V1beta1LeaseCandidateSpec:
    return msgspec.structs.replace(spec, renew_time=now)
