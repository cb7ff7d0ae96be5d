"""Manager: several controllers in one process, with one client and one set of informers.

Controllers are found by name, through the entry points of the group ``kinformer.controllers``. An installed package
adds its own controllers in its pyproject.toml::

    [project.entry-points."kinformer.controllers"]
    mycontroller = "my_package.spec:SPEC"

Here ``SPEC`` is a :class:`~kinformer.spec.ControllerSpec`. It may also be a function that takes a
:class:`ControllerContext` and returns a :class:`Controller`: then nothing is known of the controller before it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

import anyio

from kinformer.arguments import want, want_client, want_seconds, want_several
from kinformer.cache import InformerOptions, SharedIndexInformer
from kinformer.cancellation import cancellations_as_errors
from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.cluster import in_cluster
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import EventGuard, guarded_client
from kinformer.logs import get_logger
from kinformer.manager.beside import AloneCheck
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
from kinformer.manager.endpoint import make_endpoint
from kinformer.manager.given import check_given
from kinformer.manager.health import PING, HealthCheck
from kinformer.manager.inspection import Inspector
from kinformer.manager.loading import make_controllers
from kinformer.manager.metrics import RUNNING
from kinformer.manager.names import find_name, long_name
from kinformer.manager.ordering import order_starts
from kinformer.manager.recorded import check_recordable, record
from kinformer.manager.selection import UnknownControllerError
from kinformer.manager.serving import SecureServing, StatusPages
from kinformer.manager.shards import Shards
from kinformer.manager.starting import CACHE_SYNC_TIMEOUT, Starting
from kinformer.manager.stopping import FLUSH, SHUTDOWN_GRACE, drain, flush
from kinformer.manager.webhooks import ServedWebhooks, WebhookSettings
from kinformer.options import OptionError
from kinformer.recording import Recorder, Recording
from kinformer.sharding import Sharding
from kinformer.tasks import plain_task_group

__all__ = ("Manager",)

log = get_logger(__name__)


class ControllerEnded(Exception):
    """A controller of a fleet has ended by itself. Its cluster's part of the fleet is started again."""

    def __init__(self, name: str) -> None:
        super().__init__(f"controller {name} has ended")


