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
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from kinformer.client import Client, ClientOptions, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.envtest.loops import LOOPS
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.storage import Change
from kinformer.logs import silenced
from kinformer.manager import ControllerFactory, LeaderElection, Sharding
from kinformer.meta.names import GroupResource
from kinformer.simulation.determinism import deterministic
from kinformer.simulation.faults import Faults, Injector
from kinformer.simulation.history import History, What
from kinformer.simulation.loop import OWNER, Deadlock, Livelock, Owner, SimulatedLoop
from kinformer.simulation.network import Network, NetworkOptions
from kinformer.simulation.oracles import Checks, Ending, Invariant, Oracles, Reference, Violation
from kinformer.simulation.plan import Deviation, Plan, RestartServer
from kinformer.simulation.process import EPOCH, Main, Process, ProcessClock, ProcessOptions
from kinformer.simulation.requests import UNCOUNTED, About
from kinformer.simulation.server import EXCHANGE, Sight, SimulatedServer
from kinformer.simulation.state import State
from kinformer.simulation.stores import stores_of
from kinformer.simulation.user import User, controllers_of

__all__ = ("NotSettled", "RunResult", "Scenario", "World", "WorldOptions", "run_world")

_HOST: Final = "10.0.0.1"
#: The names of actors that are not processes. A process must not have such a name.
_ACTORS: Final = ("user", "nodes", "server")
_TOUCHED: Final = "kinformer.dev/touched"
#: The records after which a world has to be quiet for some time until it has settled. Syncs do not count, because some
#: controllers sync periodically.
_ACTIVITY: Final = frozenset({"start", "ended", "killed", "paused", "resumed", "write", "event", "fault"})


class NotSettled(AssertionError):
    """The world did not settle: changes, events or faults did not stop in time, or the scenario did not end."""


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
    apis: tuple[str, ...] = ()


