"""CacheState: everything that an informer's cache has at one version, for a later process that goes on from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from anyio.lowlevel import checkpoint

__all__ = ("CacheState", "StateSource")

T = TypeVar("T")

#: Number of objects that are settled in one turn of the event loop. They take less than a millisecond.
_SETTLED_AT_ONCE: Final = 64


@dataclass(slots=True)
class CacheState(Generic[T]):
    """
    The objects of a cache, all of which are of one version.

    :param parts: the objects by key, in parts that take about a millisecond to store
    :param versions: the version that each of the informer's feeds has reached, by its namespace
    :param settle: does for one object the work that can wait until the informer has synced
    """

    parts: list[Mapping[str, T]]
    versions: Mapping[str, str]
    settle: Callable[[T], None] = lambda _: None

    async def settle_all(self) -> None:
        """Call :attr:`settle` with each object, a few in each turn of the event loop. Afterwards, no part is left."""
        while self.parts:
            for number, obj in enumerate(self.parts.pop().values()):
                if not number % _SETTLED_AT_ONCE:
                    await checkpoint()
                self.settle(obj)


#: Gives an informer the state to begin with; None if it is to list. The informer is typed as Any, because its module
#: imports this one.
StateSource: TypeAlias = Callable[[Any], Awaitable[CacheState[Any] | None]]
