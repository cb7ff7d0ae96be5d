"""ClusterPart: the part of a fleet that is for one cluster.

It makes a client and a manager for its cluster, and runs the manager. After an error it makes both again: after a
second at first, then later each time. When the source says that the cluster is gone or is reached in another way, it
first stops the manager in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, TypedDict

import anyio
from prometheus_client import Counter

from kinformer.backoff import Backoff
from kinformer.cache import InformerOptions
from kinformer.client import Client, ClientOptions
from kinformer.client.options import DEFAULT_OPTIONS
from kinformer.clock import Clock
from kinformer.cluster import CLUSTER
from kinformer.informers import SharedInformerFactory
from kinformer.logs import error_text, get_logger
from kinformer.manager.checks import HealthLimits
from kinformer.manager.clusters import Cluster
from kinformer.manager.context import ControllerFactory
from kinformer.manager.election import LeaderElection
from kinformer.manager.health import PING, HealthCheck
from kinformer.manager.inspection.views import ClusterView
from kinformer.manager.manager import Manager
from kinformer.manager.selection import UnknownControllerError
from kinformer.manager.stopping import SHUTDOWN_GRACE
from kinformer.options import OptionError
from kinformer.sharding import Sharding
from kinformer.spec import declared_by
from kinformer.tasks import plain_task_group

__all__ = ("ClusterPart", "FleetOptions", "PartSettings")

log = get_logger(__name__)

#: Seconds before a cluster's manager is made again, at first and at most.
_FIRST, _LONGEST = 1.0, 300.0
#: If a cluster fails later than this after its last failure, in seconds, its waits start again with the first one.
_RESET: Final = 900.0
#: The health checks of the process. A cluster has none of them.
_OF_THE_PROCESS: Final = frozenset({PING.name, "event-loop"})

_FAILURES: Final = Counter(
    "kinformer_cluster_failures_total", "How often a cluster's part of the fleet has ended with an error", ("cluster",)
)


class FleetOptions(TypedDict, total=False):
    """The options of :class:`~kinformer.manager.Manager` that are the same for each cluster of a fleet."""

    controllers: Iterable[str]
    known: Mapping[str, ControllerFactory] | None
    options: Mapping[str, Any] | None
    flags: Mapping[str, Any] | None
    namespaces: Collection[str]
    informer_options: InformerOptions | None
    beside_kube_controller_manager: bool
    required: Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSettings:
    """
    What is the same for each cluster of a fleet: see :class:`~kinformer.manager.Fleet`.

    :param clusters: the guarded clients of all clusters, by name
    """

    webhooks_elsewhere: bool
    leader_election: LeaderElection | None
    sharding: Sharding | None
    client_options: ClientOptions
    informers: Callable[[Client], SharedInformerFactory] | None
    cache_sync_timeout: float
    limits: HealthLimits
    clock: Clock
    clusters: Mapping[str, Client]
    options: FleetOptions


class ClusterPart:
    """
    The part of a fleet that is for one cluster.

    :ivar grace: seconds that running syncs have to end when the part stops
    :ivar manager: the manager that runs now
    """

    def __init__(self, cluster: Cluster, settings: PartSettings) -> None:
        self.name = cluster.name
        self.manager: Manager | None = None
        self.grace = SHUTDOWN_GRACE
        #: Set when :meth:`run` has ended.
        self.ended = anyio.Event()
        self._settings = settings
        self._wanted: Cluster | None = cluster
        #: Set when something else is wanted.
        self._changed = anyio.Event()
        self._stops = False
        self._trouble = ""
        self._began = settings.clock.monotonic()
        self._failures = 0
        self._due = 0.0
        self._was_ready = False

    # --- running

    def want(self, cluster: Cluster | None) -> None:
        """Take over what the source says of this cluster; None: it is gone."""
        if cluster != self._wanted:
            self._wanted = cluster
            self._changed.set()

    async def run(self) -> None:
        """
        Do what the source says, until the cluster is gone.

        :raises OptionError: if an option is not valid
        :raises UnknownControllerError: if a selected controller is not known
        """
        CLUSTER.set(self.name)
        log.info("cluster_added")
        try:
            while (cluster := self._wanted) is not None:
                self._changed = anyio.Event()
                async with plain_task_group() as tasks:
                    tasks.start_soon(self._keep, cluster)
                    await self._changed.wait()
                    log.info("cluster_stopping", why="it is gone" if self._wanted is None else "it has changed")
                    self._stops = True
                    if self.manager is not None:
                        await self.manager.stop(self.grace)
                    tasks.cancel_scope.cancel()
                self._stops = False
        finally:
            self.ended.set()
            log.info("cluster_removed")

    async def _keep(self, cluster: Cluster) -> None:
        """Run the cluster's manager, and make it again after each failure."""
        clock = self._settings.clock
        backoff = Backoff(_FIRST, _LONGEST, jitter=0.5, reset_after=_RESET, clock=clock)
        while not self._stops:
            try:
                await self._work(cluster)
            except (OptionError, UnknownControllerError):
                raise  # the same for every cluster
            except Exception as error:
                seconds = backoff.next()
                self._failures += 1
                self._trouble, self._due = error_text(error), clock.monotonic() + seconds
                _FAILURES.labels(self.name).inc()
                log.error("cluster_failed", error=self._trouble, again_in=round(seconds, 1))
                await clock.sleep(seconds)

    async def _work(self, cluster: Cluster) -> None:
        settings, clock = self._settings, self._settings.clock
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(cluster.open(options=settings.client_options, clock=clock))
            election, sharding = settings.leader_election, settings.sharding
            if election is not None or sharding is not None:
                # With its own client, a renewal waits neither behind the controllers' requests nor for their limits.
                own = await stack.enter_async_context(cluster.open(options=DEFAULT_OPTIONS, clock=clock))
                if election is not None:
                    # Two names may mean one cluster. Then they are two candidates, of which one writes.
                    identity = f"{election.identity}_{self.name}" if election.identity else ""
                    election = replace(election, client=own, identity=identity)
                sharding = None if sharding is None else replace(sharding, client=own)
            self.manager = Manager(
                client,
                leader_election=election,
                sharding=sharding,
                informers=None if settings.informers is None else settings.informers(client),
                cache_sync_timeout=settings.cache_sync_timeout,
                limits=settings.limits,
                clock=clock,
                clusters=settings.clusters,
                **settings.options,
            )
            if not settings.webhooks_elsewhere:
                _check_no_webhooks(self.manager)
            self._trouble = ""
            try:
                await self.manager.run()
            finally:
                self.manager = None

    # --- what is shown

    @property
    def dead(self) -> str:
        """What a restart of the process would mend; empty if nothing is wrong."""
        return "" if self.manager is None else _wrong(self.manager.checks[0])

    @property
    def unready(self) -> str:
        """Why the cluster is not ready; empty if it is."""
        if self.manager is None:
            return self._trouble or "there is no client for it yet"
        wrong = _wrong(self.manager.checks[1])
        self._was_ready = self._was_ready or not wrong
        return wrong

    @property
    def starts_until(self) -> float:
        """Until when it counts as starting, in the clock's monotonic time; ``-inf`` once it has started or failed."""
        has_started = self._was_ready or self._failures
        return -inf if has_started else self._began + self._settings.cache_sync_timeout

    def view(self) -> ClusterView:
        """The state of the cluster."""
        manager, wrong = self.manager, self.unready
        state = "starting" if wrong else "ready"
        if self._stops:
            state = "stopping"
        elif manager is None and self._trouble:
            state = "failed"
        elif manager is not None and manager.election is not None and not manager.election.leads:
            state = "standing by"
        due = max(self._due - self._settings.clock.monotonic(), 0.0)
        return ClusterView(
            name=self.name,
            server=manager.context.client.server if manager is not None else "",
            state=state,
            trouble=wrong,
            failures=self._failures,
            due_seconds=due if state == "failed" else None,
        )


def _check_no_webhooks(manager: Manager) -> None:
    """
    :raises OptionError: if a controller declares webhooks, which would not be served
    """
    for controller, factory in manager.factories.items():
        if (webhooks := declared_by(factory, "webhooks")) is not None:
            raise OptionError(
                f"controller {controller} declares the webhooks {webhooks.name!r}, and a fleet serves none: run a "
                "Manager for each cluster, or give webhooks_elsewhere=True (--webhook-port=0) if something else "
                "serves them"
            )


def _wrong(checks: Iterable[HealthCheck]) -> str:
    """What is wrong with a cluster, by the checks of its manager."""
    return "; ".join(wrong for it in checks if it.name not in _OF_THE_PROCESS and (wrong := it.wrong()))
