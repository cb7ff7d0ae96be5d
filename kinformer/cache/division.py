"""Division: the interface between sharding and informers.

Several processes can share the objects of a server out between them. In each process a :class:`Division` narrows every
informer's lister-watcher to the objects that belong to this process, so that no others are stored. Its :class:`KeyGate`
says which keys may be synced in this process. Without a division, an informer holds all objects and every key is
synced. Nothing is asked for each event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from kinformer.cache.listwatch import ListerWatcher

__all__ = ("DividedInformer", "Division", "KeyGate")

T = TypeVar("T")


class KeyGate(Protocol):
    """Says which keys may be synced in this process at the moment."""

    def entered(
        self, text: str, key: object, again: Callable[[], object], *, held_by_all: bool = False
    ) -> AbstractContextManager[bool]:
        """
        Give whether a key may be synced. The answer holds until the context is left.

        :param text: the part of the key that is hashed
        :param key: tells this key from others that wait
        :param again: called to queue the key again, if it cannot be synced yet
        :param held_by_all: whether every process holds the objects that this key is about
        """


class DividedInformer(Protocol):
    """The part of :class:`~kinformer.cache.SharedIndexInformer` that a division needs."""

    @property
    def lister_watchers(self) -> Iterable[ListerWatcher[Any]]:
        """What it lists and watches."""

    @property
    def indexer(self) -> Sized:
        """Its objects."""

    @property
    def is_started(self) -> bool:
        """Whether it runs, or has run."""

    @property
    def is_stopped(self) -> bool:
        """Whether it has run and ended."""

    async def forget(self, matches: Callable[[Any], bool], /) -> None:
        """Drop the objects for which `matches` returns True, as if they had been deleted."""


class Division(Protocol):
    """Narrows informers to the objects that belong to this process."""

    @property
    def gate(self) -> KeyGate:
        """Says which keys may be synced in this process at the moment."""

    def narrowed(self, lister_watcher: ListerWatcher[T], type_: type[T], *, namespaced: bool) -> ListerWatcher[T]:
        """A lister-watcher of the same objects, narrowed to those that belong to this process."""

    def add_informer(self, informer: DividedInformer) -> None:
        """Register an informer that was made with what :meth:`narrowed` returned."""
