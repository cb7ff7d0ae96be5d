"""Simulated processes: what runs a manager, can be killed, paused and started again, and has a clock of its own.

A :class:`Process` is what a Deployment of one replica keeps running: it has a name, a clock and one :class:`Life` after
the other. A life begins with an empty memory, as a process does, and runs a real :class:`~kinformer.manager.Manager`
over the simulated network. When it is killed, its connections break at once and nothing that it still does gets out;
its tasks are cancelled, so that they clean up behind themselves, where nobody sees it.

Besides managers there are programs: any async function that is given a :class:`Program`, such as a webhook's server. It
lives and dies in the same way, and others reach what it listens on.

What the process sees and does is appended to the history: what reaches its handlers, and the beginning and end of each
sync.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio
import anyio.lowlevel

from kinformer.cache import ResourceEventHandler, SharedIndexInformer, last_state
from kinformer.client import Client, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import Timer
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import Guard
from kinformer.manager import ControllerFactory, LeaderElection, LeadershipLost, Manager, MembershipLost, Sharding
from kinformer.simulation.loop import OWNER, Owner, SimulatedLoop
from kinformer.simulation.network import Listener
from kinformer.simulation.requests import about

if TYPE_CHECKING:
    from kinformer.simulation.world import World

__all__ = ("EPOCH", "Life", "Main", "Process", "ProcessClock", "ProcessOptions", "Program")

#: The time of day at which every run begins.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)

_EVENTS: Final = ("events", "events.events.k8s.io")


class ProcessClock:
    """
    A process' clock: the loop's time, and a time of day that may be wrong.

    :ivar skew: seconds that its time of day is ahead of the others'
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self.skew = 0.0
        self._loop = loop
        self._rate = 1.0
        self._set_at = self._set_to = 0.0

    def monotonic(self) -> float:
        return self._set_to + (self._loop.time() - self._set_at) * self._rate

    @property
    def rate(self) -> float:
        """Seconds of this clock in one of the world's."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._set_to, self._set_at, self._rate = self.monotonic(), self._loop.time(), rate

    def leap(self, seconds: float) -> None:
        """Have so much time pass on this clock alone, as if its machine had slept. Timers are as late as they were."""
        self._set_to += seconds

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._loop.time() + self.skew)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self._loop.call_later(max(seconds, 0.0) / self._rate, callback)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0) / self._rate)


@dataclass(frozen=True, slots=True)
class Program:
    """
    What a program is given that runs as a simulated process.

    :param name: of this life: none before or after it has the same, and no other process
    :param host: the address that it may listen on, see :meth:`listener`
    :param informers: whose handlers' calls are in the history; run by the program
    """

    name: str
    host: str
    client: Client
    informers: SharedInformerFactory
    clock: ProcessClock

    def listener(self, port: int) -> Any:
        """What stands for a socket that listens on a port; to be given to aiohttp's ``SockSite`` or its like."""
        return Listener(self.host, port)


