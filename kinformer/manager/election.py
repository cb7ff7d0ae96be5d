"""Leader election of a manager: kube-controller-manager's settings, on top of :mod:`kinformer.leaderelection`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.cache import SharedIndexInformer, wait_until_each_is_as_new_as
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
    fenced_client,
    guarded_client,
    new_identity,
    read_last_writes,
)
from kinformer.manager import beside
from kinformer.meta import GroupVersionResource
from kinformer.record import ClientSink, EventBroadcaster
from kinformer.tasks import plain_task_group

__all__ = ("DEFAULT_LEASE", "Election", "LeaderElection")

#: This is not kube-controller-manager's Lease: a manager of other controllers need not wait until the cluster's ends.
DEFAULT_LEASE: Final = "kinformer-manager"
#: The version of kube-controller-manager that the controllers correspond to. A coordinated election chooses by it.
KUBERNETES_VERSION: Final = "1.36.0"


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """
    The settings of a leader election.

    :param name: the name of the Lease. With ``kube-controller-manager`` in ``kube-system``, this process and the
        cluster's own kube-controller-manager are candidates in the same election
    :param namespace: the namespace of the Lease
    :param options: the durations of the election
    :param identity: the identity of this process; generated if empty. Each process needs its own
    :param release_on_cancel: release the Lease once the controllers have ended
    :param coordinated: publish a LeaseCandidate, and lead when the control plane says so. The API server needs the
        feature gate ``CoordinatedLeaderElection``, which is off by default in Kubernetes 1.36
    :param on_new_leader: called with the identity of each new leader, also if it is this process. It must not block
    :param fenced: plural and group of resources (``pods``, ``deployments.apps``) whose writes carry the Lease's term,
        so that the server can refuse late ones (:mod:`kinformer.leaderelection.fencing`)
    :param client: the client that renews the Lease; the manager's client if None. With its own client, a renewal does
        not wait behind the controllers' requests
    """

    name: str = DEFAULT_LEASE
    namespace: str = beside.NAMESPACE
    options: ElectionOptions = field(default_factory=ElectionOptions)
    identity: str = ""
    release_on_cancel: bool = True
    coordinated: bool = False
    on_new_leader: Callable[[str], object] | None = None
    fenced: tuple[str, ...] = ()
    client: Client | None = None


class Election:
    """The candidate of one manager."""

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
        self._fenced = settings.fenced
        #: The last term that was its own.
        self._term = 0

    def guarded(self, client: Client) -> Client:
        """A client for the controllers that writes only while the Lease is held."""
        return fenced_client(guarded_client(client, self.elector.guard), self._fenced, self._own_term)

    def _own_term(self) -> str:
        keeper = self.elector.keeper
        if keeper.is_leader:  # it may have taken the Lease back after an edit
            self._term = keeper.observed.leader_transitions
        return str(self._term)

    async def wait_until_caches_show_the_last_leaders_writes(
        self, informers: Mapping[GroupVersionResource, SharedIndexInformer[Any]]
    ) -> tuple[str, ...]:
        """
        Wait until the caches show everything that the last leader wrote.

        If the last leader released the Lease, it may have noted its last writes there. Then this waits only for these
        writes. Otherwise the caches must be as new as the write with which this process took the Lease, because the
        last leader wrote nothing after that.

        :return: the names of the informers that were still older when the time limit was reached
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
        Wait for the Lease, then run `work` while the Lease is held.

        :raises LeadershipLost: if the Lease was lost
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
