"""UndecodableObjects: the objects that an informer cannot decode, and what becomes of them.

One object that does not fit its type must not keep the others away, so it is left out: the store goes on showing its
last state that did fit, if there was one, rather than telling handlers of a deletion that never happened. It is logged
once with its name and the path of the field at fault, until it fits again or is gone, and counted in the metrics
``informer_undecodable_objects`` and ``informer_undecodable_objects_seen_total``. A real deletion is told, with the last
state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinformer.cache.metrics import undecodable_objects, undecodable_objects_total
from kinformer.logs import get_logger

__all__ = ("UndecodableObjects",)

T = TypeVar("T")

log = get_logger(__name__)


class UndecodableObjects(Generic[T]):
    """
    :param name: what the log and the metrics call the informer
    :param known: gives the object that the store has under a key, None if it has none
    """

    def __init__(self, name: str, known: Callable[[str], T | None]):
        self.known = known
        #: Of what is left out now; always the same set, so that who handles every event asks no method.
        self.keys: set[str] = set()
        self._name = name
        #: Those of the list that is being read.
        self._of_list: set[str] = set()

    def begin_list(self) -> None:
        """A list of everything begins."""
        self._of_list = set()

    def note(self, key: str, error: Exception, *, listed: bool = False) -> None:
        """
        Leave an object out.

        :param error: says why, and quotes nothing of the object
        :param listed: it came with the list that has begun
        """
        undecodable_objects_total.labels(self._name).inc()
        if listed:
            self._of_list.add(key)
        if key in self.keys:
            log.debug("object_undecodable", informer=self._name, key=key, error=str(error))
            return
        self.keys.add(key)
        undecodable_objects.labels(self._name).inc()
        kept = self.known(key) is not None
        log.error(
            "object_undecodable",
            informer=self._name,
            key=key,
            error=str(error),
            cache="keeps its last state that fits" if kept else "does without it",
        )

    def forget(self, key: str, why: str) -> None:
        """The object fits again, or is gone."""
        if key in self.keys:
            self.keys.discard(key)
            undecodable_objects.labels(self._name).dec()
            log.info(why, informer=self._name, key=key)

    def end_list(self) -> list[T]:
        """The list is complete: the last states of what was left out of it, which belong into the store still."""
        for key in self.keys - self._of_list:
            self.forget(key, "object_decodes_again_or_is_gone")
        return [obj for key in sorted(self._of_list) if (obj := self.known(key)) is not None]

    def clear(self) -> None:
        """Nothing is followed any more."""
        undecodable_objects.labels(self._name).dec(len(self.keys))
        self.keys.clear()
