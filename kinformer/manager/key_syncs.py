"""KeySyncs: runs the sync of one key, and decides from its end whether and when the key comes again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from kinformer.cancellation import ends_worker
from kinformer.client.errors import Conflict, ServerUnreachable
from kinformer.clock import Clock, move_on_after
from kinformer.logs import error_text, get_logger
from kinformer.manager.history import History, NotedQueue
from kinformer.manager.metrics import ControllerMetrics
from kinformer.manager.syncs import (
    AnswerError,
    NotAsync,
    Sync,
    SyncTimeout,
    TerminalError,
    is_of_the_world,
    seconds_of,
)
from kinformer.workqueue import RateLimiter

__all__ = ("KeySyncs",)

T = TypeVar("T")

log = get_logger(__name__)


class KeySyncs:
    """
    The syncs of one controller.

    :param name: the controller's name
    :param queue: keys that are to be synced again are added to it
    :param history: of the same queue
    :param limits: limiters for some classes of errors, instead of the queue's
    :param timeout: seconds after which a sync is cancelled. None: there is no limit
    """

    def __init__(
        self,
        name: str,
        sync: Sync,
        queue: NotedQueue,
        history: History,
        metrics: ControllerMetrics,
        *,
        limits: Mapping[type[BaseException], RateLimiter[str]] | None,
        timeout: float | None,
        clock: Clock,
    ) -> None:
        self.sync = sync
        self._name = name
        self._queue = queue
        self._history = history
        self._metrics = metrics
        self._limits = dict(limits or {})
        self._timeout = timeout
        self._clock = clock
        self._log = log.bind(controller=name)
        self._refused_answers: set[str] = set()

    async def run(self, key: str) -> None:
        """Sync a key. What the sync raises is logged and counted, and the key is tried again if that can help."""
        failure = ""
        try:
            answer: Any = self.sync(key)
            if not inspect.isawaitable(answer):
                raise NotAsync(self._name, self.sync)
            after = await (answer if self._timeout is None else self._in_time(answer, self._timeout))
        except Conflict as error:
            # Another client wrote the object first. Optimistic locking has found that, so this is no error.
            self._metrics.sync_failed()
            failure = error_text(error)
            self._log.debug("sync_conflicted", key=key, error=failure)
            self._retry(key, error)
        except TerminalError as error:
            self._metrics.sync_failed()
            self._metrics.terminal.inc()
            failure = error_text(error)
            self._log.error("sync_failed_for_good", key=key, error=failure)
            self.forget(key)
        except ServerUnreachable as error:
            self._metrics.sync_failed()
            told = error.reachability is not None  # then the client has logged it, once for all keys
            failure = error_text(error)
            (self._log.debug if told else self._log.error)("sync_failed", key=key, error=failure)
            self._retry(key, error)
            if error.reachability is not None:
                error.reachability.call_when_back((id(self), key), functools.partial(self._again, key))
        except BaseException as error:  # whatever one sync raises, the other keys must still be synced
            failure = error_text(error)
            if ends_worker(error):
                raise
            self._metrics.sync_failed()
            tell = self._log.error if is_of_the_world(error) else self._log.exception
            tell("sync_failed", key=key, error=failure)
            self._retry(key, error)
        else:
            self.forget(key)
            try:
                seconds = seconds_of(self._name, after)
            except AnswerError as error:
                # The sync itself has succeeded. A retry would only repeat its work.
                seconds = None
                if error.what not in self._refused_answers:
                    self._refused_answers.add(error.what)
                    self._log.error("sync_answer_ignored", key=key, error=str(error))
            if seconds is None:
                self._metrics.succeeded.inc()
            else:
                self._metrics.requeued.inc()
                self._queue.add_after(key, seconds)
        finally:
            self._metrics.seconds.observe(self._history.ended(key, failure))

    def forget(self, key: str) -> None:
        """Forget the failures of a key: its next failure counts as its first."""
        self._queue.forget(key)
        for limiter in self._limits.values():
            limiter.forget(key)

    def _retry(self, key: str, error: BaseException) -> None:
        """Sync a key again, after the delay of the limiter for this class of errors."""
        for class_ in type(error).__mro__ if self._limits else ():
            if (limiter := self._limits.get(class_)) is not None:
                self._history.retries += 1
                self._queue.add_after(key, limiter.when(key))
                return
        self._queue.add_rate_limited(key)

    def _again(self, key: str) -> None:
        """Sync a key now, because the server that it could not reach is back."""
        self.forget(key)
        self._queue.add(key)

    async def _in_time(self, answer: Awaitable[T], seconds: float) -> T:
        """
        Wait for a sync.

        :raises SyncTimeout: if it takes longer than `seconds`
        """
        with move_on_after(self._clock, seconds):
            return await answer
        self._metrics.timeouts.inc()
        raise SyncTimeout(seconds)
