"""Fleet: one manager for each of many clusters, in one process.

A :class:`~kinformer.manager.clusters.ClusterSource` tells which clusters there are. For each of them the fleet makes a
client and a :class:`~kinformer.manager.Manager`, with the same controllers and options, and runs it. So a cluster has
its own informers, queues, workers, rate limits, Lease and Events, and a controller is written as for one cluster::

    source = KubeconfigContexts(contexts=["west", "east"])
    fleet = Fleet(source, known={"web": make_controller}, endpoint=("127.0.0.1", 8080))
    await fleet.run()

- Clusters come and go while the fleet runs. A cluster that goes is stopped in order: its running syncs may end, its
  Lease is released. A cluster whose configuration changes is stopped, and then started again.
- A cluster that is broken stops nobody else. An error that ends its manager is logged and shown, and the manager is
  made again, later each time. If its server cannot be reached, only its own informers wait for it.
- The clusters share the endpoint: health checks, metrics, the page. There, keys are ``cluster/namespace/name``. Logs
  and metrics have a ``cluster`` (:mod:`kinformer.cluster`).

**Who writes.** With ``leader_election`` each cluster has its own Lease, in that cluster, and so each cluster has one
writer among the replicas of the fleet; different clusters may have different ones. With ``sharding`` the replicas share
out the keys of each cluster, by Leases in that cluster. In both cases the guard of writes belongs to the cluster that
is written to. A replica that has lost one cluster goes on with the others. A controller that writes to another cluster
than its own gets the client from :attr:`ControllerContext.clusters`: that client has the other cluster's guard, so a
replica that does not hold the other cluster's Lease cannot write there, whatever made it try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Unpack

import anyio
from anyio.abc import TaskGroup

from kinformer.arguments import want
from kinformer.client import Client, ClientOptions
from kinformer.client.options import DEFAULT_OPTIONS
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager.checks import HealthLimits, event_loop
from kinformer.manager.cluster_part import ClusterPart, FleetOptions, PartSettings
from kinformer.manager.clusters import Cluster, ClusterSource
from kinformer.manager.configuration import COMPONENT
from kinformer.manager.election import LeaderElection
from kinformer.manager.endpoint import make_endpoint
from kinformer.manager.given import check_given
from kinformer.manager.health import PING, HealthCheck
from kinformer.manager.inspection import Inspector
from kinformer.manager.inspection.fleet import FleetInspector
from kinformer.manager.inspection.views import ClusterView
from kinformer.manager.manager import Manager
from kinformer.manager.serving import SecureServing, StatusPages
from kinformer.manager.serving.metrics import ClusterMetrics
from kinformer.manager.starting import CACHE_SYNC_TIMEOUT
from kinformer.manager.stopping import SHUTDOWN_GRACE
from kinformer.options import OptionError
from kinformer.sharding import Sharding
from kinformer.tasks import plain_task_group

__all__ = ("Fleet",)

log = get_logger(__name__)


class Fleet:
    """
    Runs the same controllers for each cluster of a source.

    :param source: the clusters
    :param endpoint: host and port of the health and metrics endpoint; None: there is no endpoint
    :param secure: TLS and access rules of the endpoint, with clients for its reviews of tokens and access; None: plain
        HTTP, and everybody may read
    :param leader_election: run a cluster's controllers only while this process holds a Lease in that cluster
    :param sharding: share out the keys of each cluster with other processes, by Leases in that cluster
    :param client_options: how the client of each cluster sends its requests. Each has limits of its own. A
        ``rate_limiter`` or ``delete_limiter`` that is given here is shared by all of them
    :param informers: makes the informers of a cluster; None: a factory that only knows `namespaces`
    :param cache_sync_timeout: seconds that a controller's caches may take to sync before this counts as an error, and
        that the fleet waits at its start for a cluster before it is ready without it
    :param limits: the limits of the health checks
    :param webhooks_elsewhere: something else serves the webhooks that the controllers declare. A fleet serves none,
        because each API server needs an address and an authority of its own to call them. It refuses controllers that
        declare some, unless this is True
    :param options: see :class:`~kinformer.manager.Manager`
    :raises OptionError: if an option is not valid. Options and webhooks of controllers are checked when the first
        cluster starts
    """

    def __init__(
        self,
        source: ClusterSource,
        *,
        endpoint: tuple[str, int] | None = None,
        secure: SecureServing | None = None,
        leader_election: LeaderElection | None = None,
        sharding: Sharding | None = None,
        client_options: ClientOptions = DEFAULT_OPTIONS,
        informers: Callable[[Client], SharedInformerFactory] | None = None,
        cache_sync_timeout: float = CACHE_SYNC_TIMEOUT,
        limits: HealthLimits | None = None,
        webhooks_elsewhere: bool = False,
        clock: Clock | None = None,
        **options: Unpack[FleetOptions],
    ) -> None:
        check_given(options.get("known"), endpoint, leader_election, sharding)
        want(source, hasattr(source, "run"), "the source of a fleet", "a ClusterSource, such as KubeconfigContexts(…)")
        if any(it is not None and it.client is not None for it in (leader_election, sharding)):
            raise OptionError("the Leases of a fleet are in its clusters: give no client for them")
        self._source = source
        self._clock = clock or RealClock()
        self._parts: dict[str, ClusterPart] = {}
        #: The clients of the clusters that have one now, by name. Each has the guard of its cluster.
        self.clients: Mapping[str, Client] = _Clients(self._parts)
        self._settings = PartSettings(
            webhooks_elsewhere=webhooks_elsewhere,
            leader_election=leader_election,
            sharding=sharding,
            client_options=client_options,
            informers=informers,
            cache_sync_timeout=cache_sync_timeout,
            limits=limits or HealthLimits(),
            clock=self._clock,
            clusters=self.clients,
            options=options,
        )
        self._has_clusters = False
        self._tasks: TaskGroup | None = None
        self._grace = SHUTDOWN_GRACE
        self._stopping, self._stopped = anyio.Event(), anyio.Event()
        self.inspector = FleetInspector(self._clock, self._inspectors, self._views)
        #: The contents of the endpoint's status pages.
        self.pages = StatusPages(COMPONENT, self._configurations)
        self.endpoint = None
        if endpoint is not None:
            checks, metrics = (self._livez(), self._readyz()), ClusterMetrics(self._readiness)
            self.endpoint = make_endpoint(
                checks, endpoint, self.pages, self.inspector, secure, None, self._clock, metrics
            )

    @property
    def managers(self) -> dict[str, Manager]:
        """The managers that run now, by the names of their clusters."""
        return {name: part.manager for name, part in self._parts.items() if part.manager is not None}

    # --- running

    async def run(self) -> None:
        """
        Run until cancelled, or until :meth:`stop` ends it.

        :raises ConfigError: if the source cannot tell its clusters
        :raises OptionError: if an option is not valid
        :raises UnknownControllerError: if a selected controller is not known
        :raises EndpointError: if the endpoint cannot be served
        """
        try:
            async with plain_task_group() as self._tasks:
                if self.endpoint is not None:
                    self._tasks.start_soon(self.endpoint.run)
                if not self._stopping.is_set():
                    source = anyio.CancelScope()
                    self._tasks.start_soon(self._follow_source, source)
                    await self._stopping.wait()
                    source.cancel()
                    parts = list(self._parts.values())
                    for part in parts:
                        part.grace = self._grace
                        part.want(None)
                    for part in parts:
                        await part.ended.wait()
                self._tasks.cancel_scope.cancel()
        finally:
            self._stopped.set()
            log.info("fleet_stopped")

    async def stop(self, grace: float = SHUTDOWN_GRACE) -> None:
        """
        Stop the managers of all clusters, in order and at the same time, and return when :meth:`run` has ended.

        :param grace: seconds that running syncs have to end: see :meth:`Manager.stop`
        """
        self._grace = grace
        self._stopping.set()
        if self._tasks is not None:
            await self._stopped.wait()

    async def _follow_source(self, scope: anyio.CancelScope) -> None:
        with scope:
            await self._source.run(self._show)

    def _show(self, clusters: Iterable[Cluster]) -> None:
        """Start and stop managers, so that these clusters have one."""
        assert self._tasks is not None
        wanted = {cluster.name: cluster for cluster in clusters}
        for name in self._parts.keys() - wanted.keys():
            self._parts[name].want(None)
        for name, cluster in wanted.items():
            part = self._parts.get(name)
            if part is None:
                part = self._parts[name] = ClusterPart(cluster, self._settings)
                self._tasks.start_soon(self._run, part, name=f"cluster {name}")
            else:
                part.want(cluster)
        self._has_clusters = True

    async def _run(self, part: ClusterPart) -> None:
        try:
            await part.run()
        finally:
            del self._parts[part.name]

    # --- what is shown

    def _livez(self) -> list[HealthCheck]:
        return [
            PING,
            HealthCheck("event-loop", event_loop(self._settings.limits.loop_dead)),
            HealthCheck("clusters", self._dead),
        ]

    def _readyz(self) -> list[HealthCheck]:
        return [
            PING,
            HealthCheck("event-loop", event_loop(self._settings.limits.loop_blocked)),
            HealthCheck("clusters", self._unready),
        ]

    def _dead(self) -> str:
        """What a restart of the process would mend."""
        return "; ".join(f"{part.name}: {wrong}" for part in self._parts.values() if (wrong := part.dead))

    def _unready(self) -> str:
        """
        Why this replica is not ready.

        It waits for each cluster at the start, but not for ever: one broken cluster must not hold up a rollout.
        """
        if not self._has_clusters:
            return "it is not known yet which clusters there are"
        troubles = {part.name: wrong for part in self._parts.values() if (wrong := part.unready)}
        now = self._clock.monotonic()
        starting = [name for name in troubles if self._parts[name].starts_until > now]
        if len(troubles) == len(self._parts):
            starting = list(troubles)
        return "; ".join(f"{name}: {troubles[name]}" for name in starting)

    def _readiness(self) -> dict[str, bool]:
        return {name: not part.unready for name, part in list(self._parts.items())}

    def _inspectors(self) -> dict[str, Inspector]:
        return {name: manager.inspector for name, manager in self.managers.items()}

    def _views(self) -> list[ClusterView]:
        return [part.view() for part in self._parts.values()]

    def _configurations(self) -> Mapping[str, Mapping[str, Any]]:
        """The configurations in effect, by cluster."""
        found: dict[str, Mapping[str, Any]] = {}
        for cluster, manager in self.managers.items():
            found.update((f"{cluster}/{name}", it) for name, it in manager.pages.configs().items())
        return found


class _Clients(Mapping[str, Client]):
    """The guarded clients of the clusters that have a manager now."""

    def __init__(self, parts: Mapping[str, ClusterPart]) -> None:
        self._parts = parts

    def __getitem__(self, name: str) -> Client:
        part = self._parts.get(name)
        if part is None or part.manager is None:
            raise KeyError(name)
        return part.manager.context.client

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, part in self._parts.items() if part.manager is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)
