"""An asyncio event loop in virtual time, whose order of ready tasks comes from a seed.

Tasks and callbacks go in as into any loop. There is no selector, no thread and no real time: when nobody is ready, the
time is at once that of the next timer. An hour passes in the time that its work takes.

*Order.* asyncio promises that plain callbacks run in the order in which they were scheduled; this loop keeps that
promise. It promises nothing about which of several tasks that have become ready runs first, or how soon. Those are
shuffled, and now and then one is left for a later turn. What comes out depends on the seed and on the order in which
tasks were made, and not on the order in which they became ready: anyio and asyncio keep tasks in sets, whose order
differs between processes.

*Owners.* Each simulated process is an :class:`Owner`. What it runs is known by a context variable that tasks and
callbacks inherit. What belongs to an owner can be held, as SIGSTOP does, and its timers alone can be.

On PyPI there are loops of this kind: simloop and simloom need Python 3.12, seedloop runs programs that are written for
its own transports, and looptime and async-solipsism keep asyncio's order. None of them can hold one part of what it
runs, which is how a process is paused here. So this one is the project's own.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kinformer.simulation.handles import SimulatedHandle, SimulatedTask, SimulatedTimer

if TYPE_CHECKING:
    from kinformer.simulation.network import Network

__all__ = ("OWNER", "Deadlock", "Livelock", "Owner", "SimulatedLoop")

T = TypeVar("T")

#: The simulated process whose task or callback runs.
OWNER: ContextVar[Owner | None] = ContextVar("kinformer_simulation_owner", default=None)

#: A ready task is left for a later turn with this probability, if another one is ready.
_LATER: Final = 0.1
#: Seconds that a timer takes at least, unless it is due at once.
_TICK: Final = 1e-6
#: Turns in which no time passes, after which somebody must be asking for turns for ever.
_TURNS_WITHOUT_TIME: Final = 200_000

_FIRST: Final = itemgetter(0)


class Deadlock(RuntimeError):
    """Everybody waits, and no timer is left that could wake anybody."""


class Livelock(RuntimeError):
    """Some task asks for one more turn again and again, so that no time can pass."""


class Owner:
    """
    A simulated process, as far as the loop knows it.

    :ivar held: what has become ready while it stands still, in the order of its becoming ready; None while it runs
    :ivar held_timers: its timers that have fallen due while its clock stands still; None while it goes
    """

    __slots__ = ("__weakref__", "clock_stood_at", "held", "held_timers", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: list[asyncio.Handle] | None = None
        self.held_timers: list[asyncio.Handle] | None = None
        self.clock_stood_at = 0.0

    def may_send(self) -> bool:
        """Whether what it sends now gets out."""
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class SimulatedLoop(asyncio.BaseEventLoop):
    """
    The loop.

    :param seed: the order of ready tasks is drawn from it
    :ivar errors: what was given to the exception handler: what nobody caught
    """

    #: Looked at by what would watch over a loop from another thread.
    is_simulated: Final = True
    #: It never debugs. asyncio asks so often that no function of Python's is called for it.
    get_debug = staticmethod(bool)

    def __init__(self, seed: object) -> None:
        super().__init__()
        self.create_future = partial(asyncio.Future, loop=self)  # type: ignore[method-assign]
        #: Connections, and who listens for them.
        self.network: Network | None = None
        self.errors: list[dict[str, Any]] = []
        #: How many callbacks have run.
        self.steps = 0
        self._random = random.Random(f"order {seed}")
        self._now = 0.0
        self._ready: deque[Any] = deque()
        self._timers: list[tuple[float, int, SimulatedTimer]] = []
        self._timer_numbers = itertools.count()
        self._cancelled_timers = 0
        self.task_numbers = itertools.count()
        self._owners_held: set[Owner] = set()
        self._turns = 0
        self.set_exception_handler(_note_error)

    # -- time -------------------------------------------------------------------------------------------------------

    def time(self) -> float:
        if self._owners_held and (owner := OWNER.get()) is not None and owner.held_timers is not None:
            return owner.clock_stood_at
        return self._now

    @property
    def now(self) -> float:
        """The time, also for those whose own clock stands."""
        return self._now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedTimer:
        timer = SimulatedTimer(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._timer_numbers), timer))
        return timer

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedTimer:
        # Work takes no time here: who wakes up a rounding error too early and sleeps again would do so for ever.
        delay = 0.0 if delay <= 0 else delay if delay > _TICK else _TICK
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def note_cancelled_timer(self) -> None:
        """A timer was cancelled: once most of them are, they are thrown out."""
        self._cancelled_timers += 1
        if self._cancelled_timers > 100 and self._cancelled_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2]._cancelled]
            heapq.heapify(self._timers)
            self._cancelled_timers = 0

    # -- turns ------------------------------------------------------------------------------------------------------

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedHandle:
        handle = SimulatedHandle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedHandle:
        return self.call_soon(callback, *args, context=context)

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:  # type: ignore[override]
        return SimulatedTask(coro, loop=self, **options)

    def run_and_close(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """
        Run a coroutine to its end, and close the loop; whatever tasks it has left are cancelled, and not told of.

        :param main: makes it, when the loop runs
        """

        async def made() -> T:
            return await main()

        try:
            return self.run_until_complete(made())
        finally:
            try:
                self._cancel_all()
            finally:
                self.close()

    def _cancel_all(self) -> None:
        told, self.errors = self.errors, []
        for owner in list(self._owners_held):
            self.release(owner)
            self.release_timers(owner)
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: getattr(task, "number", -1))
        for task in tasks:
            task.cancel()
        for coroutine in (_until_done(tasks), self.shutdown_asyncgens()):
            self._turns = 0
            try:
                self.run_until_complete(coroutine)
            except (Deadlock, Livelock):
                coroutine.close()
        self.errors = told

    def _run_once(self) -> None:
        ready, timers = self._ready, self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
            self._cancelled_timers -= 1
        self._turns += 1
        if self._turns > _TURNS_WITHOUT_TIME:
            raise Livelock(f"no time passes at {self._now:.3f} s: {_names(ready)} ask for one more turn for ever")
        if timers:
            when = timers[0][0]
            if not ready and when > self._now:
                self._now = when
                self._turns = 0
            if when <= self._now:
                self._take_due()
        elif not ready and not self._stopping:  # type: ignore[attr-defined]
            raise Deadlock(f"everybody waits at {self._now:.3f} s, and there is no timer")
        turn = list(ready)
        ready.clear()
        if self._owners_held:
            turn = [handle for handle in turn if not self._hold(handle)]
        if len(turn) > 1:
            self._shuffle(turn)
        self.steps += len(turn)
        for handle in turn:
            # What asyncio.Handle._run does, without a call for each.
            if not handle._cancelled:
                try:
                    handle._context.run(handle._callback, *handle._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    name = getattr(handle._callback, "__qualname__", "callback")
                    self.call_exception_handler({"message": f"Exception in callback {name}", "exception": error})

    def _take_due(self) -> None:
        timers, now = self._timers, self._now
        while timers and timers[0][0] <= now:
            timer = heapq.heappop(timers)[2]
            if timer._cancelled:
                self._cancelled_timers -= 1
            elif self._owners_held and (held := self._held_timers_for(timer)) is not None:
                held.append(timer)
            else:
                self._ready.append(timer)

    @staticmethod
    def _held_timers_for(timer: asyncio.TimerHandle) -> list[asyncio.Handle] | None:
        owner = _owner_of(timer)
        return owner.held_timers if owner is not None and not _is_of_network(timer) else None

    def _shuffle(self, turn: list[Any]) -> None:
        """Put the tasks' steps into another order, and leave some for later. Callbacks stay where they are."""
        places: list[int] = []
        steps: list[tuple[int, asyncio.Handle]] = []
        for place, handle in enumerate(turn):
            task = getattr(handle._callback, "__self__", None)
            if type(task) is SimulatedTask:
                places.append(place)
                steps.append((task.number, handle))
        if len(steps) < 2:
            return
        steps.sort(key=_FIRST)
        draw = self._random.random
        shuffled = [(draw(), number, handle) for number, handle in steps]
        shuffled.sort()
        for place, (_, _, handle) in zip(places, shuffled, strict=True):
            turn[place] = handle
        # The first one runs in any case, so that no turn is empty.
        if shuffled[-1][0] > 1.0 - _LATER:
            later = [entry[2] for entry in shuffled[1:] if entry[0] > 1.0 - _LATER]
            self._ready.extendleft(later)
            left = set(map(id, later))
            turn[:] = [handle for handle in turn if id(handle) not in left]

    # -- owners -----------------------------------------------------------------------------------------------------

    def _hold(self, handle: asyncio.Handle) -> bool:
        owner = _owner_of(handle)
        if owner is None or owner.held is None:
            return False
        owner.held.append(handle)
        return True

    def hold(self, owner: Owner) -> None:
        """Let nothing of an owner run until it is released, as SIGSTOP does. Its timers go on falling due."""
        if owner.held is None:
            owner.held = []
            self._owners_held.add(owner)

    def hold_timers(self, owner: Owner) -> None:
        """Have an owner's clock stand still until it is released: its timers do not fire. What comes in is heard."""
        if owner.held_timers is None:
            owner.clock_stood_at = self._now
            owner.held_timers = []
            self._owners_held.add(owner)

    def release(self, owner: Owner) -> None:
        """Let an owner run again: first it hears what has come in meanwhile, then its timers fire."""
        held = owner.held or []
        self._release_as_loops_do(held)
        owner.held = None
        self._forget_if_free(owner)

    def release_timers(self, owner: Owner) -> None:
        """Let an owner's clock go again. It shows the true time at once."""
        self._ready.extend(owner.held_timers or ())
        owner.held_timers = None
        self._forget_if_free(owner)

    def _release_as_loops_do(self, held: list[asyncio.Handle]) -> None:
        # An event loop that wakes up looks at its sockets before its timers.
        was_ready = [handle for handle in held if not isinstance(handle, asyncio.TimerHandle)]
        arrived = [handle for handle in held if isinstance(handle, asyncio.TimerHandle) and _is_of_network(handle)]
        timers = [handle for handle in held if isinstance(handle, asyncio.TimerHandle) and not _is_of_network(handle)]
        self._ready.extend((*was_ready, *arrived, *timers))

    def _forget_if_free(self, owner: Owner) -> None:
        if owner.held is None and owner.held_timers is None:
            self._owners_held.discard(owner)

    # -- what other loops have threads and sockets for --------------------------------------------------------------

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """The function runs in a later turn, in this thread."""
        future: asyncio.Future[T] = self.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                future.set_exception(error)

        self.call_soon(run)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        return

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
        """Names are addresses: nothing is looked up."""
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        await self._connections.claim(sock, address)

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        return await self._connections.connect(protocol_factory, host, port, options.get("sock"), options.get("ssl"))

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        return self._connections.listen(protocol_factory, host, port, options.get("sock"), options.get("ssl"))

    def remove_reader(self, fd: Any) -> bool:
        return self._connections.stop_accepting(fd)

    @property
    def _connections(self) -> Network:
        if self.network is None:
            raise OSError("this simulated loop has no network")
        return self.network

    def _write_to_self(self) -> None:
        """There is nobody to wake: everything is in this thread."""

    def _process_events(self, event_list: Any) -> None:
        """There are no events of a selector."""


async def _until_done(tasks: list[asyncio.Task[Any]]) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=60)


def _owner_of(handle: asyncio.Handle) -> Owner | None:
    context: Context = handle._context  # type: ignore[attr-defined]
    return context.get(OWNER)


def _is_of_network(handle: asyncio.Handle) -> bool:
    """Whether it brings something that comes in from outside."""
    function = handle._callback  # type: ignore[attr-defined]
    return bool(getattr(getattr(function, "__self__", None), "is_of_network", False))


def _names(handles: deque[asyncio.Handle]) -> str:
    """What is ready, for a person: tasks by their names, callbacks by their functions'."""
    names = set()
    for handle in handles:
        callback = handle._callback  # type: ignore[attr-defined]
        task = getattr(callback, "__self__", None)
        names.add(task.get_name() if isinstance(task, asyncio.Task) else getattr(callback, "__qualname__", "callback"))
    return ", ".join(sorted(names)) or "timers"


def _note_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, SimulatedLoop)
    loop.errors.append(context)
