"""Writes: the writing requests that a server receives, and an assertion that there are none.

A controller that has done its work writes nothing more. :func:`assert_no_writes` finds a controller that does: it
writes a status again and again, undoes the work of another controller, or applies objects that do not change::

    async with assert_no_writes(server, seconds=3600):
        ...  # after this, no write may come

    await assert_no_writes(server, seconds=3600)  # no write may come for an hour

Nothing is recorded, and nothing is slower, while no one listens.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import yaml

from kinformer.clock import Clock, FakeClock
from kinformer.envtest import status
from kinformer.envtest.operations import Operations
from kinformer.envtest.waiting import quiet, turn

if TYPE_CHECKING:
    from kinformer.envtest.handlers.call import Answer, Call

__all__ = ("RENEWALS", "Note", "Observed", "Write", "WriteLog", "assert_no_writes")

_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})

#: The resources that leaders and members of groups write all the time.
RENEWALS: Final = ("leases.coordination.k8s.io",)

#: The fields of metadata that the server changes by itself.
_KEPT_BY_SERVER: Final = ("managedFields", "resourceVersion")

#: The lines around a difference, and the most lines of a difference that are shown.
_AROUND, _LONGEST = 2, 40


@dataclass(frozen=True, slots=True)
class Write:
    """
    A writing request.

    :ivar verb: ``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``
    :ivar resource: the resource, written as in kubectl: ``deployments.apps``
    :ivar subresource: empty for the object itself
    :ivar name: the object's name; empty for ``deletecollection``
    :ivar agent: the User-Agent of the client
    :ivar user: the name of the user
    :ivar code: the HTTP status of the response; 400 or more if it was refused
    :ivar diff: the changes, as lines of YAML with ``+`` and ``-``; empty if nothing changed
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    agent: str
    user: str
    code: int
    diff: str

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f"{self.namespace}/{self.name}".strip("/")
        done = f"refused with {self.code}" if self.code >= 400 else "" if self.diff else "nothing changed"
        head = " ".join(filter(None, (self.verb, what, where, f"by {self.agent or 'an unnamed client'}")))
        return "\n".join([f"{head}: {done}" if done else f"{head}:", *self.diff.splitlines()])


@dataclass(slots=True)
class Note:
    """A write that is being processed. The handler adds the result."""

    answer: Answer | None = None
    refused: status.StatusError | None = None


@dataclass(eq=False, slots=True)
class WriteLog:
    """Calls listeners for each writing request, once it has been processed."""

    listeners: list[Callable[[Write], object]] = field(default_factory=list)

    @contextmanager
    def noting(self, operations: Operations, call: Call) -> Iterator[Note]:
        """Call the listeners for a request that is processed in this block, if it is a write."""
        note = Note()
        if not self.listeners or call.verb not in _WRITES or call.is_dry_run or not call.target.resource.is_stored:
            yield note
            return
        before = _state(operations, call, call.name)
        try:
            yield note
        except status.StatusError as error:
            note.refused = error
            raise
        finally:
            write = _write(operations, call, before, note)
            for listener in self.listeners:
                listener(write)


def _write(operations: Operations, call: Call, before: list[str], note: Note) -> Write:
    name = call.name or _name_in(note.answer.body if note.answer is not None else call.body)
    after = _state(operations, call, name) if note.answer is not None else before
    changed = difflib.unified_diff(before, after, n=_AROUND, lineterm="")
    lines = [f"    {line}" for line in changed if not line.startswith(("---", "+++", "@@"))]
    if len(lines) > _LONGEST:
        lines = [*lines[:_LONGEST], f"    … {len(lines) - _LONGEST} lines more"]
    code = note.answer.code if note.answer is not None else note.refused.code if note.refused is not None else 500
    return Write(
        verb=call.verb,
        resource=call.resource,
        subresource=call.part,
        namespace=call.namespace,
        name=name,
        agent=call.agent,
        user=call.user.name,
        code=code,
        diff="\n".join(lines),
    )


def _state(operations: Operations, call: Call, name: str) -> list[str]:
    """The stored object, as lines of YAML. Empty if it does not exist."""
    stored = operations.storage.get(call.target.resource.storage, call.namespace, name) if name else None
    if stored is None:
        return []
    obj: dict[str, Any] = stored.decode()
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _KEPT_BY_SERVER}
    return yaml.safe_dump({**obj, "metadata": metadata}, sort_keys=False).splitlines()


def _name_in(body: bytes) -> str:
    """The name of a new object in JSON: the one that the server gave it, or the one in a refused request."""
    try:
        return str(msgspec.json.decode(body)["metadata"]["name"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""  # a Status, a table, or YAML


class Observed(Protocol):
    """The part of :class:`~kinformer.envtest.ApiServer` that is needed to observe its writes."""

    clock: Clock
    writes: WriteLog


class assert_no_writes:  # noqa: N801 - it is used as a function
    """
    Fail if a writing request comes, within a block or while this is awaited.

    Requests that the server refuses, and requests that change nothing, count too. Dry runs, reviews, the server's own
    loops (which send no requests), and requests that an injected fault refuses do not count. Requests to a replica
    count as requests to its server.

    :param server: the server to observe
    :param seconds: seconds after the block, or from now on, in which no write may come, by the server's clock. A
        FakeClock is turned by them; with a real clock they are slept
    :param ignoring: resources that do not count, written as in kubectl: ``events``. By default the Leases of leaders
    :param matching: returns whether a write counts
    :raises AssertionError: if a write came. The message has each of them, with its client and its changes
    """

    def __init__(
        self,
        server: Observed,
        *,
        seconds: float = 0.0,
        ignoring: Collection[str] = RENEWALS,
        matching: Callable[[Write], bool] = lambda _: True,
    ) -> None:
        if isinstance(ignoring, str):
            raise TypeError(f"ignoring is {ignoring!r}: want a list of resources")
        self._server = server
        self._seconds = seconds
        self._ignoring = frozenset(ignoring)
        self._matching = matching
        #: The writes that have come so far.
        self.writes: list[Write] = []

    async def __aenter__(self) -> assert_no_writes:
        await quiet()  # requests that were sent before do not count
        self._server.writes.listeners.append(self._note)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                await self._pass_time()
        finally:
            self._server.writes.listeners.remove(self._note)
        if error is None and self.writes:
            number, plural = len(self.writes), "s" if len(self.writes) > 1 else ""
            text = "\n".join(map(str, self.writes))
            raise AssertionError(f"want no writes: there {'were' if plural else 'was'} {number} write{plural}\n{text}")

    def __await__(self) -> Generator[Any, None, None]:
        return self._alone().__await__()

    async def _alone(self) -> None:
        async with self:
            pass

    async def _pass_time(self) -> None:
        clock = self._server.clock
        if isinstance(clock, FakeClock):
            await turn(clock, self._seconds)
        elif self._seconds:
            await clock.sleep(self._seconds)
        await quiet()

    def _note(self, write: Write) -> None:
        if write.resource not in self._ignoring and self._matching(write):
            self.writes.append(write)
