"""A world: one API server, any number of processes, a user, and a history, in one simulated run.

:func:`run_world` runs a scenario by a :class:`~kinformer.simulation.plan.Plan`, and returns a :class:`RunResult`::

    async def scenario(world: World) -> None:
        world.manager("replicationcontroller")
        await world.apply({"apiVersion": "v1", "kind": "ReplicationController", ...})
        await world.settled()
        assert len(await world.list(V1Pod)) == 3

    result = run_world(scenario, Plan(seed=17))

The same scenario and the same plan give the same history, byte for byte, in every process and on every machine. Time in
a world is virtual, so waiting takes no real time. Nothing of a world runs on after the run.

:func:`run_world` is a plain function with its own event loop. Call it where no other loop runs.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

import anyio

from kinformer.client import Client
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.envtest.loops import LOOPS
from kinformer.envtest.nodes import FakeNodes
from kinformer.informers import Snapshot
from kinformer.logs import silenced
from kinformer.manager import ControllerFactory, LeaderElection, Sharding
from kinformer.simulation.determinism import deterministic
from kinformer.simulation.faults import Faults, Fork
from kinformer.simulation.loop import OWNER, Deadlock, Livelock, Owner, SimulatedLoop
from kinformer.simulation.network import Network, NetworkOptions
from kinformer.simulation.oracles import Checks, Ending, Oracles, Reference
from kinformer.simulation.plan import Plan
from kinformer.simulation.process import Main, Process, ProcessOptions
from kinformer.simulation.process_clock import EPOCH, ProcessClock
from kinformer.simulation.server import DisturbedServer, SimulatedServer
from kinformer.simulation.stage import ACTORS, NotSettled, RunResult, Stage
from kinformer.simulation.stores import stores_of
from kinformer.simulation.transport import SimulatedTransport
from kinformer.simulation.user import controllers_of

__all__ = ("NotSettled", "RunResult", "Scenario", "World", "WorldOptions", "run_world")

_HOST: Final = "10.0.0.1"


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """
    The options of a world. All times are seconds of virtual time.

    :param loops: the loops that the server runs itself: keys of :data:`~kinformer.envtest.loops.LOOPS`
    :param nodes: the number of fake nodes, which run pods
    :param network: latencies, and how often bytes are split
    :param quiet: after so many seconds without a change, the world has settled
    :param patience: the most seconds to wait until the world has settled
    :param longest: a scenario that still runs after so many seconds is ended
    :param events: whether Events are written. Nothing depends on them, and a run takes a quarter longer with them
    :param plugins: whether the admission plug-ins of installed packages are used
    :param log: whether kinformer's log of a run is shown
    :param http: whether all requests go by HTTP over connections in memory; without it, those of managers, nodes and
        the user are calls of the server's handler, which is much faster. See :mod:`kinformer.simulation.direct`
    :param apis: versions that the server serves besides the default ones; see :class:`~kinformer.envtest.ApiServer`
    """

    loops: tuple[str, ...] = tuple(LOOPS)
    nodes: int = 0
    network: NetworkOptions = field(default_factory=NetworkOptions)
    quiet: float = 30.0
    patience: float = 3600.0
    longest: float = 7 * 24 * 3600.0
    events: bool = False
    plugins: bool = True
    log: bool = False
    http: bool = False
    apis: tuple[str, ...] = ()


class World(Stage[Process]):
    """See the module. What it has besides simulated processes is in :class:`~kinformer.simulation.stage.Stage`."""

    def __init__(
        self, plan: Plan, faults: Faults | None, options: WorldOptions, oracles: Oracles, loop: SimulatedLoop
    ) -> None:
        self.options = options
        self.loop = loop
        self.network = Network(loop, plan.seed, options.network)
        self._over = anyio.Event()
        self._owner = Owner("server")
        self._user = Owner("user")
        self._replicas = 0
        self._services: dict[tuple[str, str], tuple[int, list[Process]]] = {}
        self._random = random.Random(f"services {plan.seed}")
        OWNER.set(self._owner)
        super().__init__(
            plan, faults, oracles, quiet=options.quiet, patience=options.patience, clock=ProcessClock(loop)
        )

    def _make_server(self) -> DisturbedServer:
        return SimulatedServer(
            self,
            _HOST,
            self.network,
            token="simulation",
            clock=self.clock,
            controllers=self.options.loops,
            seed=self.plan.seed,
            plugins=self.options.plugins,
            apis=self.options.apis,
            resolve_service=self._endpoint_of,
        )

    @property
    def now(self) -> float:
        return self.loop.now

    @property
    def has_events(self) -> bool:
        return self.options.events

    def call_later(self, seconds: float, callback: Callable[[], object]) -> object:
        return self.loop.call_later(seconds, callback)

    # -- processes ----------------------------------------------------------------------------------------------------

    def manager(
        self,
        controllers: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory],
        name: str = "manager",
        *,
        options: Mapping[str, Any] | None = None,
        leader_election: LeaderElection | bool = False,
        sharding: Sharding | bool = False,
        restart_after: float = 1.0,
        is_disturbed: bool = True,
        next_controllers: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory] | None = None,
        snapshot: Snapshot | None = None,
    ) -> Process:
        """
        Start a process that runs a manager. It is started again after each end.

        :param controllers: a factory, an installed controller's name, ``package.module:factory``, several of these
            names, or factories by name
        :param name: the name of the process in records and plans
        :param options: the options of the controllers
        :param leader_election: the leader election; True for one Lease that all processes with True share
        :param sharding: the sharding of keys; True for one group that all processes with True share
        :param restart_after: the seconds from its end until it is started again
        :param is_disturbed: whether faults may happen to it
        :param next_controllers: the controllers of the next version, which run after :meth:`Process.upgrade`, or after
            the deviation ``upgrade``; None if there is no next version
        :param snapshot: where its informers keep their caches from one life to the next. The file is a real one: the
            scenario has to remove it at its start
        :raises ValueError: if there is a process with this name
        :raises LookupError: if no controller with a name is installed
        """
        how = ProcessOptions(
            controllers_of(controllers),
            options or {},
            LeaderElection() if leader_election is True else leader_election or None,
            Sharding() if sharding is True else sharding or None,
            restart_after=restart_after,
            snapshot=snapshot,
        )
        if snapshot is not None:
            self.injector.fork = None  # the files would be shared with the processes of other plans
        process = self._keep(name, how, is_disturbed)
        process.next_controllers = controllers_of(next_controllers) if next_controllers is not None else None
        return process

    def managers(
        self,
        count: int,
        controllers: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory],
        name: str = "manager",
        **how: Any,
    ) -> list[Process]:
        """
        Start several processes that run the same manager: ``manager-1``, ``manager-2`` and so on.

        :param count: the number of processes
        :param controllers: see :meth:`manager`
        :param name: the beginning of the names
        :param how: further arguments of :meth:`manager`; set `leader_election` or `sharding`
        """
        return [self.manager(controllers, f"{name}-{number}", **how) for number in range(1, count + 1)]

    def program(self, main: Main, name: str, *, restart_after: float = 1.0, is_disturbed: bool = True) -> Process:
        """
        Start a process that runs a program, such as the server of a webhook. It is started again after each end.

        ::

            async def main(program: Program) -> None:
                await WebhookServer(webhooks(program.client), None, host=program.host, port=9443).run()

            world.service("webhooks", "default", [world.program(main, f"webhook-{n}") for n in (1, 2)], port=9443)

        :param main: the program, an async function; it is called again after each end
        :param name: the name of the process in records and plans
        :param restart_after: the seconds from its end until it is started again
        :param is_disturbed: whether faults may happen to it
        :raises ValueError: if there is a process with this name
        """
        return self._keep(name, ProcessOptions(main=main, restart_after=restart_after), is_disturbed)

    def _keep(self, name: str, how: ProcessOptions, is_disturbed: bool) -> Process:
        if name in self.processes or name in ACTORS:
            raise ValueError(f"there is a process {name!r} already")
        host = f"10.0.2.{len(self.processes) + 1}"
        process = Process(self, name, how, self.server.url, host=host, is_disturbed=is_disturbed)
        self.processes[name] = process
        self.start(process.run, name)
        return process

    def service(self, name: str, namespace: str, processes: Iterable[Process], port: int) -> None:
        """
        Let the API server reach processes by the name of a service, as in the ``clientConfig`` of webhooks.

        Each new connection goes to a random one of the processes that listen.

        :param name: the name of the service
        :param namespace: its namespace
        :param processes: the processes
        :param port: the port on which the processes listen
        """
        self._services[namespace, name] = port, list(processes)

    def _endpoint_of(self, namespace: str, name: str, _: int) -> tuple[str, int]:
        """
        The address of a process behind a service.

        :raises LookupError: if no process listens
        """
        port, processes = self._services.get((namespace, name), (0, []))
        addresses = [(each.host, port) for each in processes if (each.host, port) in self.network.servers]
        if not addresses:
            raise LookupError(f'no endpoints available for service "{name}"')
        return self._random.choice(addresses)

    def connect(self, name: str, url: str, clock: Clock) -> Transport:
        """
        A transport to an API server. It is not open yet.

        :param name: whose transport it is; Events of processes are left out unless the options want them
        """
        network = None if self.options.http else self.network
        sends_events = self.options.events or name not in self.processes
        return SimulatedTransport(url, self.server.token, name, clock=clock, network=network, sends_events=sends_events)

    def _connect_user(self) -> Transport:
        return self.connect("user", self.server.url, self.clock)

    def tell_who_is_barred(self, process: Process, sync: tuple[str, str]) -> None:
        """
        Append records about processes that can no longer write in a sync, just before a process begins the same sync.

        :param process: the process that begins the sync; only processes of its group, and itself, are looked at
        :param sync: the controller's name, and the key
        """
        group = process.options.group
        for other in self.processes.values() if group else ():
            life = other.life
            if life is None or other.options.group != group or (other is not process and sync not in life.syncing):
                continue
            if not life.may_write:
                self.tell(other.name, "barred", sync[1], detail=sync[0])

    # -- faults that need the whole world ------------------------------------------------------------------------------

    def fall_behind(self, process: Process, changes: int, seconds: float) -> None:
        storage = self.server.storage
        self._replicas += 1
        number = self._replicas
        host = f"10.0.1.{number}"
        version = self.version_behind(changes)
        process.url = f"http://{host}:6443"

        async def serve() -> None:
            OWNER.set(self._owner)
            async with self.server.replica(host) as replica:
                replica.stand_at(version)
                self.later(seconds, replica.catch_up)
                await anyio.sleep_forever()

        self.tell("server", "note", detail=f"{process.url} stands at version {version - storage.first}")
        self.start(serve, f"replica {number}")

    def _break_connections(self) -> None:
        self.network.cut(self._owner)

    async def _restart_server(self, history: str) -> None:
        OWNER.set(self._owner)
        await super()._restart_server(history)

    # -- the run ------------------------------------------------------------------------------------------------------

    async def run(self, scenario: Scenario, result: RunResult) -> Ending:
        """Run the world from its beginning to its end."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.server)
            self._tasks = await stack.enter_async_context(anyio.create_task_group())
            self._tasks.start_soon(self._use, scenario, result, name="user")
            await self._over.wait()
            self.injector.stop()
            stores = stores_of(self.processes.values(), self.server.storage, self.relative)
            for process in self.processes.values():
                process.stop()
            self._tasks.cancel_scope.cancel()
        self._tasks = None
        result.final_state = self.state.objects()
        result.seconds = self.loop.now
        return Ending(self.loop.now, self.state, not isinstance(result.error, NotSettled), stores)

    async def _use(self, scenario: Scenario, result: RunResult) -> None:
        OWNER.set(self._user)
        async with self.transport, anyio.create_task_group() as tasks:
            if self.options.nodes:
                tasks.start_soon(self._run_nodes, name="nodes")
            try:
                with anyio.move_on_after(self.options.longest) as limit:
                    await scenario(self)
                    await self.settled()
                if limit.cancelled_caught:
                    raise NotSettled(f"the scenario has not ended within {self.options.longest:g} s")
            except Exception as error:
                result.error = error
            self._over.set()
            tasks.cancel_scope.cancel()

    async def _run_nodes(self) -> None:
        OWNER.set(Owner("nodes"))
        async with self.connect("nodes", self.server.url, self.clock) as transport:
            await FakeNodes(Client(transport), self.options.nodes, clock=self.clock).run()


