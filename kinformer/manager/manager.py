"""Manager: several controllers in one process, on one client and one set of informers.

Controllers are found by name, through the entry points of the group ``kinformer.controllers``: a package that is
installed adds its own with three lines of its pyproject.toml::

    [project.entry-points."kinformer.controllers"]
    mycontroller = "my_package:make_controller"

where ``make_controller`` is given a :class:`ControllerContext` and returns a :class:`Controller`. If it has an
attribute ``options``, a dataclass of :mod:`kinformer.options`, ``kinformer manager`` has flags for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from kinformer.cache import SharedIndexInformer
from kinformer.cache.tasks import plain_task_group
from kinformer.cancellation import cancellations_as_errors
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager.beside import check_alone
from kinformer.manager.checks import (
    HealthLimits,
    QueueWatch,
    event_loop,
    has_not_ended,
    informer_fresh,
    informer_sync,
)
from kinformer.manager.configuration import COMPONENT, configuration
from kinformer.manager.context import ControllerContext, ControllerFactory, Options, Runnable
from kinformer.manager.election import Election, LeaderElection
from kinformer.manager.endpoint import Endpoint
from kinformer.manager.health import PING, HealthCheck
from kinformer.manager.inspection import PAGE_PATHS, Inspector
from kinformer.manager.loading import make_controllers
from kinformer.manager.serving import SecureServing, StatusPages
from kinformer.manager.serving.access import Access
from kinformer.manager.serving.certificates import ServingCertificate
from kinformer.manager.shards import Shards
from kinformer.options import OptionError
from kinformer.sharding import Sharding

__all__ = ("Manager",)

log = get_logger(__name__)


class Manager:
    """
    Makes the selected controllers, and runs them.

    :param client: the server to work for
    :param controllers: which ones: names, ``-name``, ``builtin`` for all of kinformer's own, ``*`` for all others
    :param known: controllers by name; those that are installed if None
    :param options: what the controllers are told, by names in Python's spelling; each must be known to one of them
    :param flags: the same, of controllers that need not run here
    :param informers: the factory they share, a new one if None
    :param endpoint: host and port of the health and metrics endpoint, None for none
    :param beside_kube_controller_manager: run built-in controllers also where the cluster's own kube-controller-manager
        runs
    :param leader_election: work only while this process holds a Lease, and stand by until then: its informers follow
        the server, its controllers do nothing and queue nothing. None: work at once
    :param sharding: share the keys out with other processes: work on those of some ranges of namespaces, and hold only
        their objects. None: work on all
    :param secure: how the endpoint is protected; None: plain HTTP, for everybody
    :param limits: from when on the health checks count something as wrong
    :ivar failed: controllers that were selected and cannot be loaded, by name
    :raises UnknownControllerError: if one is asked for that is not known
    :raises ControllerLoadError: if none of those that are selected can be loaded
    :raises OptionError: if an option is not known, or has a value of the wrong type; or if a controller cannot be
        sharded
    """

    def __init__(
        self,
        client: Client,
        *,
        controllers: Iterable[str] = ("*",),
        known: Mapping[str, ControllerFactory] | None = None,
        options: Mapping[str, Any] | None = None,
        flags: Mapping[str, Any] | None = None,
        informers: SharedInformerFactory | None = None,
        clock: Clock | None = None,
        endpoint: tuple[str, int] | None = None,
        beside_kube_controller_manager: bool = False,
        leader_election: LeaderElection | None = None,
        sharding: Sharding | None = None,
        limits: HealthLimits | None = None,
        secure: SecureServing | None = None,
    ) -> None:
        asked = client  # the endpoint's reviews are writes, and a follower's are answered too
        clock = clock or RealClock()
        informers = informers or SharedInformerFactory(client, clock=clock)
        #: The election that this process takes part in, None if it leads without one.
        self.election = Election(leader_election, client, clock) if leader_election is not None else None
        #: The group that this process shares the keys with, None if it has them all.
        self.shards = Shards(sharding, client, informers, clock) if sharding is not None else None
        if self.shards is not None:
            if self.election is not None:
                raise OptionError("a manager either waits to lead or shares the keys out: want one of the two")
            client = self.shards.guarded(client)
        if self.election is not None:
            informers.hold_handlers()
            client = self.election.guarded(client)
        given = Options({**(options or {}), **(flags or {})})
        self.context = ControllerContext(client, informers, given, clock)
        #: Those that were selected, by name.
        self.controllers, self._builtin, self.failed = make_controllers(controllers, known, self.context)
        if self.shards is not None:
            self.shards.check(self.controllers)
        # The Lease of the cluster's own is the one to be elected for: then it does not run beside us, or we wait.
        self._beside = beside_kube_controller_manager or (self.election is not None and self.election.is_the_clusters)
        if not self.failed:
            _check_known(options or (), given.asked)
        #: Those that have ended by themselves, by name.
        self.ended: set[str] = set()
        self._queues = QueueWatch(self.controllers, clock)
        #: What there is to see of it all.
        self.inspector = Inspector(informers, self.controllers, clock, election=self.election, server=client.server)
        limits = limits or HealthLimits()
        #: What the endpoint's status pages show.
        self.pages = StatusPages(
            COMPONENT, partial(configuration, self.context, self.controllers, leader_election, limits)
        )
        checks = self._checks(limits)
        self.endpoint = self._endpoint(checks, endpoint, secure, asked) if endpoint is not None else None
        if self.endpoint is not None:
            self.endpoint.add_routes(self.inspector.routes)

    def _endpoint(
        self,
        checks: tuple[list[HealthCheck], list[HealthCheck]],
        address: tuple[str, int],
        secure: SecureServing | None,
        client: Client,
    ) -> Endpoint:
        if secure is None:
            return Endpoint(*checks, *address, pages=self.pages)
        clock = self.context.clock
        certificate = ServingCertificate(
            cert_file=secure.cert_file, key_file=secure.key_file, host=address[0], clock=clock
        )
        access = Access(client, (*secure.always_allow, *PAGE_PATHS), clock)
        return Endpoint(*checks, *address, certificate=certificate, access=access, pages=self.pages)

    def _checks(self, limits: HealthLimits) -> tuple[list[HealthCheck], list[HealthCheck]]:
        """What ``/livez`` and ``/readyz`` look at."""
        alive = [HealthCheck(name, has_not_ended(name, lambda: self.ended)) for name in self.controllers]
        ready = [HealthCheck(name, partial(self._unready, name)) for name in self.controllers]
        live = [
            PING,
            HealthCheck("event-loop", event_loop(limits.loop_dead)),
            HealthCheck("queues", self._queues.check(limits.queue_dead)),
        ]
        if self.election is not None:
            live.append(HealthCheck(self.election.health.name, self.election.health.wrong))
        joined = [HealthCheck("shards", self.shards.unready)] if self.shards is not None else []
        well = [
            PING,
            *joined,
            HealthCheck("event-loop", event_loop(limits.loop_blocked)),
            HealthCheck("queues", self._queues.check(limits.queue_stuck)),
            HealthCheck("informer-sync", informer_sync(self._looked_at)),
            HealthCheck("informer-fresh", informer_fresh(self._looked_at, limits.informer_silent)),
        ]
        return [*live, *alive], [*well, *ready]

    def _looked_at(self) -> list[SharedIndexInformer[Any]]:
        """The informers that have to follow the server. Who stands by has to have them all before it leads."""
        informers = self.context.informers.informers.values()
        return [informer for informer in informers if informer.is_started or self._stands_by]

    @property
    def _stands_by(self) -> bool:
        return self.election is not None and not self.election.leads

    def _unready(self, name: str) -> str:
        if name in self.ended:
            return f"controller {name} has ended"
        # A follower is ready when its informers are: a rollout would wait for ever for one that is to lead first.
        if self._stands_by or getattr(self.controllers[name], "has_synced", True):
            return ""
        return f"controller {name} waits for its caches"

    async def check_alone(self) -> None:
        """
        See to it that no built-in controller runs beside the cluster's own; :meth:`run` does so as well.

        :raises KubeControllerManagerRuns: if one would
        """
        if self._builtin and not self._beside:
            await check_alone(self.context.client, self._builtin, self.context.clock)
            # A follower may lead weeks later.
            self._beside = self.election is None

    async def run(self) -> None:
        """
        Run everything until cancelled, or until a controller raises. One that ends by itself is logged as an error.

        :raises KubeControllerManagerRuns: if a built-in controller would run beside the cluster's own
        :raises LeadershipLost: if the Lease that the controllers need was lost; they have ended then
        :raises MembershipLost: if this process is no member of its group any more; they have ended then
        :raises ShardCountConflict: if its group has another number of shards
        """
        await self.check_alone()
        log.info("manager_starting", controllers=list(self.controllers))
        async with plain_task_group() as tasks:
            if self.endpoint is not None:
                tasks.start_soon(self.endpoint.run)
                tasks.start_soon(self._queues.run)
                tasks.start_soon(self.inspector.run)
            if self.shards is not None:
                tasks.start_soon(self.shards.run, self._work)  # it starts the informers, too
            elif self.election is not None:
                tasks.start_soon(self.context.informers.run)
                tasks.start_soon(self.election.run, partial(self._lead, self.election))
            else:
                tasks.start_soon(self.context.informers.run)
                tasks.start_soon(self._work)

    async def _lead(self, election: Election) -> None:
        await self.check_alone()
        informers = self.context.informers
        await election.wait_until_caches_show_the_last_leaders_writes(informers.informers)
        informers.release_handlers()
        await self._work()

    async def _work(self) -> None:
        async with plain_task_group() as tasks:
            for broadcaster in self.context.broadcasters:
                tasks.start_soon(broadcaster.run)
            for name, controller in self.controllers.items():
                tasks.start_soon(self._run, name, controller, name=name)

    async def _run(self, name: str, controller: Runnable) -> None:
        with cancellations_as_errors(f"controller {name}"):
            await controller.run()
        # It runs until cancelled, so something has gone wrong that it did not tell.
        self.ended.add(name)
        log.error("controller_ended", controller=name)


def _check_known(names: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        want = f"want one of {', '.join(sorted(known))}" if known else "those that run here have none"
        raise OptionError(f"no controller knows the option{plural} {', '.join(map(repr, unknown))}: {want}")
