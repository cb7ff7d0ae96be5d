"""``asyncio.gather``, ``asyncio.wait_for`` and ``asyncio.as_completed``, the same on every Python and in every process.

A run has to be the same on all versions of Python, and in each process. So the functions of this module replace
asyncio's during a run. Python 3.12 has new versions of ``gather`` and ``wait_for``, which take other turns of the loop
than before: these functions do what those of 3.12 and later do. asyncio's ``as_completed`` puts the awaitables into a
set, whose order depends on addresses: this one has an order that is always the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Set
from typing import Any, Final, TypeVar

__all__ = ("as_completed", "gather", "wait_for")

T = TypeVar("T")

_gather: Final = asyncio.gather


def gather(*awaitables: Awaitable[Any], return_exceptions: bool = False) -> asyncio.Future[list[Any]]:
    """Like :func:`asyncio.gather` of Python 3.12: a known result is set at once, not at a later turn."""
    made: dict[Awaitable[Any], asyncio.Future[Any]] = {}
    for each in awaitables:
        if each not in made:
            made[each] = asyncio.ensure_future(each)
    children = [made[each] for each in awaitables]
    failed = None if return_exceptions else next(filter(_has_failed, made.values()), None)
    if failed is None and not all(child.done() for child in children):
        return _gather(*children, return_exceptions=return_exceptions)
    outer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
    if failed is None:
        outer.set_result([_outcome(child) for child in children])
    else:
        _gather(*children, return_exceptions=True)  # it takes the other errors, so that asyncio does not log them
        outer.set_exception(_outcome(failed))
    return outer


def _has_failed(child: asyncio.Future[Any]) -> bool:
    return child.done() and (child.cancelled() or child.exception() is not None)


def _outcome(child: asyncio.Future[Any]) -> Any:
    """The result of a future that is done, or its error."""
    if child.cancelled():
        return asyncio.CancelledError()
    return child.exception() or child.result()


async def wait_for(awaitable: Awaitable[T], timeout: float | None) -> T:
    """
    Like :func:`asyncio.wait_for` of Python 3.12, which makes no task.

    :param timeout: the most seconds to wait; None for no limit
    :raises TimeoutError: if it takes longer
    """
    if timeout is not None and timeout <= 0:
        future = asyncio.ensure_future(awaitable)
        if not future.done():
            future.cancel()
            await asyncio.wait([future])
        if future.cancelled():
            raise TimeoutError
        return future.result()
    async with asyncio.timeout(timeout):
        return await awaitable


def as_completed(
    awaitables: Iterable[Awaitable[T]], *, timeout: float | None = None
) -> Iterator[Coroutine[Any, Any, T]]:
    """
    Like :func:`asyncio.as_completed`, but the tasks are made in the order of the awaitables.

    A set has no order. Its awaitables are sorted by their functions and the strings among their arguments.

    :param timeout: the most seconds to wait for all; None for no limit
    :raises TimeoutError: from the awaitables that it returns, if that time is over
    """
    ordered = sorted(awaitables, key=_description) if isinstance(awaitables, Set) else list(awaitables)
    done: asyncio.Queue[asyncio.Future[T] | None] = asyncio.Queue()
    left = [asyncio.ensure_future(awaitable) for awaitable in ordered]
    for future in left:
        future.add_done_callback(done.put_nowait)

    def end() -> None:
        for _ in left:
            done.put_nowait(None)

    if timeout is not None:
        asyncio.get_running_loop().call_later(timeout, end)

    async def one() -> T:
        future = await done.get()
        if future is None:
            raise TimeoutError
        return future.result()

    for _ in left:
        yield one()


def _description(awaitable: Any) -> str:
    """The function of a coroutine, and the strings among its arguments; empty for other awaitables."""
    frame = getattr(awaitable, "cr_frame", None)
    if frame is None:
        return ""
    texts = (f"{name}={value}" for name, value in sorted(frame.f_locals.items()) if isinstance(value, str))
    return " ".join((awaitable.__qualname__, *texts))
