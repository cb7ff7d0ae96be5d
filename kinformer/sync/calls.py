"""Calls: runs asynchronous functions in the thread of a client, for any other thread."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from kinformer.client import ClientError

__all__ = ("Calls",)

R = TypeVar("R")
P = ParamSpec("P")


class Calls:
    """Runs calls in the thread of the client, for any other thread."""

    def __init__(self, portal: BlockingPortal, server: str):
        self._portal = portal
        self._server = server
        self._open: set[Future[Any]] = set()
        self._closed = False
        self._process = os.getpid()

    def close(self) -> None:
        """Cancel all running calls, and refuse further ones."""
        self._closed = True
        for future in list(self._open):
            future.cancel()

    def __call__(self, function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """
        Run an asynchronous function in the client's thread, and wait for its result.

        :raises ClientError: if the client is closed, or another thread closes it during the call
        """
        scope: anyio.CancelScope | None = None
        abandoned = False

        async def run() -> R:
            nonlocal scope
            with anyio.CancelScope() as scope:
                if not abandoned:
                    return await function(*args, **kwargs)
            raise CancelledError

        def cancel() -> None:
            nonlocal abandoned
            abandoned = True
            if scope is not None:
                scope.cancel()

        future: Future[R] | None = None
        try:
            future = self.start(run)
            return future.result()
        except CancelledError:
            raise ClientError(f"the client of {self._server} is closed") from None
        except Exception:
            raise
        except BaseException:
            # Ctrl-C may come at any point, also before `future` is set.
            self._portal.start_task_soon(cancel)
            raise
        finally:
            if future is not None:
                self._open.discard(future)

    def iterate(self, source: Callable[[], AbstractAsyncContextManager[AsyncIterable[R]]]) -> Generator[R, None, None]:
        """
        Give the items of an asynchronous iterator. One task reads all of them, and is one item ahead of the caller.
        """
        self._check_open()
        send, receive = anyio.create_memory_object_stream[R]()

        async def pump() -> None:
            # Both ends are closed here, because only the thread of the event loop may close them.
            with send, receive:
                async with source() as items:
                    async for item in items:
                        await send.send(item)

        future = self.start(pump)
        try:
            while True:
                try:
                    item = self(receive.receive)
                except (anyio.EndOfStream, anyio.ClosedResourceError):
                    break
                yield item
            future.result()
        finally:
            future.cancel()
            self._open.discard(future)

    def _check_open(self) -> None:
        if self._closed:
            raise ClientError(f"the client of {self._server} is closed")
        self.check_process()

    def check_process(self) -> None:
        """
        Check that this process was not forked after the client was made. A thread does not go with a fork, so a call
        would wait for ever.

        :raises ClientError: if it was
        """
        if os.getpid() != self._process:
            raise ClientError(
                f"the client of {self._server} was made before this process was forked: make one in this process"
            )

    def start(self, function: Callable[[], Awaitable[R]]) -> Future[R]:
        """Run an asynchronous function in the client's thread, and return at once."""
        self._check_open()
        future = self._portal.start_task_soon(function)
        self._open.add(future)
        return future
