"""The embedded API server of a simulated world, and the faults between it and the processes.

It is an :class:`~kinformer.envtest.ApiServer` with its real handlers and storage, which listens on the simulated
network. Each request of a process that may be disturbed goes through :class:`DisturbedHandler`. It asks the
:class:`~kinformer.simulation.faults.Injector` what goes wrong at this point, carries it out, and appends it to the
history. :mod:`kinformer.simulation.watches` does the same at each event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeAlias

import anyio
from aiohttp import web

from kinformer.envtest import ApiServer, status
from kinformer.envtest.faults import Faults
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.watching import Terms, Watch, WatchSet
from kinformer.envtest.operations import Operations
from kinformer.envtest.serving import RequestHandler
from kinformer.meta.requests import About, about
from kinformer.simulation.direct import Line, answering
from kinformer.simulation.history import What
from kinformer.simulation.network import End, Listener, Network
from kinformer.simulation.plan import (
    Away,
    Conflict,
    Crash,
    Cut,
    Delay,
    Deviation,
    Jump,
    Lag,
    Partition,
    Pause,
    Refuse,
    Restart,
    Split,
    Upgrade,
    Zone,
)
from kinformer.simulation.process import Life
from kinformer.simulation.watches import DisturbedWatch, WatchedWorld

__all__ = (
    "EXCHANGE",
    "DisturbedLife",
    "DisturbedProcess",
    "DisturbedServer",
    "DisturbedWorld",
    "Exchange",
    "Sender",
    "SimulatedServer",
    "Wire",
)

#: The parameters of a list's query that a stale list does not respect.
_VERSIONS: Final = frozenset({"resourceVersion", "resourceVersionMatch"})
#: A process that is to be killed at its next request is killed after so many seconds if it sends none.
_DOOM: Final = 5.0


class DisturbedProcess(Protocol):
    """The part of a process, simulated or real, that faults need."""

    name: str
    is_disturbed: bool

    def kill(self, life: Any = None, why: str = "") -> None:
        """End a life as SIGKILL does."""

    def doom(self, life: Any, within: float) -> None:
        """Kill a life at its next request, or after `within` seconds if there is none."""

    def pause(self, seconds: float) -> None:
        """Stop the present life for some seconds, as SIGSTOP and SIGCONT do."""

    def jump(self, seconds: float) -> None:
        """Let its wall clock jump."""

    def split(self, seconds: float) -> None:
        """Let it believe for some seconds that it still holds its Lease, if it may have one."""

    def isolate(self, seconds: float) -> None:
        """Take the network from the present life for some seconds."""

    def upgrade(self, life: Any = None) -> None:
        """Kill a life. The next one runs the next version, if there is one."""

    def move(self, hours: float, life: Any = None) -> None:
        """Kill a life. The next one runs in another time zone, so many hours ahead of UTC."""

    def go_away(self, writes: int, seconds: float) -> None:
        """Kill the present life. The next one begins after so many writes of the user, or seconds."""

    def note_user_write(self) -> None:
        """Note that the user has written something, which may bring the process back."""

    @property
    def is_busy(self) -> bool:
        """Whether it is going to end, to be started again, or to go on after a pause."""


class DisturbedLife(Protocol):
    """The part of one life of a process that faults need."""

    @property
    def process(self) -> DisturbedProcess:
        """The process whose life it is."""

    is_cut_off: bool
    lease_is_unreachable: Literal["", "calls", "answers"]


class Wire(Protocol):
    """The server's end of a connection."""

    def abort(self) -> None:
        """Break the connection at once."""

    def lose_after(self, count: int) -> None:
        """Break the connection when so many further bytes have arrived."""

    def when_read(self, callback: Callable[[], object]) -> None:
        """Call a function when the other end has read what is sent next."""


class Exchange:
    """
    One request and its response.

    :ivar actor: who sent the request
    :ivar life: the life of the process that sent it; None if no faults may happen to the sender
    :ivar about: what the request is about
    :ivar changes: how many changes it has made in the storage
    :ivar cut: how its connection is going to break; None if it does not
    """

    __slots__ = ("about", "actor", "changes", "cut", "life")

    def __init__(self, actor: str, life: DisturbedLife | None, about: About) -> None:
        self.actor = actor
        self.life = life
        self.about = about
        self.changes = 0
        self.cut: Cut | None = None


#: The request that the server is handling.
EXCHANGE: ContextVar[Exchange | None] = ContextVar("kinformer_simulation_exchange", default=None)


#: The name of the sender of a request, the life of its process if faults may happen to it, and the connection. None if
#: the sender is not known.
Sender: TypeAlias = tuple[str, DisturbedLife | None, Wire] | None


