"""Division: the interface between sharding and informers.

Several processes can share the objects of a server out between them. In each process a :class:`Division` narrows every
informer's lister-watcher to the objects that belong to this process, so that no others are stored. Its :class:`KeyGate`
says which keys may be synced in this process. Without a division, an informer holds all objects and every key is
synced. Nothing is asked for each event.

Objects can be divided by their owner, too: with their controller, or, if they own others, by their own uid. Then an
object can leave a process, because it gets another owner. Its event has the type :data:`LEFT` then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from kinformer.cache.listwatch import ListerWatcher
from kinformer.cache.store import Indexer
from kinformer.meta import accessor_of

__all__ = ("LEFT", "DividedInformer", "Division", "KeyGate", "KeyShard", "OwnUid")

T = TypeVar("T")

#: The type of a watch event: the object still exists, but does not belong to this process any more.
LEFT: Final = "LEFT"


class KeyShard(NamedTuple):
    """
    What decides where a key is synced.

    :param text: the text that is hashed
    :param held_by_all: whether every process holds the objects that the key is about
    """

    text: str
    held_by_all: bool = False


class OwnUid:
    """
    The ``shard_by_owner`` of a controller whose keys name the objects of an informer: each object's own uid decides.

    :ivar type: the type of these objects
    """

    def __init__(self, informer: _HasObjects) -> None:
        self.type: type[Any] = informer.type
        self._objects = informer.indexer

    def __call__(self, key: str) -> KeyShard | None:
        """None if this process does not hold the object."""
        obj = self._objects.get_by_key(key)
        return KeyShard(accessor_of(obj).uid(obj)) if obj is not None else None


class _HasObjects(Protocol):
    """What :class:`OwnUid` needs of an informer."""

    type: type[Any]

    @property
    def indexer(self) -> Indexer[Any]: ...


class KeyGate(Protocol):
    """Says which keys may be synced in this process at the moment."""

    @property
    def by_owner(self) -> bool:
        """Whether objects are divided by their owner."""

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
