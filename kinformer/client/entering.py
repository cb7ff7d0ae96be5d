"""Entering: what ``connect()`` returns. It gives the client to a ``with`` block, and says so to those who forget it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ("AsyncEntering", "Entering")

T_co = TypeVar("T_co", covariant=True)


class _OnlyEntered:
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"connect() has no {name}: its client has it, which is used in {self._how}")


class AsyncEntering(_OnlyEntered, AbstractAsyncContextManager[T_co]):
    _how = "`async with connect() as client:`"

    def __init__(self, context: AbstractAsyncContextManager[T_co]) -> None:
        self._context = context

    async def __aenter__(self) -> T_co:
        return await self._context.__aenter__()

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._context.__aexit__(*raised)


class Entering(_OnlyEntered, AbstractContextManager[T_co]):
    _how = "`with connect() as client:`"

    def __init__(self, context: AbstractContextManager[T_co]) -> None:
        self._context = context

    def __enter__(self) -> T_co:
        return self._context.__enter__()

    def __exit__(self, *raised: Any) -> bool | None:
        return self._context.__exit__(*raised)
