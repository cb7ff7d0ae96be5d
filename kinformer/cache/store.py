"""Store and Indexer: containers that make the keys of their objects.

:class:`Store` is the interface of what a reflector fills and users read. :class:`Indexer` is the store that holds the
objects and also finds them by index. The cache of an informer is an :class:`Indexer`. The event loop writes to it, and
any thread may read (see :mod:`kinformer.cache.thread_safe_store` for what readers can rely on).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeAlias, TypeVar

from kinformer.cache.index import Indexers, IndexFunc
from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc, ObjectKeyError, checked_key_func, key_func
from kinformer.cache.objects import Objects
from kinformer.cache.thread_safe_store import OnIndexError, ThreadSafeStore
from kinformer.meta import Accessor

__all__ = (
    "Indexer",
    "KeyListerGetter",
    "ReflectorStore",
    "Store",
    "Transaction",
    "TransactionError",
    "TransactionType",
    "TransformFunc",
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

#: Changes an object before anything else can see it, in place or by returning another one.
TransformFunc: TypeAlias = Callable[[T], T]


class ReflectorStore(Protocol[T_contra]):
    """The part of a store that a reflector calls."""

    def add(self, obj: T_contra) -> object:
        """Store an object that is new."""

    def update(self, obj: T_contra) -> object:
        """Store an object that has changed."""

    def delete(self, obj: T_contra | DeletedFinalStateUnknown[T_contra]) -> object:
        """Remove an object that was deleted."""

    def replace(self, objects: Sequence[T_contra], resource_version: str = "") -> object:
        """Replace everything by these objects: they are all the objects that exist."""

    def resync(self) -> object:
        """Process all objects again, where the store has something to process."""


class KeyListerGetter(Protocol[T_co]):
    """The part of a store that a queue reads, to learn which objects its consumer has."""

    def list_keys(self) -> list[str]:
        """All keys."""

    def get_by_key(self, key: str) -> T_co | None:
        """The object with that key, None if there is none."""


class Store(ReflectorStore[T], Protocol[T]):
    """Holds a value for each key: the newest object, or what an implementation makes of it."""

    def list(self) -> builtins.list[T]:
        """All objects."""

    def list_keys(self) -> builtins.list[str]:
        """All keys."""

    def get(self, obj: T) -> T | None:
        """The value with this object's key, None if there is none."""

    def get_by_key(self, key: str) -> T | None:
        """The value with that key, None if there is none."""

    def bookmark(self, resource_version: str) -> object:
        """Note that nothing has changed up to this resourceVersion."""

    def last_store_sync_resource_version(self) -> str:
        """The resourceVersion up to which the store is known to be complete."""


