"""UndecodableObjects: the objects that an informer cannot decode, and what it does with them.

One object that does not fit its type must not keep the others away, so it is left out. The store keeps the last state
that did fit, if there was one. The alternative would be to tell handlers of a deletion that never happened. The object
is logged once, with its name and the path of the wrong field. It is logged again only after it has fitted its type or
was deleted in between. It is counted in the metrics ``informer_undecodable_objects`` and
``informer_undecodable_objects_seen_total``. A real deletion is passed on to handlers, with the last state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinformer.cache.metrics import undecodable_objects, undecodable_objects_total
from kinformer.cluster import in_cluster
from kinformer.logs import get_logger

__all__ = ("UndecodableObjects",)

T = TypeVar("T")

log = get_logger(__name__)


class UndecodableObjects(Generic[T]):
    """
    :param name: the informer's name in logs and metrics
    :param known: returns the stored object with a key, None if there is none
    """

    def __init__(self, name: str, known: Callable[[str], T | None]):
        self.known = known
        #: Keys of the objects that are left out now. It is always the same set object, which the code that handles
        #: every event reads directly.
        self.keys: set[str] = set()
        self._name = name
        self._label = in_cluster(name)
        #: Keys of the objects that were left out of the list that is being read.
        self._of_list: set[str] = set()

    def begin_list(self) -> None:
        """Note that a list of everything begins."""
        self._of_list = set()

    def note(self, key: str, error: Exception, *, listed: bool = False) -> None:
        """
        Leave an object out.

        :param error: the reason; its text must not quote values of the object
        :param listed: whether the object came with the list that has begun
        """
        undecodable_objects_total.labels(self._label).inc()
        if listed:
            self._of_list.add(key)
        if key in self.keys:
            log.debug("object_undecodable", informer=self._name, key=key, error=str(error))
            return
        self.keys.add(key)
        undecodable_objects.labels(self._label).inc()
        kept = self.known(key) is not None
        log.error(
            "object_undecodable",
            informer=self._name,
            key=key,
            error=str(error),
            cache="keeps its last state that fits" if kept else "does without it",
        )

    def forget(self, key: str, why: str) -> None:
        """Note that an object fits its type again, or was deleted."""
        if key in self.keys:
            self.keys.discard(key)
            undecodable_objects.labels(self._label).dec()
            log.info(why, informer=self._name, key=key)

    def end_list(self) -> list[T]:
        """Note that the list is complete. Return the last states of what was left out of it: they stay in the store."""
        for key in self.keys - self._of_list:
            self.forget(key, "object_decodes_again_or_is_gone")
        return [obj for key in sorted(self._of_list) if (obj := self.known(key)) is not None]

    def clear(self) -> None:
        """Forget everything: the reflector has ended."""
        undecodable_objects.labels(self._label).dec(len(self.keys))
        self.keys.clear()
