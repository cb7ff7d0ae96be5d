"""Simulated processes. A process runs a manager and has its own clock. It can be killed, paused and started again.

A :class:`Process` is like the pod of a Deployment with one replica: it has a name and a clock, and is started again
after each end. Each run of it is a :class:`Life`. A life begins with an empty memory, and runs a real
:class:`~kinformer.manager.Manager` over the simulated network. When it is killed, its connections break at once, and
nothing that it still sends arrives. Its tasks are cancelled so that they clean up, without an effect on others.

In place of a manager, a process can run a program: any async function that takes a :class:`Program`, such as the server
of a webhook. It is killed and started again in the same way. Others can connect to the addresses on which it listens.

The history gets what the process sees and does, see :mod:`kinformer.simulation.noting`.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import anyio
import anyio.lowlevel

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory, Snapshot
from kinformer.leaderelection import Guard
from kinformer.manager import ControllerFactory, LeaderElection, LeadershipLost, Manager, MembershipLost, Sharding
from kinformer.simulation.history import What
from kinformer.simulation.loop import OWNER, Owner, SimulatedLoop
from kinformer.simulation.network import Listener, Network
from kinformer.simulation.noting import NotedInformers, Notes
from kinformer.simulation.process_clock import ProcessClock

__all__ = ("Life", "Main", "Process", "ProcessOptions", "Program", "Surroundings")


@dataclass(frozen=True, slots=True)
class Program:
    """
    The argument of a program that runs as a simulated process.

    :param name: the name of this life; no other life or process has the same
    :param host: the address that it may listen on, see :meth:`listener`
    :param client: a client of the API server
    :param informers: makes informers whose handlers' calls are in the history; the program has to run them
    :param clock: the clock of the process
    :param url: the URL of the API server, for other clients
    :param token: the bearer token, for other clients
    """

    name: str
    host: str
    client: Client
    informers: SharedInformerFactory
    clock: ProcessClock
    url: str
    token: str

    def listener(self, port: int) -> Any:
        """An object that stands for a listening socket on this port, for aiohttp's ``SockSite`` and similar."""
        return Listener(self.host, port)


