"""Real processes in real time: a command that runs beside the embedded server, and is disturbed as a plan says.

:func:`run_external` starts an API server and a command, plays a scenario as the user, and returns a
:class:`~kinformer.simulation.stage.RunResult`, as :func:`~kinformer.simulation.world.run_world` does for simulated
processes. The command can be an operator in any language. It finds the server by the kubeconfig in ``KUBECONFIG``. The
server listens for it at an address of its own, so it is known which requests are the command's.

Faults are those of a plan: they happen between the command and the server, or to the command's process, which is killed
and started again. Oracles judge what the server saw. What needs the inside of a process is not judged: stores, handlers
and syncs. Three faults are not possible: ``jump`` and ``zone`` need the process's wall clock, and ``split`` its Lease.

Time is real. So a plan causes the same faults at the same requests, writes and events, but two runs are not the same
byte for byte. Faults that last some seconds are made shorter, by :attr:`ExternalOptions.hurry`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from aiohttp import web
from anyio.abc import ByteReceiveStream
from anyio.abc import Process as Popen

from kinformer.client import Client, ClientOptions, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import RealClock
from kinformer.envtest.credentials import kubeconfig_of
from kinformer.envtest.loops import LOOPS
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.replica import Replica
from kinformer.envtest.serving import RequestHandler
from kinformer.logs import silenced
from kinformer.simulation.faults import Faults
from kinformer.simulation.oracles import Checks, Ending, Oracles, Reference
from kinformer.simulation.plan import Jump, Plan, PlanError, Split, Zone
from kinformer.simulation.server import DisturbedServer, DisturbedWorld, Sender
from kinformer.simulation.stage import NotSettled, RunResult, Stage

__all__ = ("ExternalOptions", "ExternalProcess", "ExternalWorld", "run_external")

#: The process that runs the command, in records and plans.
NAME: Final = "command"
#: The longest line of the command's output that is in the history.
_LINE: Final = 500
#: The most lines of the output of one life that are in the history. A million lines would take a gigabyte.
_LINES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ExternalOptions:
    """
    How a command is run. All times are seconds of real time.

    :param command: the command and its arguments
    :param next_command: the command of the next version, for the deviation ``upgrade``; empty for none
    :param quiet: after so many seconds without a change, everything has settled. It has to be longer than the command
        waits between two tries
    :param patience: the most seconds to wait until everything has settled
    :param hurry: by how much the times of faults are divided: a hidden event comes late after 30 seconds divided by it
    :param restart_after: the seconds from the command's end until it is started again
    :param nodes: the number of fake nodes, which run pods
    :param loops: the loops that the server runs itself
    """

    command: tuple[str, ...]
    next_command: tuple[str, ...] = ()
    quiet: float = 2.0
    patience: float = 60.0
    hurry: float = 10.0
    restart_after: float = 0.2
    nodes: int = 0
    loops: tuple[str, ...] = tuple(LOOPS)


class ExternalLife:
    """One run of the command, from its start to its end."""

    def __init__(self, process: ExternalProcess) -> None:
        self.process = process
        self.is_cut_off = False
        self.is_doomed = False
        self.has_asked = False
        self.lease_is_unreachable: Literal["", "calls", "answers"] = ""
        self.popen: Popen | None = None

    @property
    def computes(self) -> bool:
        """Whether the command is running or ready to run. On a busy machine it may have to wait. Linux only."""
        return self.popen is not None and _computes(self.popen.pid)

    def signal(self, number: int) -> None:
        """Send a signal to the command and the processes that it has started."""
        if self.popen is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)


def _computes(pid: int) -> bool:
    """Whether a process, or one that it has started, is running or ready to run, by ``/proc``. False without it."""
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            # The name, in brackets, may have any characters in it.
            if (task / "stat").read_text().rpartition(")")[2].split()[0] == "R":
                return True
            if any(_computes(int(child)) for child in (task / "children").read_text().split()):
                return True
    return False


class ExternalProcess:
    """
    A command that is started again after each end, until it is stopped.

    :param world: the world in which it runs
    :param front: the server, as the command sees it
    :param kubeconfig: the file with the address of `front`
    :ivar life: the present run of the command; None between two runs
    """

    def __init__(self, world: ExternalWorld, front: Replica, kubeconfig: Path) -> None:
        self.name = NAME
        self.is_disturbed = True
        self.front = front
        self.life: ExternalLife | None = None
        self.is_isolated = False
        self.connections: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()
        self._world = world
        self._command = world.options.command
        self._kubeconfig = kubeconfig
        self._is_paused = False
        self._away_for = 0
        self._may_return = anyio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether it is between two lives, has sent no request yet, computes, is paused, or has no network."""
        life = self.life
        return life is None or not life.has_asked or self._is_paused or self.is_isolated or life.computes

    # -- its lives ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run the command again and again, until cancelled."""
        while True:
            self.life = life = ExternalLife(self)
            try:
                await self._live(life)
            finally:
                self._cut_off(life)
                self.life = None
            await anyio.sleep(self._world.options.restart_after)
            if self._away_for:
                await self._may_return.wait()
                self._away_for = 0

    async def _live(self, life: ExternalLife) -> None:
        """
        :raises OSError: if the command cannot be started
        """
        world = self._world
        world.tell(self.name, "start")
        popen = await anyio.open_process(
            self._command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            env={**os.environ, "KUBECONFIG": str(self._kubeconfig), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        life.popen = popen
        try:
            assert popen.stdout is not None
            await self._read(popen.stdout)
            code = await popen.wait()
        finally:
            life.signal(signal.SIGKILL)
            with anyio.CancelScope(shield=True):
                await popen.aclose()
        if not life.is_cut_off:
            world.tell(self.name, "ended", detail=f"exit status {code}")

    async def _read(self, output: ByteReceiveStream) -> None:
        """Append the first lines of the command's output to the history."""
        rest, left = b"", _LINES
        async for chunk in output:
            *lines, rest = (rest[:_LINE] + chunk).split(b"\n")
            for line in lines[:left]:
                self._world.tell(self.name, "note", detail=line[:_LINE].decode(errors="replace"))
            if left and left <= len(lines):
                self._world.tell(self.name, "note", detail=f"further lines than these {_LINES} are left out")
            left = max(left - len(lines), 0)

    def _cut_off(self, life: ExternalLife) -> None:
        life.is_cut_off = True
        self._is_paused = False
        self.break_connections()

    def break_connections(self) -> None:
        """Break its connections to the server."""
        for connection in list(self.connections):
            connection.abort()

    # -- what happens to it -----------------------------------------------------------------------------------------

    def kill(self, life: ExternalLife | None = None, why: str = "") -> None:
        """End a life as SIGKILL does."""
        life = life or self.life
        if life is not None and not life.is_cut_off:
            self._world.tell(self.name, "killed", detail=why)
            self._cut_off(life)
            life.signal(signal.SIGKILL)

    def doom(self, life: ExternalLife, within: float) -> None:
        """Kill a life at its next request, or after `within` seconds if there is none."""
        life.is_doomed = True
        self._world.call_later(within, lambda: self.kill(life))

    def pause(self, seconds: float) -> None:
        """Stop the present life for some seconds, as SIGSTOP and SIGCONT do."""
        if (life := self.life) is None or life.is_cut_off or self._is_paused:
            return
        self._is_paused = True
        self._world.tell(self.name, "paused")
        life.signal(signal.SIGSTOP)
        self._world.later(seconds, lambda: self._resume(life))

    def _resume(self, life: ExternalLife) -> None:
        if not life.is_cut_off:
            self._is_paused = False
            self._world.tell(self.name, "resumed")
            life.signal(signal.SIGCONT)

    def isolate(self, seconds: float) -> None:
        """Take the network from the command for some seconds."""
        self.is_isolated = True
        self.break_connections()
        self._world.later(seconds, lambda: setattr(self, "is_isolated", False))

    def upgrade(self, life: ExternalLife | None = None) -> None:
        """Kill the present life. The next one runs the next command, if there is one."""
        if self._world.options.next_command and self._command is not self._world.options.next_command:
            self._command = self._world.options.next_command
            self.kill(life, "for an upgrade")

    def go_away(self, writes: int, seconds: float) -> None:
        """Kill the present life. The next one begins after so many writes of the user, or seconds."""
        if self._away_for:
            return
        self._away_for, self._may_return = writes, anyio.Event()
        self._world.later(seconds, self._may_return.set)
        self.kill()

    def note_user_write(self) -> None:
        """Note that the user has written something, which may bring the command back."""
        if self._away_for:
            self._away_for -= 1
            if not self._away_for:
                self._may_return.set()

    def jump(self, seconds: float) -> None:
        """Do nothing: a command has the machine's clock. Plans with this fault are refused."""

    def move(self, hours: float, life: Any = None) -> None:
        """Do nothing: a command has the machine's time zone. Plans with this fault are refused."""

    def split(self, seconds: float) -> None:
        """Do nothing: it is not known which Lease a command has. Plans with this fault are refused."""


class _Wire:
    """The server's end of a real connection."""

    def __init__(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def lose_after(self, count: int) -> None:
        # The response is written at once, so it is lost as a whole.
        self.abort()

    def when_read(self, callback: Callable[[], object]) -> None:
        # The response is written after this. The process reads it before it sends its next request.
        callback()


class ExternalServer(DisturbedServer):
    """The API server of an external run. It does not handle requests of a process that is dead or has no network."""

    def __init__(self, world: DisturbedWorld, gate: Callable[[str, web.BaseRequest], bool], **options: Any) -> None:
        self._gate = gate
        super().__init__(world, **options)

    def _handler(self, address: str, *rest: Any) -> RequestHandler:
        answer = super()._handler(address, *rest)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if not self._gate(address, request):
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=503)
            if "Authorization" not in request.headers:
                # Go's clients send no token over plain HTTP.
                headers = {**request.headers, "Authorization": f"Bearer {self.token}"}
                request = request.clone(headers=headers)
            return await answer(request)

        return handle


class ExternalWorld(Stage[ExternalProcess]):
    """See the module. What it has besides real processes is in :class:`~kinformer.simulation.stage.Stage`."""

    def __init__(self, plan: Plan, faults: Faults | None, options: ExternalOptions, oracles: Oracles) -> None:
        self.options = options
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._restarts_behind = 0
        super().__init__(plan, faults, oracles, quiet=options.quiet, patience=options.patience, clock=RealClock())

    def _make_server(self) -> ExternalServer:
        return ExternalServer(self, self._may_pass, sender=self._sender, controllers=self.options.loops)

    @property
    def now(self) -> float:
        return self._loop.time() - self._began

    def call_later(self, seconds: float, callback: Callable[[], object]) -> object:
        return self._loop.call_later(seconds, callback)

    def lasts(self, seconds: float) -> float:
        return seconds / self.options.hurry

    def fall_behind(self, process: ExternalProcess, changes: int, seconds: float) -> None:
        self._restarts_behind += 1
        number, front, version = self._restarts_behind, process.front, self.version_behind(changes)
        front.stand_at(version)
        front.watches.streams_lists = False
        self.tell("server", "note", detail=f"the command sees version {version - self.server.storage.first}")

        def catch_up() -> None:
            if number == self._restarts_behind:
                front.catch_up()
                front.watches.streams_lists = True

        self.later(seconds, catch_up)

    def _break_connections(self) -> None:
        for process in self.processes.values():
            process.break_connections()

    async def _restart_server(self, history: str) -> None:
        self._break_connections()
        if history == "gone":
            self.server.storage.compact()
        self._server_restarts = False

    # -- requests -------------------------------------------------------------------------------------------------

    def _process_at(self, address: str) -> ExternalProcess | None:
        return next((each for each in self.processes.values() if each.front.url.endswith(f"//{address}")), None)

    def _may_pass(self, address: str, request: web.BaseRequest) -> bool:
        process = self._process_at(address)
        if process is None:
            return True
        life = process.life
        if life is not None and life.is_doomed:
            process.kill(life)
        if life is None or life.is_cut_off or process.is_isolated:
            return False
        if isinstance(request.transport, asyncio.Transport):
            process.connections.add(request.transport)
        if not life.has_asked:
            # Its work after the start may take a while. Until it has settled again, the user does nothing.
            life.has_asked, self.last_activity = True, max(self.last_activity, self.now)
        return True

    def _sender(self, address: str, request: web.BaseRequest) -> Sender:
        wire = _Wire(request.transport)
        process = self._process_at(address)
        if process is not None and process.life is not None:
            return process.name, process.life, wire
        agent = request.headers.get("User-Agent", "")
        return "user" if agent == "user" else "nodes" if agent == "nodes" else "server", None, wire

    # -- the run --------------------------------------------------------------------------------------------------

    async def run(self, scenario: Callable[[Any], Awaitable[object]], result: RunResult) -> Ending:
        """
        Run the command and the scenario.

        :raises OSError: if the command cannot be started
        """
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kinformer-")))
            server = await stack.enter_async_context(self.server)
            front = await stack.enter_async_context(server.replica())
            front.watches.streams_lists = True
            await stack.enter_async_context(self.transport)
            kubeconfig = folder / "kubeconfig"
            kubeconfig.write_text(json.dumps(kubeconfig_of(front.url, {"token": server.token})))
            process = ExternalProcess(self, front, kubeconfig)
            self.processes[process.name] = process
            self._tasks = await stack.enter_async_context(anyio.create_task_group())
            if self.options.nodes:
                self.start(self._run_nodes, "nodes")
            self.start(process.run, process.name)
            try:
                # In all runs, the command has started before the user does anything.
                await self.settled()
                await scenario(self)
                await self.settled()
            except Exception as error:
                result.error = error
                if not any(record.what == "request" for record in self.history):
                    self.tell("server", "note", detail="the command has sent no request: does it read KUBECONFIG?")
            self.injector.stop()
            self._tasks.cancel_scope.cancel()
        self._tasks = None
        result.final_state = self.state.objects()
        result.seconds = self.now
        return Ending(self.now, self.state, not isinstance(result.error, NotSettled))

    async def _run_nodes(self) -> None:
        endpoint = endpoint_from_url(self.server.url, token=self.server.token)
        async with Transport(endpoint, ClientOptions(user_agent="nodes")) as transport:
            await FakeNodes(Client(transport), self.options.nodes).run()


def run_external(
    scenario: Callable[[Any], Awaitable[object]],
    plan: Plan | None = None,
    *,
    options: ExternalOptions,
    faults: Faults | None = None,
    checks: Checks | None = None,
    reference: Reference | None = None,
) -> RunResult:
    """
    Run a scenario with a command. Errors of the scenario are in the result.

    :param scenario: an async function whose argument is the world
    :param plan: the seed, and the deviations that always happen; None for no deviations
    :param options: the command, and how it is run
    :param faults: the rates of further faults; None for no others
    :param checks: which oracles are on, and how strict they are
    :param reference: the data of the run without deviations; None if this is that run
    :raises PlanError: if the plan has a deviation that cannot happen to a command
    :raises OSError: if the command cannot be started
    """
    plan, checks = plan or Plan(), checks or Checks()
    for deviation in plan.deviations:
        if isinstance(deviation, Jump | Split | Zone):
            raise PlanError(f"{deviation} cannot happen to a command: it is for simulated processes")
    if faults is not None:
        faults = replace(faults, jump=0.0, split=0.0, zone=0.0)
    oracles = Oracles(replace(checks, quiet=min(checks.quiet, options.quiet)), reference)
    with silenced():
        return anyio.run(partial(_run, scenario, plan, faults, options, oracles))


async def _run(
    scenario: Callable[[Any], Awaitable[object]],
    plan: Plan,
    faults: Faults | None,
    options: ExternalOptions,
    oracles: Oracles,
) -> RunResult:
    world = ExternalWorld(plan, faults, options, oracles)
    result = RunResult(plan, world.history)
    ending = await world.run(scenario, result)
    result.plan, result.counts = world.injector.plan_as_it_happened, world.injector.counts
    result.violations = oracles.finish(ending)
    result.refer = partial(oracles.reference, result.final_state)
    result.look = world.look()
    world.history.listeners.clear()
    return result
