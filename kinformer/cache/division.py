"""Division: what several processes that share the objects of a server out between them tell their informers.

A :class:`Division` narrows each informer's lister-watcher to what belongs to this process, so that nothing else is ever
stored; its :class:`KeyGate` says which keys may be synced here. Without one, an informer holds all, and all keys are
synced: nothing on an event's way asks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kinformer.cache.listwatch import ListerWatcher

if TYPE_CHECKING:
    from kinformer.cache.shared_informer import SharedIndexInformer

__all__ = ("Division", "KeyGate")

T = TypeVar("T")


class KeyGate(Protocol):
    """Which keys may be synced here now."""

    def entered(
        self, text: str, key: object, again: Callable[[], object], *, held_by_all: bool = False
    ) -> AbstractContextManager[bool]:
        """
        Whether a key may be synced, for as long as this context lasts.

        :param text: what is hashed of the key
        :param key: what tells it from other keys that wait
        :param again: queues it, should it be one that waits
        :param held_by_all: whether the objects that it is about are held by every process
        """


class Division(Protocol):
    """What belongs to this process."""

    @property
    def gate(self) -> KeyGate:
        """Which keys may be synced here now."""

    def narrowed(self, lister_watcher: ListerWatcher[T], type_: type[T], *, namespaced: bool) -> ListerWatcher[T]:
        """The same, of what belongs to this process."""

    def add_informer(self, informer: SharedIndexInformer[Any]) -> None:
        """This informer was made with what :meth:`narrowed` gave."""