Main: TypeAlias = Callable[[Program], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """
    What a process runs.

    :param controllers: the controllers of its manager, by name
    :param options: the controllers' options, by names in Python's spelling
    :param election: the leader election; None to work without a Lease
    :param sharding: the sharding of keys between processes; None for none
    :param main: a program that runs in place of a manager
    :param restart_after: the seconds from its end until it is started again
    :param snapshot: where its informers keep their caches from one life to the next; None: each life begins with lists
    """

    controllers: Mapping[str, ControllerFactory] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    election: LeaderElection | None = None
    sharding: Sharding | None = None
    main: Main | None = None
    restart_after: float = 1.0
    snapshot: Snapshot | None = None

    @property
    def group(self) -> str:
        """The name in records of the Lease of its leader election or shard group; empty if it has neither."""
        if self.election is not None:
            return f"leases.coordination.k8s.io/{self.election.namespace}/{self.election.name}"
        if self.sharding is not None:
            return f"leases.coordination.k8s.io/{self.sharding.namespace}/{self.sharding.group}"
        return ""

    @property
    def may_lead(self) -> bool:
        """Whether it may hold a Lease. A program may have its own, which is not known here."""
        return bool(self.group) or self.main is not None


class Life(Owner):
    """
    One life of a process, from its start to its end.

    :ivar is_cut_off: whether it is dead. It may still have tasks that clean up, but it can send and receive nothing
    :ivar is_doomed: whether it is killed at its next request
    :ivar is_isolated: whether it has no network at the moment
    :ivar lease_is_unreachable: whether its requests for Leases are lost (``calls``) or their responses (``answers``);
        empty if none are lost
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
        """The guard that allows its controllers to write; None without leader election and sharding."""
        if self.manager is None:
            return None
        if self.manager.election is not None:
            return self.manager.election.elector.guard
        return self.manager.shards.member.guard if self.manager.shards is not None else None

    @property
    def may_write(self) -> bool:
        """Whether its controllers may write now, by its own clock."""
        guard = self.guard
        if guard is None:
            return True
        token = OWNER.set(self)
        try:
            return guard.is_open
        finally:
            OWNER.reset(token)


class Surroundings(Protocol):
    """The part of :class:`~kinformer.simulation.world.World` that its processes need."""

    loop: SimulatedLoop
    network: Network

    @property
    def has_events(self) -> bool:
        """Whether its processes write Events."""

    def connect(self, name: str, url: str, clock: Clock) -> Transport:
        """A transport of a process to an API server. It is not open yet."""

    @property
    def server(self) -> ApiServer:
        """The API server."""

    def start(self, function: Callable[[], Coroutine[Any, Any, object]], name: str) -> None:
        """Run a coroutine function beside the scenario."""

    def later(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call a function after some seconds."""

    def tell(self, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> None:
        """Append a record to the history."""

    def tell_who_is_barred(self, process: Process, sync: tuple[str, str]) -> None:
        """Append records about processes that can no longer write in a sync."""

    def relative(self, version: int | str | None) -> int:
        """A resourceVersion, counted from the beginning of the run."""


class Process:
    """
    A process that is started again after each end, until it is stopped.

    :param world: the world in which it runs
    :param name: its name in records and plans
    :param options: what it runs
    :param url: the URL of the API server for the next life
    :param host: its address, on which it may listen
    :param is_disturbed: whether faults may happen to it
    :ivar life: the present life; None between two lives
    """

    def __init__(
        self,
        world: Surroundings,
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
        #: The controllers of the next version; None if there is none.
        self.next_controllers: Mapping[str, ControllerFactory] | None = None
        #: The errors that ended a life, except a lost Lease.
        self.errors: list[BaseException] = []
        self._world = world
        self._numbers = itertools.count(1)
        #: The next life begins after so many writes of the user, or when this event is set.
        self._away_for = 0
        self._may_return = anyio.Event()
        self._is_wanted = True
        self._is_over = False

    @property
    def manager(self) -> Manager | None:
        """The manager of the present life; None if there is no life, or it runs a program."""
        return self.life.manager if self.life is not None else None

    @property
    def is_gone(self) -> bool:
        """Whether it has ended for good."""
        return self.life is None and not self._is_wanted

    @property
    def leads(self) -> bool:
        """Whether it has leader election and believes that it leads, so that its controllers work."""
        manager = self.manager
        return manager is not None and manager.election is not None and manager.election.leads

    @property
    def informers(self) -> list[SharedIndexInformer[Any]]:
        """The informers of the present life."""
        factory = self.life.informers if self.life is not None else None
        return list(factory.informers.values()) if factory is not None else []

    @property
    def is_busy(self) -> bool:
        """Whether it is going to end, to be started again, or to go on after a pause."""
        life = self.life
        if life is None:
            return self._is_wanted
        # One that got SIGTERM while it was paused is busy, too: it wakes up, and ends only then.
        return not self._is_wanted or life.is_cut_off or life.held is not None or life.held_timers is not None

    # -- its lives ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run one life after the other, until the process is stopped."""
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
            if self._away_for:
                await self._may_return.wait()
                self._away_for = 0

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
        async with world.connect(self.name, self.url, self.clock) as transport:
            client = Client(transport)
            notes = Notes(life, partial(world.tell, self.name), world.relative, partial(world.tell_who_is_barred, self))
            life.informers = informers = NotedInformers(client, notes, clock=self.clock, snapshot=options.snapshot)
            if options.main is not None:
                token = world.server.token
                await options.main(Program(life.name, self.host, client, informers, self.clock, self.url, token))
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
            if not world.has_events:
                manager.context.broadcasters.clear()  # so nobody passes on what the controllers record
            for name, controller in manager.controllers.items():
                wrap = getattr(controller, "wrap_sync", None)
                if wrap is not None:
                    wrap(partial(notes.noted, name))
            await manager.run()

    def stop(self) -> None:
        """End the process for good by cancellation. The history gets no record of it."""
        self._is_wanted, self._is_over = False, True
        if (life := self.life) is not None:
            self._world.loop.release(life)
            self._world.loop.release_timers(life)
            life.scope.cancel()

    def terminate(self, *, for_good: bool = False) -> None:
        """
        End the present life as SIGTERM does: a manager shuts down, a program is cancelled.

        :param for_good: whether the process is not started again
        """
        self._is_wanted = self._is_wanted and not for_good
        life = self.life
        if life is not None and not life.is_cut_off:
            self._world.start(partial(self._terminate, life), f"end of {life.name}")

    async def _terminate(self, life: Life) -> None:
        OWNER.set(life)
        # A paused process gets the signal when it goes on.
        await anyio.lowlevel.checkpoint()
        if life.manager is None:
            life.scope.cancel()
        else:
            await life.manager.stop()

    def kill(self, life: Life | None = None, why: str = "") -> None:
        """
        End a life as SIGKILL does.

        :param life: the life; None for the present one
        :param why: the reason, for the history
        """
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

    def go_away(self, writes: int, seconds: float) -> None:
        """Kill the present life. The next one begins after so many writes of the user, or seconds."""
        if self._away_for:
            return
        self._away_for, self._may_return = writes, anyio.Event()
        self._world.loop.call_later(seconds, self._may_return.set)
        self.kill()

    def note_user_write(self) -> None:
        """Note that the user has written something, which may bring the process back."""
        if self._away_for:
            self._away_for -= 1
            if not self._away_for:
                self._may_return.set()

    def upgrade(self, life: Life | None = None) -> None:
        """
        Kill the present life. The next one runs the next version of the controllers. Without one, nothing happens.

        :param life: the life to kill; None for the present one
        """
        if self.next_controllers is not None:
            self.options = replace(self.options, controllers=self.next_controllers)
            self.next_controllers = None
            self.kill(life, "for an upgrade")

    def move(self, hours: float, life: Life | None = None) -> None:
        """
        Kill the present life. The next one runs in another time zone.

        :param hours: how many hours the zone is ahead of UTC
        :param life: the life to kill; None for the present one
        """
        self.clock.zone = timedelta(hours=hours)
        self.kill(life, "to move to another time zone")

    def doom(self, life: Life, within: float) -> None:
        """Kill a life at its next request, or after `within` seconds if there is none."""
        life.is_doomed = True
        self._world.loop.call_later(within, self.kill, life)

    def pause(self, seconds: float) -> None:
        """Stop the present life for some seconds, as SIGSTOP and SIGCONT do."""
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

    def jump(self, seconds: float) -> None:
        """Let its wall clock jump."""
        self.clock.skew += seconds

    def split(self, seconds: float) -> None:
        """:meth:`stop_clock`, if it may hold a Lease."""
        if self.options.may_lead:
            self.stop_clock(seconds)

    def stop_clock(self, seconds: float) -> None:
        """
        Stop its timers, and make its Leases unreachable, for some seconds. It still gets events and works.

        So it believes that it still holds its Lease, and another process may get the Lease.
        """
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
        """
        Let its requests for Leases hang for some seconds. Its other requests work.

        :param what: whether the requests are lost (``calls``), or only their responses (``answers``)
        """
        if (life := self.life) is not None and not life.is_cut_off:
            life.lease_is_unreachable = what
            self._world.later(seconds, lambda: setattr(life, "lease_is_unreachable", ""))

    def isolate(self, seconds: float) -> None:
        """Take the network from the present life for some seconds: connections break, and new ones fail."""
        if (life := self.life) is None or life.is_cut_off or life.is_isolated:
            return
        life.is_isolated = True
        self._world.network.cut(life)
        self._world.later(seconds, lambda: setattr(life, "is_isolated", False))