# More than 15 fields: each part that it joins is one field: election, shards, endpoint, health, webhooks.
class Manager:
    """
    Creates the selected controllers, and runs them.

    :param client: for the requests of the manager and its controllers
    :param controllers: the selection: ``name``, ``-name``, ``builtin`` for all built-in controllers, ``*`` for all
        others
    :param known: the factories to choose from, by name; None: those of the installed controllers
    :param options: the controllers' options, by name, with underscores in place of dashes. Each must be an option of a
        selected controller
    :param flags: further options, which may belong to controllers that are not selected
    :param informers: the factory that the controllers share; a new one if None
    :param namespaces: the namespaces to watch; if empty, all. Give either this or `informers`, because a factory has
        its own namespaces
    :param informer_options: how the informers list, watch and store; None: the defaults. Give either this or
        `informers`, because a factory has its own options
    :param endpoint: host and port of the health and metrics endpoint; None: there is no endpoint
    :param beside_kube_controller_manager: run built-in controllers even if the cluster's own kube-controller-manager
        runs
    :param leader_election: run the controllers only while this process holds a Lease. Until then its informers follow
        the server, and its controllers do not sync and do not queue keys. None: there is no election
    :param sharding: share the keys with other processes. This process then syncs the keys of some ranges of namespaces,
        and caches only their objects. None: it syncs all keys
    :param secure: TLS and access rules of the endpoint; None: plain HTTP, and everybody may read
    :param required: the names of controllers that must start; ``*`` for all that are selected. :meth:`run` raises if
        one of them cannot start. If another controller cannot start, this is logged, and it starts when it can
    :param cache_sync_timeout: seconds that a controller's caches may take to sync before this counts as an error
    :param limits: the limits of the health checks
    :param webhooks: how to serve the webhooks that the controllers declare:
        :class:`~kinformer.operator.webhooks.WebhookServing`. None: they are not served, which is logged
    :param clients: clients for the requests of single controllers, by the controllers' names in full. The others use
        `client`, and so do all informers
    :param clusters: given by the :class:`~kinformer.manager.Fleet` that this manager is a part of: see
        :class:`ControllerContext`. The manager has no endpoint then, is looked at through the fleet's, and ends if one
        of its controllers ends: the fleet starts it again
    :param recording: where to record what happens, to replay it later. The manager then makes the informers itself, and
        works for one cluster, without sharding
    :ivar failed: the errors of selected controllers that cannot be loaded, by name
    :raises UnknownControllerError: if a selected name is not known
    :raises ControllerLoadError: if no selected controller can be loaded, or a required one cannot
    :raises OptionError: if an option is not known or has a value of the wrong type, if a controller cannot be sharded,
        or if controllers wait for each other to start
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
        informer_options: InformerOptions | None = None,
        clock: Clock | None = None,
        endpoint: tuple[str, int] | None = None,
        beside_kube_controller_manager: bool = False,
        leader_election: LeaderElection | None = None,
        sharding: Sharding | None = None,
        required: Iterable[str] = (),
        cache_sync_timeout: float = CACHE_SYNC_TIMEOUT,
        limits: HealthLimits | None = None,
        secure: SecureServing | None = None,
        clients: Mapping[str, Client] | None = None,
        webhooks: WebhookSettings | None = None,
        clusters: Mapping[str, Client] | None = None,
        recording: Recording | None = None,
    ) -> None:
        clock = clock or RealClock()
        #: Records what happens, None if nothing does.
        self.recorder: Recorder | None = None
        if recording is not None:
            check_recordable(recording, informers=informers, sharding=sharding, clusters=clusters)
            controllers = controllers if isinstance(controllers, str) else list(controllers)
            self.recorder = recorder = Recorder(recording, clock)
            client = recorder.client(client)
            clients = {name: recorder.client(one) for name, one in (clients or {}).items()}
        want_client(client, "the client of a manager")
        want_seconds(cache_sync_timeout, "cache_sync_timeout")
        is_factory = informers is None or isinstance(informers, SharedInformerFactory)
        want(informers, is_factory, "informers", "SharedInformerFactory(client), or None")
        want(limits, limits is None or isinstance(limits, HealthLimits), "limits", "HealthLimits(…), or None")
        want(secure, secure is None or isinstance(secure, SecureServing), "secure", "SecureServing(…), or None")
        want_several(required, "required", "a list of names, as in required=['web']")
        check_given(known, endpoint, leader_election, sharding)
        want(webhooks, webhooks is None or hasattr(webhooks, "serve"), "webhooks of a manager", "WebhookServing(…)")
        if informers is not None and namespaces:
            raise OptionError("a manager is given namespaces and informers: give the namespaces to the informers")
        if informers is not None and informer_options is not None:
            raise OptionError("a manager is given informer_options and informers: give the options to the informers")
        informers = informers or SharedInformerFactory(
            client,
            namespaces=namespaces or None,
            informer_options=informer_options or InformerOptions(),
            clock=clock,
        )
        #: The leader election, None if there is none.
        self.election = Election(leader_election, client, clock) if leader_election is not None else None
        #: The membership in the group that shares the keys, None if this process syncs all keys.
        self.shards = Shards(sharding, client, informers, clock) if sharding is not None else None
        self._event_guard: EventGuard | None = None
        guarded: Callable[[Client], Client] = _as_it_is
        if self.shards is not None:
            if self.election is not None:
                raise OptionError("a manager cannot have both leader election and sharding: leave one of them out")
            self._event_guard = EventGuard(self.shards.member.guard)
            guarded = self.shards.guarded
        if self.election is not None:
            informers.hold_handlers()
            self._event_guard = EventGuard(self.election.elector.guard)
            guarded = self.election.guarded
        given = Options({**(options or {}), **(flags or {})})
        self._is_in_fleet = clusters is not None
        self.context = context = ControllerContext(
            guarded(client), informers, given, clock, self._for_events(client), {} if clusters is None else clusters
        )
        own = {long_name(name): one for name, one in (clients or {}).items()}

        def context_of(name: str) -> ControllerContext:
            one = own.get(long_name(name))
            return context if one is None else context.acting_with(guarded(one), self._for_events(one))

        made = make_controllers(controllers, known, context_of)
        #: The controllers that run, by name.
        self.controllers, self.failed = made.controllers, made.failed
        order_starts(self.controllers)
        if self.shards is not None:
            self.shards.check(made)
        # If this manager uses the Lease of the cluster's kube-controller-manager, the two never run at the same time.
        beside = beside_kube_controller_manager or (self.election is not None and self.election.is_the_clusters)
        self._alone = AloneCheck(context.client, made.builtin, clock) if made.builtin and not beside else None
        #: What each controller was made by, by its name: a spec, a function, or a class.
        self.factories = made.factories
        if self.recorder is not None:
            record(self.recorder, made, controllers, known, context, {**(options or {}), **(flags or {})})
        self._declared = made.webhooks
        #: The webhooks that this process serves, None if there are none.
        self.webhooks: ServedWebhooks | None = None
        if webhooks is not None and self._declared:
            self.webhooks = webhooks.serve(self._declared, context, client)
        if not self.failed:
            _check_known(options or (), given.asked)
        #: The names of controllers that have ended by themselves.
        self.ended: set[str] = set()
        #: Why controllers have not started that should have, by name.
        self.lacking: dict[str, str] = {}
        names = self._required(required)
        self._starting = Starting(self.controllers, names, cache_sync_timeout, clock, self.lacking)
        self._grace = 0.0
        self._runs = self._works = False
        self._stopping, self._stopped = anyio.Event(), anyio.Event()
        self._queues = QueueWatch(self.controllers, clock)
        #: Makes snapshots of the manager's state.
        self.inspector = Inspector(
            informers,
            self.controllers,
            clock,
            election=self.election,
            shards=self.shards.snapshot if self.shards is not None else None,
            server=client.server,
            webhooks=self.webhooks.views if self.webhooks is not None else list,
            recording=str(self.recorder.path) if self.recorder is not None else "",
        )
        limits = limits or HealthLimits()
        #: The contents of the endpoint's status pages.
        self.pages = StatusPages(
            COMPONENT, partial(configuration, self.context, self.controllers, leader_election, limits)
        )
        #: The checks of ``/livez`` and ``/readyz``.
        self.checks = checks = self._checks(limits)
        self.endpoint = (
            make_endpoint(checks, endpoint, self.pages, self.inspector, secure, client, clock)
            if endpoint is not None
            else None
        )

    def _for_events(self, client: Client) -> Client:
        """A client for Events, which may be written for some seconds after a release."""
        return guarded_client(client, self._event_guard) if self._event_guard is not None else client

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
        """The checks of ``/livez`` and ``/readyz``."""
        alive = [HealthCheck(name, has_not_ended(name, lambda: self.ended)) for name in self.controllers]
        ready = [HealthCheck(name, partial(self._unready, name)) for name in self.controllers]
        live = [
            PING,
            HealthCheck("event-loop", event_loop(limits.loop_dead)),
            HealthCheck("queues", self._queues.check(limits.queue_dead)),
        ]
        if self.election is not None:
            live.append(HealthCheck(self.election.health.name, self.election.health.wrong))
        parts = [HealthCheck("shards", self.shards.unready)] if self.shards is not None else []
        if self.webhooks is not None:
            parts.append(HealthCheck("webhooks", self.webhooks.unready))
        well = [
            PING,
            *parts,
            HealthCheck("event-loop", event_loop(limits.loop_blocked)),
            HealthCheck("queues", self._queues.check(limits.queue_stuck)),
            HealthCheck("informer-sync", informer_sync(self._looked_at)),
            HealthCheck("informer-fresh", informer_fresh(self._looked_at, limits.informer_silent)),
        ]
        return [*live, *alive], [*well, *ready]

    def _looked_at(self) -> list[SharedIndexInformer[Any]]:
        """The informers that must follow the server. A follower needs all of them, so that it can lead at once."""
        informers = [*self.context.informers.informers.values(), *self.context.informers.views.values()]
        return [informer for informer in informers if informer.is_started or self._stands_by]

    @property
    def _stands_by(self) -> bool:
        return self.election is not None and not self.election.leads

    def _unready(self, name: str) -> str:
        if name in self.ended:
            return f"controller {name} has ended"
        # A follower is ready when its informers are. If it had to lead first, a rollout would wait for it for ever.
        if self._stands_by or getattr(self.controllers[name], "has_synced", True):
            return ""
        if name in self.lacking:
            return f"controller {name} has not started: {self.lacking[name]}"
        return f"controller {name} waits for its caches"

    def unready(self) -> dict[str, str]:
        """
        What ``/readyz`` says: why this manager does not do all of its work yet, by the name of the check.

        A test waits with it, for example until the server asks the webhooks: ``await eventually(lambda: not
        manager.unready())``.
        """
        _, ready = self.checks
        return {check.name: wrong for check in ready if (wrong := check.wrong())}

    async def check_alone(self) -> None:
        """
        Check that no built-in controller would run beside the cluster's own. :meth:`run` does this, too.

        :raises KubeControllerManagerRuns: if one would
        """
        if self._alone is not None:
            await self._alone.check()
            if self.election is None:  # with one the check is made again before leading, which may be weeks later
                self._alone = None

    async def run(self) -> None:
        """
        Run until cancelled, until :meth:`stop` ends it, or until a controller raises.

        Cancelling ends running syncs at once and drops Events that are not written yet. If a controller ends by itself,
        this is logged as an error.

        :raises RuntimeError: if it was called before
        :raises KubeControllerManagerRuns: if a built-in controller would run beside the cluster's own
        :raises ControllerNotStarted: if a required controller cannot start
        :raises LeadershipLost: if the Lease was lost. The controllers have ended by then
        :raises MembershipLost: if this process is no longer a member of its group. The controllers have ended by then
        :raises ShardingConflict: if its group has another number of shards, or divides keys in another way
        :raises RecordingUnusable: if the recording cannot be written
        """
        if self._runs:
            raise RuntimeError("this manager has run already: make a new one")
        self._runs = True
        try:
            async with plain_task_group() as tasks:
                tasks.start_soon(self._end_before_work, tasks.cancel_scope)
                await self.check_alone()
                if self.recorder is not None:
                    await self.recorder.open()
                    tasks.start_soon(self.recorder.run)
                log.info("manager_starting", controllers=list(self.controllers))
                if self.endpoint is not None:
                    tasks.start_soon(self.endpoint.run)
                if self.endpoint is not None or self._is_in_fleet:
                    tasks.start_soon(self._queues.run)
                    tasks.start_soon(self.inspector.run)
                for broadcaster in self.context.broadcasters:
                    tasks.start_soon(broadcaster.run)
                if self.webhooks is not None:
                    # Before the informers: a list may need a conversion.
                    tasks.start_soon(self.webhooks.run)
                elif self._declared and not self._is_in_fleet:  # a fleet was told that they are served elsewhere
                    names = [declared.name for declared in self._declared]
                    log.warning("webhooks_not_served", webhooks=names, why="the manager was given no WebhookServing")
                if self.shards is not None:
                    await self.shards.run(self._work)  # it starts the informers, too
                else:
                    tasks.start_soon(self.context.informers.run)
                    if self.election is None:
                        await self._work()
                    else:
                        await self.election.run(partial(self._lead, self.election))
                # Nobody waits for the Lease or a range of this process any more.
                self._allow_events()
                await flush(self.context.broadcasters)
                tasks.cancel_scope.cancel()
        finally:
            if self.recorder is not None:
                await self.recorder.finish()
            self._stopped.set()
            log.info("manager_stopped")

    async def stop(self, grace: float = SHUTDOWN_GRACE) -> None:
        """
        Shut down in order: end :meth:`run`, and return when it has ended.

        The controllers hand out no more keys. Running syncs have `grace` seconds to end, and are cancelled after that.
        Meanwhile each shard range is released as soon as no sync of its keys runs. Then the remaining ranges and the
        Lease are released. Last, the Events that wait are written. A sync must not call this: it would wait for
        itself.

        :param grace: seconds
        """
        if not self._stopping.is_set():
            log.info("manager_stopping", grace=grace)
            self._grace = grace
            self._stopping.set()
        if self._runs:
            await self._stopped.wait()

    async def _end_before_work(self, everything: anyio.CancelScope) -> None:
        """End everything at once if :meth:`stop` is called before the controllers run."""
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
        async with plain_task_group() as tasks:
            for name, controller in self.controllers.items():
                tasks.start_soon(self._run, name, controller, name=name)
            tasks.start_soon(self._starting.run)
            if self.webhooks is not None:
                tasks.start_soon(self.webhooks.register, self.context.client)
            await self._stopping.wait()
            await self._drain()
            tasks.cancel_scope.cancel()

    async def _drain(self) -> None:
        async with plain_task_group() as tasks:
            if self.shards is not None:
                # Each range is released as soon as its own syncs have ended, so a slow sync delays its own range only.
                tasks.start_soon(self.shards.member.leave)
            await drain(self.controllers.values(), self._grace)
            # The remaining ranges are released after this method has returned.
            tasks.cancel_scope.cancel()
        # The guard of all other writes closes before the release is sent. Events go on meanwhile.
        self._allow_events()

    def _allow_events(self) -> None:
        if self._event_guard is not None:
            self._event_guard.open_for(FLUSH)

    async def _run(self, name: str, controller: Runnable) -> None:
        running = RUNNING.labels(in_cluster(name), COMPONENT)
        running.set(1)
        try:
            with cancellations_as_errors(f"controller {name}"):
                await controller.run()
        finally:
            running.set(0)
        if self._stopping.is_set():
            return
        # A controller runs until it is cancelled, so this is an error, although it did not raise.
        self.ended.add(name)
        if self._is_in_fleet:
            raise ControllerEnded(name)
        log.error("controller_ended", controller=name)


def _as_it_is(client: Client) -> Client:
    return client


def _check_known(names: Iterable[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        want = f"want one of {', '.join(sorted(known))}" if known else "those that run here have none"
        raise OptionError(f"no controller knows the option{plural} {', '.join(map(repr, unknown))}: {want}")