class DisturbedWorld(WatchedWorld, Protocol):
    """The part of :class:`~kinformer.simulation.stage.Stage` that its server needs."""

    processes: Any

    def tell(self, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> None:
        """Append a record to the history."""

    def disturbing(self) -> AbstractContextManager[None]:
        """Keep the world from settling while the block runs."""

    def touch(self, what: About) -> None:
        """Change an object and change it back, as another writer."""

    def fall_behind(self, process: Any, changes: int, seconds: float) -> None:
        """Connect a process to a replica of the server that is behind, from its next life on."""


class DisturbedServer(ApiServer):
    """
    The API server of a world, with faults.

    :param world: has the injector and the history
    :param sender: finds out who has sent a request, from the address of the listener and the request
    """

    def __init__(self, world: DisturbedWorld, sender: Callable[[str, web.BaseRequest], Sender], **options: Any) -> None:
        self._world = world
        self._sender = sender
        super().__init__(**options)

    def _handler(self, address: str, *rest: Any) -> RequestHandler:
        sender = partial(self._sender, address)
        return DisturbedHandler(self._world, sender, super()._handler(address, *rest), self._stale_handler)

    def _stale_handler(self, version: int) -> RequestHandler:
        """Make a handler that answers lists with an old version. As a replica does, it refuses streaming lists."""
        watches = self._new_watches()
        watches.streams_lists = False
        faults = Faults(self.storage, watches, self.clock, max(version, self.storage.compacted))
        return super()._handler("", watches, faults)

    def _new_watches(self) -> WatchSet:
        return _Watches(self._world)


class SimulatedServer(DisturbedServer):
    """The API server of a simulated world. It listens on the simulated network, and answers direct requests."""

    def __init__(self, world: DisturbedWorld, host: str, network: Network, **options: Any) -> None:
        self._network = network
        super().__init__(world, _sender, host=host, port=6443, **options)

    def _listen(self, host: str, port: int) -> Any:
        return Listener(host, port or 6443)

    @asynccontextmanager
    async def _serving(
        self, handler: RequestHandler, listener: Any, tls: Any, end_watches: Callable[[], None]
    ) -> AsyncIterator[None]:
        async with (
            super()._serving(handler, listener, tls, end_watches),
            answering(self._network, listener.getsockname(), handler, end_watches),
        ):
            yield


def _sender(_: str, request: web.BaseRequest) -> Sender:
    end: Any = request.transport
    if not isinstance(end, End | Line):
        return None
    owner = end.sender
    if isinstance(owner, Life):
        return owner.process.name, owner if owner.process.is_disturbed else None, end
    return owner.name if owner is not None else "nobody", None, end


@dataclass(eq=False, slots=True)
class DisturbedHandler:
    """Handles requests, with the faults of the world."""

    world: DisturbedWorld
    sender: Callable[[web.BaseRequest], Sender]
    answer: RequestHandler
    stale: Callable[[int], RequestHandler]

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        sender = self.sender(request)
        if sender is None:
            return await self.answer(request)
        actor, life, wire = sender
        exchange = Exchange(actor, life, about(request.method, request.raw_path))
        EXCHANGE.set(exchange)
        if actor == "user" and exchange.about.is_counted:
            return await self._of_user(request, exchange)
        if life is None:
            return await self.answer(request)
        return await self._disturbed(request, exchange, life, wire)

    async def _of_user(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        """Do a write of the user. Nothing goes wrong with it, but processes may be away meanwhile."""
        world, processes = self.world, self.world.processes
        actors = [name for name, process in processes.items() if process.is_disturbed]
        for deviation in world.injector.before_user_write(actors):
            match deviation:
                case Away(actor=actor, back=back, seconds=seconds):
                    world.tell_fault(actor, deviation, exchange.about.object)
                    processes[actor].go_away(back, seconds)
                case Lag(actor=actor, back=back, seconds=seconds):
                    world.tell_fault(actor, deviation, exchange.about.object)
                    world.later(seconds, world.sight_of(actor).begin_lag(back))
        response = await self.answer(request)
        for name, process in processes.items():
            process.note_user_write()
            world.sight_of(name).note_user_write()
        return response

    async def _disturbed(
        self, request: web.BaseRequest, exchange: Exchange, life: DisturbedLife, wire: Wire
    ) -> web.StreamResponse:
        world, actor, what = self.world, exchange.actor, exchange.about
        name, words = what.object, str(what)
        world.tell(actor, "request", name, detail=words)
        if (refusal := await self._before(exchange, life, wire)) is not None:
            return refusal
        if what.is_counted:
            for deviation in world.injector.before_write(actor):
                self._touch(exchange, deviation)
        response = await self._answer_maybe_stale(request, exchange)
        if life.lease_is_unreachable == "answers" and what.resource.startswith("leases."):
            await anyio.sleep_forever()
        world.tell(actor, "answer", name, detail=f"{words} {response.status}")
        if exchange.changes and what.is_counted:
            for deviation in world.injector.after_write(actor):
                self._after_write(exchange, life, deviation, wire)
        self._cut(exchange, wire, response)
        return response

    async def _answer_maybe_stale(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        what, stale = exchange.about, self.world.sight_of(exchange.actor).stale
        streams = what.verb == "watch" and "sendInitialEvents=true" in request.query_string
        if what.resource not in stale or not (streams or what.verb == "list"):
            return await self.answer(request)
        version = stale[what.resource] if streams else stale.pop(what.resource)
        query = {name: value for name, value in request.query.items() if streams or name not in _VERSIONS}
        if not streams:
            query["resourceVersion"] = "0"
        return await self.stale(version)(request.clone(rel_url=request.rel_url.with_query(query)))

    async def _before(self, exchange: Exchange, life: DisturbedLife, wire: Wire) -> web.Response | None:
        """The faults before a request is handled. Returns a response if the request is not to be handled."""
        world, actor, what = self.world, exchange.actor, exchange.about
        if life.lease_is_unreachable == "calls" and what.resource.startswith("leases."):
            await anyio.sleep_forever()
        for deviation in world.injector.request(actor, what.verb):
            world.tell_fault(actor, deviation, what.object)
            match deviation:
                case Refuse():
                    return _refusal(deviation)
                case Delay(seconds=seconds):
                    with world.disturbing():
                        await anyio.sleep(world.lasts(seconds))
                case Cut(where="before"):
                    wire.abort()
                    return web.Response(status=503)
                case Cut():
                    exchange.cut = deviation
        return None

    def _touch(self, exchange: Exchange, deviation: Deviation) -> None:
        if isinstance(deviation, Conflict):
            self.world.tell_fault(exchange.actor, deviation, exchange.about.object)
            self.world.touch(exchange.about)

    def _after_write(self, exchange: Exchange, life: DisturbedLife, deviation: Deviation, wire: Wire) -> None:
        world, process = self.world, life.process
        world.tell_fault(process.name, deviation, exchange.about.object)
        match deviation:
            case Crash(answer="lost"):
                process.kill(life)
            case Crash():
                wire.when_read(lambda: process.doom(life, world.lasts(_DOOM)))
            case Restart(version=version, seconds=seconds):
                process.kill(life)
                world.fall_behind(process, -version, seconds)
            case Pause(seconds=seconds):
                process.pause(seconds)
            case Jump(seconds=seconds):
                process.jump(seconds)
            case Split(seconds=seconds):
                process.split(seconds)
            case Partition(seconds=seconds):
                process.isolate(seconds)
            case Upgrade():
                process.upgrade(life)
            case Zone(hours=hours):
                process.move(hours, life)

    @staticmethod
    def _cut(exchange: Exchange, wire: Wire, response: web.StreamResponse) -> None:
        cut = exchange.cut
        if cut is None or exchange.about.verb == "watch":
            return
        if cut.where == "after_write":
            wire.abort()
        else:
            body = response.body if isinstance(response, web.Response) else None
            # The head has about 150 bytes. With half of the body, the connection breaks within the body.
            wire.lose_after(150 + (len(body) if isinstance(body, bytes) else 0) // 2)


def _refusal(deviation: Refuse) -> web.Response:
    code = deviation.code
    if code == 410:
        error = status.expired("The provided resource version is too old (simulated)")
    elif code == 429:
        error = status.too_many_requests("too many requests, please try again later (simulated)", 0)
    else:
        reason = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}.get(code, "")
        error = status.StatusError(code, reason, f"simulated: {code}", {})
    headers = {"Retry-After": str(deviation.retry_after)} if deviation.retry_after else {}
    return web.Response(body=error.encode(), status=code, content_type="application/json", headers=headers)


class _Watches(WatchSet):
    """The watches of a server. Those of processes that may be disturbed are disturbed watches."""

    def __init__(self, world: DisturbedWorld) -> None:
        super().__init__()
        self._world = world

    def make(self, operations: Operations, call: Call, terms: Terms) -> Watch:
        exchange = EXCHANGE.get()
        if exchange is None or exchange.life is None:
            return super().make(operations, call, terms)
        return DisturbedWatch(
            operations, call, terms, self, self._world, exchange.life, actor=exchange.actor, cut=exchange.cut
        )
