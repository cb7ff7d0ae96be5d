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

import anyio

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
from kinformer.manager.names import find_name
from kinformer.manager.ordering import order_starts
from kinformer.manager.selection import UnknownControllerError
from kinformer.manager.serving import SecureServing, StatusPages
from kinformer.manager.serving.access import Access
from kinformer.manager.serving.certificates import ServingCertificate
from kinformer.manager.shards import Shards
from kinformer.manager.starting import CACHE_SYNC_TIMEOUT, Starting
from kinformer.manager.stopping import SHUTDOWN_GRACE, drain, flush
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
    :param namespaces: the only ones whose objects are looked at; none for all. Not together with `informers`, which are
        of namespaces of their own
    :param endpoint: host and port of the health and metrics endpoint, None for none
    :param beside_kube_controller_manager: run built-in controllers also where the cluster's own kube-controller-manager
        runs
    :param leader_election: work only while this process holds a Lease, and stand by until then: its informers follow
        the server, its controllers do nothing and queue nothing. None: work at once
    :param sharding: share the keys out with other processes: work on those of some ranges of namespaces, and hold only
        their objects. None: work on all
    :param secure: how the endpoint is protected; None: plain HTTP, for everybody
    :param required: the names of those that must all start, ``*`` for all that are selected; :meth:`run` raises if one
        does not. Others that cannot start are told in the log, and start once they can
    :param cache_sync_timeout: seconds that a controller's caches have to sync, until that is told as the reason
    :param limits: from when on the health checks count something as wrong
    :ivar failed: controllers that were selected and cannot be loaded, by name
    :raises UnknownControllerError: if one is asked for that is not known
    :raises ControllerLoadError: if none of those that are selected can be loaded, or one that is required cannot
    :raises OptionError: if an option is not known, or has a value of the wrong type; if a controller cannot be
        sharded; or if controllers start after each other
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
        namespaces: Collection[str] = (),
        clock: Clock | None = None,
        endpoint: tuple[str, int] | None = None,
        beside_kube_controller_manager: bool = False,
        leader_election: LeaderElection | None = None,
        sharding: Sharding | None = None,
        required: Iterable[str] = (),
        cache_sync_timeout: float = CACHE_SYNC_TIMEOUT,
        limits: HealthLimits | None = None,
        secure: SecureServing | None = None,
    ) -> None:
        asked = client  # the endpoint's reviews are writes, and a follower's are answered too
        clock = clock or RealClock()
        if informers is not None and namespaces:
            raise OptionError("a manager is given namespaces and informers: give the namespaces to the informers")
        informers = informers or SharedInformerFactory(client, namespaces=namespaces or None, clock=clock)
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
        order_starts(self.controllers)
        if self.shards is not None:
            self.shards.check(self.controllers)
        # The Lease of the cluster's own is the one to be elected for: then it does not run beside us, or we wait.
        self._beside = beside_kube_controller_manager or (self.election is not None and self.election.is_the_clusters)
        if not self.failed:
            _check_known(options or (), given.asked)
        #: Those that have ended by themselves, by name.
        self.ended: set[str] = set()
        #: What those lack that should have started and have not, by name.
        self.lacking: dict[str, str] = {}
        names = self._required(required)
        self._starting = Starting(self.controllers, names, cache_sync_timeout, clock, self.lacking)
        self._grace = 0.0
        self._runs = self._works = False
        self._stopping, self._stopped = anyio.Event(), anyio.Event()
        self._queues = QueueWatch(self.controllers, clock)
        #: What there is to see of it all.
        self.inspector = Inspector(
            informers,
            self.controllers,
            clock,
            election=self.election,
            shards=self.shards.snapshot if self.shards is not None else None,
            server=client.server,
        )
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

    def _required(self, names: Iterable[str]) -> frozenset[str]:
        required: set[str] = set()
        for name in names:
            if name == "*":
                required |= {*self.controllers, *self.failed}
            elif (found := find_name(name, [*self.controllers, *self.failed])) is not None:
                required.add(found)
            else:
                raise UnknownControllerError([name], [*self.controllers, *self.failed])
        if missing := sorted(required & self.failed.keys()):
            raise self.failed[missing[0]]
        return frozenset(required)

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
        informers = [*self.context.informers.informers.values(), *self.context.informers.views.values()]
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
        if name in self.lacking:
            return f"controller {name} has not started: {self.lacking[name]}"
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
        Run everything until cancelled, until :meth:`stop` has ended it, or until a controller raises.

        When it is cancelled, what runs is cancelled at once, and Events that wait are lost. A controller that ends by
        itself is logged as an error.

        :raises KubeControllerManagerRuns: if a built-in controller would run beside the cluster's own
        :raises ControllerNotStarted: if a controller that is required cannot start
        :raises LeadershipLost: if the Lease that the controllers need was lost; they have ended then
        :raises MembershipLost: if this process is no member of its group any more; they have ended then
        :raises ShardCountConflict: if its group has another number of shards
        """
        self._runs = True
        try:
            async with plain_task_group() as tasks:
                tasks.start_soon(self._end_before_work, tasks.cancel_scope)
                await self.check_alone()
                log.info("manager_starting", controllers=list(self.controllers))
                if self.endpoint is not None:
                    tasks.start_soon(self.endpoint.run)
                    tasks.start_soon(self._queues.run)
                    tasks.start_soon(self.inspector.run)
                if self.shards is not None:
                    await self.shards.run(self._work)  # it starts the informers, too
                else:
                    tasks.start_soon(self.context.informers.run)
                    if self.election is None:
                        await self._work()
                    else:
                        await self.election.run(partial(self._lead, self.election))
                tasks.cancel_scope.cancel()
        finally:
            self._stopped.set()
            log.info("manager_stopped")

    async def stop(self, grace: float = SHUTDOWN_GRACE) -> None:
        """
        End :meth:`run` in order, and return when it has ended.

        No more keys are handed out. Syncs that run have `grace` seconds to end, and are cancelled then. Meanwhile each
        range is given up as soon as no sync of its keys runs. Events that wait are written. Last, the ranges that are
        left and a Lease are given up. Not to be called by a sync, which would wait for
        itself.
        """
        if not self._stopping.is_set():
            log.info("manager_stopping", grace=grace)
            self._grace = grace
            self._stopping.set()
        if self._runs:
            await self._stopped.wait()

    async def _end_before_work(self, everything: anyio.CancelScope) -> None:
        """Who stops before the work has begun has nothing to wait for."""
        await self._stopping.wait()
        if not self._works:
            everything.cancel()

    async def _lead(self, election: Election) -> None:
        await self.check_alone()
        informers = self.context.informers
        await election.wait_until_caches_show_the_last_leaders_writes(informers.informers)
        informers.release_handlers()
        await self._work()

    async def _work(self) -> None:
        self._works = True
        async with plain_task_group() as recording:
            for broadcaster in self.context.broadcasters:
                recording.start_soon(broadcaster.run)
            async with plain_task_group() as tasks:
                for name, controller in self.controllers.items():
                    tasks.start_soon(self._run, name, controller, name=name)
                tasks.start_soon(self._starting.run)
                await self._stopping.wait()
                await self._drain()
                tasks.cancel_scope.cancel()
            await flush(self.context.broadcasters)
            recording.cancel_scope.cancel()

    async def _drain(self) -> None:
        async with plain_task_group() as tasks:
            if self.shards is not None:
                # A range goes as soon as its own syncs have ended. What one slow sync holds up is its own range.
                tasks.start_soon(self.shards.member.leave)
            await drain(self.controllers.values(), self._grace)
            # What is left then goes once this work has ended.
            tasks.cancel_scope.cancel()

    async def _run(self, name: str, controller: Runnable) -> None:
        with cancellations_as_errors(f"controller {name}"):
            await controller.run()
        if self._stopping.is_set():
            return
        # It runs until cancelled, so something has gone wrong that it did not tell.
        self.ended.add(name)
        log.error("controller_ended", controller=name)


def _check_known(names: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        want = f"want one of {', '.join(sorted(known))}" if known else "those that run here have none"
        raise OptionError(f"no controller knows the option{plural} {', '.join(map(repr, unknown))}: {want}")
