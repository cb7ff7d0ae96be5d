"""Several processes in one event loop, of which one is to write: each with a clock, a wire and a manager of its own.

A process can be stopped at any time (as by SIGSTOP: its timers do not fire, its answers are not read, nothing of it is
sent), cut off from the server, left without answers to its renewals, and its clock can be set. What is written counts
as the server tells it to somebody else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import anyio

from kinformer.client import Client, ConnectionLost, ServerUnreachable, connect
from kinformer.client.transport import BodyStream, Transport
from kinformer.clock import Clock, FakeClock, Timer, sleep_by_timer
from kinformer.envtest import ApiServer
from kinformer.leaderelection import ElectionOptions, LeadershipLost
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.models import V1ConfigMap, V1Node, V1ObjectMeta
from tests.turning import quiet, turn

__all__ = ("LEASE", "OBJECTS", "Process", "ProcessClock", "World", "Written", "processes")

LEASE = ElectionOptions()
#: The objects that whoever leads writes, each once a second.
OBJECTS = ("one", "two")
_PERIOD = 1.0
#: Seconds of that in which it makes up its mind. One of the two objects is always about to be written.
_DECIDING = 0.6
#: Seconds between two things that a process does when it wakes up.
_CATCHING_UP = 0.02


class ProcessClock:
    """
    A process' clocks over the world's, which a test turns.

    :ivar ahead: how far its time of day has been set
    """

    def __init__(self, world: FakeClock) -> None:
        self.ahead = timedelta(0)
        self._world = world
        self._rate = 1.0
        self._set_at = world.monotonic()
        self._set_to = 1000.0
        self._stopped = False
        self._missed: list[_Timer] = []

    def monotonic(self) -> float:
        return self._set_to + (self._world.monotonic() - self._set_at) * self._rate

    @property
    def rate(self) -> float:
        """Seconds of this process in one of the world's."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._set_to, self._set_at, self._rate = self.monotonic(), self._world.monotonic(), rate

    def jump(self, seconds: float) -> None:
        """Have so much time pass for this process alone: it, and its machine, slept."""
        self._set_to += seconds

    def now(self) -> datetime:
        return self._world.now() + self.ahead

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        timer = _Timer(self, callback)
        timer.of_the_world = self._world.call_later(seconds / self.rate, timer.fire)
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    def stop(self) -> None:
        """Let timers fall due, and fire none."""
        self._stopped = True

    def go_on(self) -> None:
        """
        Fire those that have fallen due meanwhile, one after the other: a machine that wakes up has much to do.

        What the process was about to write is written before it comes to look at its Lease, if nothing keeps it back.
        """
        self._stopped = False
        missed, self._missed = self._missed, []
        for number, timer in enumerate(missed):
            timer.of_the_world = self._world.call_later(_CATCHING_UP * number, timer.fire)

    def missed(self, timer: _Timer) -> bool:
        """Whether a timer may not fire now, and is kept for later."""
        if self._stopped:
            self._missed.append(timer)
        return self._stopped