class TransactionType(StrEnum):
    """The kind of change that a :class:`Transaction` makes."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Transaction(Generic[T]):
    """One of several changes that are made together."""

    type: TransactionType
    object: T | DeletedFinalStateUnknown[T]


class TransactionError(Exception):
    """
    Some changes of a transaction failed. The others were made.

    :ivar successful_indices: the positions of the changes that were made
    :ivar total_transactions: the number of changes
    :ivar errors: why the others failed
    """

    def __init__(self, successful_indices: Sequence[int], total_transactions: int, errors: Sequence[Exception]):
        failed = total_transactions - len(successful_indices)
        super().__init__(
            f"failed to execute ({failed}/{total_transactions}) transactions failed due to: "
            + "; ".join(map(str, errors))
        )
        self.successful_indices = successful_indices
        self.total_transactions = total_transactions
        self.errors = errors


class Indexer(Generic[T]):
    """
    A :class:`Store` that holds objects and finds them by index.

    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    :param indexers: the index functions by name
    :param transform: called with each object; the object that it returns is stored
    :param on_index_error: called for each object that an index function fails for. That object is stored, and is left
        out of that index. None: the object is not stored, and the error is raised to the caller.
    :ivar storage: the objects by key. A caller that already has an object's key, like a queue's consumer, writes here.
    :ivar key_of: makes an object's key
    :ivar version_in: if namespaces are brought up to date independently, the version that one of them has reached
    """

    __slots__ = ("_checked_key_of", "_transform", "key_of", "storage", "version_in")

    def __init__(
        self,
        key: Accessor[T] | KeyFunc[T] | None = None,
        indexers: Indexers[T] | None = None,
        *,
        transform: TransformFunc[T] | None = None,
        on_index_error: OnIndexError | None = None,
    ):
        self.storage: ThreadSafeStore[T] = ThreadSafeStore(indexers, on_index_error=on_index_error)
        self.key_of: KeyFunc[T] = key_func(key)
        self._checked_key_of = checked_key_func(key)
        self._transform = transform
        self.version_in: Callable[[str], str] | None = None

    def __len__(self) -> int:
        return len(self.storage)

    @property
    def objects(self) -> Objects[T]:
        """The objects by key, as a read-only mapping that shows every change."""
        return Objects(self.storage)

    def add(self, obj: T) -> T | None:
        """The same as :meth:`update`."""
        return self.update(obj)

    def update(self, obj: T) -> T | None:
        """
        Store an object.

        :return: the object that it replaces, None if there was none
        :raises ObjectKeyError: if no key can be made for it
        :raises IndexFuncError: if an index function fails; then nothing is changed
        """
        key = self._checked_key_of(obj)
        return self.storage.update(key, obj if self._transform is None else self._transform(obj))

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> T | None:
        """
        Remove an object, if it is there. It may be given as a tombstone or an explicit key.

        :return: the object that was stored, None if there was none
        :raises ObjectKeyError: if no key can be made for it
        """
        return self.storage.delete(self._checked_key_of(obj), obj)

    def replace(self, objects: Sequence[T], resource_version: str = "") -> None:
        """
        Replace everything by these objects.

        :raises ObjectKeyError: if no key can be made for one of them; then nothing is changed
        :raises IndexFuncError: if an index function fails; then nothing is changed
        """
        keys = [self._checked_key_of(obj) for obj in objects]
        if self._transform is not None:
            objects = [self._transform(obj) for obj in objects]
        self.storage.replace(dict(zip(keys, objects, strict=True)), resource_version)

    def transaction(self, transactions: Iterable[Transaction[T]]) -> None:
        """
        Make several changes, which readers see all at once.

        :raises TransactionError: if some changes failed; the others were made
        """
        made: builtins.list[int] = []
        errors: builtins.list[Exception] = []
        number = -1
        with self.storage.transaction():
            for number, change in enumerate(transactions):
                try:
                    if change.type is TransactionType.DELETE:
                        self.delete(change.object)
                    elif isinstance(change.object, DeletedFinalStateUnknown):
                        raise ObjectKeyError(change.object, "a tombstone can only be deleted")
                    else:
                        self.update(change.object)
                except ValueError as exc:
                    errors.append(exc)
                else:
                    made.append(number)
        if errors:
            raise TransactionError(made, number + 1, errors)

    def list(self) -> builtins.list[T]:
        """All objects, as they are at one moment."""
        return self.storage.list()

    def list_keys(self) -> builtins.list[str]:
        """All keys, as they are at one moment."""
        return self.storage.list_keys()

    def get_by_key(self, key: str) -> T | None:
        """The object with this key, None if there is none."""
        return self.storage.get(key)

    def get(self, obj: T) -> T | None:
        """
        The stored object with the same key, None if there is none.

        :raises ObjectKeyError: if no key can be made for it
        """
        return self.storage.get(self._checked_key_of(obj))

    def by_index(self, index_name: str, indexed_value: str) -> builtins.list[T]:
        """
        The objects that have this value in that index.

        :raises IndexNotFound: if there is no such index
        """
        return self.storage.by_index(index_name, indexed_value)

    def index_keys(self, index_name: str, indexed_value: str) -> builtins.list[str]:
        """
        The keys of the objects that have this value in that index.

        :raises IndexNotFound: if there is no such index
        """
        return self.storage.index_keys(index_name, indexed_value)

    def index(self, index_name: str, obj: T) -> builtins.list[T]:
        """
        The objects that share a value in that index with this object. It need not be a stored one.

        :raises IndexNotFound: if there is no such index
        :raises IndexFuncError: if the index function fails for this object
        """
        return self.storage.index(index_name, obj)

    def list_index_func_values(self, index_name: str) -> builtins.list[str]:
        """All values in that index; none if there is no such index."""
        return self.storage.list_index_func_values(index_name)

    def get_indexers(self) -> dict[str, IndexFunc[T]]:
        """The index functions by name."""
        return self.storage.get_indexers()

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes, and fill them with the objects that are there.

        :raises IndexerConflict: if there is already an index with one of these names; then none is added
        :raises IndexFuncError: if an index function fails; then none is added
        """
        self.storage.add_indexers(indexers)

    def bookmark(self, resource_version: str) -> None:
        """Note that nothing has changed up to this resourceVersion: the server says so."""
        self.storage.bookmark(resource_version)

    def last_store_sync_resource_version(self, namespace: str = "") -> str:
        """
        The resourceVersion up to which the store is known to be complete: of its last change or bookmark.

        :param namespace: only the objects of this one have to be complete; empty for all
        """
        if namespace and self.version_in is not None:
            return self.version_in(namespace)
        return self.storage.last_store_sync_resource_version()

    def resync(self) -> None:
        """Do nothing: a store has nothing to resync."""
