"""A stage: the parts that simulated worlds and external runs have in common.

A stage has an API server, a history, an injector and oracles. It appends records to the history, lets faults happen,
and knows when everything has settled. :class:`~kinformer.simulation.world.World` runs simulated processes in virtual
time on it, and :class:`~kinformer.simulation.external.ExternalWorld` runs real processes in real time.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from kinformer.clock import Clock
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.meta.names import GroupResource
from kinformer.meta.requests import UNCOUNTED, About
from kinformer.simulation.faults import Faults, Injector
from kinformer.simulation.history import History, What
from kinformer.simulation.loop import OWNER
from kinformer.simulation.oracles import Invariant, Oracles, Reference, Violation
from kinformer.simulation.plan import Deviation, Plan, RestartServer
from kinformer.simulation.restarts import Form, forms_of
from kinformer.simulation.server import EXCHANGE, DisturbedProcess, DisturbedServer
from kinformer.simulation.state import State
from kinformer.simulation.user import User
from kinformer.simulation.watches import Sight

__all__ = ("ACTORS", "NotSettled", "RunResult", "Stage")

P = TypeVar("P", bound=DisturbedProcess)

#: The names of actors that are not processes. A process must not have such a name.
ACTORS: Final = ("user", "nodes", "server")
#: So many records may come while one waits until it has settled. Two controllers that undo each other's writes make
#: them in 25 virtual seconds and 7 of CPU, and would go on for an hour.
_MOST_RECORDS: Final = 100_000
_TOUCHED: Final = "kinformer.dev/touched"
#: The records after which a world has to be quiet for some time until it has settled. Syncs do not count, because some
#: controllers sync periodically.
_ACTIVITY: Final = frozenset({"start", "ended", "killed", "paused", "resumed", "write", "event", "fault"})


class NotSettled(AssertionError):
    """The world did not settle: changes, events or faults did not stop in time, or the scenario did not end."""


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
    :param seconds: the seconds that the run took: of virtual time in a simulated world, and of real time otherwise
    :param steps: how many callbacks and steps of tasks have run
    :param refer: makes :attr:`reference`
    :param look: finds out, by version, what each change has made: see :mod:`kinformer.simulation.restarts`
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
    look: Callable[[], Mapping[int, Form]] = dict

    @cached_property
    def reference(self) -> Reference:
        """The data with which other runs of the scenario are compared. It is made at first use: few runs need it."""
        assert self.refer is not None, "the run is over"
        return self.refer()


# More than 15 fields: what every simulated world has; its parts (injector, history, oracles) are classes of their own.
class Stage(User, abc.ABC, Generic[P]):
    """
    See the module. The requests of the user are the methods of :class:`~kinformer.simulation.user.User`.

    :param plan: the seed, and the deviations that always happen
    :param faults: the rates of further faults; None for no others
    :param oracles: the oracles that get the records
    :param quiet: after so many seconds without a change, it has settled
    :param patience: the most seconds to wait until it has settled
    :ivar history: what has happened so far
    :ivar state: the objects that are stored now
    :ivar processes: the processes by name
    """

    def __init__(
        self, plan: Plan, faults: Faults | None, oracles: Oracles, *, quiet: float, patience: float, clock: Clock
    ) -> None:
        self.plan = plan
        self.clock = clock
        self.history = History()
        self.injector = Injector(plan, faults)
        self.processes: dict[str, P] = {}
        self.oracles = oracles
        #: The time of the last activity, or the end of the last fault; the stage settles some time after it.
        self.last_activity = 0.0
        self._quiet = quiet
        self._patience = patience
        self._tasks: TaskGroup | None = None
        self._sights: dict[str, Sight] = {}
        self._disturbances = 0
        self._server_restarts = False
        server = self._make_server()
        super().__init__(server, clock)
        server.storage.listeners.append(self._changed)
        self.state = State(server)
        self.history.listeners.append(lambda record: oracles.record(record, self.state))

    @abc.abstractmethod
    def _make_server(self) -> DisturbedServer:
        """Make the server. It does not serve yet."""

    @property
    @abc.abstractmethod
    def now(self) -> float:
        """The seconds since the run began."""

    @abc.abstractmethod
    def call_later(self, seconds: float, callback: Callable[[], object]) -> object:
        """Call a function after some seconds."""

    @abc.abstractmethod
    def fall_behind(self, process: P, changes: int, seconds: float) -> None:
        """
        Connect a process to a replica of the server that is behind, from its next life on.

        :param process: the process
        :param changes: how many changes the replica is behind
        :param seconds: the time until the replica catches up
        """

    @abc.abstractmethod
    def _break_connections(self) -> None:
        """Break all connections of the server."""

    def start(self, function: Callable[[], Coroutine[Any, Any, object]], name: str) -> None:
        """Run a coroutine function beside the scenario, until the end of the run at the latest."""
        assert self._tasks is not None, "the run is over"
        self._tasks.start_soon(function, name=name)

    def _actor(self) -> str:
        """Who makes a change that comes with no request."""
        owner = OWNER.get()
        return owner.name if owner is not None else "server"

    def lasts(self, seconds: float) -> float:
        """How long a fault lasts, for the seconds of its deviation."""
        return seconds

    # -- the history --------------------------------------------------------------------------------------------------

    def tell(self, actor: str, what: What, name: str = "", version: int = 0, detail: str = "") -> None:
        """Append a record to the history. The parameters are those of :class:`Record`; `name` is its object."""
        now = self.now
        if what in _ACTIVITY:
            self.last_activity = max(self.last_activity, now)
        self.history.append(now, actor, what, name, version, detail)

    def tell_fault(self, actor: str, deviation: Deviation, name: str = "", version: int | str = 0) -> None:
        self.tell(actor, "fault", name, self.relative(version), str(deviation))

    def relative(self, version: int | str | None) -> int:
        """A resourceVersion as in records: counted from the beginning of the run."""
        number = int(version or 0)
        return number - self.server.storage.first if number else 0

    def _changed(self, resource: GroupResource, change: Change) -> None:
        name, exchange = str(resource), EXCHANGE.get()
        actor = exchange.actor if exchange is not None else self._actor()
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

    def look(self) -> Callable[[], Mapping[int, Form]]:
        """A function that finds out what each change until now has made. It does not refer to the stage."""
        changes = sorted(
            (self.relative(change.number), f"{resource}/{change.now.key}", change)
            for resource, log in self.server.storage.logs()
            if str(resource) not in UNCOUNTED
            for change in log.changes
        )
        return partial(_forms, changes)

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

    # -- faults that need more than one request -----------------------------------------------------------------------

    def sight_of(self, actor: str) -> Sight:
        return self._sights.setdefault(actor, Sight())

    def later(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call a function after some seconds, as long as a fault lasts. It does not settle before that."""
        seconds = self.lasts(seconds)
        self.last_activity = max(self.last_activity, self.now + seconds)
        self.call_later(seconds, callback)

    @contextmanager
    def disturbing(self) -> Iterator[None]:
        """Keep it from settling while the block runs."""
        self._disturbances += 1
        try:
            yield
        finally:
            self._disturbances -= 1
            self.last_activity = max(self.last_activity, self.now)

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
        with self.disturbing():
            self._break_connections()
            if history == "gone":
                self.server.storage.compact()
            await self.server.restart()
        self._server_restarts = False

    # -- time ---------------------------------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        """Let some seconds pass."""
        await anyio.sleep(seconds)

    @property
    def is_busy(self) -> bool:
        """Whether a fault is going on, or a process is paused or going to be started again."""
        return self._disturbances > 0 or any(process.is_busy for process in self.processes.values())

    async def settled(self, quiet: float | None = None) -> None:
        """
        Wait until nothing has happened for some time: no change, no event, and no fault.

        :param quiet: for how many seconds; None for the usual time
        :raises NotSettled: if it has not settled within the seconds of `patience`, or after 100,000 more records
        """
        quiet = self._quiet if quiet is None else quiet
        began, records = self.now, len(self.history)
        while True:
            wait = self.last_activity + quiet - self.now
            if wait <= 0:
                if not self.is_busy:
                    return
                wait = quiet / 10
            if self.now + wait > began + self._patience or len(self.history) > records + _MOST_RECORDS:
                raise NotSettled(f"nothing has settled within {self.now - began:g} s: {self.history.records[-1]}")
            await anyio.sleep(wait)


def _forms(changes: Iterable[tuple[int, str, Change]]) -> Mapping[int, Form]:
    return forms_of(
        (version, name, None if change.type == DELETED else change.now.decode()) for version, name, change in changes
    )