class _Timer:
    of_the_world: Timer

    def __init__(self, clock: ProcessClock, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._callback: Callable[[], object] | None = callback

    def fire(self) -> None:
        if self._callback is not None and not self._clock.missed(self):
            callback, self._callback = self._callback, None
            callback()

    def cancel(self) -> None:
        self._callback = None
        self.of_the_world.cancel()


class _Gate:
    """Open or shut; whoever comes while it is shut waits."""

    def __init__(self) -> None:
        self._open = anyio.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def shut(self) -> None:
        if self.is_open:
            self._open = anyio.Event()

    def open(self) -> None:
        self._open.set()

    async def passed(self) -> None:
        while not self.is_open:
            await self._open.wait()


class _Wire:
    """A process' transport, with what goes wrong between it and the server."""

    def __init__(self, transport: Transport, process: Process) -> None:
        self._transport = transport
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        process = self._process
        await process.running.passed()
        if process.is_cut:
            raise ServerUnreachable(path, "cut off")
        is_lease = "/leases" in path
        if is_lease and process.lease_calls_hang:
            await process.answering.passed()
            raise ConnectionLost(path, "it hung")
        answer: bytes = await self._transport.request(method, path, **request)
        if is_lease and process.lease_answers_hang:
            await process.answering.passed()
            raise ConnectionLost(path, "its answer never came")
        await process.running.passed()
        if process.is_cut:
            raise ConnectionLost(path, "cut off")
        return answer

    async def stream(self, path: str, **request: Any) -> BodyStream:
        await self._process.running.passed()
        if self._process.is_cut:
            raise ServerUnreachable(path, "cut off")
        body = await self._transport.stream(path, **request)
        return _Body(body, self._process)  # type: ignore[return-value]  # all of one that a watch asks for

    async def probe(self) -> bytes:
        return await self.request("GET", "/version", retries=0)


class _Body:
    def __init__(self, body: BodyStream, process: Process) -> None:
        self._body = body
        self._process = process

    async def read(self) -> list[Any]:
        pieces = await self._body.read()
        await self._process.running.passed()
        if self._process.is_cut:
            raise ConnectionLost("watch", "cut off")
        return pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


class Process:
    """
    One process: a manager that wants the Lease, and one controller that writes whenever it leads.

    :ivar ended: whether it has ended, and with which error
    """

    def __init__(self, server: ApiServer, identity: str, world: FakeClock) -> None:
        self.identity = identity
        self.clock = ProcessClock(world)
        self.running = _Gate()
        self.answering = _Gate()
        self.is_cut = False
        self.lease_calls_hang = False
        self.lease_answers_hang = False
        self.ended = False
        self.dead = False
        self.error: BaseException | None = None
        self.leads = False
        self.manager: Manager
        self._server = server
        self._scope = anyio.CancelScope()

    # --- what can happen to it

    def stop(self) -> None:
        """SIGSTOP."""
        self.running.shut()
        self.clock.stop()

    def go_on(self) -> None:
        """SIGCONT."""
        if self.dead:
            return
        self.running.open()
        self.clock.go_on()

    def kill(self) -> None:
        """SIGKILL: nothing of it is ever sent or read again."""
        self.dead = True
        self.stop()

    def hang(self, *, answers: bool) -> None:
        """Have calls for the Lease not come back: of those that arrive the answers, or all of them."""
        self.answering.shut()
        self.lease_calls_hang, self.lease_answers_hang = not answers, answers

    def mend(self) -> None:
        """End all that goes wrong on its wire."""
        self.is_cut = self.lease_calls_hang = self.lease_answers_hang = False
        self.answering.open()

    def terminate(self) -> None:
        """SIGTERM."""
        self._scope.cancel()

    def clear_away(self) -> None:
        """Have it end, whatever state it is in."""
        self.dead = False
        self.mend()
        self.is_cut = True
        self.go_on()
        self._scope.cancel()

    # --- what it does

    async def run(self) -> None:
        with self._scope:
            async with connect(url=self._server.url, token=self._server.token, clock=self.clock) as client:
                wired: Client = client.through(lambda transport: _Wire(transport, self))
                self.manager = Manager(
                    wired,
                    known={"writer": self._make_writer},
                    clock=self.clock,
                    leader_election=LeaderElection(identity=self.identity, client=wired, options=LEASE),
                )
                try:
                    await self.manager.run()
                except LeadershipLost as error:
                    self.error = error
        self.ended = True

    def _make_writer(self, context: ControllerContext) -> Controller:
        # Nodes do not change here: what is written once a second is written by whoever leads, of its own accord.
        nodes = context.informers.informer_for(V1Node)
        maps = context.client.resource(V1ConfigMap)
        begun: set[str] = set()

        async def sync(key: str) -> float:
            self.leads = True
            await self.clock.sleep(_DECIDING if key == OBJECTS[0] or key in begun else _DECIDING + _PERIOD / 2)
            begun.add(key)
            await maps.patch(key, {"data": {"by": self.identity, "at": str(self.clock.monotonic())}}, "default")
            return _PERIOD - _DECIDING

        return Controller("writer", sync, workers=2, clock=context.clock).watch(nodes)


class Written:
    """What was written, by whom and when, as the server tells an observer whom nothing goes wrong for."""

    def __init__(self, clock: Clock) -> None:
        self.writes: list[tuple[float, str]] = []
        self._clock = clock

    async def observe(self, client: Client) -> None:
        maps, version = client.resource(V1ConfigMap), ""
        while True:
            with suppress(ConnectionLost):
                async with maps.watch("default", resource_version=version) as batches:
                    async for batch in batches:
                        for event in batch:
                            version = event.object.metadata.resource_version
                            if "by" in (event.object.data or {}):
                                self.writes.append((self._clock.monotonic(), event.object.data["by"]))

    @property
    def terms(self) -> list[str]:
        """Who wrote, one after the other. Whoever is in it twice wrote while another led."""
        return [who for who, _ in groupby(who for _, who in self.writes)]

    def check(self) -> None:
        """See to it that nobody wrote once another had begun."""
        assert len(self.terms) == len(set(self.terms)), f"two wrote: {self.terms}"

    def since(self, time: float) -> set[str]:
        """Who has written after some time."""
        return {who for at, who in self.writes if at > time}


class World:
    """The processes, and what is seen of them."""

    def __init__(self, server: ApiServer, clock: FakeClock, tasks: anyio.abc.TaskGroup) -> None:
        self.server = server
        self.clock = clock
        self.written = Written(clock)
        self.processes: dict[str, Process] = {}
        self._tasks = tasks

    def start(self, identity: str) -> Process:
        process = self.processes[identity] = Process(self.server, identity, self.clock)
        self._tasks.start_soon(process.run)
        return process

    async def turn(self, seconds: float) -> None:
        await turn(self.clock, seconds)

    async def until(self, true: Callable[[], object], *, within: float) -> float:
        """
        Turn the clock until something is true, and tell how long it took.

        :param within: seconds after which it is given up
        """
        began = self.clock.monotonic()
        await quiet()
        while not true():
            assert self.clock.monotonic() - began < within, f"it has not come true within {within} s"
            await turn(self.clock, 0.1)
        return self.clock.monotonic() - began


@asynccontextmanager
async def processes(*identities: str) -> AsyncIterator[World]:
    """
    A server, and processes of these names, of which the first leads already.

    At the end it is checked that at no time two wrote.
    """
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        for name in OBJECTS:
            await client.resource(V1Node).create(V1Node(metadata=V1ObjectMeta(name=name)))
            await client.resource(V1ConfigMap).create(
                V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))
            )
        world = World(server, clock, tasks)
        tasks.start_soon(world.written.observe, client)
        try:
            for identity in identities:
                process = world.start(identity)
                if identity == identities[0]:
                    await world.until(lambda process=process: process.leads, within=5)
            if identities:
                await world.turn(10)
            yield world
        finally:
            for process in world.processes.values():
                process.clear_away()
            await quiet()
            tasks.cancel_scope.cancel()
    world.written.check()