@dataclass(eq=False)
class RunResult:
    """
    The result of a run.

    :param plan: the seed and all deviations that happened; this plan does the same without random faults
    :param history: everything that happened
    :param final_state: the objects at the end, by their names as in records
    :param violations: what the oracles have found
    :param counts: how often each point was passed at which a fault can happen, as the injector counts them
    :param error: the error that ended the scenario, None if there was none; a Deadlock or a Livelock if the loop could
        not go on
    :param errors: errors that nobody caught, in tasks, callbacks and processes
    :param orphans: the names of tasks that were left at the end
    :param seconds: the virtual time that the run took
    :param steps: how many callbacks and steps of tasks have run
    :param refer: makes :attr:`reference`
    """

    plan: Plan
    history: History
    final_state: dict[str, dict[str, Any]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    counts: Mapping[Hashable, int] = field(default_factory=dict)
    error: BaseException | None = None
    errors: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    refer: Callable[[], Reference] | None = None

    @cached_property
    def reference(self) -> Reference:
        """The data with which other runs of the scenario are compared. It is made at first use: few runs need it."""
        assert self.refer is not None, "the run is over"
        return self.refer()


# More than 15 fields: each part of the world is one field, and the faults of a plan reach all of them.
class World(User):
    """
    See the module. The requests of the user are the methods of :class:`~kinformer.simulation.user.User`.

    :ivar history: what has happened so far
    :ivar state: the objects that are stored now
    :ivar processes: the processes by name
    """

    def __init__(
        self, plan: Plan, faults: Faults | None, options: WorldOptions, oracles: Oracles, loop: SimulatedLoop
    ) -> None:
        self.plan = plan
        self.options = options
        self.loop = loop
        self.history = History()
        self.clock = ProcessClock(loop)
        self.injector = Injector(plan, faults)
        self.network = Network(loop, plan.seed, options.network)
        self.processes: dict[str, Process] = {}
        self.oracles = oracles
        #: The time of the last activity, or the end of the last fault; the world settles some time after it.
        self.last_activity = 0.0
        self._tasks: TaskGroup | None = None
        self._sights: dict[str, Sight] = {}
        self._disturbances = 0
        self._over = anyio.Event()
        self._owner = Owner("server")
        self._user = Owner("user")
        self._replicas = 0
        self._services: dict[tuple[str, str], tuple[int, list[Process]]] = {}
        self._random = random.Random(f"services {plan.seed}")
        self._server_restarts = False
        OWNER.set(self._owner)
        server = SimulatedServer(
            self,
            _HOST,
            token="simulation",
            clock=self.clock,
            controllers=options.loops,
            seed=plan.seed,
            plugins=options.plugins,
            apis=options.apis,
            resolve_service=self._endpoint_of,
        )
        super().__init__(server, self.clock)
        server.storage.listeners.append(self._changed)
        self.state = State(server)
        self.history.listeners.append(lambda record: oracles.record(record, self.state))

    # -- processes ----------------------------------------------------------------------------------------------------

    def manager(
        self,
        controllers: ControllerFactory | str | Iterable[str] | Mapping[str, ControllerFactory],
        name: str = "manager",
        *,
        options: Mapping[str, Any] | None = None,
        leader_election: LeaderElection | bool = False,
        sharding: Sharding | bool = False,
        restart_after: float = 1.0,
        is_disturbed: bool = True,
        next_controllers: ControllerFactory | str | Iterable[str] | Mapping[str, ControllerFactory] | None = None,
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
        :raises ValueError: if there is a process with this name
        :raises LookupError: if no controller with a name is installed
        """
        how = ProcessOptions(
            controllers_of(controllers),
            options or {},
            LeaderElection() if leader_election is True else leader_election or None,
            Sharding() if sharding is True else sharding or None,
            restart_after=restart_after,
        )
        process = self._keep(name, how, is_disturbed)
        process.next_controllers = controllers_of(next_controllers) if next_controllers is not None else None
        return process

    def managers(
        self,
        count: int,
        controllers: ControllerFactory | str | Iterable[str] | Mapping[str, ControllerFactory],
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
        if name in self.processes or name in _ACTORS:
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

    @property
    def records_events(self) -> bool:
        """Whether Events are sent to the server."""
        return self.options.events

    def start(self, function: Callable[[], Coroutine[Any, Any, object]], name: str) -> None:
        """Run a coroutine function beside the scenario, until the end of the world at the latest."""
        assert self._tasks is not None, "the world is over"
        self._tasks.start_soon(function, name=name)

    # -- the history --------------------------------------------------------------------------------------------------

    def tell(self, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> None:
        """Append a record to the history. The parameters are those of :class:`Record`; `name` is its object."""
        now = self.loop.now
        if what in _ACTIVITY:
            self.last_activity = max(self.last_activity, now)
        self.history.append(now, actor, what, name, version, detail)

    def tell_fault(self, actor: str, deviation: Deviation, name: str = "", version: int | str = 0) -> None:
        self.tell(actor, "fault", name, self.relative(version), str(deviation))

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

    def relative(self, version: int | str | None) -> int:
        """A resourceVersion as in records: counted from the beginning of the run."""
        number = int(version or 0)
        return number - self.server.storage.first if number else 0

    def _changed(self, resource: GroupResource, change: Change) -> None:
        name, exchange = str(resource), EXCHANGE.get()
        actor = exchange.actor if exchange is not None else _actor()
        before = self.last_activity
        self.tell(actor, "write", f"{name}/{change.now.key}", self.relative(change.number), change.type)
        if name in UNCOUNTED:
            self.last_activity = before
            return
        if self._tasks is None:
            # The server makes the objects that every cluster has, before the run begins.
            return
        if exchange is not None:
            exchange.changes += 1
        for deviation in self.injector.change():
            self.tell_fault("server", deviation)
            if isinstance(deviation, RestartServer) and not self._server_restarts:
                self._server_restarts = True
                self.start(partial(self._restart_server, deviation.history), "restart of the server")

    def assert_always(self, check: Invariant) -> None:
        """
        Check a condition after every change.

        :param check: a function whose argument is the state of the storage. The condition is broken if the function
            raises an error, or returns False
        """
        self.oracles.assert_always(check)

    def assert_eventually(self, check: Invariant) -> None:
        """
        Check a condition at the end of the run.

        :param check: see :meth:`assert_always`
        """
        self.oracles.assert_eventually(check)

    # -- faults that need the whole world ------------------------------------------------------------------------------

    def sight_of(self, actor: str) -> Sight:
        return self._sights.setdefault(actor, Sight())

    def later(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call a function after some seconds. The world does not settle before that."""
        self.last_activity = max(self.last_activity, self.loop.now + seconds)
        self.loop.call_later(seconds, callback)

    @contextmanager
    def disturbing(self) -> Iterator[None]:
        """Keep the world from settling while the block runs."""
        self._disturbances += 1
        try:
            yield
        finally:
            self._disturbances -= 1
            self.last_activity = max(self.last_activity, self.loop.now)

    def touch(self, what: About) -> None:
        """Change an object and change it back, as another writer. After that only its resourceVersion is new."""
        resource = next((each for each in self.server.registry if str(each.group_resource) == what.resource), None)
        if resource is None or not what.name:
            return
        storage, key = self.server.storage, resource.storage
        found = storage.get(key, what.namespace, what.name)
        if found is None:
            return
        obj = found.decode()
        annotations = obj["metadata"].get("annotations")
        token = EXCHANGE.set(None)
        try:
            changed = {**obj, "metadata": {**obj["metadata"], "annotations": {**(annotations or {}), _TOUCHED: "true"}}}
            storage.update(key, storage.update(key, found, changed), obj)
        finally:
            EXCHANGE.reset(token)

    def fall_behind(self, process: Process, changes: int, seconds: float) -> None:
        """
        Connect a process to a replica of the server that is behind, from its next life on.

        :param process: the process
        :param changes: how many changes the replica is behind
        :param seconds: the time until the replica catches up
        """
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

    def version_behind(self, changes: int) -> int:
        """The version after which there were `changes` changes. Changes of uncounted resources are left out."""
        storage = self.server.storage
        numbers = sorted(
            change.number
            for resource, log in storage.logs()
            if str(resource) not in UNCOUNTED
            for change in log.changes
        )
        return numbers[-changes] - 1 if changes <= len(numbers) else storage.first

    async def _restart_server(self, history: str) -> None:
        OWNER.set(self._owner)
        with self.disturbing():
            for end in self.network.ends_of(self._owner):
                end.abort()
            if history == "gone":
                self.server.storage.compact()
            await self.server.restart()
        self._server_restarts = False

    # -- time ---------------------------------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        """Let some seconds of virtual time pass."""
        await anyio.sleep(seconds)

    @property
    def is_busy(self) -> bool:
        """Whether a fault is going on, or a process is paused or going to be started again."""
        return self._disturbances > 0 or any(process.is_busy for process in self.processes.values())

    async def settled(self, quiet: float | None = None) -> None:
        """
        Wait until nothing has happened for some time: no change, no event, and no fault.

        :param quiet: for how many seconds; None for the value of the world's options
        :raises NotSettled: if the world has not settled within the options' `patience`
        """
        quiet = self.options.quiet if quiet is None else quiet
        give_up = self.loop.now + self.options.patience
        while True:
            wait = self.last_activity + quiet - self.loop.now
            if wait <= 0:
                if not self.is_busy:
                    return
                wait = quiet / 10
            if self.loop.now + wait > give_up:
                raise NotSettled(f"nothing has settled within {self.options.patience:g} s: {self.history.records[-1]}")
            await anyio.sleep(wait)

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
        endpoint = endpoint_from_url(self.server.url, token=self.server.token)
        async with Transport(endpoint, ClientOptions(user_agent="nodes"), clock=self.clock) as transport:
            await FakeNodes(Client(transport), self.options.nodes, clock=self.clock).run()


Scenario: TypeAlias = Callable[[World], Awaitable[object]]


def _actor() -> str:
    owner = OWNER.get()
    return owner.name if owner is not None else "server"


class _Time:
    """The time of a run, for code that asks the system for the time."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.monotonic = loop.time
        self._began = EPOCH.timestamp()

    def timestamp(self) -> float:
        owner = OWNER.get()
        process: Process | None = getattr(owner, "process", None)
        return self._began + self.monotonic() + (process.clock.skew if process is not None else 0.0)


def run_world(
    scenario: Scenario,
    plan: Plan | None = None,
    *,
    faults: Faults | None = None,
    options: WorldOptions | None = None,
    checks: Checks | None = None,
    reference: Reference | None = None,
) -> RunResult:
    """
    Run a scenario in a new world. Errors of the scenario are in the result.

    :param scenario: an async function whose argument is the world
    :param plan: the seed, and the deviations that always happen; None for seed 0 and no deviations
    :param faults: the rates of further faults; None for no others
    :param options: the options of the world
    :param checks: which oracles are on, and how strict they are
    :param reference: the data of the run without deviations; None if this is that run
    """
    collects = gc.isenabled()
    # The garbage collector would call finalizers at times that the seed does not decide.
    gc.disable()
    try:
        return _run(scenario, plan or Plan(), faults, options or WorldOptions(), checks or Checks(), reference)
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
) -> RunResult:
    loop = SimulatedLoop(plan.seed)
    worlds: list[World] = []

    def made() -> World:
        worlds.append(World(plan, faults, options, oracles, loop))
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
