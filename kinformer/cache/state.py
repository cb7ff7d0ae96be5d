"""CacheState: everything that an informer's cache has at one version, for a later process that goes on from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

__all__ = ("CacheState", "StateSource")

T = TypeVar("T")


@dataclass(slots=True)
class CacheState(Generic[T]):
    """
    The objects of a cache, all of which are of one version.

    :param parts: the objects by key, in parts that take about a millisecond to store
    :param versions: the version that each of the informer's feeds has reached, by its namespace
    :param settle: called with each object after the informer has synced, bit by bit: for work that can wait
    """

    parts: list[Mapping[str, T]]
    versions: Mapping[str, str]
    settle: Callable[[T], None] = lambda _: None


#: Gives an informer the state to begin with; None if it is to list. The informer is typed as Any, because its module
#: imports this one.
StateSource: TypeAlias = Callable[[Any], Awaitable[CacheState[Any] | None]]