Main: TypeAlias = Callable[[Program], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """
    What a process runs.

    :param controllers: by name
    :param options: what the controllers are told, by names in Python's spelling
    :param election: work only while it holds a Lease
    :param sharding: share the keys out with others
    :param main: what runs in place of a manager
    :param restart_after: seconds after its end until it is started again
    """

    controllers: Mapping[str, ControllerFactory] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    election: LeaderElection | None = None
    sharding: Sharding | None = None
    main: Main | None = None
    restart_after: float = 1.0

    @property
    def group(self) -> str:
        """The Lease by which it and others know who may work on what, as records name it; empty if it works alone."""
        if self.election is not None:
            return f"leases.coordination.k8s.io/{self.election.namespace}/{self.election.name}"
        if self.sharding is not None:
            return f"leases.coordination.k8s.io/{self.sharding.namespace}/{self.sharding.group}"
        return ""

    @property
    def may_lead(self) -> bool:
        """Whether there is a Lease that it may hold; a program may have one of its own."""
        return bool(self.group) or self.main is not None


class Life(Owner):
    """
    One life of a process, from its start to its end.

    :ivar is_cut_off: whether it is dead: it may still have tasks that clean up, but nothing gets in or out
    :ivar is_doomed: whether it dies at its next request
    :ivar is_isolated: whether the network does not let it through to anybody
    :ivar lease_is_unreachable: what of its requests for Leases gets lost: none of them, the calls, or the answers
    :ivar syncing: the syncs that run, each by its controller's name and its key
    """

    __slots__ = (
        "informers",
        "is_cut_off",
        "is_doomed",
        "is_isolated",
        "lease_is_unreachable",
        "manager",
        "process",
        "scope",
        "syncing",
    )

    def __init__(self, process: Process, name: str) -> None:
        super().__init__(name)
        self.process = process
        self.scope = anyio.CancelScope()
        self.manager: Manager | None = None
        self.informers: SharedInformerFactory | None = None
        self.is_cut_off = False
        self.is_doomed = False
        self.is_isolated = False
        self.lease_is_unreachable: Literal["", "calls", "answers"] = ""
        self.syncing: set[tuple[str, str]] = set()

    def may_send(self) -> bool:
        if self.is_doomed:
            self.process.kill(self)
        return not self.is_cut_off and not self.is_isolated

    @property
    def guard(self) -> Guard | None:
        """What lets its controllers write, None if nobody has to."""
        if self.manager is None:
            return None
        if self.manager.election is not None:
            return self.manager.election.elector.guard
        return self.manager.shards.member.guard if self.manager.shards is not None else None

    @property
    def may_write(self) -> bool:
        """Whether its controllers' writes would be sent now, by its own clock."""
        guard = self.guard
        if guard is None:
            return True
        token = OWNER.set(self)
        try:
            return guard.is_open
        finally:
            OWNER.reset(token)


class Process:
    """
    Something that is kept running.

    :param url: the server that the next life talks to
    :param host: its address, for what it listens on
    :param is_disturbed: whether faults may happen to it
    """

    def __init__(
        self,
        world: World,
        name: str,
        options: ProcessOptions,
        url: str,
        *,
        host: str = "",
        is_disturbed: bool = True,
    ) -> None:
        self.name = name
        self.options = options
        self.url = url
        self.host = host
        self.is_disturbed = is_disturbed
        self.clock = ProcessClock(world.loop)
        self.life: Life | None = None
        #: Whatever ended a life by itself, and was not a lost Lease.
        self.errors: list[BaseException] = []
        self._world = world
        self._numbers = itertools.count(1)
        self._is_wanted = True
        self._is_over = False

    @property
    def manager(self) -> Manager | None:
        """What runs in the present life, None if there is none, or a program."""
        return self.life.manager if self.life is not None else None

    @property
    def is_gone(self) -> bool:
        """Whether it has ended for good."""
        return self.life is None and not self._is_wanted

    @property
    def leads(self) -> bool:
        """Whether it has won an election, as far as it knows, and its controllers work."""
        manager = self.manager
        return manager is not None and manager.election is not None and manager.election.leads

    @property
    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Those of the present life."""
        factory = self.life.informers if self.life is not None else None
        return list(factory.informers.values()) if factory is not None else []

    @property
    def is_busy(self) -> bool:
        """Whether something is about to happen to it by itself: it is to be started, or to go on."""
        life = self.life
        return self._is_wanted and (life is None or life.held is not None or life.held_timers is not None)

    # -- its lives ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Live again and again, until stopped."""
        while self._is_wanted:
            number = next(self._numbers)
            life = Life(self, self.name if number == 1 else f"{self.name}#{number}")
            OWNER.set(life)
            self.life = life
            try:
                with life.scope:
                    await self._live(life)
                self._ended(life)
            except Exception as error:
                self._ended(life, error)
            self.life = None
            OWNER.set(None)
            self._world.network.leave(life)
            if self._is_wanted:
                await anyio.sleep(self.options.restart_after)

    def _ended(self, life: Life, error: Exception | None = None) -> None:
        if life.is_cut_off or (error is None and self._is_over):
            return
        self._world.tell(self.name, "ended", detail=repr(error) if error is not None else "")
        self._cut_off(life)
        if error is not None and not isinstance(error, LeadershipLost | MembershipLost):
            self.errors.append(error)

    async def _live(self, life: Life) -> None:
        world, options = self._world, self.options
        world.tell(self.name, "start", options.group, detail="" if self.url == world.server.url else self.url)
        made = Transport if world.options.events else _WithoutEvents
        transport = made(endpoint_from_url(self.url, token=world.server.token), clock=self.clock, user_agent=self.name)
        async with transport:
            client = Client(transport)
            life.informers = informers = _NotedInformers(client, life, clock=self.clock)
            if options.main is not None:
                await options.main(Program(life.name, self.host, client, informers, self.clock))
                return
            election = options.election and replace(options.election, identity=life.name)
            sharding = options.sharding and replace(options.sharding, identity=life.name)
            life.manager = manager = Manager(
                client,
                known=options.controllers,
                options=options.options,
                informers=informers,
                clock=self.clock,
                beside_kube_controller_manager=True,
                leader_election=election,
                sharding=sharding,
            )
            for name, controller in manager.controllers.items():
                wrap = getattr(controller, "wrap_sync", None)
                if wrap is not None:
                    wrap(lambda sync, name=name: self._noted(life, name, sync))
            await manager.run()

    def stop(self) -> None:
        """End it for good, in order; nothing is told of it."""
        self._is_wanted, self._is_over = False, True
        if (life := self.life) is not None:
            self._world.loop.release(life)
            self._world.loop.release_timers(life)
            life.scope.cancel()

    def terminate(self, *, for_good: bool = False) -> None:
        """
        End the present life as SIGTERM does: a manager ends in order, a program is cancelled.

        :param for_good: whether it is not started again
        """
        self._is_wanted = self._is_wanted and not for_good
        life = self.life
        if life is not None and not life.is_cut_off:
            self._world.start(partial(self._terminate, life), f"end of {life.name}")

    async def _terminate(self, life: Life) -> None:
        OWNER.set(life)
        # A process that stands still hears of it when it goes on.
        await anyio.lowlevel.checkpoint()
        if life.manager is None:
            life.scope.cancel()
        else:
            await life.manager.stop()

    def kill(self, life: Life | None = None, why: str = "") -> None:
        """End a life as SIGKILL does: the present one, if none is named."""
        life = life or self.life
        if life is not None and not life.is_cut_off:
            self._world.tell(self.name, "killed", detail=why)
            self._cut_off(life)
            life.scope.cancel()

    def _cut_off(self, life: Life) -> None:
        life.is_cut_off = True
        self._world.loop.release(life)
        self._world.loop.release_timers(life)
        self._world.network.leave(life)

    def doom(self, life: Life, within: float) -> None:
        """Kill a life at its next request, or after some seconds without one."""
        life.is_doomed = True
        self._world.loop.call_later(within, self.kill, life)

    def pause(self, seconds: float) -> None:
        """Have the present life stand still for so long, as SIGSTOP and SIGCONT do."""
        life = self.life
        if life is None or life.is_cut_off or life.held is not None:
            return
        self._world.tell(self.name, "paused")
        self._world.loop.hold(life)
        self._world.loop.call_later(seconds, self._resume, life)

    def _resume(self, life: Life) -> None:
        if life.held is not None and not life.is_cut_off:
            self._world.tell(self.name, "resumed")
            self._world.loop.release(life)

    def stop_clock(self, seconds: float) -> None:
        """Have its timers stand still for so long, and its Lease be out of reach. It goes on hearing and doing."""
        life = self.life
        if life is None or life.is_cut_off or life.held_timers is not None:
            return
        life.lease_is_unreachable = "calls"
        self._world.loop.hold_timers(life)
        self._world.loop.call_later(seconds, self._start_clock, life)

    def _start_clock(self, life: Life) -> None:
        life.lease_is_unreachable = ""
        self._world.loop.release_timers(life)

    def lose_lease(self, seconds: float, what: Literal["calls", "answers"] = "calls") -> None:
        """Have its requests for Leases hang for so long, and all others go well."""
        if (life := self.life) is not None and not life.is_cut_off:
            life.lease_is_unreachable = what
            self._world.later(seconds, lambda: setattr(life, "lease_is_unreachable", ""))

    def isolate(self, seconds: float) -> None:
        """Cut the present life off from everybody for so long: its connections break, and it gets no new ones."""
        if (life := self.life) is None or life.is_cut_off or life.is_isolated:
            return
        life.is_isolated = True
        for end in self._world.network.ends_of(life):
            end.abort()
        self._world.later(seconds, lambda: setattr(life, "is_isolated", False))

    # -- what it sees and does ------------------------------------------------------------------------------------

    def _noted(
        self, life: Life, controller: str, sync: Callable[[Any], Awaitable[Any]]
    ) -> Callable[[Any], Awaitable[Any]]:
        """A sync whose beginning and end are in the history."""

        async def noted(key: Any) -> Any:
            text = str(key)
            what = (controller, text)
            self._world.tell_who_is_barred(self, what)
            self.note(life, "sync", text, detail=controller)
            life.syncing.add(what)
            try:
                answer = await sync(key)
            except BaseException as error:
                self.note(life, "synced", text, detail=f"{controller} {type(error).__name__}")
                raise
            finally:
                life.syncing.discard(what)
            self.note(life, "synced", text, detail=controller)
            return answer

        return noted

    def note(self, life: Life, what: Any, name: str, version: int = 0, detail: str = "") -> None:
        """Append to the history, if the process lives to tell it."""
        if not life.is_cut_off:
            self._world.tell(self.name, what, name, version, detail)

    def note_event(self, life: Life, resource: str, obj: Any, detail: str) -> None:
        metadata = getattr(obj, "metadata", None)
        if metadata is None:
            metadata = obj["metadata"]
        if isinstance(metadata, Mapping):
            namespace, name, version = metadata.get("namespace"), metadata["name"], metadata.get("resourceVersion")
        else:
            namespace, name, version = metadata.namespace, metadata.name, metadata.resource_version
        key = f"{namespace}/{name}" if namespace else name
        self.note(life, "event", f"{resource}/{key}", self._world.relative(version), detail)


class _WithoutEvents(Transport):
    """A connection over which Events are not sent: who writes one is answered at once."""

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        if method in ("POST", "PATCH") and about(method, path).resource in _EVENTS:
            await anyio.lowlevel.checkpoint()
            body: bytes = more["body"]
            return body
        return await super().request(method, path, **more)


class _NotedInformers(SharedInformerFactory):
    """Informers whose handlers' calls are in the history."""

    def __init__(self, client: Client, life: Life, **options: Any) -> None:
        super().__init__(client, **options)
        self._life = life

    def _make(self, *args: Any) -> SharedIndexInformer[Any]:
        return self._noted(super()._make(*args), args[1])

    def _make_borrowed(self, *args: Any) -> SharedIndexInformer[Any]:
        return self._noted(super()._make_borrowed(*args), args[1])

    def _noted(self, informer: SharedIndexInformer[Any], gvr: Any) -> SharedIndexInformer[Any]:
        add, life, resource = informer.add_event_handler, self._life, str(gvr.group_resource)
        numbers = itertools.count(1)

        def add_event_handler(handler: ResourceEventHandler[Any], **options: Any) -> Any:
            return add(_NotedHandler(handler, life, resource, f"{informer.name} {next(numbers)}"), **options)

        informer.add_event_handler = add_event_handler  # type: ignore[method-assign]
        return informer


class _NotedHandler:
    """Tells the history, and then the handler."""

    def __init__(self, handler: ResourceEventHandler[Any], life: Life, resource: str, name: str) -> None:
        self.__wrapped__ = handler
        self._name = name
        self._note = life.process.note_event
        self._life = life
        self._resource = resource

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        self._note(self._life, self._resource, obj, f"add {self._name}")
        return self.__wrapped__.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> object:
        self._note(self._life, self._resource, new, f"update {self._name}")
        return self.__wrapped__.on_update(old, new)

    def on_delete(self, obj: Any, /) -> object:
        found = last_state(obj)
        self._note(self._life, self._resource, found, f"delete {self._name}")
        return self.__wrapped__.on_delete(obj)
