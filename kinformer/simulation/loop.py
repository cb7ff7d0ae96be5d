"""An asyncio event loop in virtual time. A seed decides the order of ready tasks.

Tasks and callbacks are used as with any loop. There is no selector, no thread and no real time: when nothing is ready,
the loop sets its time to that of the next timer. So an hour without work takes no real time.

*Order.* asyncio promises that plain callbacks run in the order in which they were scheduled; this loop keeps that
promise. asyncio does not promise which of several ready tasks runs first, or how soon. This loop shuffles them, and
sometimes leaves one for a later turn. The new order depends on the seed and on the order in which tasks were made. It
does not depend on the order in which they became ready: anyio and asyncio keep tasks in sets, whose order differs
between processes.

*Owners.* Each simulated process is an :class:`Owner`. A context variable, which tasks and callbacks inherit, says whose
they are. The loop can hold everything of an owner, as SIGSTOP does, or only its timers.

There are similar loops on PyPI. simloop and simloom need Python 3.12, seedloop runs programs that are written for its
own transports, and looptime and async-solipsism keep asyncio's order. None of them can hold the tasks of one simulated
process, which is how a process is paused here. So the project has its own loop.
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
from typing import Any, Final, Protocol, TypeVar

from kinformer.simulation.handles import SimulatedHandle, SimulatedTask, SimulatedTimer

__all__ = ("OWNER", "Connections", "Deadlock", "Livelock", "Owner", "SimulatedLoop")

T = TypeVar("T")

#: The simulated process to which the running task or callback belongs.
OWNER: ContextVar[Owner | None] = ContextVar("kinformer_simulation_owner", default=None)

#: A ready task is left for a later turn with this probability, if another one is ready.
_LATER: Final = 0.1
#: The shortest time of a timer that is not due at once, in seconds.
_TICK: Final = 1e-6
#: After so many turns in which no time passes, some task must be in an endless loop.
_TURNS_WITHOUT_TIME: Final = 200_000

_FIRST: Final = itemgetter(0)


class Deadlock(RuntimeError):
    """All tasks wait, and there is no timer that could wake one."""


class Livelock(RuntimeError):
    """A task asks for another turn again and again, so that no time can pass."""


class Owner:
    """
    A simulated process, as the loop knows it.

    :ivar held: while the process is paused, the handles that became ready, in this order; None while it runs
    :ivar held_timers: while its clock is stopped, its timers that became due; None while the clock runs
    :ivar clock_stood_at: the time at which its clock was stopped
    """

    __slots__ = ("__weakref__", "clock_stood_at", "held", "held_timers", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: list[asyncio.Handle] | None = None
        self.held_timers: list[asyncio.Handle] | None = None
        self.clock_stood_at = 0.0

    def may_send(self) -> bool:
        """Whether the network takes what it sends now."""
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Connections(Protocol):
    """The part of :class:`~kinformer.simulation.network.Network` that the loop needs, in place of sockets."""

    async def claim(self, sock: socket.socket, address: Any) -> None:
        """Let a socket stand for a connection to an address."""

    async def connect(self, factory: Callable[[], Any], host: Any, port: Any, sock: Any, tls: object) -> Any:
        """Open a connection. Return the client's transport and protocol."""

    def listen(
        self, factory: Callable[[], Any], host: Any, port: Any, sock: Any = None, tls: object = None
    ) -> asyncio.AbstractServer:
        """Listen at an address."""

    def stop_accepting(self, sock: Any) -> bool:
        """Refuse new connections at the address of a listening socket. Return whether there is a listener."""


