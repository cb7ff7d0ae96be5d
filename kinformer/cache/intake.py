"""Intake: brings the decoded objects of one reflector's lists and watches into its store.

A batch of watch events becomes one call of the store for each event. Objects of a list are finished one by one as they
arrive, and the reflector passes the whole list to the store. An object that cannot be stored (it does not decode, is of
another type or kind, has no key, or its transformer fails) is left out and logged, and does not stop the others.

A watch sends changes in the order of their versions. An event that is older than what the watch has sent already shows
an error of the server. It is left out, because it may be about an object that is gone, or has moved on. The reflector
then lists everything again.

No task, future or lock is used per event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Generic, TypeVar

from kinformer.cache.delta_fifo import DeltaFIFO
from kinformer.cache.division import LEFT
from kinformer.cache.finishing import Finisher
from kinformer.cache.keys import DeletedFinalStateUnknown
from kinformer.cache.left_out import LeftOut
from kinformer.cache.options import InformerOptions
from kinformer.cache.real_fifo import RealFIFO
from kinformer.cache.store import ReflectorStore, TransformFunc
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.cache.undecodable import UndecodableObjects
from kinformer.client.types import BOOKMARK, MODIFIED, Undecodable, WatchEvent
from kinformer.collector import LARGE, relax
from kinformer.logs import get_logger
from kinformer.meta import Accessor, accessor_of, is_older
from kinformer.models import ObjectDecodeError

__all__ = ("Intake",)

T = TypeVar("T")

log = get_logger(__name__)


# More than 15 fields: it looks at each object, so what it needs is read once from its parts and kept flat.
class Intake(Generic[T]):
    """
    :param name: the reflector's name in logs and metrics
    :param store: the store to fill. Its method ``bookmark(resource_version)``, if it has one, is called at bookmarks.
    :param known: the objects that the store has. Unchanged parts are taken over from them, and an object stays in the
        store while newer states of it do not decode.
    :param expected_kind: for dicts: objects of another kind are logged and left out
    :param on_listed: called with each object of a list when it is finished, before it is stored
    :param options: what becomes of the objects' fields, and whether the cycle collector is relaxed during a long list
    """

    def __init__(
        self,
        name: str,
        accessor: Accessor[T],
        store: ReflectorStore[T],
        known: ThreadSafeStore[T] | None,
        *,
        expected_kind: str,
        on_listed: Callable[[T], None] | None,
        options: InformerOptions,
    ) -> None:
        self._name = name
        self._accessor = accessor
        self._type = accessor.type
        self._store = store
        #: The store's transformer, if it has one.
        self._transformer: TransformFunc[T] | None = getattr(store, "transformer", None)
        #: The store's method that takes a key along with the object, if its keys are the ones that are made here.
        self._update_keyed: Callable[[str, T], object] = self._update
        if isinstance(store, DeltaFIFO | RealFIFO) and store.key_func is accessor.key:
            self._update_keyed = store.update_keyed
        self._bookmark: Callable[[str], None] | None = getattr(store, "bookmark", None)
        self._expected_kind = expected_kind if issubclass(accessor.type, dict) else ""
        #: The objects that do not decode.
        self.undecodable: UndecodableObjects[T] = UndecodableObjects(
            name, _known_to_nobody if known is None else known.get
        )
        self._left_out = LeftOut(name)
        self._relax_collector = options.relax_collector
        self._on_listed = on_listed
        #: The number of objects of the list that is being read.
        self._listed = 0
        self._finish = Finisher(
            name,
            accessor,
            # With a transformer, the stored object may not be the one that came.
            known if self._transformer is None else None,
            options,
        )
        #: The version of the last list or event that was passed to the store; empty before the first list.
        self.resource_version = ""
        #: Whether the server has ever sent a bookmark.
        self.has_seen_bookmark = False
        #: The version of an event that was older than those before it; empty if there was none since the last list.
        self.old_version = ""

    def begin_list(self) -> None:
        """Note that the next objects are those of a new list."""
        self.undecodable.begin_list()
        self._listed = 0
        self.old_version = ""

    def accept(self, obj: T | Undecodable) -> T | None:
        """The object as a streaming list keeps it, None to leave it out. Made at once, so that memory has no peak."""
        if isinstance(obj, Undecodable):
            self.undecodable.note(obj.key, obj.error, listed=True)
            return None
        if not self._is_expected(obj):
            return None
        if not self.take_in(obj):
            return None
        if self._transformer is not None:
            try:
                obj = self._transformer(obj)
            except Exception:
                log.debug("object_not_transformed", reflector=self._name)
                # The store calls the transformer again and reports the failure: it knows whether it has the object.
            else:
                if self._on_listed is not None:
                    self._on_listed(obj)
        return obj

    def take_in(self, obj: T) -> bool:
        """Finish an object of a list at once, so that the list's memory can be freed. False: it is left out."""
        self._listed += 1
        if self._listed == LARGE and self._relax_collector:
            relax()
        try:
            self._finish.one(obj)
        except ObjectDecodeError as error:  # an eager one
            self.undecodable.note(self._key_of(obj), error, listed=True)
            return False
        except Exception as error:
            self._left_out.tell("store", self._key_of(obj), error)
            return False
        if self._on_listed is not None and self._transformer is None:
            self._on_listed(obj)
        return True

    def apply(self, batch: Sequence[WatchEvent[T]], in_order: bool) -> bool:
        """
        Put a batch into the store.

        :param in_order: whether the watch has passed the initial events, which are in no order of versions
        :return: the same, after this batch
        """
        if not in_order:
            initial = list(takewhile(_is_added, batch))
            self._put(initial)
            batch = batch[len(initial) :]
        if not self._is_in_order(batch):
            batch = self._without_old(batch)
        if not batch:
            return in_order
        # Read first: a transformer may remove the metadata.
        version = self._version_of(batch[-1].object)
        self._put(batch)
        if version:
            self.resource_version = version
        return True

    def _put(self, batch: Sequence[WatchEvent[T]]) -> None:
        store, finish, type_, check_kind = self._store, self._finish, self._type, bool(self._expected_kind)
        add, update, delete, undecodable = store.add, self._update_keyed, store.delete, self.undecodable.keys
        key_of, known, begin, succeed = finish.key_of, finish.view(), finish.begin, finish.succeed
        for event in batch:
            obj = event.object
            kind = event.type
            if kind == BOOKMARK:
                self.has_seen_bookmark = True
                if self._bookmark is not None:
                    self._bookmark(self._version_of(obj))
                continue
            if (check_kind or not isinstance(obj, type_)) and not self._is_expected(obj):
                if isinstance(obj, Undecodable):
                    self._leave_out(kind, obj.key, obj.error)
                continue
            try:
                if kind == MODIFIED:
                    # finish.one(obj), written out: nearly all events come here.
                    key = key_of(obj)
                    old = known(key)
                    if old is None:
                        begin(obj)
                    elif old is not obj:
                        succeed(old, obj)
                    update(key, obj)
                elif kind == "ADDED":
                    finish.one(obj)
                    add(obj)
                elif kind == "DELETED":
                    finish.last(obj)
                    delete(obj)
                elif kind == LEFT:
                    delete(DeletedFinalStateUnknown(key_of(obj), None))  # handlers get the last state in the cache
                else:
                    log.error("watch_event_unknown", reflector=self._name, type=kind)
                if undecodable:
                    self.undecodable.forget(self._accessor.key(obj), "object_decodes_again")
            except ObjectDecodeError as error:  # an eager one
                self._leave_out(kind, self._key_of(obj), error)
            except Exception as error:  # of keys or of a transformer: one object that cannot be stored stops no other
                self._left_out.tell("store", self._key_of(obj), error)

    def _is_in_order(self, batch: Sequence[WatchEvent[T]]) -> bool:
        """
        Whether all versions are surely in order: each has as many digits as the one before, and is not older.

        :meth:`_without_old` decides about all other batches.
        """
        reached, version_of = self.resource_version, self._accessor.resource_version
        length = len(reached)
        try:
            for event in batch:
                version = version_of(event.object)
                # Numbers of the same length compare as texts do. With ints, an event costs 900 instructions more.
                if version < reached or len(version) != length:
                    return False
                reached = version
        except (TypeError, AttributeError):  # a version that cannot be read
            return False
        return True

    def _without_old(self, batch: Sequence[WatchEvent[T]]) -> Sequence[WatchEvent[T]]:
        """The events that are not older than one before them. A version that is not a number cannot be compared."""
        reached, kept = self.resource_version, []
        for event in batch:
            version = self._version_of(event.object)
            if is_older(version, reached):
                # An old bookmark says nothing about an object.
                if event.type != BOOKMARK:
                    self.old_version = version
                continue
            kept.append(event)
            reached = version or reached
        return kept

    def _update(self, _: str, obj: T) -> None:
        self._store.update(obj)

    def _leave_out(self, kind: str, key: str, error: Exception) -> None:
        """Leave out an event of an object that does not decode. A deletion is still passed on."""
        if kind != "DELETED":
            self.undecodable.note(key, error)
            return
        self.undecodable.forget(key, "undecodable_object_is_gone")
        self._store.delete(DeletedFinalStateUnknown(key, self.undecodable.known(key)))

    def _version_of(self, obj: Any) -> str:
        """The version of an event's object, empty if it has none. A bookmark's object may be of another type."""
        try:
            return accessor_of(obj).resource_version(obj)
        except (TypeError, AttributeError):
            return ""

    def _key_of(self, obj: Any) -> str:
        """An object's key for the log; empty if it has none."""
        try:
            return self._accessor.key(obj)
        except Exception:
            return ""

    def _is_expected(self, obj: Any) -> bool:
        """Whether an object is of the expected type and kind. If not, the log says so."""
        if isinstance(obj, Undecodable):
            return False
        if not isinstance(obj, self._type):
            log.error("watch_event_of_another_type", reflector=self._name, type=type(obj).__name__)
            return False
        if not self._expected_kind:
            return True
        kind = obj.get("kind", self._expected_kind) if isinstance(obj, dict) else self._expected_kind
        if kind == self._expected_kind:
            return True
        log.error("watch_event_of_another_kind", reflector=self._name, expected=self._expected_kind, kind=kind)
        return False


def _is_added(event: WatchEvent[Any]) -> bool:
    return event.type == "ADDED"


def _known_to_nobody(_: str) -> None:
    """Stands in for `known`: the store's objects are not known."""