Scenario: TypeAlias = Callable[[World], Awaitable[object]]


class _Time:
    """The time of a run, for code that asks the system for the time."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.monotonic = loop.time
        self._began = EPOCH.timestamp()

    def timestamp(self) -> float:
        process = self._process()
        return self._began + self.monotonic() + (process.clock.skew if process is not None else 0.0)

    def zone(self) -> timedelta:
        process = self._process()
        return process.clock.zone if process is not None else timedelta()

    @staticmethod
    def _process() -> Process | None:
        process: Process | None = getattr(OWNER.get(), "process", None)
        return process


def run_world(
    scenario: Scenario,
    plan: Plan | None = None,
    *,
    faults: Faults | None = None,
    options: WorldOptions | None = None,
    checks: Checks | None = None,
    reference: Reference | None = None,
    fork: Fork | None = None,
) -> RunResult:
    """
    Run a scenario in a new world. Errors of the scenario are in the result.

    :param scenario: an async function whose argument is the world
    :param plan: the seed, and the deviations that always happen; None for seed 0 and no deviations
    :param faults: the rates of further faults; None for no others
    :param options: the options of the world
    :param checks: which oracles are on, and how strict they are
    :param reference: the data of the run without deviations; None if this is that run
    :param fork: lets other plans branch off: see :mod:`kinformer.simulation.forks`
    """
    collects = gc.isenabled()
    # The garbage collector would call finalizers at times that the seed does not decide.
    gc.disable()
    try:
        return _run(scenario, plan or Plan(), faults, options or WorldOptions(), checks or Checks(), reference, fork)
    finally:
        # The garbage collector starts again only here, when nothing refers to the world: its next run frees all of it.
        if collects:
            gc.enable()


def _run(
    scenario: Scenario,
    plan: Plan,
    faults: Faults | None,
    options: WorldOptions,
    checks: Checks,
    reference: Reference | None,
    fork: Fork | None,
) -> RunResult:
    loop = SimulatedLoop(plan.seed)
    worlds: list[World] = []

    def made() -> World:
        worlds.append(World(plan, faults, options, oracles, loop))
        worlds[0].injector.fork = fork
        return worlds[0]

    # A world that settles after a shorter time is quiet only for that time at its end.
    oracles = Oracles(replace(checks, quiet=min(checks.quiet, options.quiet)), reference)
    try:
        with deterministic(_Time(loop), plan.seed), nullcontext() if options.log else silenced():
            result, ending = loop.run_and_close(lambda: _play(scenario, made()))
    except (Deadlock, Livelock) as error:
        # The history until then shows a person why the loop could not go on.
        result, ending = RunResult(plan, worlds[0].history, error=error), Ending(loop.now, worlds[0].state, False)
        result.seconds, result.final_state = loop.now, worlds[0].state.objects()
    (world,) = worlds
    result.plan, result.counts = world.injector.plan_as_it_happened, world.injector.counts
    result.errors = [repr(error) for process in world.processes.values() for error in process.errors]
    result.errors += [f"{each.get('message')}: {each.get('exception')!r}" for each in loop.errors]
    result.steps = loop.steps
    ending = replace(ending, tasks=result.orphans, exceptions=result.errors)
    result.violations = oracles.finish(ending)
    result.refer = partial(oracles.reference, result.final_state)
    result.look = world.look()
    # The listeners refer to the world, which must not live as long as its history.
    world.history.listeners.clear()
    return result


async def _play(scenario: Scenario, world: World) -> tuple[RunResult, Ending]:
    result = RunResult(world.plan, world.history)
    ending = await world.run(scenario, result)
    result.orphans = sorted(
        task.get_name() for task in asyncio.all_tasks(world.loop) if task is not asyncio.current_task()
    )
    return result, ending