# More than 15 fields: what is ready, the timers, and what its tasks, owners and connections need of it.
class SimulatedLoop(asyncio.BaseEventLoop):
    """
    The loop.

    Some lines ignore typing errors: methods have other types than those of :class:`asyncio.BaseEventLoop`, one method
    is replaced by a faster function, and the loop uses private attributes of asyncio that typeshed does not have.

    :param seed: the order of ready tasks is drawn from it
    :ivar network: the connections and listeners; None without a network
    :ivar errors: the contexts that the exception handler got: errors that nobody caught
    :ivar steps: how many callbacks and steps of tasks have run
    """

    #: Code that would watch a loop from another thread looks at this, and leaves this loop alone.
    is_simulated: Final = True
    #: The loop is never in debug mode. asyncio asks often, so a built-in answers: ``bool()`` is False.
    get_debug = staticmethod(bool)

    def __init__(self, seed: object) -> None:
        super().__init__()
        self.create_future = partial(asyncio.Future, loop=self)  # type: ignore[method-assign]  # see the class
        self.network: Connections | None = None
        self.errors: list[dict[str, Any]] = []
        self.steps = 0
        self._random = random.Random(f"order {seed}")
        self._now = 0.0
        self._ready: deque[Any] = deque()
        self._timers: list[tuple[float, int, SimulatedTimer]] = []
        self._timer_numbers = itertools.count()
        self._cancelled_timers = 0
        self.task_numbers = itertools.count()
        #: The cancellations that tasks have raised in this turn to those who asked for their exceptions.
        self.cancellations: list[BaseException] = []
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
        """The time in seconds, also for an owner whose own clock is stopped."""
        return self._now

    def call_at(  # type: ignore[override]  # see the class
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedTimer:
        timer = SimulatedTimer(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._timer_numbers), timer))
        return timer

    def call_later(  # type: ignore[override]  # see the class
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedTimer:
        # Work takes no virtual time. Without a least time, a task that wakes up too early by a rounding error, and
        # sleeps again, would do this for ever.
        delay = 0.0 if delay <= 0 else delay if delay > _TICK else _TICK
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def note_cancelled_timer(self) -> None:
        """Count a cancelled timer. When most timers are cancelled, all cancelled ones are removed."""
        self._cancelled_timers += 1
        if self._cancelled_timers > 100 and self._cancelled_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2]._cancelled]
            heapq.heapify(self._timers)
            self._cancelled_timers = 0

    # -- turns ------------------------------------------------------------------------------------------------------

    def call_soon(  # type: ignore[override]  # see the class
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedHandle:
        handle = SimulatedHandle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]  # see the class
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedHandle:
        return self.call_soon(callback, *args, context=context)

    def create_task(  # type: ignore[override]  # see the class
        self, coro: Coroutine[Any, Any, T], **options: Any
    ) -> asyncio.Task[T]:
        task = SimulatedTask(coro, loop=self, **options)
        task.owner = OWNER.get()
        return task

    def run_and_close(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """
        Run a coroutine to its end, and close the loop. Tasks that are left are cancelled, and their errors are ignored.

        :param main: makes the coroutine; it is called when the loop runs
        :raises Deadlock: if all tasks wait, and there is no timer
        :raises Livelock: if tasks ask for turns for ever, so that no time passes
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

    def close(self) -> None:
        super().close()
        self._timers.clear()

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
        elif not ready and not self._stopping:  # type: ignore[attr-defined]  # see the class
            raise Deadlock(f"everybody waits at {self._now:.3f} s, and there is no timer")
        turn = list(ready)
        ready.clear()
        if self._owners_held:
            turn = [handle for handle in turn if not self._hold(handle)]
        if len(turn) > 1:
            self._shuffle(turn)
        self.steps += len(turn)
        for handle in turn:
            # The same as asyncio.Handle._run does, but without a call for each handle.
            if not handle._cancelled:
                try:
                    handle._context.run(handle._callback, *handle._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    name = getattr(handle._callback, "__qualname__", "callback")
                    self.call_exception_handler({"message": f"Exception in callback {name}", "exception": error})
        if self.cancellations:
            for cancelled in self.cancellations:
                cancelled.__traceback__ = None
            self.cancellations.clear()
        # The tracebacks of tasks that were cancelled keep this frame.
        turn.clear()
        handle = None

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
        """Shuffle the steps of tasks, and leave some for a later turn. Plain callbacks keep their places."""
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
        """Let nothing of an owner run until :meth:`release`, as SIGSTOP does. Its timers still become due."""
        if owner.held is None:
            owner.held = []
            self._owners_held.add(owner)

    def hold_timers(self, owner: Owner) -> None:
        """Stop an owner's clock until :meth:`release_timers`: its timers do not fire. It still gets what arrives."""
        if owner.held_timers is None:
            owner.clock_stood_at = self._now
            owner.held_timers = []
            self._owners_held.add(owner)

    def release(self, owner: Owner) -> None:
        """Let an owner run again. First it gets what has arrived in the meantime, then its timers fire."""
        held = owner.held or []
        self._release_as_loops_do(held)
        owner.held = None
        self._forget_if_free(owner)

    def release_timers(self, owner: Owner) -> None:
        """Start an owner's clock again. It shows the right time at once."""
        self._ready.extend(owner.held_timers or ())
        owner.held_timers = None
        self._forget_if_free(owner)

    def _release_as_loops_do(self, held: list[asyncio.Handle]) -> None:
        # A real event loop that wakes up looks at its sockets before its timers.
        was_ready = [handle for handle in held if not isinstance(handle, asyncio.TimerHandle)]
        arrived = [handle for handle in held if isinstance(handle, asyncio.TimerHandle) and _is_of_network(handle)]
        timers = [handle for handle in held if isinstance(handle, asyncio.TimerHandle) and not _is_of_network(handle)]
        self._ready.extend((*was_ready, *arrived, *timers))

    def _forget_if_free(self, owner: Owner) -> None:
        if owner.held is None and owner.held_timers is None:
            self._owners_held.discard(owner)

    # -- in place of threads and sockets ----------------------------------------------------------------------------

    def run_in_executor(  # type: ignore[override]  # see the class
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a function in a later turn, in this thread."""
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
        """Return the host as its own address: nothing is looked up."""
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
    def _connections(self) -> Connections:
        if self.network is None:
            raise OSError("this simulated loop has no network")
        return self.network

    def _write_to_self(self) -> None:
        """Do nothing: everything runs in this thread, so there is no loop to wake."""

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there is no selector, so it has no events."""


async def _until_done(tasks: list[asyncio.Task[Any]]) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=60)


def _owner_of(handle: asyncio.Handle) -> Owner | None:
    context: Context = handle._context  # type: ignore[attr-defined]  # see SimulatedLoop
    return context.get(OWNER)


def _is_of_network(handle: asyncio.Handle) -> bool:
    """Whether a handle delivers something from the network."""
    function = handle._callback  # type: ignore[attr-defined]  # see SimulatedLoop
    return bool(getattr(getattr(function, "__self__", None), "is_of_network", False))


def _names(handles: deque[asyncio.Handle]) -> str:
    """The names of ready tasks and of the functions of ready callbacks, for an error text."""
    names = set()
    for handle in handles:
        callback = handle._callback  # type: ignore[attr-defined]  # see SimulatedLoop
        task = getattr(callback, "__self__", None)
        names.add(task.get_name() if isinstance(task, asyncio.Task) else getattr(callback, "__qualname__", "callback"))
    return ", ".join(sorted(names)) or "timers"


def _note_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, SimulatedLoop)
    loop.errors.append(context)
