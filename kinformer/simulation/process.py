"""Simulated processes: what runs a manager, can be killed, paused and started again, and has a clock of its own.

A :class:`Process` is what a Deployment of one replica keeps running: it has a name, a clock and one :class:`Life` after
the other. A life begins with an empty memory, as a process does, and runs a real :class:`~kinformer.manager.Manager`
over the simulated network. When it is killed, its connections break at once and nothing that it still does gets out;
its tasks are cancelled, so that they clean up behind themselves, where nobody sees it.

What the process sees and does is appended to the history: what reaches its handlers, and the beginning and end of each
sync.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandler, SharedIndexInformer
from kinformer.client import Client, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import Timer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerFactory, LeaderElection, LeadershipLost, Manager
from kinformer.simulation.loop import OWNER, Owner, SimulatedLoop
from kinformer.simulation.requests import about

if TYPE_CHECKING:
    from kinformer.simulation.world import World

__all__ = ("EPOCH", "Life", "Process", "ProcessClock", "ProcessOptions")

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
        self.monotonic = loop.time

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._loop.time() + self.skew)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self._loop.call_later(max(seconds, 0.0), callback)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0))


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """
    What a process runs.

    :param controllers: by name
    :param options: what the controllers are told, by names in Python's spelling
    :param election: work only while it holds a Lease
    :param restart_after: seconds after its end until it is started again
    """

    controllers: Mapping[str, ControllerFactory]
    options: Mapping[str, Any] = field(default_factory=dict)
    election: LeaderElection | None = None
    restart_after: float = 1.0


class Life(Owner):
    """
    One life of a process, from its start to its end.

    :ivar is_cut_off: whether it is dead: it may still have tasks that clean up, but nothing gets in or out
    :ivar is_doomed: whether it dies at its next request
    :ivar lease_is_unreachable: whether its requests for Leases get no answer
    """

    __slots__ = ("is_cut_off", "is_doomed", "lease_is_unreachable", "manager", "process", "scope")

    def __init__(self, process: Process, name: str) -> None:
        super().__init__(name)
        self.process = process
        self.scope = anyio.CancelScope()
        self.manager: Manager | None = None
        self.is_cut_off = False
        self.is_doomed = False
        self.lease_is_unreachable = False

    def may_send(self) -> bool:
        if self.is_doomed:
            self.process.kill(self)
        return not self.is_cut_off


class Process:
    """
    Something that is kept running.

    :param url: the server that the next life talks to
    :param is_disturbed: whether faults may happen to it
    """

    def __init__(self, world: World, name: str, options: ProcessOptions, url: str, *, is_disturbed: bool = True):
        self.name = name
        self.options = options
        self.url = url
        self.is_disturbed = is_disturbed
        self.clock = ProcessClock(world.loop)
        self.life: Life | None = None
        #: Whatever ended a life by itself, and was not a lost Lease.
        self.errors: list[BaseException] = []
        self._world = world
        self._numbers = itertools.count(1)
        self._is_wanted = True

    @property
    def manager(self) -> Manager | None:
        """What runs in the present life, None if there is none."""
        return self.life.manager if self.life is not None else None

    @property
    def informers(self) -> list[SharedIndexInformer[Any]]:
        """Those of the present life."""
        manager = self.manager
        return list(manager.context.informers.informers.values()) if manager is not None else []

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
            except Exception as error:
                self._ended(life, error)
            self.life = None
            OWNER.set(None)
            if self._is_wanted:
                await anyio.sleep(self.options.restart_after)

    def _ended(self, life: Life, error: Exception) -> None:
        if life.is_cut_off:
            return
        self._world.tell(self.name, "ended", detail=repr(error))
        self._cut_off(life)
        if not isinstance(error, LeadershipLost):
            self.errors.append(error)

    async def _live(self, life: Life) -> None:
        world, options = self._world, self.options
        world.tell(self.name, "start", detail="" if self.url == world.server.url else self.url)
        made = Transport if world.options.events else _WithoutEvents
        transport = made(endpoint_from_url(self.url, token=world.server.token), clock=self.clock, user_agent=self.name)
        async with transport:
            client = Client(transport)
            election = options.election and replace(options.election, identity=life.name)
            life.manager = manager = Manager(
                client,
                known=options.controllers,
                options=options.options,
                informers=_NotedInformers(client, life, clock=self.clock),
                clock=self.clock,
                beside_kube_controller_manager=True,
                leader_election=election,
            )
            for name, controller in manager.controllers.items():
                wrap = getattr(controller, "wrap_sync", None)
                if wrap is not None:
                    wrap(lambda sync, name=name: self._noted(life, name, sync))
            await manager.run()

    def stop(self) -> None:
        """End it for good, in order; nothing is told of it."""
        self._is_wanted = False
        if (life := self.life) is not None:
            self._world.loop.release(life)
            self._world.loop.release_timers(life)
            life.scope.cancel()

    def kill(self, life: Life, why: str = "") -> None:
        """End a life as SIGKILL does."""
        if not life.is_cut_off:
            self._world.tell(self.name, "killed", detail=why)
            self._cut_off(life)
            life.scope.cancel()

    def _cut_off(self, life: Life) -> None:
        life.is_cut_off = True
        self._world.loop.release(life)
        self._world.loop.release_timers(life)
        for end in self._world.network.ends_of(life):
            end.vanish()

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
        life.lease_is_unreachable = True
        self._world.loop.hold_timers(life)
        self._world.loop.call_later(seconds, self._start_clock, life)

    def _start_clock(self, life: Life) -> None:
        life.lease_is_unreachable = False
        self._world.loop.release_timers(life)

    # -- what it sees and does ------------------------------------------------------------------------------------

    def _noted(
        self, life: Life, controller: str, sync: Callable[[Any], Awaitable[Any]]
    ) -> Callable[[Any], Awaitable[Any]]:
        """A sync whose beginning and end are in the history."""

        async def noted(key: Any) -> Any:
            text = str(key)
            self.note(life, "sync", text, detail=controller)
            try:
                answer = await sync(key)
            except BaseException as error:
                self.note(life, "synced", text, detail=f"{controller} {type(error).__name__}")
                raise
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
        found = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        self._note(self._life, self._resource, found, f"delete {self._name}")
        return self.__wrapped__.on_delete(obj)
