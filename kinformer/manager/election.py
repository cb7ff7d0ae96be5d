"""A manager's part in an election: kube-controller-manager's settings, and the parts of kinformer.leaderelection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.cache import SharedIndexInformer, wait_until_each_is_as_new_as
from kinformer.cache.tasks import plain_task_group
from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.leaderelection import (
    LAST_WRITES_ANNOTATION,
    ElectionOptions,
    ElectionRecord,
    LeaderElector,
    LeaderHealthzAdaptor,
    LeaseCandidate,
    LeaseKeeper,
    LeaseLock,
    guarded_client,
    new_identity,
    read_last_writes,
)
from kinformer.manager import beside
from kinformer.meta import GroupVersionResource
from kinformer.record import ClientSink, EventBroadcaster

__all__ = ("DEFAULT_LEASE", "Election", "LeaderElection")

#: Not kube-controller-manager's: a manager of one's own controllers does not wait for the cluster's to end.
DEFAULT_LEASE: Final = "kinformer-manager"
#: As which kube-controller-manager the controllers behave, for whoever chooses among candidates by their versions.
KUBERNETES_VERSION: Final = "1.36.0"


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """
    Which Lease to hold, and for how long.

    :param name: of the Lease. With ``kube-controller-manager`` in ``kube-system``, built-in controllers take turns with
        the cluster's own
    :param identity: who this process is, made up if empty; no two may have the same
    :param release_on_cancel: give the Lease up once the controllers have ended
    :param coordinated: publish a LeaseCandidate, and lead when the control plane says so. The API server needs the
        feature gate ``CoordinatedLeaderElection``, which is off by default in Kubernetes 1.36
    :param on_new_leader: told of each leader that is seen, this process included; must not block
    :param client: whom to renew with. One that the controllers do not share, so that no renewal waits in line behind
        their requests; the manager's own if None
    """

    name: str = DEFAULT_LEASE
    namespace: str = beside.NAMESPACE
    options: ElectionOptions = field(default_factory=ElectionOptions)
    identity: str = ""
    release_on_cancel: bool = True
    coordinated: bool = False
    on_new_leader: Callable[[str], object] | None = None
    client: Client | None = None


class Election:
    """One manager's candidate."""

    def __init__(self, settings: LeaderElection, client: Client, clock: Clock) -> None:
        client = settings.client or client
        self._broadcaster = EventBroadcaster(clock=clock)
        self._broadcaster.start_recording_to_sink(ClientSink(client))
        self._clock = clock
        self._lock = lock = LeaseLock(
            client,
            settings.namespace,
            settings.name,
            settings.identity or new_identity(),
            annotations=self._annotations,
            recorder=self._broadcaster.new_recorder(DEFAULT_LEASE),
        )
        keeper = LeaseKeeper(lock, settings.options, name=settings.name, clock=clock)
        self.elector = LeaderElector(
            keeper,
            release_on_cancel=settings.release_on_cancel,
            coordinated=settings.coordinated,
            on_new_leader=settings.on_new_leader,
            clock=clock,
        )
        self._candidate: LeaseCandidate | None = None
        if settings.coordinated:
            self._candidate = LeaseCandidate(
                client,
                settings.namespace,
                lock.identity,
                settings.name,
                binary_version=KUBERNETES_VERSION,
                emulation_version=KUBERNETES_VERSION,
                clock=clock,
            )
        self.health = LeaderHealthzAdaptor()
        self.health.set_leader_election(self.elector)
        #: Whether the cluster's own kube-controller-manager is a candidate in the same election.
        self.is_the_clusters = (settings.namespace, settings.name) == (beside.NAMESPACE, beside.NAME)
        #: Whether the manager's controllers run.
        self.leads = False

    def guarded(self, client: Client) -> Client:
        """The client for the controllers: it writes only while the Lease is held."""
        return guarded_client(client, self.elector.guard)

    async def wait_until_caches_show_the_last_leaders_writes(
        self, informers: Mapping[GroupVersionResource, SharedIndexInformer[Any]]
    ) -> tuple[str, ...]:
        """
        Wait until the caches show what the last leader wrote.

        Where that one left a note with its release, only what it wrote is waited for. Otherwise the caches have to be
        as new as this process' claim to the Lease, before which the last leader wrote all that it did.

        :return: the names of the informers that may be older all the same, after the time limit
        """
        found, claim = self._lock.found, self._lock.resource_version
        note = None
        if not found.holder_identity:
            note = read_last_writes(self._lock.found_annotations, found.leader_transitions)
        if note is None:
            versions = dict.fromkeys(informers.values(), claim)
        else:
            versions = {
                informer: note[gvr.group_resource] or claim
                for gvr, informer in informers.items()
                if gvr.group_resource in note
            }
        return await wait_until_each_is_as_new_as(versions, clock=self._clock)

    def _annotations(self, record: ElectionRecord) -> dict[str, str | None]:
        released = not record.holder_identity
        note = self.elector.guard.writes.note(record.leader_transitions) if released else None
        return {LAST_WRITES_ANNOTATION: note}

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """
        Wait for the Lease, and work while it is held.

        :raises LeadershipLost: if it was lost
        """

        async def lead() -> None:
            self.leads = True
            try:
                await work()
            finally:
                self.leads = False

        async with plain_task_group() as tasks:
            tasks.start_soon(self._broadcaster.run)
            if self._candidate is not None:
                tasks.start_soon(self._candidate.run)
            await self.elector.run(lead)
            tasks.cancel_scope.cancel()
