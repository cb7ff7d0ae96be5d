"""Daemons: a task for each object, which runs as long as the object is there.

A :class:`~kinformer.operator.Reconciler` that overrides ``daemon`` has them. They are for work that stays open, such as
reading a stream. The reconciler reports which objects were reconciled and which are gone. There is one task for each
object. Work that is only repeated needs no task: return the seconds from ``reconcile``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import anyio

from kinformer.backoff import Backoff
from kinformer.cache import DeletedFinalStateUnknown, deletion_handling_key
from kinformer.cancellation import ends_worker
from kinformer.logs import error_text, get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.manager.activity import Activity
from kinformer.manager.syncs import is_of_the_world
from kinformer.meta import accessor_of

__all__ = ("Daemons",)

T = TypeVar("T")

log = get_logger(__name__)


@dataclass(eq=False, slots=True)
class _Daemon:
    #: The object's uid and generation. Another uid or spec needs another task.
    version: tuple[str, int]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


class Daemons(Generic[T]):
    """
    The tasks of one controller.

    :param work: called with an object. If it raises, it is called again after 1 s, then 2 s, up to 60 s, and at most
        twice as long. If it returns, it is called again when the spec changes
    :param controller: the tasks end with its run
    """

    def __init__(
        self, work: Callable[[T], Awaitable[None]], controller: Controller, context: ControllerContext
    ) -> None:
        self._work = work
        self._controller = controller
        self._clock = context.clock
        self._log = log.bind(controller=controller.name)
        self._running: dict[str, _Daemon] = {}
        self._activity = Activity(controller.name, "daemons", context.clock)
        controller.activities.append(self._activity)

    def forget(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        End the task of an object that is gone, or that another process is responsible for now. This does not wait.
        """
        key = deletion_handling_key(obj)
        if (daemon := self._running.get(key)) is not None:
            daemon.scope.cancel()
            self._controller.queue.add(key)  # a new object of this name may have been synced before the task ended

    async def end_old(self, key: str, obj: T | None) -> None:
        """
        End the task of a key, and wait until it has ended. If the task was started for the same spec, and the object is
        not being deleted, the task continues.
        """
        daemon = self._running.get(key)
        if daemon is None:
            return
        cancelled = daemon.scope.cancel_called
        if not cancelled and obj is not None and _stays(obj) and daemon.version == _version_of(obj):
            return
        daemon.scope.cancel()
        await daemon.ended.wait()

    def ensure(self, key: str, obj: T) -> None:
        """Start the task of an object, unless there is one already or the object is being deleted."""
        if key not in self._running and _stays(obj):
            daemon = self._running[key] = _Daemon(_version_of(obj))
            self._controller.start_soon(
                self._run, key, obj, daemon, name=f"daemon of {self._controller.name} for {key}"
            )

    async def _run(self, key: str, obj: T, daemon: _Daemon) -> None:
        backoff = Backoff(initial=1.0, maximum=60.0, clock=self._clock)
        try:
            with daemon.scope:
                while (error := await self._error_of(key, obj)) is not None:
                    seconds = backoff.next()
                    self._activity.failed(error, key, again_in=seconds)
                    await self._clock.sleep(seconds)
                self._activity.shows("done", key)
                await anyio.sleep_forever()  # it is not called again for this spec
        finally:
            del self._running[key]
            self._activity.ended(key)
            daemon.ended.set()

    async def _error_of(self, key: str, obj: T) -> str | None:
        """Call the daemon once. Return why it failed; None if it returned."""
        self._activity.shows("running", key)
        try:
            await self._work(obj)
        except BaseException as error:  # of any type: it concerns this object only
            if ends_worker(error):
                raise
            tell = self._log.error if is_of_the_world(error) else self._log.exception
            tell("daemon_failed", key=key, error=error_text(error))
            return error_text(error)
        return None


def _stays(obj: Any) -> bool:
    return not accessor_of(obj).is_being_deleted(obj)


def _version_of(obj: Any) -> tuple[str, int]:
    accessor = accessor_of(obj)
    return accessor.uid(obj), accessor.generation(obj)
